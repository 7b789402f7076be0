"""What the miner derives about launches, and about the work that it cannot explain."""

from .columns import DEVICE, END, I32, I64, PROCESS, START, TEXT, Column, Kind, Table

__all__ = ["LAUNCHES"]

STREAM = Column("stream", I64, "stream or queue", required=True)

LAUNCHES = (
    Table(
        "launch_delay",
        Kind.MINED,
        "device operation whose launch is known: what was ahead of it then, and how long it waited",
        (
            PROCESS,
            DEVICE,
            STREAM,
            START,
            END,
            Column("kind", TEXT, "kernel, copy or fill", required=True),
            Column("launch_ns", I64, "start of the host call that launched it", "ns", required=True),
            Column(
                "delay_ns",
                I64,
                "start_ns - launch_ns; negative where the clocks of host and device disagree",
                "ns",
                required=True,
            ),
            Column(
                "place",
                I32,
                "number among the operations that its call launched on the device, by start, from 0: more than one is "
                "the replay of a graph, whose later operations wait for its earlier ones",
                required=True,
            ),
            Column(
                "queue",
                I32,
                "operations on the device that had been launched before it and had not started at its launch",
                required=True,
            ),
            Column("stream_queue", I32, "of these those on its own stream", required=True),
            Column("running", I32, "operations that ran on the device at its launch", required=True),
            Column("call_ns", I64, "time of the host call that launched it, where it was recorded", "ns"),
        ),
        sort=("process", "device", "launch_ns", "start_ns"),
    ),
    Table(
        "remainder",
        Kind.MINED,
        "part of a device's work by what explains it; what nothing explains by operation",
        (
            PROCESS,
            DEVICE,
            Column(
                "part",
                TEXT,
                "iteration (of the level that covers most of its sequence), pattern (a repeated one, outside these), "
                "or of what is left: before, between or after the iterations, no iterations (where there are none), "
                "not ordered (operations in no mined sequence: queued before the recording began, or copies without "
                "launches)",
                required=True,
            ),
            Column("kind", TEXT, "kernel, copy or fill; null where the part is explained"),
            Column("name", TEXT, "the operation: name of the kernel, direction of the copy; null where explained"),
            Column("operations", I64, "operations", required=True),
            Column("time_ns", I64, "their summed time on the device", "ns", required=True),
        ),
        sort=("process", "device", "part"),
    ),
)
