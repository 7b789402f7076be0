"""What of the device's work do neither iterations nor patterns explain?"""

from typing import TYPE_CHECKING

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..finding import Finding, total
from ..words import duration, percent, plural

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("leftovers",)

PARTS = {
    "before": "before the first iteration",
    "between": "between iterations",
    "after": "after the last iteration",
    "no iterations": "where no iterations were found",
    "not ordered": "in operations of no mined sequence",
}
"""Where work is that nothing explains, by `remainder.part`."""

SQL = """
select
    process,
    device,
    part,
    kind,
    name,
    operations,
    time_ns,
    time_ns / nullif(sum(time_ns) over (), 0) as share_of_remainder,
    time_ns / nullif((select sum(time_ns) from remainder), 0) as share
from remainder
where part not in ('iteration', 'pattern')
order by time_ns desc, process, device, part, kind, name
"""
WHOLE = """
select part, sum(operations)::bigint as operations, sum(time_ns)::bigint as time_ns
from remainder
group by part
order by time_ns desc, part
"""


def find(trace: Trace) -> Finding:
    """Operations outside all iterations and outside every repeated pattern, the most time first.

    `share` is of the summed time of all operations, `share_of_remainder` of that of the unexplained ones.
    """
    if not trace.has("remainder"):
        raise NotCollected("no device work was collected", "record kernels")
    rows = trace.sql(SQL)
    parts = trace.sql(WHOLE)
    return Finding("remainder", _sentence(parts), rows, SQL.strip())


def _sentence(parts: "pl.DataFrame") -> str:
    whole = total(parts, "time_ns")
    by_part = dict(parts.select("part", "time_ns").rows())
    left = [(part, ns) for part, ns in by_part.items() if part in PARTS]
    left_ns = sum(ns for _, ns in left)
    operations = total(parts.filter(parts["part"].is_in(list(PARTS))), "operations")
    explained = (
        f"{percent(by_part.get('iteration', 0), whole)} of the summed device time lies in iterations, "
        f"{percent(by_part.get('pattern', 0), whole)} outside these in repeated patterns"
    )
    if not operations:
        return f"Every operation is explained: {explained}."
    places = [f"{percent(ns, whole)} {PARTS[part]}" for part, ns in left if ns]
    where = f", {', '.join(places)}" if len(places) > 1 else f", {places[0].partition('% ')[2]}" if places else ""
    return (
        f"{percent(left_ns, whole)} ({duration(left_ns)}, {plural(operations, 'operation')}) is unexplained{where}; "
        f"{explained}."
    )
