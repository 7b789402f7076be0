"""How is each memory object used: streaming, dense hot, dense cool or sparse, and what to pin or offload?"""

from typing import TYPE_CHECKING

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..finding import Finding
from ..managed_places import PLACE
from ..managed_vendors import touches_hint
from ..use import use_rules
from ..words import count, percent, plural

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("uvm_uses", "uvm_choices")

SQL = f"""
select
    place.process,
    granularity,{PLACE} as name,
    place.bytes,
    accesses,
    windows,
    used_windows,
    persistence,
    span,
    density,
    covered_bytes,
    covered_bytes / place.bytes as coverage,
    class,
    %s,
    place.evidence,
    range
from uvm_use as place%s
order by accesses desc, place.process, address, granularity, place.bytes
"""
ADVISED = ("if(action is null, role, null) as role,\n    action", "\nleft join uvm_advice using (range)")
UNADVISED = ("role,\n    null::varchar as action", "")
"""SQL: the role that accesses alone give an object, where no advice on it goes by them and by faults and moves."""


def find(trace: Trace) -> Finding:
    """Each object with its class, the most accesses first; the thresholds are in the notes.

    What to do about it is what `uvm_advice` says: by the role that accesses give it, and by the cost of its faults and
    moves. The role stands where there is no advice, in traces without these. By faults alone there is none.

    Persistence is the share of windows it is used in, span the share of the run from first to last use, density the
    accesses for each byte, coverage the share of its bytes touched. Without measured accesses, pages that came to a
    device stand for them: what stays there is used without a trace.
    """
    if not trace.has("uvm_use"):
        raise NotCollected(
            "which memory is accessed when, nor faults or moves of managed memory",
            touches_hint(trace),
        )
    sql = (SQL % (ADVISED if trace.has("uvm_advice") else UNADVISED)).strip()
    rows = trace.sql(sql)
    if not len(rows):
        return Finding("uvm_use", "No access falls on a known object.", rows, sql)
    parts = [_counts(rows["class"].fill_null("of unknown coverage"))]
    if rows["role"].count():
        acted = _counts(rows["role"].drop_nulls().replace("keep", None).drop_nulls(), "to ")
        parts.append(acted or "none to pin or evict")
    if rows["action"].count():
        parts.append(f"advice: {_counts(rows['action'].drop_nulls().str.replace('_', ' '))}")
    return Finding("uvm_use", f"{plural(len(rows), 'object')}: {'; '.join(parts)}.", rows, sql, _notes(rows))


def _notes(rows: "pl.DataFrame") -> tuple[str, ...]:
    """What the classes and roles go by."""
    rules = use_rules()
    notes = [
        f"Dense: at least {percent(rules.dense_share, 1)} of its bytes touched. Streaming: dense, each part used in "
        "one window only, in the order of addresses.",
    ]
    if rows["role"].count():
        notes.append(
            f"Pin: used in at least {percent(rules.pin_share, 1)} of the windows, and density not below the median of "
            f"objects. Evict: from first to last use at most {percent(rules.evict_share, 1)} of the run, and not until "
            "its end."
        )
    if rows["evidence"][0] == "accesses":
        notes.append("Evidence A: measured accesses.")
    else:
        notes.append(
            "Evidence: faults and moves, not accesses. They say when pages came, not when they were last used, so they "
            "do not tell what to pin or to evict."
        )
    if rows["action"].count():
        notes.append(
            "The advice is that of the section on what to do, which counts what faults and moves cost as well. An "
            "object without any has tensors that were advised on, or no faults and moves."
        )
    return tuple(notes)


def _counts(values: "pl.Series", before: str = "") -> str:
    """How often each value is there, by name: '2 dense hot, 1 sparse'."""
    told: list[str] = values.to_list()
    return ", ".join(f"{count(told.count(value))} {before}{value}" for value in sorted(set(told)))
