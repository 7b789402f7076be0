"""What to do about each range of managed memory, how memory is used, and what a second run changed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...mining.finding import Finding
from ...store.trace import Trace
from ..charts.matrix import matrix
from ..charts.style import named_bars
from ..known import known
from ..report import Block, Chart, Column, Section, Table, Text, Unit
from ..shown import Ask, section_of, table
from ..units import show

__all__ = ["advice", "effect", "hot", "use"]

MOST_BARS, TOLD = 12, 5
ADVICE = (
    Column("advice", "Advice", "id"),
    Column("action", "Action"),
    Column("name", "On"),
    Column("saves_least_ns", "Saves at least", "ns"),
    Column("saves_most_ns", "At most", "ns"),
    Column("confidence", "Confidence"),
    Column("bytes", "Bytes", "bytes"),
    Column("kernel", "Before or after"),
    Column("occurrence", "Execution", "id"),
    Column("ahead_kernel", "Ask for it before"),
    Column("ahead_ns", "So much ahead", "ns"),
    Column("executions", "Executions that need it", "count"),
    Column("rule", "Rule"),
    Column("evidence", "Evidence"),
    Column("cuda", "CUDA"),
    Column("hip", "HIP"),
)
EVIDENCE = (
    Column("advice", "Advice", "id"),
    Column("kernel", "Kernel"),
    Column("what", "What"),
    Column("cause", "Cause"),
    Column("events", "Times", "count"),
    Column("pages", "Page faults", "count"),
    Column("bytes", "Bytes", "bytes"),
    Column("time_ns", "Time, added up", "ns"),
)
USE = (
    Column("process", "Process", "id"),
    Column("name", "What"),
    Column("bytes", "Size", "bytes"),
    Column("class", "Use"),
    Column("role", "Pin or evict"),
    Column("accesses", "Accesses", "count"),
    Column("persistence", "Windows used", "share"),
    Column("span", "First to last use", "share"),
    Column("density", "Accesses a byte", "ratio"),
    Column("coverage", "Touched", "share"),
    Column("evidence", "Evidence"),
)
HOT = (
    Column("process", "Process", "id"),
    Column("clock", "Clock"),
    Column("band", "Band", "id"),
    Column("first_window", "From window", "id"),
    Column("last_window", "To window", "id"),
    Column("blocks", "Blocks", "count"),
    Column("accesses", "Accesses", "count"),
)
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


def advice(trace: Trace, ask: Ask) -> Section:
    """The section on what to do: estimates, with what each rests on."""
    return section_of("uvm_advice", "What to do", ask, "uvm_advice", lambda found: _advice(found, ask("uvm_evidence")))


def _advice(found: Finding, evidence: Finding) -> tuple[Block, ...]:
    told: list[Block] = []
    rows = [row for row in found.rows.to_dicts() if row["saves_most_ns"]][:MOST_BARS]
    if rows:
        bars = [
            (
                f"{row['action'].replace('_', ' ')}: {row['name']}",
                row["saves_most_ns"],
                _interval(row["saves_least_ns"], row["saves_most_ns"]),
            )
            for row in rows
        ]
        shows = "The most that each action could save, and the interval; estimates, which overlap."
        told.append(Chart("What each action could save", named_bars(bars), shows, found.sql))
    told += [_told(row) for row in found.rows.head(TOLD).to_dicts() if row["cuda"]]
    told.append(
        table("Advice on each range, estimated; the most that could be saved first", known(ADVICE, found), found)
    )
    return (*told, table("What it rests on", known(EVIDENCE, evidence), evidence))


def _told(row: Mapping[str, Any]) -> Text:
    """One advice in words, with the line to paste."""
    parts = [f"{row['advice']}. {row['action'].capitalize().replace('_', ' ')}: {row['name']}"]
    if row["kernel"] and row["action"] in ("prefetch", "offload"):
        when = "before" if row["action"] == "prefetch" else "after"
        parts.append(f"{when} {row['kernel']}, execution {row['occurrence']}")
    if row["ahead_kernel"]:
        parts.append(
            f"asked for before {row['ahead_kernel']}, execution {row['ahead_occurrence']}, "
            f"{show(row['ahead_ns'], 'ns')} ahead"
        )
    return Text(f"{', '.join(parts)}. Why: {row['rule']}. CUDA: {row['cuda']} HIP: {row['hip']}")


def _interval(least: int | None, most: int) -> str:
    return f"{show(least or 0, 'ns')} to {show(most, 'ns')}"


def use(trace: Trace, ask: Ask) -> Section:
    """The section on classes of use."""
    caption = "Use of each object and tensor, the most accesses first"
    return section_of("uvm_use", "How memory is used", ask, "uvm_use", lambda f: (table(caption, known(USE, f), f),))


def hot(trace: Trace, ask: Ask) -> Section:
    """The section on blocks over time."""
    return section_of("hotness", "Hotness by 2 MiB and window", ask, "hotness", _hot)


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


def effect(found: Finding) -> Section:
    """The section on a run before and one after, from the finding of the comparison."""
    tables: list[Block] = []
    for unit, caption in UNITS:
        rows = found.rows.filter(found.rows["unit"] == unit)
        sql = f"select * from (\n{found.sql}\n) where unit = '{unit}'"
        columns = tuple(Column(c.key, c.title, unit) if c.unit == "ns" else c for c in EFFECT)
        part = Finding(found.name, found.sentence, rows, sql)
        tables.append(Table(f"{caption} before and after", known(columns, part), rows.to_dicts(), sql))
    return Section("uvm_effect", "Before and after", found.sentence, tuple(tables), found.notes)
