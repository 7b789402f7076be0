from pathlib import Path

from data.generator.planted import Training
from data.generator.planted_trace import write_planted
from tests.building import build
from tracelode.collect.ingest import read
from tracelode.mining.finding import Finding
from tracelode.mining.mine import compare
from tracelode.store import Archive


def _compared(folder: Path, plan: Training, base: int = 0) -> list[Finding]:
    write_planted(plan, folder)
    archive = Archive(folder / "archive")
    traces = [read(folder / f"rank{rank}.json", archive)[0] for rank in range(plan.ranks)]
    others = [trace for rank, trace in enumerate(traces) if rank != base]
    return [compare((traces[base], archive), (other, archive), "ranks") for other in others]


def test_the_same_iterations_are_matched_and_the_straggler_is_named(tmp_path: Path) -> None:
    found = _compared(tmp_path, Training(iterations=6, layers=2, ranks=3, straggler=1))
    for finding in found:
        assert finding.rows["iteration"].to_list() == finding.rows["base_iteration"].to_list() == list(range(6))
    assert [finding.rows["slower"].unique().to_list() for finding in found] == [["trace"], [None]]
    assert "process 41200 of the base waits for process 41350, which takes" in found[0].sentence
    assert found[1].sentence.endswith("neither waits for the other.")


def test_a_slow_base_is_named_too_and_a_second_time_says_the_same(tmp_path: Path) -> None:
    plan = Training(iterations=6, layers=2, ranks=2, straggler=0)
    (first,) = _compared(tmp_path, plan)
    assert first.rows["slower"].unique().to_list() == ["base"]
    assert "process 41350 waits for process 41200 of the base" in first.sentence
    (again,) = _compared(tmp_path, plan)
    assert again.rows.equals(first.rows)


def test_traces_without_iterations_have_none_in_common(tmp_path: Path) -> None:
    kernel = [{"start_ns": n * 10, "end_ns": n * 10 + 5, "name": f"k{n}"} for n in range(6)]
    trace, archive = build(tmp_path, kernel=kernel)
    finding = compare((trace, archive), (trace, archive), "ranks")
    assert len(finding.rows) == 0
    assert finding.sentence == "No iterations were found that the two went through together."
