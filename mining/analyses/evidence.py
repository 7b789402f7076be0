"""What do the findings rest on?"""

from ...store.trace import Trace
from ..finding import Finding
from ..words import plural

NEEDS = ("diagnoses",)

SQL = """
select finding, process, device, what, detail, count, time_ns, saves_ns, saves_per_iteration_ns, at_ns
from evidence
order by finding, number
"""


def find(trace: Trace) -> Finding:
    """The evidence of every finding, for each the most saving first; `at_ns` is where the costliest of it begins."""
    rows = trace.sql(SQL)
    findings = rows["finding"].n_unique()
    sentence = f"{plural(len(rows), 'row')} of evidence for {plural(findings, 'finding')}."
    return Finding("evidence", sentence, rows, SQL.strip())
