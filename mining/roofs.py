"""The roofs of a trace's devices as SQL: what each operator would take at least, by its FLOPs and by its bytes."""

from dataclasses import dataclass

from ..store.errors import NotCollected
from ..store.trace import Trace
from .device_peaks import TYPES, peaks_of

__all__ = ["FAR", "MEASURES", "OPERANDS", "Roofs", "needed", "roofs"]

FAR = 0.1
"""An operator at less than this share of its roof is bound by neither: its time is latency, or what no formula sees."""

OPERANDS = (
    "Bytes are those of operands, each read or written once (evidence level B): an upper bound on the traffic from a "
    "cold cache, in which tiles that are read again are not."
)
"""What is to say of bytes of operators."""

ARITHMETIC = (*TYPES, "vector fp32", "vector fp64")
NOWHERE = "select null::bigint, null::integer, null::varchar, null::double, null::double where false"
USED = """
select distinct process, device from operator_work where device is not null order by process, device
"""
LISTED = """
select process, device, name, memory_bytes, memory_bandwidth from device order by process, device
"""

Told = tuple[str | None, int | None, int | None]
Device = tuple[int, int, str | None, int | None, int | None]

WORK = """
roof(process, device, arithmetic, peak, bandwidth) as (
    {values}
),
work as (
    select
        operator_work.*,
        peak,
        bandwidth,
        coalesce(time_ns, 0) > 0 and family <> 'collective' as timed,
        if(flops > 0, flops / peak, 0) * 1e9 as compute_ns,
        bytes / bandwidth * 1e9 as memory_ns,
        if(timed, greatest(compute_ns + 0 * memory_ns, memory_ns + 0 * compute_ns), null) as least_ns
    from operator_work
    left join roof using (process, device, arithmetic)
)
"""

MEASURES = f"""
    count(*) as calls,
    sum(kernels)::bigint as kernels,
    coalesce(sum(time_ns), 0)::bigint as time_ns,
    sum(time_ns) / nullif(sum(sum(time_ns)) over (), 0) as share,
    sum(flops)::bigint as flops,
    sum(bytes)::bigint as bytes,
    count(*) filter (flops is null) as without_flops,
    count(*) filter (bytes is null) as without_bytes,
    sum(flops) filter (bytes is not null) / nullif(sum(bytes) filter (flops is not null), 0) as intensity,
    sum(flops) filter (timed) * 1e9 / nullif(sum(time_ns) filter (timed and flops is not null), 0) as flops_per_s,
    sum(bytes) filter (timed) * 1e9 / nullif(sum(time_ns) filter (timed and bytes is not null), 0) as bytes_per_s,
    sum(least_ns) / nullif(sum(time_ns) filter (least_ns is not null), 0) as roof_share,
    case
        when bool_and(family = 'collective') then 'communication'
        when roof_share is null then 'not known'
        when roof_share < {FAR} then 'latency'
        when sum(compute_ns) filter (least_ns is not null) >= sum(memory_ns) filter (least_ns is not null)
            then 'compute'
        else 'memory'
    end as bound
""".strip()
"""SQL: what a group of rows of `work` comes to. Shares of the roof are over the calls whose least time is known."""


@dataclass(frozen=True)
class Roofs:
    """`work`, SQL that begins a query, and what limits it: devices whose peaks are not known, and what is compared.

    `roofless` names the devices where none of them has a peak and a bandwidth that are known: nothing is bound then.
    """

    work: str
    notes: tuple[str, ...]
    roofless: tuple[str, ...]


def roofs(trace: Trace) -> Roofs:
    """A CTE `work`: operators with the peaks of their device and what these bound their time by.

    `compute_ns` is FLOPs over the peak of their arithmetic, `memory_ns` bytes over the bandwidth, `least_ns` the
    larger, null where one of them is not known.
    """
    rows: list[str] = []
    known: dict[str, str] = {}
    unknown: dict[str, None] = {}
    roofed = False
    for process, device, name, memory, told in _devices(trace):
        peaks = peaks_of(name, memory)
        bandwidth = peaks.bandwidth if peaks and peaks.bandwidth else told
        if peaks is None or not bandwidth:
            unknown[name or "a device without a name"] = None
        else:
            roofed = True
        if peaks:
            known[peaks.product] = peaks.source
        for kind in ARITHMETIC if peaks or bandwidth else ():
            rate = peaks.of(kind) if peaks else None
            rows.append(f"({process}, {device}, '{kind}', {_double(rate)}, {_double(bandwidth)})")
    values = "values " + ", ".join(rows) if rows else NOWHERE
    roofless = () if roofed else tuple(unknown)
    return Roofs(f"with {WORK.format(values=values).strip()}", _notes(known, list(unknown)), roofless)


def _devices(trace: Trace) -> list[Device]:
    """The devices that operators launched kernels on: process, number, name, memory, and bandwidth as told.

    ROCm numbers them otherwise than PyTorch: where one is not listed but all that are have one name, it has that too.
    """
    listed: dict[int, dict[int, Told]] = {}
    if trace.has("device"):
        for process, device, *told in trace.sql(LISTED).rows():
            listed.setdefault(process, {})[device] = tuple(told)
    found: list[Device] = []
    for process, device in trace.sql(USED).rows():
        there = listed.get(process, {})
        alike = set(there.values())
        name, memory, bandwidth = there.get(device) or (alike.pop() if len(alike) == 1 else (None, None, None))
        found.append((process, device, name, memory, bandwidth))
    return found


def _double(rate: float | None) -> str:
    return f"{float(rate)!r}::double" if rate else "null::double"


def _notes(known: dict[str, str], unknown: list[str]) -> tuple[str, ...]:
    found = [f"Peaks of {product}: {source}." for product, source in known.items()]
    if unknown:
        found.append(
            f"Peak or bandwidth not known of {', '.join(unknown)}: no roof, and no bound. A file that "
            "TRACELODE_DEVICE_PEAKS names can give them."
        )
    return tuple(found)


def needed(trace: Trace) -> None:
    """Raises `NotCollected` where no kernel is known to be launched by an operator of a framework."""
    if not trace.has("operator_work"):
        raise NotCollected(
            "no operator of the framework is known to launch a kernel",
            "record operators of the framework with their shapes: record_shapes=True in the PyTorch profiler",
        )
