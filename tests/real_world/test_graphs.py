"""Graph replay: many kernels of one launch, or one row for a whole graph."""

import json
from pathlib import Path

from tests.collect.kineto_traces import read_events, rows_of
from tests.real_world.traces import example, kernel, launch, launched, notes
from tracelode.collect.ingest import read
from tracelode.mining.mine import find
from tracelode.store import Archive
from tracelode.store.facts import facts
from tracelode.store.health import health


def test_one_row_for_a_whole_graph_is_said_to_tell_nothing_of_kernels(tmp_path: Path) -> None:
    """TraceLens#827, Hyperloom#946, #1047, #431: 97 % of the time in one hipGraphLaunch row, and no warning."""
    trace = read_events(tmp_path, *launched("hipGraphLaunch", 100, 9700, 1), *launched("copy", 10_000, 300, 2))
    assert notes(trace) == {"graph-as-one": 1}
    assert example(trace, "graph-as-one") == "hipGraphLaunch: 97% of the kernel time"
    assert {one.quantity for one in health(trace).unreliable} == {
        "time of kernels",
        "names",
        "busy and idle time",
        "order of operations and iterations",
    }


def test_a_few_launches_of_graphs_among_kernels_are_no_concern(tmp_path: Path) -> None:
    """TraceLens#827, the other way round: most of the time is in kernels."""
    trace = read_events(tmp_path, *launched("hipGraphLaunch", 100, 30, 1), *launched("gemm", 10_000, 970, 2))
    assert notes(trace) == {}


def test_kernels_of_one_replay_share_its_launch_and_count_each(tmp_path: Path) -> None:
    """HTA#290, SGLang traces: 544 kernels of one correlation are 544 kernels, none without a launch."""
    events = [kernel(f"k{n}", 100 + 10 * n, 9, 1) for n in range(544)]
    trace = read_events(tmp_path, launch(50, 1, "cudaGraphLaunch"), *events)
    told = facts(trace)
    assert (told["kernels"], told["kernels_without_launch"], told["kernel_time_ns"]) == (544, 0, 544 * 9000)
    assert {row["launch_ns"] for row in rows_of(trace, "kernel")} == {50_000}
    assert notes(trace) == {"shared-launch": 544}
    assert example(trace, "shared-launch") == "1 launches; correlation 1 started 544 kernels"


def test_a_device_busy_with_a_graph_is_not_idle(tmp_path: Path) -> None:
    """TraceLens#728: 26 % idle reported where it was about 99 % busy; a team optimised for it."""
    path, archive = tmp_path / "trace.json", Archive(tmp_path / "archive")
    events = [launch(50, 1, "cudaGraphLaunch")] + [kernel(f"k{n}", 100 + 10 * n, 9.9, 1) for n in range(100)]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    trace, _ = read(path, archive)
    shares = dict(find(trace, archive, "states").rows.select("state", "share").rows())
    assert round(shares["compute"], 2) == 0.99


def test_branches_of_a_graph_that_run_side_by_side_are_no_flaw(tmp_path: Path) -> None:
    """TraceLens#728: parallel branches appear on one stream; a long one covers many short ones."""
    branch = kernel("long", 100, 1000, 1)
    events = [kernel("short", 110 + 20 * n, 10, 1) for n in range(20)]
    trace = read_events(tmp_path, launch(50, 1, "cudaGraphLaunch"), branch, *events)
    assert facts(trace)["kernel_time_ns"] == 1_200_000
    assert notes(trace) == {"overlap": 20, "shared-launch": 21}
