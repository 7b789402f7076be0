"""Files of many ranks: without a rank, with the same name, or with the ranks in the name only."""

from pathlib import Path

import pytest

from tests.collect.kineto_traces import read_events, rows_of
from tests.real_world.traces import kernels, launched, notes
from tracelode.collect.ingest import read
from tracelode.store import Archive
from tracelode.store.health import Coverage, health


@pytest.mark.parametrize("job", [{}, {"distributedInfo": {}}, {"distributedInfo": {"backend": "gloo", "rank": None}}])
def test_a_trace_without_a_rank_is_read_and_says_so(tmp_path: Path, job: dict[str, object]) -> None:
    """HTA#16, #17, #107, kineto#974: users edit the file by hand to add a rank."""
    trace = read_events(tmp_path, *launched("a", 100, 5, 1), **job)
    assert kernels(trace) == [("a", 5000)]
    assert [row.get("rank") for row in rows_of(trace, "process")] == [None]
    assert Coverage("process", "rank", 0, 1) in health(trace).coverage
    assert notes(trace) == {}


def test_files_of_one_name_are_one_trace_each(tmp_path: Path) -> None:
    """sglang#25446: under data, pipeline and expert parallelism all ranks write one file name."""
    archive = Archive(tmp_path / "archive")
    for rank, length in enumerate((5, 7)):
        folder = tmp_path / f"dp{rank}"
        trace = read_events(folder, *launched("a", 100, length, 1), distributedInfo={"rank": rank, "world_size": 2})
        path = folder / "TP-0.trace.json"
        Path(trace.source).rename(path)
        read(path, archive)
    rows = archive.sql(
        "select rank, sum(duration_ns) from kernel join process using (trace_id, process) group by rank order by rank"
    ).rows()
    assert rows == [(0, 5000), (1, 7000)]
