"""The tables that the miner derives from the events."""

import pyarrow as pa

from .columns import DEVICE, END, F64, I32, I64, PROCESS, START, TEXT, Column, Kind, Table
from .finding_tables import FINDING_TABLES
from .performance_tables import PERFORMANCE
from .rank_tables import RANK_TABLES

__all__ = ["MINED"]

LEVEL = Column("level", I32, "`level.level`: number of the cadence level within the trace", required=True)
SEQUENCE = Column("sequence", I32, "number of the mined sequence within the trace", required=True)
FIRST = Column("first", I64, "ordinal of its first operation in the mined sequence", required=True)
LAST = Column("last", I64, "ordinal of its last operation", required=True)
DEVICE_TIME = Column("time_ns", I64, "device time summed over its operations", "ns", required=True)
ITERATION = (
    Column("level", I32, "`level.level` of an iteration; null for a stretch"),
    Column("iteration", I32, "`iteration.iteration` within that level; null for a stretch"),
)
"""Which iteration a unit is."""

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
            FIRST,
            LAST,
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
        "iteration_state",
        Kind.MINED,
        "state of a device that an iteration of the main level spends time in; its rows add up to the iteration's time",
        (
            PROCESS,
            DEVICE,
            LEVEL,
            Column("iteration", I32, "`iteration.iteration` within that level", required=True),
            Column("state", TEXT, "`segment.state`", required=True),
            Column("time_ns", I64, "for how long, the wait before the iteration included", "ns", required=True),
        ),
        sort=("process", "device", "iteration"),
    ),
    Table(
        "unit",
        Kind.MINED,
        "iteration, or stretch before, between or after iterations; those of a sequence tile it",
        (
            Column("unit", I32, "number within the trace, from 0, by sequence and first operation", required=True),
            SEQUENCE,
            PROCESS,
            *ITERATION,
            FIRST,
            LAST,
            Column(
                "type",
                I32,
                "type of its content, numbered within the trace; those of a level by frequency",
                required=True,
            ),
            Column(
                "distance",
                I64,
                "edits that make its operations from those that its type agrees on; 0: the same",
                required=True,
            ),
            DEVICE_TIME,
        ),
    ),
    Table(
        "tree",
        Kind.MINED,
        "node of the folded order of units of a sequence, or of the folded content of a type of units",
        (
            Column("node", I32, "number within the trace, from 0; parents before children, in order", required=True),
            Column("parent", I32, "`tree.node` around it; null for a root"),
            SEQUENCE,
            PROCESS,
            Column(
                "level", I32, "`level.level` of a type of iterations; null for a stretch and for the order of units"
            ),
            Column("type", I32, "`unit.type` whose content it describes; null where it is of the order of units"),
            Column("kind", TEXT, "root, loop, symbol (an operation) or unit (an iteration or stretch)", required=True),
            Column("depth", I32, "nodes around it", required=True),
            Column("repeat", I64, "passes one after the other", required=True),
            Column(
                "offset",
                I64,
                "place of its first operation (or unit) in the whole text, in the first pass of every loop around it",
                required=True,
            ),
            Column("length", I64, "operations (or units) in all its passes: repeat * period", required=True),
            Column("period", I64, "operations (or units) in one pass", required=True),
            Column(
                "symbol",
                I32,
                "`member.symbol` of an operation, `unit.type` of a unit: one of several types of its level where these "
                "follow each other at random",
            ),
            Column("label", TEXT, "the operation: name of the kernel, direction of the copy, or fill"),
            Column("name", TEXT, "what to call it"),
            Column("named_by", TEXT, "where the name is from: module, annotation, operator, or kernels"),
            Column("agreement", F64, "share of its operations in spans of that name, where spans named it"),
            Column("count", I64, "passes measured, in all units of the type that are steady", required=True),
            Column("time_ns", I64, "device time of these, summed over their operations", "ns", required=True),
            Column("wait_ns", I64, "time in them in which the unit waited for an operation to start", "ns"),
            Column("mean_ns", I64, "mean device time of one pass, rounded", "ns"),
            Column("std_ns", I64, "its standard deviation, rounded", "ns"),
            Column("min_ns", I64, "the least", "ns"),
            Column("max_ns", I64, "the most", "ns"),
        ),
    ),
    *PERFORMANCE,
    Table(
        "edit",
        Kind.MINED,
        "difference of a unit from what its type agrees on; their `dt_ns` add up to the difference in its time",
        (
            Column("unit", I32, "`unit.unit`", required=True),
            SEQUENCE,
            PROCESS,
            *ITERATION,
            Column("type", I32, "`unit.type`", required=True),
            Column("number", I32, "number within the unit, from 0: its edits in order, then the others", required=True),
            Column(
                "kind",
                TEXT,
                "substitution, insertion or deletion of an operation; slow (the same operation takes many times as "
                "long as usual); time (the same operation: those of a slow iteration that differ most); rest (all "
                "other operations together)",
                required=True,
            ),
            Column("column", I64, "place in the type's content; an insertion stands before it; null for the rest"),
            Column("ordinal", I64, "the operation in the mined sequence; null for a deletion and the rest"),
            Column("expected_symbol", I32, "symbol that the type has there"),
            Column("expected", TEXT, "its name"),
            Column("symbol", I32, "symbol that the unit has there"),
            Column("label", TEXT, "its name"),
            Column("time_ns", I64, "duration of the operation of the unit", "ns"),
            Column("usual_ns", I64, "median duration of the operation of the type, in steady units", "ns"),
            Column(
                "dt_ns",
                I64,
                "time by which it makes the unit longer than the median of its type: what the operation adds, with "
                "the wait before it, less the median of that column",
                "ns",
                required=True,
            ),
            Column("wait_dt_ns", I64, "the part of it that is waiting", "ns", required=True),
        ),
    ),
    Table(
        "pattern",
        Kind.MINED,
        "repeated sequence of operations",
        (
            Column("pattern", I32, "number within the trace, from 0, by marginal time", required=True),
            SEQUENCE,
            PROCESS,
            Column("length", I32, "operations, runs of equal ones counted as one", required=True),
            Column("count", I64, "non-overlapping occurrences", required=True),
            Column("count_per_iteration", F64, "those within iterations / iterations; null where there are none"),
            Column("time_ns", I64, "device time of all occurrences, summed over operations", "ns", required=True),
            Column(
                "marginal_time_ns",
                I64,
                "of that the time of occurrences that share no operation with what earlier patterns account for: these "
                "times can be added up over patterns",
                "ns",
            ),
            Column("idle_ns", I64, "time inside occurrences when none of its operations runs", "ns", required=True),
            Column(
                "launch_overhead_ns",
                I64,
                "host time of the calls that launched its operations, a call for several counted once; null where one "
                "of these calls is not known",
                "ns",
            ),
            Column("elementwise", I32, "elementwise kernels in the example occurrence, by `kernel.category`"),
            Column(
                "saving_ns",
                I64,
                "bound on what graph capture and fusion could save: `idle_ns`, since a graph launched as one still "
                "runs every operation, plus the time of neighbouring elementwise kernels on one stream without the "
                "longest of them, since one fused kernel is taken to last at least as long as that",
                "ns",
            ),
            Column("example_first", I64, "ordinal of the first operation of an occurrence of median time"),
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
            FIRST,
            LAST,
            Column("start_ns", I64, "earliest start", "ns", required=True),
            Column("end_ns", I64, "latest end", "ns", required=True),
            DEVICE_TIME,
        ),
    ),
    Table(
        "pattern_diff",
        Kind.MINED,
        "difference between the iterations of the trace and those of another, its base",
        (
            Column("base", TEXT, "`trace_id` of the trace it is compared with", required=True),
            Column("pattern", I32, "number within the comparison, from 0", required=True),
            Column(
                "kind",
                TEXT,
                "total (the time of an iteration), gaps (of it what no operation accounts for; negative where several "
                "run at once), operation; operations and gaps add up to the total; sequence: one or several operations "
                "in a row whose number changed by more than half, runs of equal ones counted as one; their time is "
                "part of that of the operations",
                required=True,
            ),
            Column(
                "change",
                TEXT,
                "appeared, vanished, more, fewer, slower, faster, same, by the larger part of the difference; longer, "
                "shorter, same for total and gaps",
                required=True,
            ),
            Column(
                "base_iterations", I64, "iterations of the base; 1 for each process compared as a whole", required=True
            ),
            Column("iterations", I64, "iterations of the trace", required=True),
            Column("base_count", I64, "executions or occurrences in the base", required=True),
            Column("count", I64, "executions or occurrences in the trace", required=True),
            Column("base_time_ns", I64, "their time in the base", "ns", required=True),
            Column("time_ns", I64, "their time in the trace", "ns", required=True),
            Column("base_count_per_iteration", F64, "base_count / base_iterations", required=True),
            Column("count_per_iteration", F64, "count / iterations", required=True),
            Column("base_time_per_iteration_ns", I64, "base_time_ns / base_iterations, rounded", "ns", required=True),
            Column("time_per_iteration_ns", I64, "time_ns / iterations, rounded", "ns", required=True),
            Column(
                "delta_ns", I64, "what an iteration takes longer because of it, rounded to add up", "ns", required=True
            ),
            Column("calls_ns", I64, "of that for being called more or less often, at the base's mean time", "ns"),
            Column("speed_ns", I64, "of that for being slower or faster, at the trace's number of calls", "ns"),
            Column("symbols", pa.list_(TEXT), "the operations: name, or copy direction, or fill"),
        ),
    ),
    Table(
        "rank_iteration",
        Kind.MINED,
        "iteration beside the one that another rank, the base, went through at the same time",
        (
            Column("base", TEXT, "`trace_id` of the trace with the other rank", required=True),
            Column("base_process", I64, "process of the base", required=True),
            Column("base_iteration", I32, "`iteration.iteration` of it, at its main level", required=True),
            PROCESS,
            Column("iteration", I32, "`iteration.iteration`, at the main level", required=True),
            Column("base_time_ns", I64, "time of the base's iteration", "ns", required=True),
            Column("time_ns", I64, "time of the iteration, from `from_ns` to `end_ns`", "ns", required=True),
            Column("base_communication_ns", I64, "of it in communication alone (`segment.state`)", "ns", required=True),
            Column("communication_ns", I64, "of it in communication alone", "ns", required=True),
            Column("late_ns", I64, "time outside communication less that of the base", "ns", required=True),
            Column(
                "slower",
                TEXT,
                "base or trace: whose median time outside communication is longer, by more than 3 % and more than "
                "chance, so that the other waits; null: neither",
            ),
        ),
    ),
    *RANK_TABLES,
    *FINDING_TABLES,
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
