"""How each object and tensor is used over the run, and which blocks of memory are accessed when."""

from collections.abc import Mapping
from dataclasses import replace

from ...mining.finding import Finding
from ...store.trace import Trace
from ..charts.matrix import matrix
from ..known import known_table
from ..report import Block, Chart, Column, Section
from ..shown import Ask, section_of, table
from ..units import show

__all__ = ["hot", "use"]

USE = (
    Column("process", "Process", "id"),
    Column("name", "What"),
    Column("bytes", "Size", "bytes"),
    Column("class", "Use"),
    Column("role", "Pin or evict"),
    Column("action", "Advice"),
    Column("accesses", "Accesses", "count"),
    Column("persistence", "Windows used", "share"),
    Column("span", "First to last use", "share"),
    Column("density", "Accesses a byte", "ratio"),
    Column("coverage", "Touched", "share"),
    Column("evidence", "Evidence"),
)
COME: Mapping[str, str] = {"accesses": "Faults, and moves of 64 KiB", "density": "Of these a byte"}
"""Titles of what stands for accesses where none were measured."""
HOT = (
    Column("process", "Process", "id"),
    Column("clock", "Clock"),
    Column("band", "Band", "id"),
    Column("first_window", "From window", "id"),
    Column("last_window", "To window", "id"),
    Column("blocks", "Blocks", "count"),
    Column("accesses", "Accesses", "count"),
)


def use(trace: Trace, ask: Ask) -> Section:
    """The section on classes of use."""
    return section_of("uvm_use", "How memory is used", ask, "uvm_use", _use)


def hot(trace: Trace, ask: Ask) -> Section:
    """The section on blocks over time."""
    return section_of("hotness", "Hotness by 2 MiB and window", ask, "hotness", _hot)


def _use(found: Finding) -> tuple[Block, ...]:
    """One table; the columns of accesses say what was counted in their place where no access was measured."""
    measured = found.rows["evidence"][0] == "accesses"
    columns = USE if measured else tuple(replace(one, title=COME.get(one.key, one.title)) for one in USE)
    first = "the most accesses" if measured else "the most faults and moves"
    return (known_table(f"Use of each object and tensor, {first} first", columns, found),)


def _hot(found: Finding) -> tuple[Block, ...]:
    parts = found.rows.partition_by("process", "clock", maintain_order=True)[:4]
    charts: list[Block] = []
    for part in parts:
        clock = part["clock"][0]
        rows = part.drop_nulls("band").to_dicts()
        if not rows:
            continue
        cells = [
            {
                "label": f"{row['band']}: 0x{row['first_address']:x}",
                "left": row["first_window"],
                "right": row["last_window"] + 1,
                "amount": row["accesses"],
                "tip": f"from 0x{row['first_address']:x} to 0x{row['last_address']:x}, windows "
                f"{row['first_window']} to {row['last_window']}: {show(row['accesses'], 'count')} accesses",
            }
            for row in rows
        ]
        specification = matrix(cells, x=f"Window of the clock of {clock}", y="Blocks", what="Accesses", step=1)
        title = f"Accesses by block and window of the clock of {clock}"
        shows = "Blocks of 2 MiB from top to bottom, windows from left to right; the darker, the more accesses."
        charts.append(Chart(title, specification, shows, found.sql))
    listed = table("Accesses by band of blocks and bin of windows", HOT, found)
    return (*charts, replace(listed, limit=10))
