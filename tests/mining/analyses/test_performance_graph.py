from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.building import build
from tests.mining.programs import KERNEL_NS, PACE_NS, STEP, WAIT_NS, train
from tracelode.mining.analyses import performance_graph
from tracelode.mining.mine import mine
from tracelode.store import Trace

GAP = PACE_NS - KERNEL_NS
SPAN = st.tuples(st.integers(0, 300), st.integers(0, 60), st.integers(0, 2), st.sampled_from("ab"))


def _nodes(trace: Trace, *columns: str, kind: str) -> list[tuple[Any, ...]]:
    rows = trace.performance_node.filter(pl.col("kind") == kind).sort("node")
    return rows.select(columns).collect().rows()


def _edges(trace: Trace, *columns: str) -> list[tuple[Any, ...]]:
    """The edges with the names of their nodes."""
    told = ", ".join(f"edge.{column}" for column in columns)
    sql = f"""
    select around.name as parent, coalesce(one.name, '') as source, other.name as target, {told}
    from performance_edge as edge
    join performance_node as around on around.node = edge.parent
    left join performance_node as one on one.node = edge.source
    join performance_node as other on other.node = edge.target
    order by edge.parent, edge.source nulls first, edge.target
    """
    return trace.sql(sql).rows()


def test_a_device_holds_iterations_these_hold_loops_and_these_operations(tmp_path: Path) -> None:
    trace = mine(*train(tmp_path, *[STEP] * 12), "performance_graph")
    whole = 12 * len(STEP) * KERNEL_NS
    assert _nodes(trace, "name", "count", "time_ns", "share", kind="device") == [("device 0", 1, whole, 1.0)]
    assert _nodes(trace, "parent", "count", "units", "mean_ns", kind="iterations") == [(0, 12, 12, 25 * KERNEL_NS)]
    assert _nodes(trace, "parent", "count", "p95_ns", "variation", kind="iteration") == [(1, 12, 25 * KERNEL_NS, 0.0)]
    assert _nodes(trace, "parent", "repeat", "units", "count", "time_ns", "mean_ns", kind="loop") == [
        (2, 4, 12, 48, 48 * 3 * KERNEL_NS, 3 * KERNEL_NS),
        (2, 5, 12, 60, 60 * 2 * KERNEL_NS, 2 * KERNEL_NS),
    ]
    assert _nodes(trace, "parent", "label", "state", "count", "time_ns", kind="operation") == [
        (2, "read", "compute", 12, 12 * KERNEL_NS),
        (4, "project_gemm", "compute", 48, 48 * KERNEL_NS),
        (4, "gelu_kernel", "compute", 48, 48 * KERNEL_NS),
        (4, "output_gemm", "compute", 48, 48 * KERNEL_NS),
        (2, "loss", "compute", 12, 12 * KERNEL_NS),
        (9, "back_gemm", "compute", 60, 60 * KERNEL_NS),
        (9, "grad", "compute", 60, 60 * KERNEL_NS),
        (2, "adam", "compute", 12, 12 * KERNEL_NS),
    ]


def test_passes_that_differ_show_in_the_spread(tmp_path: Path) -> None:
    longer = {25 * iteration + 24: 60 for iteration in range(6)}
    trace = mine(*train(tmp_path, *[STEP] * 12, longer=longer), "performance_graph")
    adam = _nodes(trace, "mean_ns", "p50_ns", "p95_ns", "std_ns", "variation", kind="operation")[-1]
    assert adam == (630, 600, 660, 30, 30 / 630)


def test_successions_hold_the_idle_time_before_what_follows(tmp_path: Path) -> None:
    trace = mine(*train(tmp_path, *[STEP] * 12), "performance_graph")
    assert _edges(trace, "count", "gaps", "idle_ns", "mean_ns", "longest_ns") == [
        ("device 0", "", "iterations", 1, 0, 0, 0, 0),
        ("iterations", "iteration", "iteration", 11, 11, 11 * (WAIT_NS + GAP), WAIT_NS + GAP, WAIT_NS + GAP),
        ("iteration", "read", "gemm: project_gemm", 12, 12, 12 * GAP, GAP, GAP),
        ("iteration", "gemm: project_gemm", "loss", 12, 12, 12 * GAP, GAP, GAP),
        ("iteration", "loss", "gemm: back_gemm", 12, 12, 12 * GAP, GAP, GAP),
        ("iteration", "gemm: back_gemm", "adam", 12, 12, 12 * GAP, GAP, GAP),
        ("gemm: project_gemm", "project_gemm", "gelu_kernel", 48, 48, 48 * GAP, GAP, GAP),
        ("gemm: project_gemm", "gelu_kernel", "output_gemm", 48, 48, 48 * GAP, GAP, GAP),
        ("gemm: project_gemm", "output_gemm", "project_gemm", 36, 36, 36 * GAP, GAP, GAP),
        ("gemm: back_gemm", "back_gemm", "grad", 60, 60, 60 * GAP, GAP, GAP),
        ("gemm: back_gemm", "grad", "back_gemm", 48, 48, 48 * GAP, GAP, GAP),
    ]


def test_the_cause_of_a_succession_is_that_of_most_of_its_idle_time(tmp_path: Path) -> None:
    trace = mine(*train(tmp_path, *[STEP] * 12), "performance_graph")
    idle = trace.segment.filter(pl.col("state") == "idle").collect()
    causes = set(idle["cause"])
    told = _edges(trace, "cause", "cause_ns", "idle_ns")
    assert {row[3] for row in told if row[5]} == causes
    assert all(row[4] == row[5] for row in told)


def test_what_lies_outside_iterations_is_in_stages(tmp_path: Path) -> None:
    evaluation = ["eval", "score"] * 3
    trace = mine(*train(tmp_path, ["boot"] * 2, *[STEP] * 8, evaluation, *[STEP] * 8, ["save"]), "performance_graph")
    assert _nodes(trace, "parent", "name", "count", kind="outside") == [(0, "outside iterations", 3)]
    stages = _nodes(trace, "name", "count", "time_ns", kind="stage")
    assert stages == [
        ("before the iterations", 1, 2 * KERNEL_NS),
        ("between iterations", 1, 6 * KERNEL_NS),
        ("after the iterations", 1, KERNEL_NS),
    ]
    outside = trace.performance_node.filter(pl.col("kind") == "outside").collect()["node"][0]
    below = trace.performance_node.filter(pl.col("node") > outside).collect()
    assert below.filter(below["kind"] == "loop").select("repeat", "count").rows() == [(2, 2), (3, 3)]


def test_operations_of_single_iterations_are_apart(tmp_path: Path) -> None:
    units = [STEP] * 6 + [[*STEP[:9], "log", *STEP[10:]]] + [STEP] * 6
    trace = mine(*train(tmp_path, *units), "performance_graph")
    ((node, count, time),) = _nodes(trace, "node", "count", "time_ns", kind="edits")
    assert (count, time) == (1, KERNEL_NS)
    inside = trace.performance_node.filter(pl.col("parent") == node).collect()
    assert inside.select("label", "count").rows() == [("log", 1)]


def test_a_recording_without_iterations_is_one_stage_with_its_loops(tmp_path: Path) -> None:
    others = [f"kernel_{at}" for at in range(20)]
    trace = mine(*train(tmp_path, [*others[:10], *["left", "right"] * 3, *others[10:]]), "performance_graph")
    assert _nodes(trace, "parent", "name", "count", kind="stage") == [(0, "whole recording", 1)]
    assert _nodes(trace, "parent", "repeat", "count", kind="loop") == [(1, 3, 3)]
    operations = _nodes(trace, "parent", "name", "count", kind="operation")
    assert operations == [(2, "left", 3), (2, "right", 3), *((1, name, 1) for name in others)]


def test_copies_that_no_sequence_has_are_in_the_graph_too(tmp_path: Path) -> None:
    kernels = [{"start_ns": 100 * at, "end_ns": 100 * at + 50, "name": f"kernel_{at}"} for at in range(4)]
    copies = [{"start_ns": 60 + 100 * at, "end_ns": 80 + 100 * at, "stream": 9} for at in range(3)]
    trace = mine(*build(tmp_path, kernel=kernels, copy=copies), "performance_graph")
    assert _nodes(trace, "name", "count", "time_ns", kind="stage") == [
        ("whole recording", 1, 200),
        ("other operations", 1, 60),
    ]
    assert _nodes(trace, "label", "state", "count", "time_ns", kind="operation")[-1] == ("copy HtoD", "copy", 3, 60)


def test_time_of_communication_under_computation_counts_to_the_latter(tmp_path: Path) -> None:
    kernels = [
        {"start_ns": 0, "end_ns": 100, "name": "ncclDevKernel_AllReduce"},
        {"start_ns": 20, "end_ns": 60, "name": "gemm", "stream": 8},
    ]
    trace = mine(*build(tmp_path, kernel=kernels), "performance_graph")
    rows = sorted(_nodes(trace, "state", "time_ns", "work_ns", kind="operation"))
    assert rows == [("communication", 60, 100), ("compute", 40, 40)]


def test_without_device_work_there_are_no_tables(tmp_path: Path) -> None:
    trace = mine(*build(tmp_path, api=[{"start_ns": 0, "end_ns": 1}]), "performance_graph")
    assert not trace.has("performance_node")
    assert not trace.has("performance_edge")


def test_the_same_trace_gives_the_same_bytes(tmp_path: Path) -> None:
    trace = mine(*train(tmp_path, *[STEP] * 6, STEP[3:], *[STEP] * 6), "hierarchy", "segments")
    once, again = performance_graph.mine(trace), performance_graph.mine(trace)
    assert all(once[name].equals(again[name]) for name in ("performance_node", "performance_edge"))


@settings(max_examples=25, deadline=None)
@given(st.lists(SPAN, min_size=1, max_size=25), st.lists(SPAN, max_size=6), st.booleans())
def test_nodes_sum_to_the_busy_time_and_successions_to_the_idle_time(
    kernels: list[tuple[int, int, int, str]], copies: list[tuple[int, int, int, str]], launched: bool
) -> None:
    tables: dict[str, list[dict[str, Any]]] = {"kernel": [], "copy": [], "api": []}
    for table, spans in (("kernel", kernels), ("copy", copies)):
        for start, duration, stream, name in spans:
            row = {"start_ns": start, "end_ns": start + duration, "stream": stream, "device": stream % 2}
            number = len(tables["api"]) + 1
            tables["api"].append({"start_ns": start - 5, "end_ns": start, "correlation": number})
            row |= {"correlation": number} if launched else {}
            tables[table].append(row | ({"name": "nccl" * (name == "a") + name} if table == "kernel" else {}))
    with TemporaryDirectory() as folder:
        trace = mine(*build(Path(folder), **{name: rows for name, rows in tables.items() if rows}), "performance_graph")
        nodes, edges = trace.performance_node.collect(), trace.performance_edge.collect()
    for device in (0, 1):
        work = [row for name in ("kernel", "copy") for row in tables[name] if row["device"] == device]
        moments = {now for row in work for now in range(row["start_ns"], row["end_ns"])}
        own, between = (rows.filter(rows["device"] == device) for rows in (nodes, edges))
        leaves = own.filter(own["kind"] == "operation")
        assert leaves["time_ns"].sum() == len(moments)
        assert leaves["count"].sum() == len(work)
        if work:
            span = max(row["end_ns"] for row in work) - min(row["start_ns"] for row in work)
            assert between["idle_ns"].sum() == span - len(moments)
    inside = nodes.filter(nodes["parent"].is_not_null()).group_by("parent").agg(pl.col("time_ns", "work_ns").sum())
    joined = nodes.join(inside, left_on="node", right_on="parent")
    assert joined["time_ns"].to_list() == joined["time_ns_right"].to_list()
    assert joined["work_ns"].to_list() == joined["work_ns_right"].to_list()
