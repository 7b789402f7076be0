"""How device memory is used: what is allocated and when, what holds it, how long it lives."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..charts.histogram import size_histogram
from ..charts.memory import usage
from ..report import Block, Chart, Column, Section, Text
from ..shown import Ask, section_of, table

__all__ = ["alive", "cold", "footprint", "holders", "sizes"]

GRANULARITY = Column("granularity", "Of")
DEVICE = (Column("process", "Process", "id"), Column("device", "Device", "id"), GRANULARITY)
WHO = (
    Column("phase", "Phase"),
    Column("module", "Module"),
    Column("operator", "Operator"),
    Column("owner", "Owner"),
)
MOST_DEVICES = 4
"""Devices whose curves are drawn."""
AXES = {"event": ("Number of the change", "count"), "time": ("Time from the first change", "ns")}


def footprint(trace: Trace, ask: Ask) -> Section:
    """What is allocated, over changes and over time, in stages."""
    return section_of(
        "workload_footprint", "Memory footprint", ask, "memory_footprint", lambda found: _footprint(found, ask)
    )


def holders(trace: Trace, ask: Ask) -> Section:
    """What holds the peak."""

    def blocks(found: Finding) -> tuple[Block, ...]:
        columns = (
            *DEVICE,
            Column("told", "Known from"),
            *_known(found),
            Column("allocations", "Allocations", "count"),
            Column("bytes", "At the peak", "bytes"),
            Column("share", "Share", "share"),
            Column("kept_bytes", "Of it alive at the end", "bytes"),
            *_stack(found),
        )
        return (table("What is allocated at the peak; the rows of a device add up to it", columns, found),)

    return section_of("workload_holders", "What holds the peak", ask, "memory_holders", blocks)


def sizes(trace: Trace, ask: Ask) -> Section:
    """Allocations by size."""

    def blocks(found: Finding) -> tuple[Block, ...]:
        columns = (
            GRANULARITY,
            Column("from_bytes", "Size from", "bytes"),
            Column("allocations", "Allocations", "count"),
            Column("bytes", "In sum", "bytes"),
            Column("sizes", "Sizes", "count"),
            Column("places", "Addresses", "count"),
            Column("reused", "At a used address", "count"),
            Column("median_life_ns", "Median life", "ns"),
            Column("longest_life_ns", "Longest life", "ns"),
            Column("released", "Born and released", "count"),
        )
        own = found.rows.filter(found.rows["granularity"] == found.rows["granularity"].max())
        picture = size_histogram(
            own.select("from_bytes", "bytes", "allocations").rows(),
            x="Size of the allocation, from",
            unit="bytes",
            bars="bytes",
            ticks="allocations",
        )
        shows = "Bytes (bars) and allocations (lines) by size, up to twice the size each."
        return (
            Chart(f"Allocations of {own['granularity'][0]}s by size", picture, shows, found.sql),
            table("Allocations by size, up to twice the size each", columns, found),
        )

    return section_of("workload_sizes", "Allocations and lifetimes", ask, "memory_sizes", blocks)


def alive(trace: Trace, ask: Ask) -> Section:
    """What is alive at the end."""

    def blocks(found: Finding) -> tuple[Block, ...]:
        columns = (
            GRANULARITY,
            Column("verdict", "What is to say"),
            *_known(found),
            Column("each_bytes", "Size", "bytes"),
            Column("allocations", "Allocations", "count"),
            Column("bytes", "In sum", "bytes"),
            Column("iterations", "Born in iterations", "count"),
            Column("all_iterations", "Of", "count"),
            *_stack(found),
        )
        return (table("Allocated in the recording and alive at its end", columns, found),)

    return section_of("workload_alive", "Alive at the end", ask, "memory_alive", blocks)


def cold(trace: Trace, ask: Ask) -> Section:
    """What to offload."""

    def blocks(found: Finding) -> tuple[Block, ...]:
        if "cold" in found.rows.columns:
            columns = (
                Column("process", "Process", "id"),
                GRANULARITY,
                Column("address", "Address"),
                Column("object_id", "Id", "id"),
                Column("bytes", "Size", "bytes"),
                Column("uses", "Launches that use it", "count"),
                Column("first_launch", "First use", "id"),
                Column("last_launch", "Last use", "id"),
                Column("idle_launches", "Idle between", "count"),
                Column("longest_gap", "Longest gap", "count"),
                Column("after_last_use", "After the last use", "count"),
            )
            return (table("Used objects by bytes times launches without use", columns, found),)
        columns = (
            *DEVICE,
            *_known(found),
            Column("bytes", "Size", "bytes"),
            Column("allocations", "Allocations", "count"),
            Column("longest_ns", "Longest life", "ns"),
            *_stack(found),
        )
        return (table("Allocations by bytes times lifetime", columns, found),)

    return section_of("workload_cold", "Candidates for offloading", ask, "memory_cold", blocks)


def _footprint(found: Finding, ask: Ask) -> tuple[Block, ...]:
    columns = (
        *DEVICE,
        Column("source", "Known from"),
        Column("changes", "Changes", "count"),
        Column("peak_bytes", "Peak", "bytes"),
        Column("peak_event", "At change", "id"),
        Column("launch_mean_bytes", "Mean over launches", "bytes"),
        Column("time_mean_bytes", "Mean over time", "bytes"),
        Column("launches", "Launches with a known footprint", "count"),
        Column("all_launches", "Of launches", "count"),
    )
    stages = ask("memory_stages")
    of_stage = (
        *DEVICE,
        Column("stage", "Stage"),
        Column("first_event", "First change", "id"),
        Column("last_event", "Last change", "id"),
        Column("share", "Share of the changes", "share"),
        Column("least_bytes", "Least", "bytes"),
        Column("mean_bytes", "Mean", "bytes"),
        Column("most_bytes", "Most", "bytes"),
    )
    return (
        table("Allocated device memory: peak and means", columns, found),
        *_curves(ask),
        Text(stages.sentence),
        table("Stages of the curve", of_stage, stages),
    )


def _curves(ask: Ask) -> list[Chart]:
    """The curves of the four devices with the highest peaks: of tensors where they are known, by change and by time."""
    found = ask("memory_usage")
    rows = found.rows.filter(found.rows["granularity"] == found.rows["granularity"].max())
    parts = rows.partition_by("process", "device", maintain_order=True)
    parts.sort(key=lambda part: -int(part["high_bytes"].max()))  # pyright: ignore[reportArgumentType] - bytes
    drawn: list[Chart] = []
    for part in parts[:MOST_DEVICES]:
        process, device, granularity = part.row(0)[:3]
        of = f", process {process}, device {device}" if len(parts) > 1 else ""
        for axis, (title, unit) in AXES.items():
            own = part.filter(part["axis"] == axis)
            if len(own) > 1:
                shows = (
                    f"Bytes of {granularity}s allocated: the least and the most in each stretch, its last level up to "
                    f"the next one, by stage; the triangle is the peak. {' '.join(found.notes)}"
                )
                picture = usage(own.to_dicts(), x=title, unit_x=unit)
                drawn.append(Chart(f"Memory of {granularity}s by {title.lower()}{of}", picture, shows, found.sql))
    return drawn


def _known(found: Finding) -> tuple[Column, ...]:
    """The columns on who asked for memory, those of which something is known."""
    return tuple(column for column in WHO if found.rows[column.key].null_count() < len(found.rows))


def _stack(found: Finding) -> tuple[Column, ...]:
    return (Column("site", "Asked for at"),) if found.rows["site"].null_count() < len(found.rows) else ()
