"""JSON with every number exact, and the SQL that recomputes it: for programs."""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

from ...store.version import VERSION
from ..report import Block, Chart, Lane, Report, Section, Table, Text, Timeline
from ..timeline import busy_ns
from ..units import plain

__all__ = ["SCHEMA", "SUFFIX", "render"]

SUFFIX = ".json"
SCHEMA = "tracelode.report/1"


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
        "identity": [{"label": label, "value": value} for label, value in report.identity],
        "sections": [_section(s) for s in report.sections],
        "glossary": report.glossary,
    }
    return json.dumps(_exact(content), indent=1, allow_nan=False) + "\n"


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
                "lanes": [_lane(lane) for lane in block.lanes],
                "overlays": [{"label": o.label, "spans": len(o.spans)} for o in block.overlays],
                "left_out": block.left_out,
                "sql": block.sql,
            }


def _lane(lane: Lane) -> dict[str, Any]:
    busy = busy_ns(lane.start_ns, lane.duration_ns)
    return {"label": lane.label, "operations": len(lane.start_ns), "busy_ns": busy, "sql": lane.sql}


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
