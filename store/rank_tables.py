"""The tables that say how the ranks of a run went together, kept with each of its traces."""

from .columns import F64, I32, I64, TEXT, Column, Kind, Table

__all__ = ["RANK_TABLES"]

RUN = Column("run", TEXT, "key of the set of ranks that were looked at together", required=True)
LABEL = Column(
    "label", TEXT, "the rank as the report names it, different for each; ? where it is not known", required=True
)
PROCESS = Column("process", I64, "its process; null where the trace tells of none with device work")

RANK_TABLES = (
    Table(
        "run_rank",
        Kind.MINED,
        "rank of a run: its time by state, its waits for the others, its clock beside theirs",
        (
            RUN,
            Column("place", I32, "its place in the order of the ranks, from 0", required=True),
            LABEL,
            PROCESS,
            Column("rank", I32, "its rank; null where neither the trace nor the name of the file tells it"),
            Column("rank_from", TEXT, "where the rank is from: file, name (of the file) or order"),
            Column("span_ns", I64, "first to last device work of its devices, summed over them", "ns"),
            Column("compute_ns", I64, "of it in compute", "ns"),
            Column("communication_ns", I64, "of it in communication alone", "ns"),
            Column("copy_ns", I64, "of it in copies alone", "ns"),
            Column("idle_ns", I64, "of it idle; the four add up to the span", "ns"),
            Column("collectives", I64, "communication kernels", required=True),
            Column("matched", I64, "of these matched with the same collective on other ranks", required=True),
            Column("together", I64, "of these ending with those of the other ranks, on aligned clocks", required=True),
            Column(
                "wait_ns",
                I64,
                "time in those that the rank waited for a later one: each as far as it lasts longer than on the rank "
                "where it is shortest; null where none was matched",
                "ns",
            ),
            Column("clock", TEXT, "reference, as recorded (agrees with the reference) or aligned; null: not known"),
            Column("clock_to", TEXT, "`label` of the rank its clock was compared with; null for the reference"),
            Column("offset_ns", I64, "how far its clock is ahead of the reference, in the middle of the run", "ns"),
            Column("spread_ns", I64, "robust standard deviation of the differences of ends about the offset", "ns"),
            Column(
                "uncertainty_ns",
                I64,
                "bound on the offset's error: the collectives that agree cannot end further apart",
                "ns",
            ),
            Column(
                "drift_ppm", F64, "how much faster its clock runs than the reference; 0: no more than is seen", "1e-6"
            ),
        ),
    ),
    Table(
        "run_iteration",
        Kind.MINED,
        "iteration of a rank at its main level, beside those of the other ranks",
        (
            RUN,
            Column("place", I32, "`run_rank.place`", required=True),
            LABEL,
            PROCESS,
            Column("iteration", I32, "`iteration.iteration`, at the main level", required=True),
            Column("step", I32, "number that the iterations gone through together share; null: no other rank's"),
            Column("from_ns", I64, "where its time begins, on the clock of its trace", "ns", required=True),
            Column("end_ns", I64, "where it ends", "ns", required=True),
            Column("time_ns", I64, "its time: `end_ns - from_ns`", "ns", required=True),
            Column("compute_ns", I64, "of it in compute; null where its device is not one", "ns"),
            Column("communication_ns", I64, "of it in communication alone", "ns"),
            Column("copy_ns", I64, "of it in copies alone", "ns"),
            Column("idle_ns", I64, "of it idle; the four add up to its time", "ns"),
            Column(
                "late_ns",
                I64,
                "time outside communication less the median of the other ranks' in that step; null without others",
                "ns",
            ),
            Column("others_ns", I64, "that median", "ns"),
            Column("mark", TEXT, "late: more than the others by 5 % and by 5 robust standard deviations; else null"),
        ),
    ),
    Table(
        "run_collective",
        Kind.MINED,
        "communication kernel of a rank, beside the same collective on other ranks",
        (
            RUN,
            Column("place", I32, "`run_rank.place`", required=True),
            LABEL,
            PROCESS,
            Column("meeting", I64, "number that the kernels of one collective share, on all ranks", required=True),
            Column(
                "kind", TEXT, "allreduce, allgather, ...: as the source says, else by the kernel's name", required=True
            ),
            Column("group", TEXT, "process group, where the source says it"),
            Column("start_ns", I64, "start, on the clock of its trace", "ns", required=True),
            Column("end_ns", I64, "end", "ns", required=True),
            Column(
                "wait_ns", I64, "how much longer it lasts than on the rank where it is shortest", "ns", required=True
            ),
            Column("late_ns", I64, "how long after the first rank it started, on aligned clocks", "ns", required=True),
        ),
    ),
)
"""Their rows are of the last run that the trace was looked at in."""
