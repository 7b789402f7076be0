"""Which of two measured set-ups (device, batch size, settings) is the quicker, and by how much?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...store.tables import TABLES
from ...store.trace import Trace
from ..finding import Finding
from ..setups import Setup, best, setup_of

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

VERSION = 1
NEEDS = ("segments", "iterations")
TABLE = "setup"

UNLIKE = 0.1
"""Iterations whose numbers of operations differ by more than this share may not do the same work."""

SQL = """
select place, name, device, processes, iterations, median_ns, mad_ns, error_ns, operations
from setup
where base = '{base}'
order by place
"""


def compare(base: Trace, trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `setup`: a row for each of the two that is a measurement, the base first."""
    import pyarrow as pa

    rows = [
        {"base": base.id, "place": place, "error_ns": round(found.error_ns)}
        | {column: getattr(found, column) for column in _MEASURED}
        for place, found in enumerate(_setups(base, trace))
        if found is not None
    ]
    return {TABLE: pa.Table.from_pylist(rows, schema=TABLES[TABLE].schema)}


_MEASURED = ("name", "device", "processes", "iterations", "median_ns", "mad_ns", "operations")


def find(base: Trace, trace: Trace) -> Finding:
    """The median iteration with each set-up; `error_ns` is its standard error. Named after the files.

    Time per iteration says which is quicker only where an iteration does the same work: with another batch size divide
    by it.
    """
    sql = SQL.format(base=base.id).strip()
    rows = trace.sql(sql)
    setups = [Setup(**{column: row[column] for column in _MEASURED}) for row in rows.iter_rows(named=True)]
    return Finding("setups", best(setups), rows, sql, _notes(rows))


def _setups(base: Trace, trace: Trace) -> tuple[Setup | None, Setup | None]:
    """Both set-ups, named after their files, or numbered too where these are alike."""
    one, two = (side.source.rsplit("/", 1)[-1] for side in (base, trace))
    if one == two:
        one, two = f"{one} (1)", f"{two} (2)"
    return setup_of(base, one), setup_of(trace, two)


def _notes(rows: "pl.DataFrame") -> tuple[str, ...]:
    if len(rows) < 2:
        return ("Fewer than two of the traces have enough steady iterations to be a measurement.",)
    least, most = sorted(rows["operations"].to_list())
    if most - least > UNLIKE * most:
        return (f"An iteration is {least} operations in one and {most} in the other: they may not do the same work.",)
    return ("Whether an iteration handles as much data in both, for example the same batch size, is not recorded.",)
