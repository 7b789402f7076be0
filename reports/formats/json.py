"""JSON with every number exact, and the SQL that recomputes it: for programs."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite
from typing import Any

from ...store.version import VERSION
from ..report import Block, Chart, Report, Section, Table, Text, Timeline
from ..timeline import busy_ns, span
from ..units import plain

__all__ = ["SCHEMA", "SUFFIX", "render"]

SUFFIX = ".json"
SCHEMA = "tracelode.report/1"
ROWS = 6
"""How deep the rows of a table lie: in sections, a section, blocks, a block, rows."""


def render(report: Report) -> str:
    """The report as ASCII text, keys always in the same order. Numbers JSON does not know are null."""
    content = {
        "schema": SCHEMA,
        "tool": VERSION,
        "topic": report.topic,
        "title": report.title,
        "trace_id": report.trace_id,
        "health": report.health,
        "verdict": report.verdict,
        "checks": [asdict(check) for check in report.checks],
        "identity": [{"label": label, "value": value} for label, value in report.identity],
        "sections": [_section(s) for s in report.sections],
        "glossary": report.glossary,
    }
    return _lines(_exact(content), ROWS) + "\n"


def _lines(value: Any, depth: int) -> str:
    """The value as JSON with a line for each member or item, but for those nested deeper than that: a row is a line."""
    if depth == 0 or not value or not isinstance(value, dict | list):
        return json.dumps(value, allow_nan=False)  # as a whole, which is many times faster than with an indent
    indent = " " * (ROWS - depth)
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_lines(inner, depth - 1)}" for key, inner in value.items()]
        return f"{{\n{indent} " + f",\n{indent} ".join(parts) + f"\n{indent}}}"
    return f"[\n{indent} " + f",\n{indent} ".join(_lines(inner, depth - 1) for inner in value) + f"\n{indent}]"


def _section(section: Section) -> dict[str, Any]:
    return {
        "key": section.key,
        "heading": section.heading,
        "sentence": section.sentence,
        "notes": section.notes,
        "blocks": [_block(b) for b in section.blocks],
    }


def _block(block: Block) -> dict[str, Any]:
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Table():
            columns = [{"key": c.key, "title": c.title, "unit": c.unit} for c in block.columns]
            return {"type": "table", "caption": block.caption, "columns": columns, "rows": block.rows, "sql": block.sql}
        case Chart():
            return {
                "type": "chart",
                "title": block.title,
                "description": block.description,
                "specification": block.specification,
                "sql": block.sql,
            }
        case Timeline():
            return {
                "type": "timeline",
                "title": block.title,
                "base_ns": block.base_ns,
                "lanes": _lanes(block),
                "overlays": [{"label": o.label, "spans": len(o.spans)} for o in block.overlays],
                "left_out": block.left_out,
                "sql": block.sql,
            }


def _lanes(timeline: Timeline) -> list[dict[str, Any]]:
    """Each lane with how long something runs on it, as such and as a share of the time shown."""
    first, last = span(timeline)
    busy = [busy_ns(lane.start_ns, lane.duration_ns) for lane in timeline.lanes]
    return [
        {
            "label": lane.label,
            "operations": len(lane.start_ns),
            "busy_ns": ns,
            "share": ns / max(last - first, 1),
            "sql": lane.sql,
        }
        for lane, ns in zip(timeline.lanes, busy, strict=True)
    ]


def _exact(value: Any) -> Any:
    """The value in JSON's types, nothing rounded; what is no JSON type at all (a date) becomes its text."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _exact(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_exact(inner) for inner in value]
    number = plain(value)
    if isinstance(number, float) and not isfinite(number):
        return None
    return number if isinstance(number, (int, float, bool)) or number is None else str(number)
