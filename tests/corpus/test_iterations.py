"""Iterations of annotated public traces, found with the annotations hidden (capability D08)."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks.quality_absent import SINGLE
from tracelode.collect.ingest import read
from tracelode.mining.iterations import Level, levels, main_level
from tracelode.mining.mine import mine
from tracelode.mining.sequence import sequences
from tracelode.store import Archive, Trace

pytestmark = pytest.mark.corpus

ANNOTATED = {
    "kineto/hta-df-index": (4458, 5),
    "kineto/hta-nccl": (1258, 3),
    "kineto/hta-negative-queue": (1375, 5),
    "kineto/hta-ns-resolution": (1219, 5),
    "kineto/hta-trace-diff-control": (1575, 6),
    "kineto/hta-trace-diff-test": (2503, 6),
    "kineto/kineto-2020-list": (1527, 6),
    "kineto/kineto-2021-schema1": (1547, 6),
    "kineto/kineto-2021-stack-memory": (1543, 6),
    "kineto/tracelens-mi300-resnet-checkpoint": (895, 3),
}


def _trace(folder: Path, tmp_path: Path, name: str = "") -> tuple[Trace, Archive]:
    archive = Archive(tmp_path / "archive")
    (path,) = [p for p in folder.iterdir() if name in p.name]
    return read(path, archive)[0], archive


def _unmarked(trace: Trace) -> Level | None:
    """The iteration level of the longest sequence, with nothing of the trace's annotations given to the miner."""
    longest = max(sequences(trace), key=lambda sequence: len(sequence.symbols))
    return main_level(levels(longest.symbols, longest.start_ns, longest.end_ns, longest.launch_ns))


@pytest.mark.parametrize("name", ANNOTATED)
def test_period_and_count_are_those_of_the_hidden_steps(corpus: Path, tmp_path: Path, name: str) -> None:
    level = _unmarked(_trace(corpus / name, tmp_path)[0])
    assert level is not None
    assert (level.period, level.count) == ANNOTATED[name]


@pytest.mark.parametrize("name", ANNOTATED)
def test_the_stored_level_is_the_same_and_its_iterations_begin_with_the_steps(
    corpus: Path, tmp_path: Path, name: str
) -> None:
    trace, archive = _trace(corpus / name, tmp_path)
    trace = mine(trace, archive, "iterations")
    main = trace.level.filter(pl.col("kind") == "iteration").sort("coverage").collect().row(-1, named=True)
    assert (main["period"], main["count"]) == ANNOTATED[name]
    sequence = sequences(trace)[main["sequence"]]
    assert sequence.launch_ns is not None
    tables = [table for table in ("range", "op") if trace.has(table)]  # until 2021 the steps were operators
    where = "where name like 'ProfilerStep%' and coalesce(thread, 0) >= 0"
    queries = [f"select start_ns, end_ns, name from {table} {where}" for table in tables]
    steps = trace.sql(" union all ".join(queries) + " order by start_ns").unique(
        "name", keep="first", maintain_order=True
    )
    first = np.searchsorted(sequence.launch_ns, steps["start_ns"].to_numpy())
    stop = np.searchsorted(sequence.launch_ns, steps["end_ns"].to_numpy())
    begins = trace.iteration.filter(pl.col("level") == main["level"]).sort("iteration").collect()["first"]
    assert begins.to_list() == first[stop > first].tolist()


@pytest.mark.parametrize(("rank", "period"), [("rank-0", 602), ("rank-1", 577)])
def test_two_steps_are_found_within_a_percent_or_with_little_confidence(
    corpus: Path, tmp_path: Path, rank: str, period: int
) -> None:
    level = _unmarked(_trace(corpus / "kineto/hta-sampled-2-of-128", tmp_path, rank)[0])
    assert level is not None
    assert abs(level.period - period) <= 0.01 * period or level.confidence < 0.5


def test_kernels_without_launch_in_between_leave_the_period_at_62(corpus: Path, tmp_path: Path) -> None:
    trace, archive = _trace(corpus / "nsys-sqlite/nsysai-h100-2gpu", tmp_path)
    trace = mine(trace, archive, "iterations")
    found = (
        trace.level.filter(pl.col("kind") == "iteration").select("device", "period").unique().sort("device").collect()
    )
    assert found.filter(pl.col("period") == 62)["device"].unique().sort().to_list() == [0, 1]
    main = trace.level.filter(pl.col("kind") == "iteration").sort("coverage", "count").collect()
    assert set(main.group_by("device").last()["period"]) == {62}


@pytest.mark.parametrize("name", SINGLE)
def test_what_holds_a_single_pass_has_no_iterations(corpus: Path, tmp_path: Path, name: str) -> None:
    archive = Archive(tmp_path / "archive")
    told: list[float] = []
    for path in sorted((corpus / name).iterdir()):
        for one in sequences(read(path, archive)[0]):
            found = levels(one.symbols, one.start_ns, one.end_ns, one.launch_ns)
            told += [level.confidence for level in found if level.kind == "iteration"]
    if name == "kineto/tracelens-vllm-piecewise-capture":  # the host waits before each layer that it captures
        assert max(told, default=0) < 0.3
    else:
        assert told == []
