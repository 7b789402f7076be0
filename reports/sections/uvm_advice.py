"""What to do about each range of managed memory, with what each advice rests on."""

from collections.abc import Mapping
from typing import Any

from ...mining.finding import Finding
from ...mining.managed_vendors import is_amd
from ...store.trace import Trace
from ..charts.style import named_bars
from ..known import known_table
from ..report import Block, Chart, Column, Section, Text
from ..shown import Ask, section_of
from ..units import show

__all__ = ["advice"]

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
TEMPLATE = " The allocations behind these addresses are not recorded: the line is a template for each of them."
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


def advice(trace: Trace, ask: Ask) -> Section:
    """The section on what to do: estimates, with what each rests on."""
    columns = tuple(c for c in ADVICE if c.key != "cuda") if is_amd(trace) else ADVICE
    return section_of(
        "uvm_advice", "What to do", ask, "uvm_advice", lambda found: _advice(found, ask("uvm_evidence"), columns)
    )


def _advice(found: Finding, evidence: Finding, columns: tuple[Column, ...]) -> tuple[Block, ...]:
    """The blocks; `columns` are those of the advice: a trace of AMD's GPUs shows no line for CUDA."""
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
    pasted = tuple(c for c in columns if c.key in ("cuda", "hip"))
    told += [_told(row, pasted) for row in found.rows.head(TOLD).to_dicts() if row["hip"]]
    told.append(known_table("Advice on each range, estimated; the most that could be saved first", columns, found))
    if len(evidence.rows):
        told.append(known_table("What it rests on", EVIDENCE, evidence))
    return tuple(told)


def _told(row: Mapping[str, Any], pasted: tuple[Column, ...]) -> Text:
    """One advice in words, with the lines to paste."""
    parts = [f"{row['advice']}. {row['action'].capitalize().replace('_', ' ')}: {row['name']}"]
    if row["kernel"] and row["action"] in ("prefetch", "offload"):
        when = "before" if row["action"] == "prefetch" else "after"
        parts.append(f"{when} {row['kernel']}, execution {row['occurrence']}")
    if row["ahead_kernel"]:
        parts.append(
            f"asked for before {row['ahead_kernel']}, execution {row['ahead_occurrence']}, "
            f"{show(row['ahead_ns'], 'ns')} ahead"
        )
    lines = [f"{column.title}: {row[column.key]}" for column in pasted]
    template = TEMPLATE if row["level"] == "addresses" else ""
    return Text("\n\n".join([f"{', '.join(parts)}. Why: {row['rule']}.{template}", *lines]))


def _interval(least: int | None, most: int) -> str:
    return f"{show(least or 0, 'ns')} to {show(most, 'ns')}"
