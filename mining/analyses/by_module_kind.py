"""Which kinds of modules or layers do time, launches, copies and memory belong to?"""

from ...store.trace import Trace
from ..attributed import evidence, parts
from ..finding import Finding
from ..words import plural
from . import by_module

NEEDS = by_module.NEEDS

KIND = f"regexp_replace(module, '{by_module.NUMBER}', '')"
"""SQL: a module's name without its number."""


def find(trace: Trace) -> Finding:
    """Modules by what they are, `Linear` for `Linear_0`, `Linear_1` and so on; `NotCollected` as for modules."""
    by_module.find(trace)
    sql = parts(trace, KIND, "module_from")
    rows = trace.sql(sql)
    return Finding("by_module_kind", f"{plural(len(rows), 'kind')} of modules.", rows, sql, evidence(rows))
