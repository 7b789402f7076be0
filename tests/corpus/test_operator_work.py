"""The work of operators in public traces: all are classified or counted as not available, and sums are kept."""

import json
from pathlib import Path

import pytest

from tracelode.collect.ingest import read
from tracelode.mining.mine import find
from tracelode.mining.operator_work import FAMILIES, OTHER
from tracelode.store import Archive, Trace

pytestmark = pytest.mark.corpus

KNOWN = {
    "tracelens-h100-vit/Falconsai_nsfw_image_detection__1016002.json.gz": 140_688_940_032,
    "tracelens-mi300-vit/Falconsai_nsfw_image_detection__1016002.json.gz": 140_688_940_032,
    "tracelens-mi300-ddp-resnet18/train_resnet18.json.gz": 27_408_508_682_240,
    "tracelens-mi300-bert/gaunernst_bert-small-uncased__1016001.json.gz": 8_200_289_280,
    "hta-trace-diff-test/test.json.gz": 157_522_787_016,
    "param-dlrm-8rank/worker0_step_12.pt.trace.json.gz": 66_173_242,
    "hta-alexnet/benchmark_result_2869224_1695835535_trace.json.gz": 0,
}
"""FLOPs of traces; the same model has as many on either vendor's device."""


def _read(corpus: Path, folder: Path, path: str) -> tuple[Trace, Archive]:
    archive = Archive(folder)
    return read(corpus / "kineto" / path, archive)[0], archive


@pytest.mark.parametrize("path", KNOWN)
def test_all_operators_are_classified_and_sums_are_kept(corpus: Path, tmp_path: Path, path: str) -> None:
    trace, archive = _read(corpus, tmp_path, path)
    found = find(trace, archive, "operator_flops")
    mined = archive.open(trace.id)
    work = mined.sql("select * from operator_work")
    assert len(work) == trace.sql("select count(distinct op) from kernel").item()
    assert set(work["family"]) <= {*FAMILIES, OTHER}
    assert ((work["flops"].is_null()) == work["missing"].is_not_null()).all()
    assert ((work["bytes"].is_null()) == work["bytes_missing"].is_not_null()).all()
    assert int(found.rows["flops"].sum()) == KNOWN[path] == int(work["flops"].sum())
    assert found.rows["time_ns"].sum() == trace.sql("select sum(duration_ns)::bigint from kernel").item()
    for name in ("roofline", "precision"):
        parts = find(trace, archive, name).rows
        assert int(parts["flops"].sum()) == KNOWN[path]
        assert int(parts["calls"].sum()) == len(work)


def test_vision_transformer_and_resnet_agree_with_published_counts(corpus: Path, tmp_path: Path) -> None:
    # ViT-B/16: 17.56 G multiply-adds in torchvision's documentation; here 4 images and another head
    assert (
        abs(KNOWN["tracelens-h100-vit/Falconsai_nsfw_image_detection__1016002.json.gz"] / (2 * 4 * 17.56e9) - 1) < 0.02
    )
    trace, archive = _read(corpus, tmp_path, "tracelens-mi300-ddp-resnet18/train_resnet18.json.gz")
    find(trace, archive, "operator_flops")
    query = "select sum(flops) from operator_work where kind in ('library_convolution', 'addmm')"
    forward = archive.open(trace.id).sql(query).item()
    assert abs(int(forward) / (2 * 5 * 512 * 1.81e9) - 1) < 0.02  # 5 steps of 512 images


def test_flops_that_the_profiler_wrote_are_ours(corpus: Path, tmp_path: Path) -> None:
    for path in ("tracelens-tiny-pair/mi300_trace1.json", "tracelens-tiny-pair/h100_trace2.json"):
        trace, archive = _read(corpus, tmp_path, path)
        find(trace, archive, "operator_flops")
        told = archive.open(trace.id).sql("select args, flops from op join operator_work on op = id")
        written = [(json.loads(args)["flops"], flops) for args, flops in told.rows() if flops and '"flops"' in args]
        assert written
        assert all(theirs == ours for theirs, ours in written)
