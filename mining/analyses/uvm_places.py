"""When do faults and moves of managed memory fall on which addresses?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..managed_pages import BLOCK_BYTES
from ..managed_sums import recorded, sums
from ..words import plural, size

NEEDS = ("uvm_events",)

BANDS, BINS = 24, 60
"""At most so many bands of addresses and of time: what a picture can show."""

LEFT_OUT = {
    "gpu_fault_pages",
    "to_device_moves",
    "to_host_moves",
    "again_bytes",
    "thrashes",
    "throttles",
    "remote_maps",
}
"""Sums that no picture of places shows."""

SQL = f"""
with block as (
    select *, address // {BLOCK_BYTES} as block
    from uvm_event
    where address is not null and kind in ('gpu_fault', 'cpu_fault', 'HtoD', 'DtoH')
),
ranked as (
    select
        *,
        dense_rank() over (order by process, block) - 1 as rank,
        min(start_ns) over () as base_ns,
        max(start_ns) over () - min(start_ns) over () + 1 as span_ns
    from block
),
placed as (
    select
        *,
        rank * least({BANDS}, max(rank) over () + 1) // (max(rank) over () + 1) as band,
        (start_ns - base_ns) * {BINS} // span_ns as bin
    from ranked
)
select
    band,
    any_value(first_address) as first_address,
    any_value(last_address) as last_address,
    any_value(blocks) as blocks,
    bin,
    any_value(base_ns) as base_ns,
    any_value(bin * span_ns // {BINS}) as from_ns,
    any_value((bin + 1) * span_ns // {BINS}) as to_ns,
    %s
from placed
join (
    select
        band,
        min(block) * {BLOCK_BYTES} as first_address,
        (max(block) + 1) * {BLOCK_BYTES} - 1 as last_address,
        count(distinct (process, block)) as blocks
    from placed
    group by band
) as whole using (band)
group by band, bin
order by band, bin
"""


def find(trace: Trace) -> Finding:
    """Faults and moves by bands of addresses (blocks of 2 MiB with events, neighbours together) and of time.

    Each event counts once, to the block of its first address and to the moment of its start. Times count from the
    first of them, which is at `base_ns`.
    """
    sql = (SQL % sums(recorded(trace), but=LEFT_OUT)).strip()
    rows = trace.sql(sql)
    if not len(rows):
        return Finding("uvm_places", "No fault or move of managed memory has an address.", rows, sql)
    blocks = total(rows.unique("band"), "blocks")
    faults = total(rows, "gpu_faults") + total(rows, "cpu_faults")
    moved = total(rows, "to_device_bytes") + total(rows, "to_host_bytes")
    what = [plural(faults, "fault")] * bool(faults) + [f"moves of {size(moved)}"] * bool(moved)
    said = f"{' and '.join(what) or 'moves of unknown size'}, on {plural(blocks, 'block')} of 2 MiB."
    return Finding("uvm_places", f"{said[0].upper()}{said[1:]}", rows, sql)
