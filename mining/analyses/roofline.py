"""Which kinds of operators reach the roofs of the device, and which roof bounds each?"""

from typing import TYPE_CHECKING

from ...store.trace import Trace
from ..finding import Finding, total
from ..roofs import MEASURES, OPERANDS, needed, roofs
from ..words import duration, percent

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("operator_work",)

SQL = """
{work}
select
    family,
    kind,
    type,
    arithmetic,
    peak / nullif(bandwidth, 0) as ridge,
    peak / 1e12 as peak_tflops_per_s,
    bandwidth / 1e9 as bandwidth_gb_per_s,
    {measures},
    flops_per_s / 1e12 as tflops_per_s,
    bytes_per_s / 1e9 as gb_per_s
from work
group by family, kind, type, arithmetic, peak, bandwidth
order by time_ns desc, family, kind, type, arithmetic, peak, bandwidth
"""

UNNAMED = (
    "Products of 32-bit numbers are held against the peak of 32-bit arithmetic unless names of kernels tell TF32: "
    "above that roof they use it."
)

RECORD = "To see this, let the profiler record shapes too: record_shapes=True in PyTorch."
BOUNDS = {
    "compute": "bound by compute",
    "memory": "bound by memory",
    "latency": "far below both roofs",
    "communication": "communication",
    "not known": "of operators whose bound is not known",
}


def find(trace: Trace) -> Finding:
    """By kind of operator and type: FLOPs, bytes, intensity, what is achieved, the ridge, the bound, share of the roof.

    The ridge is the intensity (FLOPs a byte) from which on the peak bounds, and not the memory. `roof_share` is the
    least time by both, added up over the calls, over the time taken; at less than 10 % an operator is bound by neither:
    `latency`. `share` is of the time of all operators. `bound` is `not known` where peaks, FLOPs or bytes are not.
    """
    needed(trace)
    found = roofs(trace)
    query = SQL.format(work=found.work, measures=MEASURES).strip()
    rows = trace.sql(query)
    over = rows.filter((rows["arithmetic"] == "fp32") & (rows["roof_share"] > 1))
    notes = (*found.notes, OPERANDS, *((UNNAMED,) if len(over) else ()))
    if rows["flops"].null_count() == rows["bytes"].null_count() == len(rows):
        why = trace.sql("select missing from operator_work group by missing order by count(*) desc, missing").item(0, 0)
        return Finding("roofline", f"Neither FLOPs nor bytes of operators are known: {why}.", rows, query, (RECORD,))
    sentence = _unbound(rows, found.roofless) if found.roofless else _sentence(rows)
    return Finding("roofline", sentence, rows, query, notes)


def _unbound(rows: "pl.DataFrame", devices: tuple[str, ...]) -> str:
    """What is known where no device has a roof."""
    time = duration(total(rows, "time_ns"))
    known = total(rows.filter(rows["intensity"].is_not_null()), "time_ns")
    return (
        f"Peak or bandwidth of {', '.join(devices)} is not known, so what bounds operators is not either; of their "
        f"kernel time ({time}) {percent(known, total(rows, 'time_ns'))} is of kinds whose FLOPs a byte are known."
    )


def _sentence(rows: "pl.DataFrame") -> str:
    """The time by bound, most first."""
    times: dict[str, int] = {}
    for bound, time in rows.select("bound", "time_ns").rows():
        times[bound] = times.get(bound, 0) + time
    whole = sum(times.values())
    parts = [
        f"{percent(times[bound], whole)} is {BOUNDS[bound]}" for bound in sorted(times, key=lambda b: (-times[b], b))
    ]
    return f"Of the kernel time of operators ({duration(whole)}) {', '.join(parts)}."
