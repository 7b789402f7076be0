"""Which pages of managed memory go to a device, back to the host, and to the device again?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..managed_pages import BLOCK_BYTES
from ..managed_sums import wanted
from ..words import duration, plural, size

NEEDS = ("uvm_events",)

SQL = f"""
select
    process,
    device,
    any_value(range) as range,
    address // {BLOCK_BYTES} * {BLOCK_BYTES} as block,
    count(*) filter (kind = 'HtoD') as to_device_moves,
    count(*) filter (kind = 'DtoH') as to_host_moves,
    count(*) filter (returned_bytes > 0) as returns,
    coalesce(sum(again_bytes), 0)::bigint as again_bytes,
    sum(returned_bytes)::bigint as returned_bytes,
    sum(end_ns - start_ns) filter (returned_bytes > 0)::bigint as time_ns,
    min(start_ns) filter (returned_bytes > 0) as first_ns,
    max(start_ns) filter (returned_bytes > 0) as last_ns
from uvm_event
where kind in ('HtoD', 'DtoH') and address is not null
group by process, device, block
having sum(again_bytes) > 0 and max(returned_bytes) filter (kind = 'HtoD') > 0
order by again_bytes desc, process, device, block
"""


def find(trace: Trace) -> Finding:
    """Blocks of 2 MiB with pages that came back to a device after they had been on it and on the host.

    `returns` counts the moves, either way, of pages whose last move was the other way. A move counts to the block of
    its first address.
    """
    wanted(trace, "HtoD", "DtoH")
    rows = trace.sql(SQL)
    if not len(rows):
        said = "No page comes back to a device that had it before, by way of the host."
        return Finding("uvm_round_trips", said, rows, SQL.strip())
    sentence = (
        f"{plural(len(rows), 'block')} of 2 MiB {'goes' if len(rows) == 1 else 'go'} back and forth: "
        f"{size(total(rows, 'again_bytes'))} move to a device that had had them, and moves back take "
        f"{duration(total(rows, 'time_ns'))} both ways."
    )
    return Finding("uvm_round_trips", sentence, rows, SQL.strip())
