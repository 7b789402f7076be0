"""What costs the devices time, and how much could be saved?"""

from ...store.trace import Trace
from ..finding import Finding
from ..words import plural

NEEDS = ("diagnoses",)

SQL = """
select
    finding,
    name,
    sentence,
    process,
    device,
    saves_ns,
    saves_per_iteration_ns,
    saves_ns / span_ns as share,
    bound,
    advice
from finding
order by finding
"""
NOTE = "Savings are upper bounds, each as if all else stayed as it is: they overlap and do not add up."


def find(trace: Trace) -> Finding:
    """What the diagnoses found, the most that could be saved first; `share` is of the device's span.

    The table `evidence` holds what each rests on, `finding.sql` gives it from the events.
    """
    rows = trace.sql(SQL)
    if not len(rows):
        return Finding("findings", "No diagnosis finds anything that costs a device much time.", rows, SQL.strip())
    first: str = rows["sentence"][0]
    more = f" {plural(len(rows) - 1, 'other finding')}." if len(rows) > 1 else ""
    return Finding("findings", first + more, rows, SQL.strip(), (NOTE,))
