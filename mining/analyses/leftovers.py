"""Parts a device's work into what iterations and patterns explain, and what is left over."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...store.tables import TABLES
from ...store.trace import Trace
from ..columns import numbers, words
from ..naming import names_of
from ..numbering import numbered
from ..sequence import OPERATIONS, Sequence, sequences

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

VERSION = 1
NEEDS = ("iterations", "patterns")

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

PARTS = ("iteration", "pattern", "before", "between", "after", "no iterations", "not ordered")
EXPLAINED = PARTS[:2]
STEPS = """
select iteration.sequence, first, last
from iteration
join (
    select level
    from level
    where kind = 'iteration'
    qualify row_number() over (partition by sequence order by count * period desc, level) = 1
) using (level)
order by sequence, first
"""
"""SQL: the iterations of each sequence, at the level that covers most of it."""


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `remainder`; nothing without device work.

    An operation in an iteration is explained by that, one in an occurrence of a pattern outside iterations by the
    pattern. Operations without trusted times count, with no time. Cost: a few passes over the operations.
    """
    import polars as pl

    there = [name for name in OPERATIONS if trace.has(name)]
    if not there:
        return {}
    steps = _ranges(trace.sql(STEPS)) if trace.has("iteration") else {}
    repeats: dict[int, tuple[Ints, Ints]] = {}
    if trace.has("occurrence"):
        repeats = _ranges(trace.sql("select sequence, first, last from occurrence order by sequence, first"))
    part = {name: np.full(trace.rows[name], PARTS.index("not ordered"), np.int8) for name in there}
    for sequence in sequences(trace):
        judged = _judged(sequence, steps.get(sequence.number), repeats.get(sequence.number))
        for name in there:
            of_kind, row = (sequence.rows["kind"] == name).to_numpy(), sequence.rows["row"].to_numpy()
            part[name][row[of_kind] - 1] = judged[of_kind]
    rows = pl.concat(_added(trace, name, part[name]) for name in there)
    added = rows.group_by("process", "device", "part", "kind", "name").agg(pl.col("operations", "time_ns").sum())
    ordered = added.sort(
        "process", "device", "part", "time_ns", "kind", "name", descending=[False] * 3 + [True] + [False] * 2
    )
    return {"remainder": ordered.select(TABLES["remainder"].names).to_arrow().cast(TABLES["remainder"].schema)}


def _ranges(rows: "pl.DataFrame") -> dict[int, tuple[Ints, Ints]]:
    """First and last ordinals by sequence, in order of the first."""
    return {
        int(part["sequence"][0]): (part["first"].to_numpy(), part["last"].to_numpy())
        for part in rows.partition_by("sequence", maintain_order=True)
    }


def _judged(
    sequence: Sequence, steps: tuple[Ints, Ints] | None, repeats: tuple[Ints, Ints] | None
) -> npt.NDArray[np.int8]:
    """The index in `PARTS` for each operation of a sequence."""
    count = len(sequence.symbols)
    at = np.arange(count)
    found = np.full(count, PARTS.index("no iterations" if steps is None else "between"), np.int8)
    if steps is not None:
        found[at < steps[0][0]] = PARTS.index("before")
        found[at > steps[1].max()] = PARTS.index("after")
    if repeats is not None:
        found[_inside(count, *repeats)] = PARTS.index("pattern")
    if steps is not None:
        found[_inside(count, *steps)] = PARTS.index("iteration")
    return found


def _inside(count: int, first: Ints, last: Ints) -> Flags:
    """Which of so many places lie in any of the ranges."""
    changes = np.zeros(count + 1, np.int64)
    np.add.at(changes, first, 1)
    np.add.at(changes, last + 1, -1)
    return np.cumsum(changes)[:count] > 0


def _added(trace: Trace, name: str, part: npt.NDArray[np.int8]) -> "pl.DataFrame":
    """Number and time of the operations of a table by device and part; of what is not explained by name as well."""
    import polars as pl

    columns = numbers(trace.files[name], ("process", "device", "duration_ns"))
    trusted, (code, names) = words(trace.files[name], "flaw").are(None), names_of(trace, name)
    left = part >= len(EXPLAINED)
    group = np.where(left, code, -1), part, columns["device"], columns["process"]
    key, first = numbered(group)
    operations = np.bincount(key, minlength=len(first))
    time = np.zeros(len(first), np.int64)
    np.add.at(time, key, np.where(trusted, columns["duration_ns"], 0))
    return pl.DataFrame(
        {
            "process": columns["process"][first],
            "device": columns["device"][first],
            "part": [PARTS[one] for one in part[first].tolist()],
            "kind": [name if one else None for one in left[first].tolist()],
            "name": [
                names[one] if there else None for one, there in zip(code[first].tolist(), left[first], strict=True)
            ],
            "operations": operations,
            "time_ns": time,
        },
        schema_overrides={"kind": pl.String, "name": pl.String},
    )
