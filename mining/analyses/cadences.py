"""At which periods does the work repeat?"""

from ...store.trace import Trace
from ..finding import Finding
from ..words import percent, plural

NEEDS = ("iterations",)

SQL = """
select
    level,
    process,
    device,
    stream,
    kind,
    period,
    count,
    period_ns,
    coverage,
    confidence,
    phase_confidence
from level
order by process, level
"""


def find(trace: Trace) -> Finding:
    """All cadence levels, from the innermost to the outermost; `coverage` is of the operations of their sequence."""
    rows = trace.sql(SQL)
    main = rows.filter(rows["kind"] == "iteration").sort("coverage", descending=True)
    if not len(main):
        return Finding("cadences", "No cadence was found that could be an iteration.", rows, SQL.strip())
    first = main.row(0, named=True)
    sentence = (
        f"An iteration is {plural(first['period'], 'operation')}; {plural(first['count'], 'iteration')} cover "
        f"{percent(first['coverage'], 1)} of the operations (confidence {first['confidence']:.2f})."
    )
    return Finding("cadences", sentence, rows, SQL.strip())
