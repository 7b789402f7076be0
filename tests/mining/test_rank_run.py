from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.rank_samples import write_ranks
from tracelode.collect.ingest import read
from tracelode.mining import rank_findings
from tracelode.mining.rank_run import Member, RankRun, mine_run
from tracelode.store import Archive

MS = 1_000_000
OFFSETS = (0, 5 * MS, -5 * MS)


def _looked_at(folder: Path, paths: list[Path]) -> tuple[RankRun, Archive]:
    archive = Archive(folder / "archive")
    members = [Member(read(path, archive)[0], rank, "file") for rank, path in enumerate(paths)]
    return mine_run(members, archive), archive


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> tuple[RankRun, Archive]:
    """Three ranks of which the second is slower, with clocks 5 ms ahead and behind."""
    folder = tmp_path_factory.mktemp("slow")
    return _looked_at(folder, write_ranks(folder, straggler=1, offsets_ns=OFFSETS))


@pytest.fixture(scope="module")
def even(tmp_path_factory: pytest.TempPathFactory) -> tuple[RankRun, Archive]:
    """Three ranks that are equally quick, with good clocks."""
    folder = tmp_path_factory.mktemp("even")
    return _looked_at(folder, write_ranks(folder))


def test_planted_offsets_of_clocks_are_recovered_to_a_microsecond(slow: tuple[RankRun, Archive]) -> None:
    found = rank_findings.clocks(slow[0])
    assert found.rows["clock"].to_list() == ["reference", "aligned", "aligned"]
    for offset, truth, bound in zip(found.rows["offset_ns"], OFFSETS, found.rows["uncertainty_ns"], strict=True):
        assert abs(offset - truth) <= 1_000
        assert abs(offset - truth) <= bound
    assert found.sentence.startswith(
        "2 clocks of 3 aligned on the ends of collectives, most that of rank 1, 5 ms ahead"
    )
    assert found.rows["drift_ppm"].to_list() == [0, 0, 0]


def test_good_clocks_are_left_as_they_are(even: tuple[RankRun, Archive]) -> None:
    found = rank_findings.clocks(even[0])
    assert found.rows["clock"].to_list() == ["reference", "as recorded", "as recorded"]
    assert found.sentence == "The clocks agree within what the ends of collectives tell: all times are as recorded."


def _union(spans: pl.DataFrame, begin: int, stop: int) -> int:
    """Time in which one of the spans runs, between two moments."""
    inside = spans.filter((pl.col("end_ns") > begin) & (pl.col("start_ns") < stop)).sort("start_ns")
    start = np.maximum(inside["start_ns"].to_numpy(), begin)
    latest = np.maximum.accumulate(np.minimum(inside["end_ns"].to_numpy(), stop))
    return int(np.maximum(0, latest - np.maximum(start, np.r_[begin, latest[:-1]])).sum())


def test_lateness_equals_own_time_counted_from_the_operations_alone(slow: tuple[RankRun, Archive]) -> None:
    run, _ = slow
    own: dict[tuple[int, int], int] = {}
    for place, trace in enumerate(run.traces):
        kernels = trace.sql("select start_ns, end_ns, category = 'communication' as talks from kernel")
        compute = kernels.filter(~kernels["talks"])
        rows = run.sql(f"select step, from_ns, end_ns, time_ns from run_iteration where place = {place}")
        for step, begin, stop, time in rows.drop_nulls("step").rows():
            own[place, step] = time - (_union(kernels, begin, stop) - _union(compute, begin, stop))
    rows = rank_findings.lateness(run).rows
    assert len(rows) == len(own) >= 3 * 6
    for place, step, late in rows.select("place", "step", "late_ns").rows():
        others = np.median([value for (one, at), value in own.items() if at == step and one != place])
        assert abs(late - (own[place, step] - others)) <= 1


def test_the_straggler_is_named_with_how_late_it_is(slow: tuple[RankRun, Archive]) -> None:
    found = rank_findings.stragglers(slow[0])
    assert found.rows.filter(found.rows["straggler"])["label"].to_list() == ["1"]
    first = found.rows.row(0, named=True)
    assert first["late_steps"] == first["steps"] >= 6
    assert 0.1 < first["share"] < 0.3  # it computes slower by a quarter, and does not only compute
    assert found.sentence.startswith("1 straggler among 3 ranks: rank 1 takes ")
    waits = dict(found.rows.select("label", "wait_ns").rows())
    assert waits["1"] < min(waits["0"], waits["2"]) / 10


def test_ranks_that_are_equally_quick_have_no_straggler(even: tuple[RankRun, Archive]) -> None:
    found = rank_findings.stragglers(even[0])
    assert not found.rows["straggler"].any()
    assert found.rows["late_steps"].sum() == 0
    assert found.sentence.startswith("No straggler among 3 ranks over ")


def test_the_straggler_is_last_at_the_collectives(slow: tuple[RankRun, Archive]) -> None:
    found = rank_findings.collectives(slow[0])
    first = found.rows.row(0, named=True)
    assert (first["kind"], first["ranks"], first["last"]) == ("allreduce", 3, "1")
    assert first["last_share"] > 0.9
    assert 0 < first["skew_ns"] <= first["p95_skew_ns"] <= first["most_skew_ns"] < 4 * MS  # not the 5 ms of the clocks


def test_states_of_every_rank_and_of_every_iteration_add_up(slow: tuple[RankRun, Archive]) -> None:
    run, _ = slow
    parts = "compute_ns + communication_ns + copy_ns + idle_ns"
    assert run.sql(f"select {parts} = span_ns as exact from run_rank")["exact"].all()
    assert run.sql(f"select {parts} = time_ns as exact from run_iteration")["exact"].all()
    rows = rank_findings.ranks(run).rows
    shares = rows.select(pl.sum_horizontal("compute_share", "communication_share", "copy_share", "idle_share"))
    assert shares.to_series().to_list() == pytest.approx([1, 1, 1], abs=1e-12)


def test_every_finding_is_what_its_sql_gives_over_the_archive(slow: tuple[RankRun, Archive]) -> None:
    run, archive = slow
    for name in rank_findings.__all__:
        found = getattr(rank_findings, name)(run)
        assert len(found.rows), name
        assert archive.sql(found.sql).equals(found.rows), name


def test_ranks_that_were_looked_at_together_are_not_again(slow: tuple[RankRun, Archive]) -> None:
    run, archive = slow
    before = [path.stat().st_mtime_ns for trace in run.traces for path in trace.files.values()]
    again = mine_run([Member(trace, rank, "file") for rank, trace in enumerate(run.traces)], archive)
    assert again.key == run.key
    assert [path.stat().st_mtime_ns for trace in again.traces for path in trace.files.values()] == before


def test_a_rank_twice_one_without_a_rank_and_one_without_iterations_are_told_apart(tmp_path: Path) -> None:
    paths = write_ranks(tmp_path, straggler=0)
    short = write_ranks(tmp_path / "short", ranks=2, iterations=1)[1]
    archive = Archive(tmp_path / "archive")
    traces = [read(path, archive)[0] for path in (*paths, short)]
    ranks = (0, 1, 1, None)
    run = mine_run([Member(trace, rank) for trace, rank in zip(traces, ranks, strict=True)], archive)
    rows = rank_findings.ranks(run).rows
    twice = [f"1 ({trace.id[:8]})" for trace in traces[1:3]]
    assert rows["label"].to_list() == ["0", *twice, "?"]
    assert rows["iterations"].to_list()[-1] == 0
    assert rank_findings.stragglers(run).rows["label"].to_list()[0] == "0"
    assert "No iterations were found on rank ?." in rank_findings.ranks(run).notes
