"""How long do kernels wait at most for page faults, and how long do pages move beside them?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..managed_sums import recorded
from ..managed_vendors import faults_hint
from ..words import count, duration, percent, plural

NEEDS = ("uvm_events",)

SQL = """
select
    process,
    device,
    kernel_ns,
    faults,
    untimed_faults,
    service_ns,
    fault_ns,
    stall_ns,
    stall_ns / nullif(kernel_ns, 0) as stall_share,
    moves,
    move_ns,
    beside_ns,
    beside_ns / nullif(kernel_ns, 0) as beside_share
from uvm_device
order by process, device
"""
SERVED = """
select
    process,
    device,
    faults,
    untimed_faults,
    service_ns,
    fault_ns,
    moves,
    move_ns
from uvm_device
order by process, device
"""
"""SQL: the columns that need no kernels."""

BOUND = "The stall is an upper bound: while a fault is serviced, other warps of the kernel may run."


def find(trace: Trace) -> Finding:
    """For each device how long a fault was serviced while a kernel ran: unions over faults and over kernels.

    So neither groups at once nor kernels at once count twice. `beside_ns` is the same for moves of pages to the device
    that the program did not ask for; where no faults were recorded it is all there is to say. A trace without kernels
    tells the times of faults and of moves alone.
    """
    recorded(trace)
    if not trace.has("kernel"):
        return _without_kernels(trace)
    rows = trace.sql(SQL)
    if not len(rows):
        return Finding("uvm_devices", "No fault or unasked move is of a device that is known.", rows, SQL.strip())
    known = rows.filter(rows["stall_ns"].is_not_null())
    notes = [BOUND]
    if len(known):
        stall, busy = total(known, "stall_ns"), total(known, "kernel_ns")
        sentence = f"Page faults hold kernels up for at most {duration(stall)}, {percent(stall, busy)} of the time"
        sentence += f" in which a kernel runs; servicing them takes {duration(total(known, 'service_ns'))} added up."
        untimed = total(known, "untimed_faults")
        if untimed:
            notes.append(f"{plural(untimed, 'fault group')} without an end: counted, and in no time.")
    else:
        beside, busy = total(rows, "beside_ns"), total(rows, "kernel_ns")
        sentence = f"How long kernels wait for page faults was not collected; {count(total(rows, 'moves'))} moves"
        sentence += f" of pages to devices go on for {duration(beside)}, {percent(beside, busy)} of the time"
        sentence += " in which a kernel runs."
        notes = [f"Not collected: page faults of devices, with their times. To see the stall, {faults_hint(trace)}."]
    return Finding("uvm_devices", sentence, rows, SQL.strip(), tuple(notes))


def _without_kernels(trace: Trace) -> Finding:
    """What a trace says that has no kernels: nothing of what they wait."""
    rows = trace.sql(SERVED)
    parts = [f"{plural(total(rows, 'moves'), 'unasked move')} to devices in {duration(total(rows, 'move_ns'))}"]
    if rows["service_ns"].count():
        faults = plural(total(rows, "faults"), "fault group")
        parts.insert(0, f"{faults} of devices serviced in {duration(total(rows, 'service_ns'))} added up")
    sentence = f"How long kernels wait was not collected: the trace has no kernels; {'; '.join(parts)}."
    note = f"Not collected: kernels. To see the stall, {faults_hint(trace)}."
    return Finding("uvm_devices", sentence, rows, SERVED.strip(), (note,))
