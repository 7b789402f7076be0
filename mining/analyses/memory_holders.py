"""What holds the memory at the peak?"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...store.trace import Trace
from ..call_site import WHO
from ..evidence_levels import memory_missing, told
from ..finding import Finding, total
from ..words import percent, plural, size

NEEDS = ("memory_use",)

UNKNOWN = {
    "seen in the recording": "what was allocated without a known origin",
    "older than the recording": "what was allocated before the recording",
    "in no allocation of the recording": "what was allocated before the recording",
}

OLDER = ("older than the recording", "in no allocation of the recording")

SQL = f"""
with peak as (
    select process, device, granularity, max(bytes) as peak_bytes
    from memory_curve
    where source != 'launches'
    group by all
),
held as (
    select
        process,
        device,
        granularity,
        {WHO},
        count(*) as allocations,
        sum(bytes)::bigint as bytes,
        (sum(bytes) filter (fate = 'alive at the end' or fate = 'kept'))::bigint as kept_bytes,
        if(fate in ('older', 'kept'), 'older than the recording', 'seen in the recording') as told
    from memory_life
    where at_peak = 1
    group by all
),
rest as (
    select
        peak.process,
        peak.device,
        peak.granularity,
        peak_bytes - coalesce(sum(held.bytes), 0)::bigint as bytes
    from peak
    left join held
        on held.process = peak.process
        and held.granularity = peak.granularity
        and held.device is not distinct from peak.device
    group by peak.process, peak.device, peak.granularity, peak_bytes
),
every as (
    select * from held
    union all by name
    select process, device, granularity, bytes, 'in no allocation of the recording' as told
    from rest
    where bytes != 0
)
select *, bytes / nullif(sum(bytes) over (partition by process, device, granularity), 0) as share
from every
order by process, device, granularity desc, bytes desc, told, phase, module, operator, owner, stack
"""


def find(trace: Trace) -> Finding:
    """Allocations alive when most is allocated, by who asked for them; rows of a device add up to its peak.

    What the allocator's total has and no allocation of the recording, is a row of its own: older allocations.
    """
    if not trace.has("memory_curve") or not trace.has("memory_life"):
        raise memory_missing(trace, "allocations of device memory")
    rows = trace.sql(SQL.strip())
    if not len(rows):
        return Finding(
            "memory_holders", "Nothing is known to be allocated at the peak.", rows, SQL.strip(), (told("C"),)
        )
    first = rows.filter(rows["granularity"] == rows["granularity"][0])
    top, whole = first.row(0, named=True), total(first, "bytes")
    rest, said = first.to_dicts(), list[str]()
    if not _who(top):
        alike = [row for row in rest if row["told"] in OLDER] if top["told"] in OLDER else [top]
        rest = [row for row in rest if row not in alike]
        said.append(_holds(UNKNOWN[top["told"]], alike, whole))
    known = next(filter(_who, rest), None)
    if known is not None:
        said.append(_holds(_who(known), [known], whole))
    sentence = f"Of {size(whole)} of {top['granularity']}s at the peak, {'; '.join(said)}."
    return Finding("memory_holders", sentence, rows, SQL.strip(), (told("C"),))


def _who(row: Mapping[str, Any]) -> str | None:
    """Who asked for it, as far as that is known."""
    return row["owner"] or row["module"] or row["operator"] or row["site"]


def _holds(who: str | None, rows: Sequence[Mapping[str, Any]], whole: int) -> str:
    allocations = sum(row["allocations"] or 0 for row in rows)
    held = f"{who} holds {percent(sum(row['bytes'] for row in rows), whole)}"
    return f"{held} in {plural(allocations, 'allocation')}" if allocations else held
