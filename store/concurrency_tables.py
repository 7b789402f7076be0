"""The tables that the miner derives of streams, of what runs on a device at once, and of calls while it idles."""

from .columns import DEVICE, END, I32, I64, PROCESS, START, TEXT, Column, Kind, Table

__all__ = ["CONCURRENCY"]

CONCURRENCY = (
    Table(
        "device_time",
        Kind.MINED,
        "combination of kinds of work that run on a device at once, and number of streams that are busy; those of a "
        "device add up to its span",
        (
            PROCESS,
            DEVICE,
            Column("compute", I32, "1 where kernels other than communication and copies run, else 0", required=True),
            Column("communication", I32, "1 where communication runs", required=True),
            Column("copy", I32, "1 where copies, fills, or kernels that do their work run", required=True),
            Column("streams", I32, "streams that are busy", required=True),
            Column("time_ns", I64, "for how long just that is the case", "ns", required=True),
        ),
        sort=("process", "device"),
    ),
    Table(
        "stream_time",
        Kind.MINED,
        "stream of a device",
        (
            PROCESS,
            DEVICE,
            Column("stream", I64, "stream or queue", required=True),
            START,
            END,
            Column("operations", I64, "operations whose times are to be trusted", required=True),
            Column("computing", I64, "of these kernels other than communication and copies", required=True),
            Column("communicating", I64, "of these communication", required=True),
            Column("copying", I64, "of these copies, fills, and kernels that do their work", required=True),
            Column("busy_ns", I64, "time in which one of them runs at least", "ns", required=True),
            Column("gaps", I64, "gaps between operations in which none of the stream runs", required=True),
            Column("gap_ns", I64, "their sum; with `busy_ns` it is the time from start to end", "ns", required=True),
            Column("longest_gap_ns", I64, "the longest of them; 0 without any", "ns", required=True),
            Column("longest_gap_at_ns", I64, "when it begins; null without any", "ns"),
        ),
        sort=("process", "device", "stream"),
    ),
    Table(
        "idle_call",
        Kind.MINED,
        "name of host calls during which a device of their process idles",
        (
            PROCESS,
            Column("name", TEXT, "name of the call", required=True),
            Column("calls", I64, "calls under way while a device idles", required=True),
            Column(
                "idle_ns",
                I64,
                "idle time of the devices in which at least one of them is under way",
                "ns",
                required=True,
            ),
        ),
    ),
)
