"""The tables that the miner derives from the events."""

import pyarrow as pa

from .columns import DEVICE, END, F64, I32, I64, PROCESS, START, TEXT, Column, Kind, Table

__all__ = ["MINED"]

LEVEL = Column("level", I32, "`level.level`: number of the cadence level within the trace", required=True)
SEQUENCE = Column("sequence", I32, "number of the mined sequence within the trace", required=True)

MINED = (
    Table(
        "level",
        Kind.MINED,
        "cadence at which a mined sequence repeats",
        (
            LEVEL,
            SEQUENCE,
            PROCESS,
            Column("device", I32, "device, where the sequence holds only one"),
            Column("stream", I64, "stream, where mined alone; null when streams are merged in launch order"),
            Column(
                "period",
                I64,
                "operations in one repetition; kernels, where a stream is mined alone",
                "operations",
                required=True,
            ),
            Column("kind", TEXT, "micro (within an iteration), iteration, cycle (of iterations)", required=True),
            Column("count", I64, "repetitions found", required=True),
            Column("first", I64, "ordinal of the first operation covered", required=True),
            Column("last", I64, "ordinal of the last operation covered", required=True),
            Column("period_ns", I64, "median time of a repetition, from `iteration.from_ns` to `end_ns`", "ns"),
            Column("coverage", F64, "operations inside repetitions / operations of the sequence", required=True),
            Column("confidence", F64, "0 to 1: how sure the level is", required=True),
            Column("phase_confidence", F64, "0 to 1: how sure the cut between repetitions is", required=True),
        ),
    ),
    Table(
        "iteration",
        Kind.MINED,
        "repetition at one level",
        (
            LEVEL,
            Column("iteration", I32, "number within the level, from 0", required=True),
            SEQUENCE,
            PROCESS,
            Column("first", I64, "ordinal of its first operation in the mined sequence", required=True),
            Column("last", I64, "ordinal of its last operation", required=True),
            Column("start_ns", I64, "earliest device start of its operations", "ns", required=True),
            Column("end_ns", I64, "latest device end of its operations", "ns", required=True),
            Column(
                "from_ns",
                I64,
                "where its time begins: the end of the iteration right before it, so that a wait counts to "
                "the one that waits; else its start",
                "ns",
                required=True,
            ),
            Column("operations", I64, "operations", required=True),
            Column(
                "phase",
                TEXT,
                "steady, warm-up (leading and unlike the rest) or deviating (later and unlike the rest)",
                required=True,
            ),
        ),
    ),
    Table(
        "pattern",
        Kind.MINED,
        "repeated sequence of operations",
        (
            Column("pattern", I32, "number within the trace, from 0, by time", required=True),
            SEQUENCE,
            PROCESS,
            Column("length", I32, "operations", required=True),
            Column("count", I64, "non-overlapping occurrences", required=True),
            Column("time_ns", I64, "device time of all occurrences, summed over operations", "ns", required=True),
            Column("idle_ns", I64, "time inside occurrences when none of its operations runs", "ns", required=True),
            Column("symbols", pa.list_(TEXT), "the operations: name, or copy direction, or fill", required=True),
        ),
    ),
    Table(
        "occurrence",
        Kind.MINED,
        "occurrence of a pattern",
        (
            Column("pattern", I32, "`pattern.pattern`", required=True),
            SEQUENCE,
            Column("first", I64, "ordinal of its first operation in the mined sequence", required=True),
            Column("last", I64, "ordinal of its last operation", required=True),
            Column("start_ns", I64, "earliest start", "ns", required=True),
            Column("end_ns", I64, "latest end", "ns", required=True),
            Column("time_ns", I64, "device time summed over its operations", "ns", required=True),
        ),
    ),
    Table(
        "segment",
        Kind.MINED,
        "stretch of a device's time in one state; the segments of a device tile its span",
        (
            PROCESS,
            DEVICE,
            START,
            END,
            Column("state", TEXT, "compute, communication, copy (nothing above it runs), or idle", required=True),
            Column("cause", TEXT, "why idle: exactly one cause; null when busy"),
            Column("before", TEXT, "operation that ended last before an idle segment"),
            Column("after", TEXT, "operation that starts first after it"),
        ),
        sort=("process", "device", "start_ns"),
    ),
    Table(
        "member",
        Kind.MINED,
        "operation of a mined sequence, in its order",
        (
            SEQUENCE,
            Column("ordinal", I64, "position in the sequence, from 0", required=True),
            PROCESS,
            DEVICE,
            Column("stream", I64, "stream", required=True),
            START,
            END,
            Column("kind", TEXT, "kernel, copy or fill", required=True),
            Column("symbol", I32, "id of its symbol: equal for equal operations", required=True),
        ),
    ),
)
