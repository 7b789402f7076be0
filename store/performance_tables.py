"""The tables of the performance graph: its nodes, their successions, and how those of two traces differ."""

from .columns import DEVICE, F64, I32, I64, PROCESS, TEXT, Column, Kind, Table

__all__ = ["PERFORMANCE"]

PERFORMANCE = (
    Table(
        "performance_node",
        Kind.MINED,
        "node of the performance graph: what takes a device's time; the times of those in a node add up to its own",
        (
            Column(
                "node", I32, "number within the trace, from 0; each node is right before what is in it", required=True
            ),
            Column("parent", I32, "`performance_node.node` around it; null for a device"),
            PROCESS,
            DEVICE,
            Column("sequence", I32, "mined sequence it is of, where the device has several"),
            Column("level", I32, "`level.level` of iterations"),
            Column("type", I32, "`unit.type` of iterations that have similar content"),
            Column("tree_node", I32, "`tree.node` that it stands for, with its place and where its name is from"),
            Column(
                "kind",
                TEXT,
                "device; sequence; iterations (of a level, without warm-up); outside (of iterations) and its stages "
                "(warm-up, before, between, after; the whole recording where nothing iterates; other operations, which "
                "no sequence has); iteration (those of one type); loop; operation; edits (operations that few "
                "iterations of a type have)",
                required=True,
            ),
            Column("depth", I32, "nodes around it", required=True),
            Column("name", TEXT, "what to call it", required=True),
            Column("label", TEXT, "an operation's whole name: that of the kernel, direction of the copy, or fill"),
            Column("state", TEXT, "what an operation does: compute, communication or copy"),
            Column("repeat", I64, "of a loop: passes one after the other, in a pass of what is around it"),
            Column("units", I64, "iterations or stretches that it was counted in", required=True),
            Column("count", I64, "passes: executions of an operation, passes of a loop, iterations", required=True),
            Column(
                "time_ns",
                I64,
                "busy time of the device that counts to it: an instant counts to the operation that started first of "
                "those that run then, if any compute of these, or else of those that communicate; so those of a device "
                "add up to its busy time",
                "ns",
                required=True,
            ),
            Column("work_ns", I64, "durations of its operations, summed", "ns", required=True),
            Column("share", F64, "time_ns / busy_ns", required=True),
            Column("busy_ns", I64, "busy time of its device", "ns", required=True),
            Column("mean_ns", I64, "mean of `time_ns` of one pass, rounded", "ns", required=True),
            Column("p50_ns", I64, "its median (of two in the middle the lower)", "ns", required=True),
            Column("p95_ns", I64, "its 95th percentile: the least that 95 % do not exceed", "ns", required=True),
            Column("std_ns", I64, "its standard deviation, rounded", "ns", required=True),
            Column("variation", F64, "standard deviation / mean; null where the mean is 0"),
        ),
    ),
    Table(
        "performance_edge",
        Kind.MINED,
        "succession of two nodes of the performance graph that are in the same one",
        (
            PROCESS,
            DEVICE,
            Column("parent", I32, "`performance_node.node` around both", required=True),
            Column("source", I32, "the node that comes first; null where nothing came before"),
            Column(
                "target", I32, "the node that follows; the same one where its passes follow each other", required=True
            ),
            Column("count", I64, "successions", required=True),
            Column("gaps", I64, "of these with idle time of the device in between", required=True),
            Column(
                "idle_ns",
                I64,
                "that idle time; what is idle before an operation starts counts to the succession that ends with it, "
                "so those of a device add up to its idle time",
                "ns",
                required=True,
            ),
            Column("mean_ns", I64, "idle_ns / count, rounded", "ns", required=True),
            Column("longest_ns", I64, "longest of the gaps", "ns", required=True),
            Column("cause", TEXT, "`segment.cause` of most of the idle time; null without any"),
            Column("cause_ns", I64, "idle time of that cause", "ns", required=True),
        ),
    ),
    Table(
        "performance_diff",
        Kind.MINED,
        "node of the performance graph beside the one of another trace, its base, that it matches; or one alone",
        (
            Column("base", TEXT, "`trace_id` of the trace it is compared with", required=True),
            Column("node", I32, "number in the comparison, from 0; each is right before what is in it", required=True),
            Column("parent", I32, "`performance_diff.node` around it; null for a device"),
            Column("base_node", I32, "`performance_node.node` in the base; null where it appeared"),
            Column("trace_node", I32, "`performance_node.node` in the trace; null where it vanished"),
            Column("depth", I32, "nodes around it", required=True),
            Column("kind", TEXT, "`performance_node.kind`", required=True),
            Column("name", TEXT, "`performance_node.name`", required=True),
            Column(
                "change",
                TEXT,
                "appeared, vanished, more, fewer, slower, faster, same: per iteration (or stretch), by the larger part "
                "of the difference in time",
                required=True,
            ),
            Column("base_repeat", I64, "`performance_node.repeat` in the base"),
            Column("repeat", I64, "the same in the trace"),
            Column("base_units", I64, "iterations or stretches that it was counted in, in the base"),
            Column("units", I64, "the same in the trace"),
            Column("base_count", I64, "passes in the base", required=True),
            Column("count", I64, "passes in the trace", required=True),
            Column("base_time_ns", I64, "its `performance_node.time_ns` in the base, or 0", "ns", required=True),
            Column("time_ns", I64, "the same in the trace", "ns", required=True),
            Column(
                "delta_ns",
                I64,
                "time_ns - base_time_ns: those in a node add up to its own, those of devices to the difference in "
                "busy time",
                "ns",
                required=True,
            ),
            Column("base_mean_ns", I64, "mean time of one pass in the base", "ns"),
            Column("mean_ns", I64, "the same in the trace", "ns"),
        ),
    ),
)
"""Tables that the miner derives from the hierarchy and the idle time of devices."""
