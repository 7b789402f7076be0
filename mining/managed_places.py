"""Faults and moves of managed memory by where they fall: the same sums over allocations, addresses and tensors."""

from collections.abc import Mapping
from typing import Any

from ..store.errors import NotCollected
from ..store.trace import Trace
from .finding import Finding
from .managed_sums import recorded, sums
from .words import duration, percent, plural, size

__all__ = ["PLACE", "find_places"]

PLACE = """
    coalesce(owner || ', ', '') || coalesce(place.kind, 'address range') || ' of ' || format_bytes(place.bytes)
        || ' at 0x' || lower(hex(place.address))"""
"""SQL: what to call a row of `uvm_range` or `uvm_use`, as `place`."""

SQL = """
with told as (
    select
    {key} as range,
    {sums},
    min(start_ns) as first_ns,
    max(start_ns) as last_ns
    from uvm_event
    where {key} is not null
    group by {key}
)
select
    place.range,
    place.process,{place} as name,
    place.granularity,
    place.address,
    place.bytes,
    place.owner,
    place.birth_ns,
    place.death_ns,
    told.* exclude (range),
    place.stall_ns,
    {beside}
from uvm_range as place
left join told using (range)
where (place.granularity = 'tensor') = {tensors}
order by coalesce(place.stall_ns, 0) + place.beside_ns desc, to_device_bytes desc nulls last, place.range
"""


def find_places(trace: Trace, name: str, key: str) -> Finding:
    """The answer of that analysis by range or by tensor, as `key` says; what costs most first."""
    there, tensors = recorded(trace), key == "tensor"
    beside = "place.beside_ns" if trace.has("kernel") else "null::bigint as beside_ns"
    sql = SQL.format(key=key, sums=sums(there), place=PLACE, tensors=str(tensors).lower(), beside=beside).strip()
    rows = trace.sql(sql)
    if not len(rows):
        if tensors:
            raise NotCollected(
                "lives of tensors in managed memory",
                "record the allocations of tensors: tracelode record --hooks tensor",
            )
        return Finding(name, "No event of managed memory has an address.", rows, sql)
    first = rows.row(0, named=True)
    parts = [_said(column, first[column]) for column in _SAID if first[column]]
    took = [f"at most {duration(first['stall_ns'])} of stall"] if first["stall_ns"] else []
    sentence = f"{plural(len(rows), key)} of managed memory; most falls on {_the(first)}: "
    sentence += f"{', '.join([*parts, *took]) or 'nothing recorded'}."
    notes = () if tensors else _left_out(trace, first["granularity"] == "addresses")
    return Finding(name, sentence, rows, sql, notes)


def _the(row: Mapping[str, Any]) -> str:
    """The row's name in a sentence."""
    return f"the {row['name']}" if row["granularity"] == "addresses" else row["name"]


_SAID = {
    "gpu_faults": ("fault group", "of devices"),
    "cpu_faults": ("fault", "of the host"),
    "to_device_bytes": ("", "to devices"),
    "to_host_bytes": ("", "to the host"),
}
"""Columns that the sentence tells: what they count (bytes where nothing stands), and of whom or where to."""


def _said(column: str, number: int) -> str:
    noun, of = _SAID[column]
    return f"{plural(number, noun) if noun else size(number)} {of}"


def _left_out(trace: Trace, unnamed: bool) -> tuple[str, ...]:
    """What the ranges do not say: events outside all of them, and names."""
    notes = (
        [
            "No allocation is known for these addresses: blocks of 2 MiB next to each other are one range, which may "
            "hold several allocations."
        ]
        if unnamed
        else []
    )
    lost, whole = trace.sql("select count(*) filter (range is null), count(*) from uvm_event").row(0)
    if lost:
        notes.append(f"{plural(lost, 'event')} ({percent(lost, whole)}) without an address: in no range.")
    return tuple(notes)
