"""Which kinds of kernels take the time?"""

from typing import TYPE_CHECKING

from ...store.kinds import VARIABLE, user_rules
from ...store.trace import Trace
from ..finding import Finding, total
from ..kernel_calls import PER_ITERATION, calls, of_calls
from ..words import duration, percent, plural

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("iterations",)

MUCH = 0.2
"""Share of the kernel time in kernels of no known kind from which on it is said how to name them."""

SQL = """
select
    category,
    count(distinct name) as names,
    count(*) as calls,
    coalesce(sum(duration_ns), 0)::bigint as total_ns,
    sum(duration_ns) / nullif(sum(sum(duration_ns)) over (), 0) as share,
    avg(duration_ns) as mean_ns,
    quantile_cont(duration_ns, 0.5) as p50_ns,
    quantile_cont(duration_ns, 0.95) as p95_ns,
    {per_iteration}
from (
{calls}
)
group by category
order by total_ns desc, category
"""


def find(trace: Trace) -> Finding:
    """Names, calls and time of kernels by category, that is by what their names say they do.

    `share` is of the summed kernel time, in which kernels that run at the same time count each.
    """
    query = SQL.format(per_iteration=PER_ITERATION, calls=calls(trace)).strip()
    rows = of_calls(trace, SQL.format(per_iteration=PER_ITERATION, calls="{calls}").strip())
    whole = total(rows, "total_ns")
    first = rows.row(0, named=True) if len(rows) else None
    if first is None or not whole:
        return Finding("categories", "No kernel has a time to be trusted.", rows, query)
    sentence = f"Most kernel time goes to {first['category']}: {percent(first['total_ns'], whole)} of {duration(whole)}"
    rest = [
        f"{percent(ns, whole)} {category}" for category, ns in rows[1:4].select("category", "total_ns").rows() if ns
    ]
    return Finding("categories", f"{', '.join([sentence, *rest])}.", rows, query, _notes(rows, whole))


def _notes(rows: "pl.DataFrame", whole: int) -> tuple[str, ...]:
    notes: list[str] = []
    own = user_rules()
    if own:
        notes.append(f"{VARIABLE} puts {plural(len(own), 'rule')} before the built-in ones.")
    unknown = total(rows.filter(rows["category"] == "other"), "total_ns")
    if unknown > MUCH * whole:
        notes.append(
            f"{percent(unknown, whole)} of the kernel time is in kernels whose names tell nothing: a file of rules, "
            f"named by {VARIABLE}, can tell what they do."
        )
    return tuple(notes)
