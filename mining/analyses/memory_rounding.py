"""How much more do blocks take up than was asked for, and how much is reserved for them, when the recording ends?"""

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..evidence_levels import told
from ..finding import Finding, total
from ..words import size

NEEDS = ()

SQL = """
select
    process,
    device,
    count(*) filter (kind = 'tensor') as tensors,
    coalesce(sum(bytes) filter (kind = 'tensor'), 0)::bigint as asked_bytes,
    coalesce(sum(coalesce((args ->> 'block_size')::bigint, bytes)) filter (kind = 'tensor'), 0)::bigint as block_bytes,
    (sum(bytes) filter (kind = 'pool'))::bigint as reserved_bytes
from allocation
where death_ns is null and kind in ('tensor', 'pool') and device is not null
group by process, device
order by process, device
""".strip()


def find(trace: Trace) -> Finding:
    """By device what is alive when a memory snapshot is taken: sizes asked for, of the blocks, of the segments.

    Only the state at the end tells both sizes of a block: its history has the sizes asked for. Of other traces
    `NotCollected`.
    """
    if trace.facts.format != "memory_snapshot" or not trace.has("allocation"):
        raise NotCollected("sizes asked for beside those of the blocks given out", "dump a memory snapshot")
    rows = trace.sql(SQL)
    asked, blocks, reserved = (total(rows, name) for name in ("asked_bytes", "block_bytes", "reserved_bytes"))
    sentence = (
        f"When the snapshot was taken, {size(asked)} were asked for, which took up {size(blocks)} in blocks, of "
        f"{size(reserved)} reserved."
    )
    return Finding("memory_rounding", sentence, rows, SQL, (told("C"),))
