"""Which iterations did two ranks go through together, and which rank do the others wait for?"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...store.tables import TABLES
from ...store.trace import Trace
from ..finding import Finding, total
from ..ranks import Match, match, ranks_of, slower
from ..words import duration, percent, plural

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

VERSION = 2
NEEDS = ("iteration_states",)
TABLE = "rank_iteration"

SQL = """
select
    base_process,
    process,
    base_iteration,
    iteration,
    base_time_ns,
    time_ns,
    base_communication_ns,
    communication_ns,
    late_ns,
    slower
from rank_iteration
where base = '{base}'
order by base_process, process, iteration
"""


def compare(base: Trace, trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `rank_iteration`: every process of the trace beside the first of the base, iteration by iteration."""
    import pyarrow as pa

    first = ranks_of(base)[:1]
    found = [match(one, other) for one in first for other in ranks_of(trace)]
    rows = [row for pair in found if pair is not None for row in _rows(base.id, pair)]
    return {TABLE: pa.Table.from_pylist(rows, schema=TABLES[TABLE].schema)}


def find(base: Trace, trace: Trace) -> Finding:
    """The iterations that the ranks went through together, and who is late.

    `late_ns` is how much more time outside communication an iteration takes the process than that of the base. `slower`
    says whose median of it is larger, by more than 3 % and more than chance: the other waits for it.
    """
    sql = SQL.format(base=base.id).strip()
    rows = trace.sql(sql)
    parts = rows.partition_by("process", maintain_order=True) if len(rows) else []
    sentence = " ".join(map(_sentence, parts)) or "No iterations were found that the two went through together."
    notes = ()
    if len(rows) and not total(rows, "communication_ns") + total(rows, "base_communication_ns"):
        notes = ("No communication was recorded: the ranks may have nothing to do with each other.",)
    return Finding("ranks", sentence, rows, sql, notes)


def _rows(base: str, pair: Match) -> Iterator[dict[str, Any]]:
    share, stands_out = slower(pair)
    late = ("trace" if share > 0 else "base") if stands_out else None
    one, two = pair.base, pair.other
    columns = (
        one.iteration, two.iteration, one.time_ns, two.time_ns, one.communication_ns, two.communication_ns,
        two.own_ns - one.own_ns,
    )  # fmt: skip
    names = (
        "base_iteration", "iteration", "base_time_ns", "time_ns", "base_communication_ns", "communication_ns",
        "late_ns",
    )  # fmt: skip
    known = {"base": base, "base_process": one.process, "process": two.process, "slower": late}
    for values in zip(*(column.tolist() for column in columns), strict=True):
        yield known | dict(zip(names, values, strict=True))


def _sentence(rows: "pl.DataFrame") -> str:
    first = rows.row(0, named=True)
    base, other = f"process {first['base_process']} of the base", f"process {first['process']}"
    both = f"{plural(len(rows), 'iteration')} of {other} and {base} matched"
    if first["slower"] is None:
        return f"{both}; neither waits for the other."
    slow, quick, prefix = (other, base, "base_") if first["slower"] == "trace" else (base, other, "")
    late = abs(_median(rows["late_ns"]))
    usual = _median(rows[f"{prefix}time_ns"] - rows[f"{prefix}communication_ns"])
    return (
        f"{both}; {quick} waits for {slow}, which takes {duration(late)} ({percent(late, usual)}) longer an iteration."
    )


def _median(values: "pl.Series") -> float:
    return float(np.median(values.to_numpy()))
