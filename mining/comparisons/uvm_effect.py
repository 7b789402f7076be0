"""What did advice on managed memory change: stall, moves and time of an iteration, in a run before and one after?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...store.tables import TABLES
from ...store.trace import Trace
from ..finding import Finding
from ..levels import MAIN
from ..words import count, duration, percent, plural

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1
NEEDS = ("iterations", "uvm_events")
TABLE = "uvm_effect"

Values = npt.NDArray[np.float64]

STEPS = f"""
select iteration.end_ns - iteration.from_ns as value
from iteration
join ({MAIN}) as main using (process, level)
where iteration.phase = 'steady'
"""
STALLS = f"""
select coalesce(sum(stall_ns), 0) as value
from (
    select iteration.process, iteration.iteration
    from iteration
    join ({MAIN}) as main using (process, level)
    where iteration.phase = 'steady'
) as step
left join uvm_stall using (process, iteration)
group by process, iteration
"""
RUN = {
    "stall": ("ns", "uvm_stall", "select sum(stall_ns) as value from uvm_device having count(stall_ns) = count(*)"),
    "time in which kernels run": ("ns", "uvm_device", "select sum(kernel_ns) as value from uvm_device"),
    "fault groups of devices": (
        "count",
        "uvm_event",
        "select count(*) as value from uvm_event where kind = 'gpu_fault' having count(*) > 0",
    ),
    "moved to devices": (
        "bytes",
        "uvm_event",
        "select sum(bytes) as value from uvm_event where kind = 'HtoD' having count(bytes) > 0",
    ),
    "moved to devices again": (
        "bytes",
        "uvm_event",
        "select sum(again_bytes) as value from uvm_event where kind = 'HtoD' having count(again_bytes) > 0",
    ),
}
"""Measures of a whole run: unit, the table that must be there, and SQL that gives a row where it was collected."""
EACH = {
    "time of an iteration": ("ns", "iteration", STEPS),
    "stall of an iteration": ("ns", "uvm_stall", STALLS),
}
"""The same for measures of the steady iterations of the main level."""

SQL = """
select
    metric,
    unit,
    before_values,
    before,
    before_low,
    before_high,
    after_values,
    after,
    after_low,
    after_high,
    delta,
    delta / nullif(before, 0) as share,
    verdict
from uvm_effect
where base = '{base}'
"""


def compare(base: Trace, trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `uvm_effect`: each measure in both runs, with the spread over iterations where there are several."""
    import pyarrow as pa

    rows = [
        {"base": base.id, "metric": name, "unit": unit, **_row(*(_values(side, table, sql) for side in (base, trace)))}
        for name, (unit, table, sql) in (EACH | RUN).items()
    ]
    return {TABLE: pa.Table.from_pylist(rows, schema=TABLES[TABLE].schema)}


def find(base: Trace, trace: Trace) -> Finding:
    """Medians with their 10th and 90th percentile, before and after; a claim only where the two spreads lie apart.

    What one of the runs did not collect is said, not compared. One value a run has no spread: it is told as it is.
    """
    sql = SQL.format(base=base.id).strip()
    rows = trace.sql(sql)
    told = {row["metric"]: row for row in rows.to_dicts()}
    parts = [_said(told[name]) for name in ("stall", "time of an iteration")]
    notes = (
        "Less or more: the 10th to 90th percentiles of both runs lie apart. One run each says nothing of what differs "
        "from run to run.",
    )
    sentence = f"{parts[0]}; {parts[1]}."
    return Finding("uvm_effect", f"{sentence[0].upper()}{sentence[1:]}", rows, sql, notes)


def _values(trace: Trace, table: str, sql: str) -> Values:
    if not trace.has(table):
        return np.zeros(0)
    return trace.sql(sql)["value"].drop_nulls().cast(float).to_numpy()


def _row(before: Values, after: Values) -> dict[str, Any]:
    row: dict[str, Any] = {"verdict": _verdict(before, after), "delta": None}
    for name, values in (("before", before), ("after", after)):
        several = len(values) > 1
        row |= {
            f"{name}_values": len(values),
            name: float(np.median(values)) if len(values) else None,
            f"{name}_low": float(np.quantile(values, 0.1)) if several else None,
            f"{name}_high": float(np.quantile(values, 0.9)) if several else None,
        }
    if len(before) and len(after):
        row["delta"] = row["after"] - row["before"]
    return row


def _verdict(before: Values, after: Values) -> str:
    if not (len(before) and len(after)):
        return "not collected"
    if len(before) == 1 or len(after) == 1:
        return "one value each" if len(before) == len(after) else "one value in one of them"
    (low, high), (late_low, late_high) = (np.quantile(values, (0.1, 0.9)) for values in (before, after))
    return "less" if late_high < low else "more" if late_low > high else "within the spread"


def _said(row: Mapping[str, Any]) -> str:
    """One measure in words: no difference where a run lacks it."""
    name = row["metric"]
    if row["delta"] is None:
        return f"the {name} was not collected in both runs, so nothing is claimed of it"
    change = f"{duration(row['before'])} before, {duration(row['after'])} after"
    share = f" ({'-' if row['delta'] < 0 else '+'}{percent(abs(row['delta']), row['before'])})" if row["before"] else ""
    if row["before_values"] == row["after_values"] == 1:
        return f"{name} {change}{share}, one value each"
    n = f"{count(row['before_values'])} and {plural(row['after_values'], 'value')}"
    return f"{name} {change}{share}, {row['verdict']} ({n})"
