"""How long do allocations of which size live, and which of them stand at the peak?"""

from typing import TYPE_CHECKING

from ...store.trace import Trace
from ..evidence_levels import memory_missing, told
from ..finding import Finding, total
from ..words import duration, percent, size

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("memory_use",)

SQL = """
with life as (
    select
        granularity,
        bytes,
        at_peak,
        if(fate = 'released', greatest(death_ns - birth_ns, 0), null) as life_ns,
        if(bytes > 0, (2::hugeint ** least(floor(log2(bytes)), 62))::bigint, 0) as from_bytes,
        if(life_ns > 0, (10::hugeint ** floor(log10(life_ns)))::bigint, life_ns) as from_ns
    from memory_life
),
seen as (
    select
        granularity,
        from_ns,
        from_bytes,
        count(*) as allocations,
        sum(bytes)::bigint as bytes,
        sum(at_peak)::bigint as peak_allocations,
        coalesce(sum(bytes) filter (at_peak = 1), 0)::bigint as peak_bytes
    from life
    group by granularity, from_ns, from_bytes
),
peak as (
    select granularity, sum(bytes)::bigint as bytes
    from (
        select granularity, max(bytes) as bytes
        from memory_curve
        where source != 'launches'
        group by process, device, granularity
    )
    group by granularity
)
select * from seen
union all
select granularity, null, null, null, null, null, peak.bytes - coalesce(sum(peak_bytes), 0)::bigint
from peak
left join seen using (granularity)
group by granularity, peak.bytes
having peak.bytes > coalesce(sum(peak_bytes), 0)
order by granularity desc, from_ns nulls last, from_bytes nulls last
""".strip()
BEYOND = (
    "Lifetimes of what was allocated before the recording, or is not released in it, are not known: longer than it."
)


def find(trace: Trace) -> Finding:
    """Allocations by lifetime (powers of ten) and size (powers of two), and those of them at the peak of their device.

    `from_ns` is null where birth or death is not in the recording; `from_bytes` too for what is in the total at the
    peak and in no allocation of the recording. Of a source without times `NotCollected`.
    """
    if not (trace.has("memory_life") and trace.has("memory_curve")) or trace.facts.clock == "ordinal":
        raise memory_missing(trace, "allocations of device memory, with times", timed=True)
    rows = trace.sql(SQL)
    return Finding("memory_lives", _sentence(rows), rows, SQL, (told("C"), BEYOND))


def _sentence(rows: "pl.DataFrame") -> str:
    """Of what is at the peak, how much lives beyond the recording, and how long the rest mostly lives."""
    own = rows.filter(rows["granularity"] == rows["granularity"][0])
    whole = total(own, "peak_bytes")
    if not whole:
        return "Nothing is known to be allocated at the peak."
    beyond = total(own.filter(own["from_ns"].is_null()), "peak_bytes")
    sentence = f"Of {size(whole)} of {own['granularity'][0]}s at the peak {percent(beyond, whole)} "
    sentence += "lives beyond the recording"
    ended = own.filter(own["from_ns"].is_not_null()).select("from_ns", "peak_bytes").group_by("from_ns").sum()
    top = ended.sort("peak_bytes", "from_ns", descending=[True, False]).head(1)
    if len(top) and top["peak_bytes"][0]:
        least = top["from_ns"][0]
        span = f"{duration(least)} to {duration(10 * least)}" if least else "no time"
        sentence += f", {percent(top['peak_bytes'][0], whole)} for {span}"
    return f"{sentence}."
