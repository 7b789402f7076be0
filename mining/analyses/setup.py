"""What does the set-up of this trace do with the program?"""

from ...store.trace import Trace
from ..finding import Finding
from ..setups import SQL, best, setup_of

NEEDS = ("segments", "iterations")


def find(trace: Trace) -> Finding:
    """Median, deviation and number of the steady iterations of each process; advice takes two measured set-ups."""
    rows = trace.sql(SQL)
    measured = setup_of(trace, trace.source.rsplit("/", 1)[-1])
    note = "Advice on devices, batch sizes or settings takes two measured set-ups: compare traces with `setups`."
    return Finding("setup", best([measured] if measured else []), rows, SQL.strip(), (note,))
