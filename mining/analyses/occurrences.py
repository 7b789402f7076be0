"""When does each of the costliest patterns occur?"""

from ...store.trace import Trace
from ..finding import Finding
from ..words import plural

NEEDS = ("patterns",)

MOST = 3
"""Patterns followed: those with the most marginal time."""

SQL = f"""
select
    pattern.pattern,
    process,
    occurrence.start_ns,
    occurrence.end_ns,
    occurrence.time_ns
from occurrence
join pattern on pattern.pattern = occurrence.pattern
where pattern.pattern < {MOST}
order by pattern.pattern, occurrence.start_ns, occurrence.end_ns
"""


def find(trace: Trace) -> Finding:
    """Every occurrence of the three patterns with the most marginal time, in order: from first start to last end.

    `time_ns` is the device time summed over its operations. Occurrences of different patterns may lie within one
    another.
    """
    rows = trace.sql(SQL)
    if not len(rows):
        return Finding("occurrences", "No pattern was found in this trace.", rows, SQL.strip())
    patterns = rows["pattern"].n_unique()
    which = "The costliest pattern occurs" if patterns == 1 else f"The {patterns} costliest patterns occur"
    return Finding("occurrences", f"{which} {plural(len(rows), 'time')}.", rows, SQL.strip())
