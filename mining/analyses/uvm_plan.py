"""Which prefetches would a plan ask for in the next run, or why none?"""

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..finding import Finding
from ..managed_vendors import is_amd, touches_hint
from ..words import count, plural, size

NEEDS = ("uvm_plans",)

SQL = """
select
    process,
    level,
    evidence,
    steps,
    bytes,
    left_out_bytes,
    capacity_bytes,
    capacity_source,
    look_ahead,
    faults,
    faults_without,
    why_empty
from uvm_plan
order by process
"""
CAPACITY = {
    "device": "what the process's smallest device holds, as the trace describes it",
    "touched": "room for all that is touched, since the trace does not say what the device holds",
}


def find(trace: Trace) -> Finding:
    """The plan that `report uvm --plan FILE` writes: its size, the room it keeps to, and faults as simulated.

    A plan is empty where nothing that it would ask for can be told to another run by a name; the sentence says why.
    """
    if not trace.has("uvm_plan"):
        raise NotCollected("what kernels touch of managed memory", touches_hint(trace))
    rows = trace.sql(SQL)
    row = rows.row(0, named=True)
    room = f"{size(row['capacity_bytes'])} ({CAPACITY[row['capacity_source']]})"
    notes = [f"No step asks for more than {room}: in the file that is capacity_bytes."]
    if is_amd(trace):
        notes.append("tracelode replay needs NVIDIA's driver: on AMD's GPUs a plan is a list to follow by hand.")
    if row["left_out_bytes"]:
        notes.append(f"Left out: {size(row['left_out_bytes'])} that no name tells to another run.")
    if row["why_empty"] is not None:
        sentence = f"A plan of prefetches is empty, since {row['why_empty']}."
        return Finding("uvm_plan", sentence, rows, SQL.strip(), tuple(notes))
    sentence = (
        f"A plan of prefetches asks for {size(row['bytes'])} by {row['level']} in {plural(row['steps'], 'step')}; "
        f"simulated: {count(row['faults'])} faults of 64 KiB against {count(row['faults_without'])} without it."
    )
    return Finding("uvm_plan", sentence, rows, SQL.strip(), tuple(notes))
