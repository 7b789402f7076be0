"""How do working sets compare with what is allocated, launch by launch?"""

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..evidence_levels import OUTPUTS, hint, outputs_told, told
from ..finding import Finding, total
from ..touched import devices_joined
from ..words import percent

NEEDS = ("memory_use",)

SQL = f"""
with each as (
    select
        coalesce(kernel, '(no name)') as kernel,
        evidence,
        if(tensor_bytes is null, object_bytes, tensor_bytes) as bytes,
        if(tensor_bytes is null, object_footprint_bytes, tensor_footprint_bytes) as footprint_bytes,
        outputs
    from working_set
)
select
    kernel,
    evidence,
    bytes,
    median(footprint_bytes) as footprint_bytes,
    count(*) as launches,
    {OUTPUTS},
    count(*) filter (bytes > footprint_bytes) as above
from each
where bytes is not null and footprint_bytes is not null
group by kernel, evidence, bytes
order by bytes desc, launches desc, kernel, evidence
limit 600
"""


def find(trace: Trace) -> Finding:
    """Kernels by name and working set, the 600 largest, with the median of what is allocated at their launches.

    Both are of tensors where the working set is, else of objects. A working set above what is allocated (`above`) shows
    that the footprint lacks what was allocated before the recording, or that operands are counted twice. `inputs_only`
    and `outputs_in_part` are those of `working_sets`.
    """
    if not trace.has("working_set"):
        raise NotCollected("kernel launches with what memory they touch", hint(trace, "launches"))
    rows = trace.sql(SQL.strip())
    if not len(rows):
        raise NotCollected("working sets together with what is allocated", "record shapes of operators and allocations")
    whole, above = total(rows, "launches"), total(rows, "above")
    sentence = "The working set is never above what is known to be allocated."
    if above:
        sentence = f"In {percent(above, whole)} of the launches the working set is above what is known to be allocated."
    lacking = outputs_told(*(total(rows, name) for name in ("operators", "inputs_only", "outputs_in_part")))
    return Finding(
        "working_set_points", sentence, rows, SQL.strip(), (told(rows["evidence"]), *lacking, *devices_joined(trace))
    )
