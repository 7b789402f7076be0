"""The kinds of work of the kernels in public traces."""

from pathlib import Path

import pytest

from tracelode.collect.ingest import read
from tracelode.store import Archive

pytestmark = pytest.mark.corpus

COMMUNICATION = {
    "kineto/hta-df-index/df_index_resolver.json.gz": 2020,
    "kineto/tracelens-mi300-resnet-checkpoint/resnet_act_checkpoint.json.gz": 17,
    "kineto/hta-negative-queue/rank0.json.gz": 80,
}
"""Kernels of NCCL and RCCL, under their several names."""


@pytest.mark.parametrize("path", COMMUNICATION)
def test_kernels_of_nccl_and_rccl_and_no_others_are_communication(corpus: Path, tmp_path: Path, path: str) -> None:
    trace, _ = read(corpus / path, Archive(tmp_path))
    query = "select count(*) from kernel where category = 'communication'"
    assert trace.sql(query).item() == COMMUNICATION[path]
    query = "select count(*) from kernel where (category = 'communication') <> regexp_matches(name, 'nccl', 'i')"
    assert trace.sql(query).item() == 0


def test_norms_and_scalings_of_blas_are_no_products(corpus: Path, tmp_path: Path) -> None:
    path = corpus / "nsys-sqlite/gemm-a100-pipeline/nsys_report_fo_10000_5_150.sqlite"
    trace, _ = read(path, Archive(tmp_path))
    query = "select category, count(*) from kernel group by category order by category"
    assert trace.sql(query).rows() == [("elementwise", 150), ("gemm", 150), ("reduction", 300)]


def test_copies_of_lists_of_tensors_in_inference_are_no_optimizer(corpus: Path, tmp_path: Path) -> None:
    path = corpus / "kineto/tracelens-sglang-deepseek-r1/B300-TP-0-DECODE.trace.json.gz"
    trace, _ = read(path, Archive(tmp_path))
    query = "select category, count(*) from kernel where name like '%multi_tensor_apply%' group by category"
    assert trace.sql(query).rows() == [("elementwise", 2)]
    assert trace.sql("select count(*) from kernel where category = 'optimizer'").item() == 0
