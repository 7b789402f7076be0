"""How do launches spread over kernel names?"""

from ...store.trace import Trace
from ..finding import Finding
from ..kernel_names import calls_of, ranks
from ..words import plural

NEEDS = ()


def find(trace: Trace) -> Finding:
    """Every normalised kernel name by its rank, most launches first, those of equal number by name."""
    sql = ranks(calls_of(trace))
    rows = trace.sql(sql)
    return Finding("kernel_ranks", f"{plural(len(rows), 'kernel name')} by launches.", rows, sql)
