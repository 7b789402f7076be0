"""Which repeated sequences of operations take the time?"""

from ...store.trace import Trace
from ..finding import Finding
from ..words import count, duration, percent, plural

NEEDS = ("patterns",)

SHORT = (
    "left(regexp_extract(regexp_replace(replace(replace(name, 'void ', ''), '(anonymous namespace)::', ''), "
    "'[<(].*$', ''), '[^:]*$'), 28)"
)
"""SQL: a kernel's name without return type, namespaces, template and call arguments."""

SQL = f"""
select
    pattern,
    process,
    length,
    count,
    count_per_iteration,
    time_ns,
    marginal_time_ns,
    time_ns / (select sum(duration_ns) from member) as share,
    time_ns / count as mean_ns,
    idle_ns,
    idle_ns / nullif(time_ns + idle_ns, 0) as idle_share,
    launch_overhead_ns,
    elementwise,
    saving_ns,
    concat(
        array_to_string(list_transform(symbols[:5], lambda name: {SHORT}), ' → '),
        case when length > 5 then concat(' → … (', length, ')') else '' end
    ) as operations
from pattern
order by pattern
"""


def find(trace: Trace) -> Finding:
    """Repeated patterns by marginal time; `share` is of the summed duration of all mined operations.

    Patterns may lie within one another: only their marginal times add up. `idle_share` is the part of an occurrence's
    time in which none of its operations runs: high means that it is bound by its launches, and that `saving_ns`, the
    most that graph capture and fusion could save, is large.
    """
    rows = trace.sql(SQL)
    if not len(rows):
        return Finding(
            "repeats", "No sequence of operations shorter than half an iteration repeats.", rows, SQL.strip()
        )
    first = rows.row(0, named=True)
    sentence = (
        f"{plural(len(rows), 'pattern')} found; the costliest, {plural(first['length'], 'operation')} long, occurs "
        f"{count(first['count'])} times: {duration(first['time_ns'])}, {percent(first['share'], 1)} of all work."
    )
    return Finding("repeats", sentence, rows, SQL.strip())
