from dataclasses import replace
from pathlib import Path

from data.generator import Run, Workload, write_nsys
from tests.building import build
from tracelode.collect.ingest import read
from tracelode.mining.mine import find
from tracelode.store import Archive

FOUR = Workload(
    iterations=5, layers=2, world_size=4, ranks=4, warm_up=0, outlier=None, stall=None, late=(), memory_events=False
)


def _find(tmp_path: Path, workload: Workload) -> tuple[str, list[tuple[int, bool]]]:
    runs = [Run(replace(workload, rank=rank)) for rank in range(workload.ranks)]
    write_nsys(runs[0], tmp_path / "four.sqlite", others=runs[1:])
    archive = Archive(tmp_path / "archive")
    trace, _ = read(tmp_path / "four.sqlite", archive)
    finding = find(trace, archive, "stragglers")
    return finding.sentence, finding.rows.select("process", "straggler").rows()


def test_the_process_with_the_most_time_outside_communication_is_the_straggler(tmp_path: Path) -> None:
    sentence, rows = _find(tmp_path, replace(FOUR, straggler=2))
    assert rows[0] == (41500, True)
    assert [straggler for _, straggler in rows[1:]] == [False] * 3
    assert sentence.startswith("1 straggler among 4 processes; process 41500 takes ")


def test_equal_processes_have_no_straggler(tmp_path: Path) -> None:
    sentence, rows = _find(tmp_path, FOUR)
    assert sentence == "None of 4 processes is slower."
    assert {straggler for _, straggler in rows} == {False}


def test_a_process_alone_has_none_to_wait_for(tmp_path: Path) -> None:
    kernels = [{"start_ns": n * 10, "end_ns": n * 10 + 5, "name": f"k{n % 3}"} for n in range(12)]
    trace, archive = build(tmp_path, kernel=kernels)
    assert find(trace, archive, "stragglers").sentence == "One process has iterations: none waits for another."
