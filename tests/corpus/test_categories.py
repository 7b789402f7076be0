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
