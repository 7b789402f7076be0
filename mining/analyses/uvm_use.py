"""How is each memory object used: streaming, dense hot, dense cool or sparse, and what to pin or offload?"""

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..finding import Finding
from ..managed_places import PLACE
from ..managed_vendors import touches_hint
from ..use import use_rules
from ..words import count, percent, plural

NEEDS = ("uvm_uses",)

SQL = f"""
select
    process,
    granularity,{PLACE} as name,
    bytes,
    accesses,
    windows,
    used_windows,
    persistence,
    span,
    density,
    covered_bytes,
    covered_bytes / bytes as coverage,
    class,
    role,
    evidence,
    range
from uvm_use as place
order by accesses desc, process, address, granularity, bytes
"""


def find(trace: Trace) -> Finding:
    """Each object with its class and role, the most accesses first; the thresholds are in the notes.

    Persistence is the share of windows it is used in, span the share of the run from first to last use, density the
    accesses for each byte, coverage the share of its bytes touched. Without measured accesses, pages that came to a
    device stand for them: what stays there is used without a trace.
    """
    if not trace.has("uvm_use"):
        raise NotCollected(
            "which memory is accessed when, nor faults or moves of managed memory",
            touches_hint(trace),
        )
    rows = trace.sql(SQL)
    if not len(rows):
        return Finding("uvm_use", "No access falls on a known object.", rows, SQL.strip())
    rules = use_rules()
    notes = [
        f"Pin: used in at least {percent(rules.pin_share, 1)} of the windows, and density not below the median of "
        f"objects. Evict: from first to last use at most {percent(rules.evict_share, 1)} of the run, and not until its "
        f"end. Dense: at least {percent(rules.dense_share, 1)} of its bytes touched. Streaming: dense, each part used "
        "in one window only, in the order of addresses.",
    ]
    if rows["evidence"][0] == "faults":
        notes.append(
            "Evidence: faults and moves, not accesses. They say when pages came, not when they were last used: pin and "
            "evict are guesses here."
        )
    else:
        notes.append("Evidence A: measured accesses.")
    classes = [f"{count(number)} {name}" for name, number in _counts(rows["class"].to_list())]
    roles = [f"{count(number)} to {name}" for name, number in _counts(rows["role"].to_list()) if name != "keep"]
    sentence = f"{plural(len(rows), 'object')}: {', '.join(classes)}; {', '.join(roles) or 'none to pin or evict'}."
    return Finding("uvm_use", sentence, rows, SQL.strip(), tuple(notes))


def _counts(values: list[str | None]) -> list[tuple[str, int]]:
    told = [value or "of unknown coverage" for value in values]
    return [(value, told.count(value)) for value in sorted(set(told))]
