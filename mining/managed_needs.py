"""What each range of managed memory costs and needs, as SQL and as rows: what the advice goes by."""

from dataclasses import dataclass
from typing import Any

from ..store.trace import Trace

__all__ = ["Need", "needs"]

NEEDS = """
with told as (
    select *, unnest([range, tensor]) as place
    from uvm_event
),
summed as (
    select
        place,
        max(device) as device,
        count(*) filter (kind = 'gpu_fault') as faults,
        count(*) filter (kind = 'gpu_fault' and access in ('write', 'atomic')) as writes,
        count(*) filter (kind = 'gpu_fault' and access is not null) as told_accesses,
        count(*) filter (kind = 'cpu_fault') as cpu_faults,
        count(*) filter (kind = 'cpu_fault' and access in ('write', 'atomic')) as cpu_writes,
        count(*) filter (kind = 'HtoD' and cause is distinct from 'user') as moves,
        coalesce(sum(bytes) filter (kind = 'HtoD' and cause is distinct from 'user'), 0)::bigint as unasked_bytes,
        coalesce(sum(bytes) filter (kind = 'DtoH'), 0)::bigint as to_host_bytes,
        coalesce(sum(bytes) filter (kind = 'DtoH' and cause = 'eviction'), 0)::bigint as evicted_bytes,
        coalesce(sum(again_bytes) filter (cause is distinct from 'user'), 0)::bigint as again_bytes,
        coalesce(sum(returned_bytes) filter (kind = 'HtoD'), 0)::bigint as returned_bytes,
        count(*) filter (kind = 'remote_map') as remote_maps,
        count(*) filter (kind in ('thrash', 'throttle')) as thrashes
    from told
    where place is not null
    group by place
),
asking as (
    select
        place,
        kernel,
        occurrence,
        any_value(operator) as operator,
        min(start_ns) as at_ns,
        max(start_ns) as until_ns
    from told
    where place is not null and kernel is not null and kind in ('gpu_fault', 'HtoD') and cause is distinct from 'user'
    group by place, kernel, occurrence
),
first_kernel as (
    select place, kernel, occurrence, operator from asking
    qualify row_number() over (partition by place order by at_ns, kernel, occurrence) = 1
),
last_kernel as (
    select place, kernel as last_kernel, occurrence as last_occurrence, operator as last_operator from asking
    qualify row_number() over (partition by place order by until_ns desc, kernel, occurrence) = 1
),
counted as (
    select place, count(*) as executions from asking group by place
)
select
    place.range,
    place.process,
    place.granularity,
    place.address,
    place.bytes,
    place.kind,
    place.birth_ns,
    place.death_ns,
    place.stall_ns,
    place.beside_ns,
    coalesce(place.stall_ns, place.beside_ns) as cost_ns,
    uvm_device.kernel_ns,
    summed.* exclude (place),
    first_kernel.* exclude (place),
    last_kernel.* exclude (place),
    coalesce(executions, 0) as executions
from uvm_range as place
left join summed on summed.place = place.range
left join first_kernel on first_kernel.place = place.range
left join last_kernel on last_kernel.place = place.range
left join counted on counted.place = place.range
left join uvm_device on uvm_device.process = place.process and uvm_device.device = summed.device
order by place.range
"""


@dataclass(frozen=True)
class Need:
    """A range with the sums of its events. None where the trace has no such events on it, or does not say."""

    range: int
    process: int
    granularity: str
    address: int
    bytes: int
    kind: str | None
    birth_ns: int | None
    death_ns: int | None
    device: int | None
    cost_ns: int
    stall_ns: int | None
    kernel_ns: int | None
    faults: int
    writes: int
    told_accesses: int
    cpu_faults: int
    cpu_writes: int
    moves: int
    unasked_bytes: int
    to_host_bytes: int
    evicted_bytes: int
    again_bytes: int
    returned_bytes: int
    remote_maps: int
    thrashes: int
    executions: int
    kernel: str | None
    occurrence: int | None
    operator: str | None
    last_kernel: str | None
    last_occurrence: int | None
    last_operator: str | None

    @property
    def distinct_bytes(self) -> int:
        """Bytes that moved to the device unasked at least once."""
        return self.unasked_bytes - self.again_bytes


COUNTED = (
    *("faults", "writes", "told_accesses", "cpu_faults", "cpu_writes", "moves", "unasked_bytes", "to_host_bytes"),
    *("evicted_bytes", "again_bytes", "returned_bytes", "remote_maps", "thrashes", "cost_ns"),
)


def needs(trace: Trace) -> list[Need]:
    """Every range of `uvm_range`, with zeros where nothing fell on it."""
    rows = trace.sql(NEEDS).to_dicts()
    return [_need(row) for row in rows]


def _need(row: dict[str, Any]) -> Need:
    told: dict[str, Any] = {name: row[name] for name in Need.__dataclass_fields__}
    told.update({name: row[name] or 0 for name in COUNTED})
    return Need(**told)
