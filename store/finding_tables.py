"""The tables that the diagnoses of a trace are kept in."""

from .columns import F64, I32, I64, PROCESS, TEXT, Column, Kind, Table

__all__ = ["FINDING_TABLES"]

DEVICE = Column("device", I32, "device ordinal as the process numbers it", required=True)
PER_ITERATION = Column(
    "saves_per_iteration_ns", I64, "the part of it within main iterations, for each of them; null without any", "ns"
)

FINDING_TABLES = (
    Table(
        "finding",
        Kind.MINED,
        "cause of lost time, told of the device that loses most by it",
        (
            Column("finding", I32, "number within the trace, from 0, by what it could save", required=True),
            Column("name", TEXT, "diagnosis", required=True),
            PROCESS,
            DEVICE,
            Column("sentence", TEXT, "what was found, in words", required=True),
            Column(
                "saves_ns",
                I64,
                "the most that the device's span could shrink by without it; several overlap: they do not add up",
                "ns",
                required=True,
            ),
            PER_ITERATION,
            Column("span_ns", I64, "from the device's first work to its last", "ns", required=True),
            Column("bound", TEXT, "how `saves_ns` is reckoned, in words", required=True),
            Column("advice", TEXT, "what to try", required=True),
            Column("sql", TEXT, "gives the rows of `evidence` from the events", required=True),
        ),
    ),
    Table(
        "evidence",
        Kind.MINED,
        "part of what a finding rests on, on any device",
        (
            Column("finding", I32, "`finding.finding`", required=True),
            Column("number", I32, "number within the finding, from 0, the most saving first", required=True),
            PROCESS,
            DEVICE,
            Column("what", TEXT, "operation, call, span or iteration that it is about"),
            Column("detail", TEXT, "more about it"),
            Column("count", I64, "how often", required=True),
            Column("time_ns", I64, "time that it takes", "ns", required=True),
            Column(
                "saves_ns", I64, "of `finding.saves_ns`, where the device is that of the finding", "ns", required=True
            ),
            PER_ITERATION,
            Column("at_ns", I64, "where the costliest begins", "ns", required=True),
        ),
    ),
    Table(
        "label",
        Kind.MINED,
        "stretch of a usual iteration that a rule about frameworks names; nothing else depends on it",
        (
            PROCESS,
            Column("level", I32, "`level.level`, the main one of the process", required=True),
            Column("iteration", I32, "`iteration.iteration`: the steady one nearest the median time", required=True),
            Column("rule", TEXT, "name of the rule in `mining/rules.toml`", required=True),
            Column("label", TEXT, "what it calls the stretch", required=True),
            Column("first", I64, "its first operation within the iteration, from 0", required=True),
            Column("last", I64, "its last operation", required=True),
            Column("operations", I64, "operations in it", required=True),
            Column("start_ns", I64, "earliest start of these", "ns", required=True),
            Column("time_ns", I64, "their summed duration", "ns", required=True),
            Column("share", F64, "of the summed duration of the iteration's operations", required=True),
            Column("sequence", TEXT, "as usual or unusual: whether it comes after what the rule says; null: no rule"),
        ),
    ),
    Table(
        "setup",
        Kind.MINED,
        "set-up that was measured, the trace's own or that of another, its base",
        (
            Column("base", TEXT, "`trace_id` of the trace it is compared with", required=True),
            Column("place", I32, "0: the base, 1: the trace itself", required=True),
            Column("name", TEXT, "what it is called: the name of the trace's file", required=True),
            Column("device", TEXT, "names of the devices used", required=True),
            Column("processes", I64, "processes with iterations", required=True),
            Column("iterations", I64, "steady iterations of the slowest process", required=True),
            Column("median_ns", I64, "their median time", "ns", required=True),
            Column("mad_ns", I64, "the median absolute deviation of their time", "ns", required=True),
            Column(
                "error_ns", I64, "standard error of the median: 1.2533 * 1.4826 * mad_ns / sqrt(n)", "ns", required=True
            ),
            Column("operations", I64, "operations in an iteration, median", required=True),
        ),
    ),
)
