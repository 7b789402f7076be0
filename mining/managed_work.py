"""Faults and moves of managed memory by the work they happened in: the same sums over kernels and over operators."""

from ..store.errors import NotCollected
from ..store.trace import Trace
from .finding import Finding
from .managed_sums import recorded, sums
from .managed_vendors import faults_hint
from .words import duration, plural, size

__all__ = ["find_work"]

NEVER = {"cpu_faults", "thrashes", "throttles", "remote_maps"}
"""What is of no device, or says little by kernel."""

SQL = """
with told as (
    select
    process,
    device,
    {key},
    count(distinct (kernel, occurrence)) as executions,
    {sums}
    from uvm_event
    where {key} is not null and device is not null
    group by process, device, {key}
),
held as ({held})
select
    process,
    device,
    {key},
    executions,
    told.* exclude (process, device, {key}, executions),
    held.stalled,
    held.stall_ns,
    held.stall_ns / held.time_ns as stall_share
from told
full join held using (process, device, {key})
order by stall_ns desc nulls last, to_device_bytes desc nulls last, process, device, {key}
"""
HELD = """
    select process, device, {key}, count(*) as stalled, sum(stall_ns)::bigint as stall_ns,
    sum(end_ns - start_ns)::bigint as time_ns
    from uvm_stall
    where {key} is not null
    group by process, device, {key}
"""
NO_HELD = """
    select 0::bigint as process, 0 as device, '' as {key}, null::bigint as stalled, null::bigint as stall_ns,
    null::bigint as time_ns
    where false
"""
OVERLAP = "Stalls of kernels that run at once count to each: the stall by device has each moment once."
OUTSIDE = "select count(*) from uvm_event where {key} is null and device is not null"
BEGUN = (
    "Faults and moves count where they begin: {events} begin in none of these, and are in no count, but what they take "
    "of a kernel that runs by then is in its stall."
)


def find_work(trace: Trace, name: str, key: str) -> Finding:
    """The answer of that analysis by kernel or by operator, as `key` says; the longest stall first."""
    there = recorded(trace)
    held = (HELD if trace.has("uvm_stall") else NO_HELD).format(key=key).rstrip() + "\n"
    sql = SQL.format(key=key, sums=sums(there, but=NEVER), held=held).strip()
    rows = trace.sql(sql)
    if not len(rows):
        if not trace.has("kernel"):
            raise NotCollected("kernels", faults_hint(trace))
        if key == "operator":
            raise NotCollected("operators around kernels with faults or moves", "record the framework's operators")
        return Finding(name, "No fault or move of managed memory falls into a kernel.", rows, sql)
    first = rows.row(0, named=True)
    parts = [f"at most {duration(first['stall_ns'])} of stall"] if first["stall_ns"] else []
    parts += [plural(first["gpu_faults"], "fault group")] if first["gpu_faults"] else []
    parts += [f"{size(first['to_device_bytes'])} to the device"] if first["to_device_bytes"] else []
    sentence = f"Of {plural(len(rows), key)} with faults or moves, {first[key]} has most: "
    sentence += f"{', '.join(parts) or 'pages that leave the device'}."
    notes = [OVERLAP] if trace.has("uvm_stall") else []
    if outside := trace.sql(OUTSIDE.format(key=key)).item():
        notes.append(BEGUN.format(events=plural(outside, "event")))
    return Finding(name, sentence, rows, sql, tuple(notes))
