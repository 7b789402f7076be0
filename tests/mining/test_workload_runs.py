from pathlib import Path

import pytest

from data.generator.accelprof import TABLE_V, table_v
from tracelode.collect.ingest import read
from tracelode.mining.mine import mine
from tracelode.mining.workload_runs import runs
from tracelode.store import Archive
from tracelode.store.query import run

MIB = 1 << 20


@pytest.mark.parametrize(
    ("kind", "ratio_of_means", "mean_of_ratios"),
    # The paper prints 2.22 and 3.79 as averages of a column of ratios. They are the ratios of the averages of the two
    # columns; the averages of the ratios are 2.70 and 6.56.
    [("inference", 2.22, 2.70), ("training", 3.79, 6.56)],
)
def test_table_v_comes_out_with_both_ways_to_average_its_ratios(
    tmp_path: Path, kind: str, ratio_of_means: float, mean_of_ratios: float
) -> None:
    archive = Archive(tmp_path / "archive")
    traces = []
    for name, log in table_v().items():
        if name.startswith(kind):
            file = tmp_path / f"{name.removeprefix(kind).strip()}_app_analysis.log"
            file.write_text(log)
            trace, _ = read(file, archive)
            traces.append((name, mine(trace, archive, "attribution", "memory_use")))
    found = runs(traces)
    assert len(found.rows) == 6
    for row in found.rows.to_dicts():
        printed = TABLE_V[row["name"]]
        assert row["kernels"] == printed.launches
        assert (row["evidence"], row["source"]) == ("A", "launches")
        near = {"rel": 2e-4, "abs": 0.01 * MIB}
        assert (row["granularity"], row["set_of"]) == ("tensor", "tensor")
        assert row["object_footprint_bytes"] == pytest.approx(printed.footprint, **near)
        assert row["working_set_bytes"] == pytest.approx(printed.most, **near)
        assert row["min_bytes"] == pytest.approx(printed.least, rel=0.02)
        assert row["mean_bytes"] == pytest.approx(printed.mean, **near)
        assert row["median_bytes"] == pytest.approx(printed.median, **near)
        assert row["p90_bytes"] == pytest.approx(printed.p90, **near)
        assert row["object_ratio"] == pytest.approx(printed.footprint / printed.most, rel=1e-3)
        assert row["ratio"] == pytest.approx(row["footprint_bytes"] / row["working_set_bytes"])
        assert row["footprints"] == row["kernels"]
    assert (
        f"Footprint of objects over working set of tensors, as in PASTA's Table V: {ratio_of_means:.2f} as the ratio "
        f"of the means, {mean_of_ratios:.2f} as the mean of the ratios."
    ) in found.notes
    assert run({trace.id: trace.files for _, trace in traces}, found.sql).equals(found.rows)


def test_a_trace_without_memory_or_kernels_has_no_numbers(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    samples = Path(__file__).parents[2] / "data" / "samples" / "accelprof"
    trace, _ = read(samples / "net.time_hotness_cpu.log", archive)
    found = runs([("it's", mine(trace, archive, "attribution", "memory_use"))])
    assert found.rows.row(0)[:5] == ("it's", None, None, None, None)
    assert found.sentence == "1 trace: neither kernels nor memory were collected."


def test_peak_footprint_and_working_set_are_of_one_kind_of_memory_or_have_no_ratio(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    samples = Path(__file__).parents[2] / "data" / "samples" / "accelprof"
    names = ("net_app_analysis.log", "hotness_net_2026-02-01_12-00-00", "memory_gpu.txt", "net.time_hotness_cpu.log")
    traces = [(name, mine(read(samples / name, archive)[0], archive, "attribution", "memory_use")) for name in names]
    found = runs(traces)
    columns = ("granularity", "peak_bytes", "footprint_bytes", "set_of", "working_set_bytes", "object_peak_bytes")
    # Objects of 5 and 2 MiB, in them tensors of 4 and 2 MiB: 6 MiB at the peak, 5.5 MiB at the 4 launches on average.
    # hot_analysis tells which objects are touched, and no tensors.
    assert found.rows.select(columns).rows() == [
        ("tensor", 6 * MIB, 5.5 * MIB, "tensor", 6 * MIB, 7 * MIB),
        ("tensor", 6 * MIB, 5.5 * MIB, "object", 7 * MIB, 7 * MIB),
        ("object", 7 * MIB, None, None, None, 7 * MIB),
        (None, None, None, None, None, None),
    ]
    ratios = found.rows.select("ratio", "object_ratio").rows()
    assert ratios == [(5.5 / 6, pytest.approx(7 / 6)), (None, 1.0), (None, None), (None, None)]
    assert found.sentence == (
        "4 traces: 4 kernels (in 2 of them), peaks of 6 MiB of tensors (in 2 of them), peaks of 7 MiB of objects (in 1 "
        "of them, for want of tensors)."
    )
