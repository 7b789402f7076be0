"""Where do calls of operators lie under the roofs: equal ones together, those that take most time?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..roofs import needed, roofs
from ..words import percent, plural

NEEDS = ("operator_work",)

MOST = 400
"""Points that a chart has room for."""

SQL = """
{work},
point as (
    select
        family,
        kind,
        arithmetic,
        peak,
        bandwidth,
        flops,
        bytes,
        count(*) as calls,
        sum(time_ns)::bigint as time_ns,
        sum(sum(time_ns)) over () as whole_ns
    from work
    where timed and flops > 0 and bytes > 0
    group by all
)
select
    family,
    kind,
    arithmetic,
    peak / 1e12 as peak_tflops_per_s,
    bandwidth / 1e9 as bandwidth_gb_per_s,
    flops,
    bytes,
    calls,
    time_ns,
    time_ns / whole_ns as share,
    flops / bytes as intensity,
    flops * calls * 1e-3 / time_ns as tflops_per_s,
    greatest(flops / peak, bytes / bandwidth) * calls * 1e9 / time_ns as roof_share
from point
order by time_ns desc, family, kind, arithmetic, flops, bytes, peak, bandwidth
limit {most}
"""


def find(trace: Trace) -> Finding:
    """Calls of one kind with equal FLOPs and bytes as a row each, the most time first, the first 400 of them.

    Calls without FLOPs (copies, look-ups) have no place on a roofline. `share` is of the time of all that have one.
    """
    needed(trace)
    found = roofs(trace)
    query = SQL.format(work=found.work, most=MOST).strip()
    rows = trace.sql(query)
    if not len(rows):
        return Finding("roofline_calls", "No call has both FLOPs and bytes that are known.", rows, query, found.notes)
    shown = float(rows["share"].sum())
    sentence = (
        f"{plural(total(rows, 'calls'), 'call')} of {plural(len(rows), 'size')} with {percent(shown, 1)} of the time "
        "of calls whose FLOPs and bytes are known."
    )
    return Finding("roofline_calls", sentence, rows, query, found.notes)
