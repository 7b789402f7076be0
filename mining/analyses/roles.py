"""What does the framework do in which part of an iteration?"""

from ...store.trace import Trace
from ..finding import Finding
from ..words import percent

NEEDS = ("labels",)

SQL = """
select
    process,
    iteration,
    rule,
    label,
    count(*) as stretches,
    sum(operations)::bigint as operations,
    min(first) as first,
    max(last) as last,
    sum(time_ns)::bigint as time_ns,
    sum(share) as share,
    any_value(sequence) as sequence
from label
group by process, iteration, rule, label
order by process, time_ns desc, rule
"""


def find(trace: Trace) -> Finding:
    """What the rules of frameworks name in the steady iteration of median time, for each process.

    `first` and `last` count the iteration's operations from 0. `share` is of their summed time; stretches of several
    rules overlap. `sequence` says whether a part stands where frameworks have it, null where a rule asks for no order.
    """
    rows = trace.sql(SQL)
    if not len(rows):
        return Finding("roles", "No rule of a framework names anything in an iteration.", rows, SQL.strip())
    own = rows.filter(rows["process"] == rows["process"][0])
    told = [f"{label} {percent(share, 1)}" for label, share in own.select("label", "share").head(4).rows()]
    wrong = own.filter((own["sequence"] == "unusual").fill_null(False))["label"].to_list()
    order = f" In an unusual place: {', '.join(wrong)}." if wrong else ""
    return Finding("roles", f"Of an iteration's device time: {', '.join(told)}.{order}", rows, SQL.strip())
