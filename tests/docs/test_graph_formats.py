"""The SQL on the pages about graphs and totals, run over the samples they name."""

import re
from pathlib import Path

import pytest

from tracelode.collect.ingest import read
from tracelode.store import Archive

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "data" / "samples"
GEMM, GRADIENT = (f"small_gemm_f32_f32_f32_{form}_n_tilesize64x64x8_kernel" for form in ("tn", "nt"))
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
MEAN = "void small::reduce_kernel<128, float, small::Mean>(float*, float const*, int)"
GELU, STEP = "triton_poi_fused_gelu_0", "triton_poi_fused_add_mul_0"

LANE = "[pytorch|profiler|execution_trace|{}]"
PAGES = {
    "execution-trace": [
        [
            (4, "aten::mm", 1, 21000),
            (5, GELU, 1, 3000),
            (6, "aten::mean", 1, 5000),
            (10, "aten::mm", 1, 26000),
            (11, "record_param_comms", 1, 48000),
            (13, "aten::add_", 1, 5000),
        ],
        [
            (1, LANE.format("process"), "process", 6, 108000),
            (2, LANE.format("thread"), "thread", 5, 82000),
            (3, "ProfilerStep#3", "label", 5, 82000),
            (11, "record_param_comms", "collective", 1, 48000),
            (7, LANE.format("thread"), "thread", 1, 26000),
            (9, "MmBackward0", "operator", 1, 26000),
            (10, "aten::mm", "operator", 1, 26000),
            (4, "aten::mm", "operator", 1, 21000),
            (6, "aten::mean", "operator", 1, 5000),
            (12, "Optimizer.step#SGD.step", "label", 1, 5000),
            (13, "aten::add_", "operator", 1, 5000),
            (5, GELU, "operator", 1, 3000),
        ],
        [(0, 0)],
        [(8, 1)],
    ],
    "chakra": [
        [
            (REDUCE, 1, 48000),
            (GRADIENT, 1, 26000),
            (GEMM, 1, 21000),
            (STEP, 1, 5000),
            (MEAN, 1, 5000),
            (GELU, 1, 3000),
        ],
        [
            ("aten::mean", "MeanBackward0", 1),
            ("aten::mm", "record_param_comms", 1),
            ("aten::mm", GELU, 1),
            ("record_param_comms", "aten::add_", 1),
            (GELU, "MmBackward0", 1),
            (GELU, "aten::mean", 1),
            (GELU, "aten::mm", 1),
        ],
    ],
    "proton": [
        [
            (REDUCE, 0, 1, 48000),
            (GRADIENT, 0, 1, 26000),
            (GEMM, 0, 1, 21000),
            (STEP, 0, 1, 5000),
            (MEAN, 0, 1, 5000),
            (GELU, 0, 1, 3000),
        ],
        [
            ("ROOT", 108000),
            ("step", 108000),
            (GEMM, 21000),
            (GELU, 3000),
            (MEAN, 5000),
            (GRADIENT, 26000),
            (REDUCE, 48000),
            (STEP, 5000),
        ],
    ],
}
FILES = {
    "execution-trace": ("execution-trace.json", "execution-trace.profile.json"),
    "chakra": ("chakra.et",),
    "proton": ("proton.json",),
}


def queries(page: str) -> list[str]:
    """The SQL of the page, in order."""
    text = (ROOT / "docs" / "formats" / f"{page}.md").read_text()
    return re.findall(r"```sql\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_each_query_of_a_page_gives_what_the_samples_hold(page: str, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    for name in FILES[page]:
        read(SAMPLES / name, archive)
    assert [archive.sql(query).rows() for query in queries(page)] == PAGES[page]


@pytest.mark.corpus
def test_a_real_pair_is_joined_by_ids_where_they_agree_and_by_order_where_not(corpus: Path, tmp_path: Path) -> None:
    by_id, by_order = queries("execution-trace")[2:]
    pairs = {
        ("hta-simple-add-et", "hta-simple-add-et-pair"): [(28, 28)],
        ("param-dlrm-8rank", "param-dlrm-8rank"): [(1597, 79)],
    }
    for (graph, profile), agreement in pairs.items():
        archive = Archive(tmp_path / graph)
        read(sorted((corpus / "execution-trace" / graph).iterdir())[0], archive)
        read(sorted((corpus / "kineto" / profile).iterdir())[0], archive)
        assert archive.sql(by_id).rows() == agreement
        assert archive.sql(by_order).rows() == [(archive.sql("select count(*) from op").item(), 1)]
