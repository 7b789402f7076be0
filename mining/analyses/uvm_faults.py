"""Which page faults of managed memory are there, and how long does servicing them take?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..managed_sums import KINDS, wanted
from ..managed_vendors import kind_hint
from ..words import count, duration, plural

NEEDS = ("uvm_events",)

SQL = """
select
    process,
    device,
    if(kind = 'gpu_fault', 'gpu', 'cpu') as processor,
    access,
    count(*) as faults,
    sum(pages)::bigint as pages,
    count(*) filter (end_ns is null) as untimed,
    sum(end_ns - start_ns)::bigint as service_ns,
    quantile_disc(end_ns - start_ns, 0.5) as median_ns,
    max(end_ns - start_ns) as longest_ns,
    count(distinct range) as ranges,
    min(start_ns) as first_ns,
    max(start_ns) as last_ns
from uvm_event
where kind in ('gpu_fault', 'cpu_fault')
group by process, device, kind, access
order by processor desc, service_ns desc nulls last, process, device, access
"""


def find(trace: Trace) -> Finding:
    """Fault groups and the pages in them by who faulted and how; a group of a device may stand for many pages.

    `service_ns` adds up the times from the start of the driver's work on a group to its end, so groups at once count
    each: what kernels waited at most, `uvm_devices` says. Groups without an end after their start are `untimed`, and in
    no time.
    """
    there = wanted(trace, "gpu_fault", "cpu_fault")
    rows = trace.sql(SQL)
    on_device, on_host = rows.filter(rows["processor"] == "gpu"), rows.filter(rows["processor"] == "cpu")
    parts: list[str] = []
    if len(on_device):
        groups, untimed = total(on_device, "faults"), total(on_device, "untimed")
        pages = f" with {plural(total(on_device, 'pages'), 'page fault')}" if on_device["pages"].count() else ""
        served = f", serviced in {duration(total(on_device, 'service_ns'))} added up" if untimed < groups else ""
        left_out = f", {count(untimed)} of them without an end" if untimed else ""
        parts.append(f"{plural(groups, 'fault group')} of devices{pages}{left_out}{served}")
    if len(on_host):
        parts.append(f"{plural(total(on_host, 'faults'), 'page fault')} of the host")
    missing = [kind for kind in ("gpu_fault", "cpu_fault") if kind not in there]
    notes = [f"Not collected: {KINDS[kind]}. To see them, {kind_hint(trace, kind)}." for kind in missing]
    return Finding("uvm_faults", f"{'; '.join(parts)}.", rows, SQL.strip(), tuple(notes))
