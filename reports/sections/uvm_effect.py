"""What a second run, with advice taken, changed."""

from ...mining.finding import Finding
from ..known import known
from ..report import Block, Column, Section, Table, Unit

__all__ = ["section"]

EFFECT = (
    Column("metric", "Measure"),
    Column("before", "Before", "ns"),
    Column("after", "After", "ns"),
    Column("delta", "Difference", "ns"),
    Column("share", "Of before", "share"),
    Column("verdict", "Verdict"),
    Column("before_values", "Values before", "count"),
    Column("before_low", "10 %", "ns"),
    Column("before_high", "90 %", "ns"),
    Column("after_values", "Values after", "count"),
    Column("after_low", "10 %", "ns"),
    Column("after_high", "90 %", "ns"),
)
UNITS: tuple[tuple[Unit, str], ...] = (("ns", "Times"), ("bytes", "Bytes"), ("count", "Counts"))


def section(found: Finding) -> Section:
    """The section on a run before and one after, from the finding of the comparison."""
    tables: list[Block] = []
    for unit, caption in UNITS:
        rows = found.rows.filter(found.rows["unit"] == unit)
        sql = f"select * from (\n{found.sql}\n) where unit = '{unit}'"
        columns = tuple(Column(c.key, c.title, unit) if c.unit == "ns" else c for c in EFFECT)
        part = Finding(found.name, found.sentence, rows, sql)
        tables.append(Table(f"{caption} before and after", known(columns, part), rows.to_dicts(), sql))
    return Section("uvm_effect", "Before and after", found.sentence, tuple(tables), found.notes)
