"""Runs of several ranks, recorded for real: their clocks, who waits for whom."""

from pathlib import Path

import pytest

from tracelode.collect.ingest import read
from tracelode.mining import rank_findings
from tracelode.mining.rank_run import Member, RankRun, mine_run
from tracelode.reports.ranks import several_ranks
from tracelode.store import Archive

pytestmark = pytest.mark.corpus


def _run(folder: Path, at: Path) -> RankRun:
    archive = Archive(at / "archive")
    traces = [read(path, archive)[0] for path in sorted(folder.iterdir())]
    several = any(map(several_ranks, traces))
    return mine_run([Member(trace, None if several else rank) for rank, trace in enumerate(traces)], archive)


def test_eight_ranks_of_one_machine_have_one_clock_and_wait_for_the_last(corpus: Path, tmp_path: Path) -> None:
    run = _run(corpus / "kineto" / "param-dlrm-8rank", tmp_path)
    clocks = rank_findings.clocks(run).rows
    assert clocks["clock"].to_list() == ["reference", *["as recorded"] * 7]
    assert clocks["offset_ns"].abs().max() <= 2_000
    assert clocks["together"].to_list() == [8] * 8
    # The kernels of one exchange end within 5 µs on all ranks, and start up to 7.6 ms apart.
    kinds = {row["kind"]: row for row in rank_findings.collectives(run).rows.rows(named=True)}
    assert kinds.keys() == {"sendrecv", "allreduce"}
    assert kinds["sendrecv"]["most_skew_ns"] == 7_624_000
    assert kinds["sendrecv"]["last"] == "7"
    assert rank_findings.stragglers(run).sentence.startswith("No iterations were found")


def test_four_ranks_in_one_file_have_the_straggler_that_is_last_at_every_reduction(
    corpus: Path, tmp_path: Path
) -> None:
    run = _run(corpus / "kineto" / "hpct-merged-ranks", tmp_path)
    rows = rank_findings.stragglers(run).rows
    assert rows.filter(rows["straggler"])["label"].to_list() == ["3"]
    assert rows["wait_ns"].to_list()[0] == 0
    (reduction,) = rank_findings.collectives(run).rows.rows(named=True)
    assert (reduction["kind"], reduction["last"], reduction["last_share"]) == ("allreduce", "3", 1.0)


def test_two_ranks_of_128_are_compared_and_their_states_add_up(corpus: Path, tmp_path: Path) -> None:
    run = _run(corpus / "kineto" / "hta-sampled-2-of-128", tmp_path)
    rows = rank_findings.ranks(run).rows
    parts = ("compute_ns", "communication_ns", "copy_ns", "idle_ns")
    assert [sum(row[part] for part in parts) for row in rows.rows(named=True)] == rows["span_ns"].to_list()
    assert rows["iterations"].to_list() == [2, 2]
    assert rank_findings.clocks(run).rows["matched"].to_list() == [10, 10]
