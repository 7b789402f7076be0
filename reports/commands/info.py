"""Shows what a trace holds and how sound it is."""

import json
from pathlib import Path
from typing import Any

import click

from ..options import archive_option, format_option, open_trace, output_option, write_output


@click.command()
@click.argument("trace")
@archive_option
@format_option("table", "json")
@output_option
def command(trace: str, archive_path: Path, format: str, output: Path | None) -> None:
    """Shows what a trace holds: its facts, its tables, and what was repaired or is missing.

    TRACE is a trace file, or the beginning of a trace's id in the archive.
    """
    from ...store.facts import facts
    from ...store.version import VERSION
    from ..rows import finite

    found, _ = open_trace(trace, archive_path)
    answer: dict[str, Any] = {
        "schema": "tracelode.info/1",
        "tool": VERSION,
        "trace_id": found.id,
        "source": found.source,
        "format": found.facts.format,
        "producer": found.facts.producer,
        "framework": found.facts.framework,
        "host": found.facts.host,
        "clock": found.facts.clock,
        "base_unix_ns": found.facts.base_unix_ns,
        "facts": facts(found),
        "processes": _identity(found, "process"),
        "devices": _identity(found, "device"),
        "tables": dict(found.rows),
        "notes": [{"kind": n.kind, "count": n.count, "example": n.example, "meaning": n.meaning} for n in found.notes],
        "labels": dict(found.facts.labels),
    }
    if format == "json":
        text = json.dumps(finite(answer), indent=1, ensure_ascii=False) + "\n"
    else:
        text = _as_text(answer)
    write_output(text.encode("utf-8", "replace"), output)


def _identity(trace: Any, table: str) -> list[dict[str, Any]]:
    return trace.table(table).drop("args", strict=False).collect().to_dicts() if trace.has(table) else []


def _as_text(answer: dict[str, Any]) -> str:
    from ..text import clean
    from ..units import show

    keys = ("trace_id", "source", "format", "producer", "framework", "host")
    lines = [_line(key, clean(str(answer[key]))) for key in keys if answer[key] is not None]
    lines += [_line(f"device {d['device']}", clean(str(d["name"] or "name not recorded"))) for d in answer["devices"]]
    lines.append("")
    lines += [_line(key, _fact(key, value, answer["tables"])) for key, value in answer["facts"].items()]
    lines += ["", _line("table", "rows")]
    lines += [_line(name, show(count, "count")) for name, count in answer["tables"].items()]
    lines += ["", "notes" if answer["notes"] else "no notes: nothing was repaired, nothing was left out"]
    for note in answer["notes"]:
        example = f" (first: {clean(note['example'])})" if note["example"] else ""
        lines.append(f"  {note['kind']}: {note['count']} × {note['meaning']}{example}")
    return "\n".join(lines) + "\n"


def _line(label: str, value: str) -> str:
    return f"{label:<24}{value}"


SOURCE_OF_FACT = {"kernel": "kernel", "longest": "kernel", "memcpy": "copy", "memset": "fill"}


def _fact(key: str, value: Any, tables: dict[str, int]) -> str:
    from ..text import clean, shorten
    from ..units import show

    table = next((table for begin, table in SOURCE_OF_FACT.items() if key.startswith(begin)), None)
    if table is not None and table not in tables:
        return "none recorded"
    if value is None:
        return "not stated"
    if key == "longest_kernel":
        return f"{show(value[1], 'ns')}  {shorten(clean(str(value[0])), 80)}"
    if isinstance(value, dict):
        unit = "bytes" if key.endswith("bytes") else "count"
        return ", ".join(f"{clean(k)} {show(v, unit)}" for k, v in value.items())
    if key.startswith("gpu_"):
        return f"{value} ns on the trace's clock"
    return show(value, "ns" if key.endswith("_ns") else "bytes" if key.endswith("bytes") else "count")
