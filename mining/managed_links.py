"""How fast pages move: what a prefetch can be expected to take."""

from collections.abc import Mapping

from ..store.trace import Trace

__all__ = ["LINKS", "link"]

LINKS = """
select
    process,
    device,
    kind,
    count(*) as moves,
    sum(bytes)::bigint as bytes,
    sum(end_ns - start_ns)::bigint as time_ns,
    sum(bytes)::double * 1e9 / sum(end_ns - start_ns) as bytes_per_s,
    any_value(largest_bytes) as largest_bytes,
    count(*) filter (2 * bytes > largest_bytes) as large_moves,
    sum(bytes) filter (2 * bytes > largest_bytes)::double * 1e9
        / sum(end_ns - start_ns) filter (2 * bytes > largest_bytes) as large_bytes_per_s
from (
    select *, max(bytes) over (partition by process, device, kind) as largest_bytes
    from uvm_event
    where kind in ('HtoD', 'DtoH', 'DtoD') and end_ns > start_ns and bytes > 0
)
group by process, device, kind
order by process, device, kind
"""
"""SQL: the throughput of each direction over all moves, and over those more than half as large as the largest.

A prefetch moves 2 MiB at once where it can, so the large moves are nearest to it.
"""


def link(trace: Trace) -> Mapping[tuple[int, int | None, str], float]:
    """Bytes a second of the large moves, by process, device and direction."""
    rows = trace.sql(LINKS).to_dicts()
    return {(row["process"], row["device"], row["kind"]): row["large_bytes_per_s"] for row in rows}
