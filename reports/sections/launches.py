"""How long launches wait, and whether the device waits for them."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..charts.delays import delay_by_queue
from ..report import Block, Chart, Column, Section, Text
from ..shown import Ask, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("launches", "Launches", ask, "launches", lambda found: _blocks(found, ask))


def _blocks(found: Finding, ask: Ask) -> tuple[Block, ...]:
    columns = (
        Column("process", "Process", "id"),
        Column("device", "Device", "id"),
        Column("stream", "Stream", "id"),
        Column("launches", "Launches", "count"),
        Column("p50_ns", "Median delay", "ns"),
        Column("p95_ns", "95 %", "ns"),
        Column("mean_queue", "Mean queue", "ratio"),
        Column("p95_queue", "Queue, 95 %", "count"),
        Column("p95_stream_queue", "Own stream, 95 %", "count"),
        Column("idle_share", "While the device idles", "share"),
        Column("call_p50_ns", "Median call", "ns"),
        Column("kernels", "Kernels", "count"),
        Column("short_kernels", "Short ones", "count"),
        Column("below_call", "Shorter than their call", "count"),
        *([Column("early", "Before their call", "count")] if found.rows["early"].sum() else []),
    )
    delays = ask("delay_by_queue")
    drawn: list[Block] = []
    if len(delays.rows):
        drawn.append(
            Chart(
                "Launch delay by queue",
                delay_by_queue(delays.rows.to_dicts()),
                "Delay from launch to start by the operations queued on the device at the launch: bars from the 10th "
                "to the 90th percentile, a line at the median; above a bar the share of the launches.",
                delays.sql,
            )
        )
    by_queue = table(
        "Delay by queue",
        (
            Column("queue_from", "Queued, from", "count"),
            Column("queue_to", "to", "count"),
            Column("launches", "Launches", "count"),
            Column("share", "Share of launches", "share"),
            Column("p10_ns", "10 %", "ns"),
            Column("p50_ns", "Median", "ns"),
            Column("p90_ns", "90 %", "ns"),
        ),
        delays,
    )
    return (*drawn, Text(delays.sentence), by_queue, table("Launches by stream", columns, found))
