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
        assert row["footprint_bytes"] == pytest.approx(printed.footprint, **near)
        assert row["working_set_bytes"] == pytest.approx(printed.most, **near)
        assert row["min_bytes"] == pytest.approx(printed.least, rel=0.02)
        assert row["mean_bytes"] == pytest.approx(printed.mean, **near)
        assert row["median_bytes"] == pytest.approx(printed.median, **near)
        assert row["p90_bytes"] == pytest.approx(printed.p90, **near)
        assert row["ratio"] == pytest.approx(printed.footprint / printed.most, rel=1e-3)
    assert found.sentence == (
        f"6 traces. Footprint over working set: {ratio_of_means:.2f} as the ratio of the means, "
        f"{mean_of_ratios:.2f} as the mean of the ratios."
    )
    assert run({trace.id: trace.files for _, trace in traces}, found.sql).equals(found.rows)


def test_a_trace_without_memory_or_kernels_has_no_numbers(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    samples = Path(__file__).parents[2] / "data" / "samples" / "accelprof"
    trace, _ = read(samples / "net.time_hotness_cpu.log", archive)
    found = runs([("it's", mine(trace, archive, "attribution", "memory_use"))])
    assert found.rows.row(0)[:5] == ("it's", None, None, None, None)
    assert found.sentence == "1 trace."
