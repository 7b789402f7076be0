"""Shows what a trace holds and how sound it is."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..one_trace import open_trace
from ..options import archive_option, format_option, output_option, write_output
from ..text import utf8

if TYPE_CHECKING:
    from ...store.health import Health


@click.command()
@click.argument("trace")
@archive_option
@format_option("table", "json")
@output_option
def command(trace: str, archive_path: Path, format: str, output: Path | None) -> None:
    """Shows how sound a trace is, then what it holds: its facts and its tables.

    Before any number stands its health: what is unreliable and why, what was not collected, how much of the rest is
    known, and what was repaired or left out.

    TRACE is a trace file, a URL, a file in an archive (`run.tar!/rank0.json`), or the beginning of a trace's id.
    """
    from ...store.facts import facts
    from ...store.version import VERSION
    from ..health import health_of
    from ..rows import finite

    found, archive = open_trace(trace, archive_path)
    health = health_of(found)
    answer: dict[str, Any] = {
        "schema": "tracelode.info/1",
        "tool": VERSION,
        "trace_id": found.id,
        "source": utf8(found.source),
        "sources": [
            {"source": utf8(one.source.path), "run": one.run, "rank": one.rank, "rank_from": one.rank_from}
            for one in archive.memberships()
            if one.trace_id == found.id
        ],
        "format": found.facts.format,
        "producer": found.facts.producer,
        "framework": found.facts.framework,
        "host": found.facts.host,
        "clock": found.facts.clock,
        "base_unix_ns": found.facts.base_unix_ns,
        "health": _as_data(health),
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
        text = _as_text(answer, health)
    write_output(text.encode("utf-8", "replace"), output)


def _identity(trace: Any, table: str) -> list[dict[str, Any]]:
    return trace.table(table).drop("args", strict=False).collect().to_dicts() if trace.has(table) else []


def _as_data(health: "Health") -> dict[str, Any]:
    return {
        "unreliable": [
            {"quantity": u.quantity, "because": {note.kind: note.count for note in u.because}}
            for u in health.unreliable
        ],
        "not_collected": [asdict(missing) for missing in health.missing],
        "coverage": [asdict(coverage) for coverage in health.coverage],
        "flawed": [asdict(flawed) for flawed in health.flawed],
        "copying_kernels": health.copying_kernels,
    }


def _as_text(answer: dict[str, Any], health: "Health") -> str:
    from ...store.health import CUT
    from ..health import remarks
    from ..text import clean
    from ..units import show

    keys = ("trace_id", "format", "producer", "framework", "host")
    lines = [_line(key, clean(str(answer[key]))) for key in keys if answer[key] is not None]
    lines[1:1] = [_line("source", _source(one)) for one in answer["sources"]] or [
        _line("source", clean(answer["source"]))
    ]
    lines += [_line(f"device {d['device']}", clean(str(d["name"] or "name not recorded"))) for d in answer["devices"]]
    lines.append("")
    labels = [*remarks(health)]
    lines += [
        _line("" if at and labels[at - 1][0] == label else label, clean(text))
        for at, (label, text) in enumerate(labels)
    ]
    lines.append("")
    nothing = "none found" if any(note.kind in CUT for note in health.notes) else "none recorded"
    lines += [_line(key, _fact(key, value, answer["tables"], nothing)) for key, value in answer["facts"].items()]
    lines += ["", _line("table", "rows")]
    lines += [_line(name, show(count, "count")) for name, count in answer["tables"].items()]
    return "\n".join(lines) + "\n"


RANK_FROM = {"file": "as it says itself", "name": "by its name", "order": "by its place in the order"}


def _source(one: dict[str, Any]) -> str:
    from ..text import clean

    run = [f"run {one['run']}"] if one["run"] is not None else []
    rank = [f"rank {one['rank']} {RANK_FROM[one['rank_from']]}"] if one["rank"] is not None else []
    return clean(one["source"] + (f" ({', '.join(run + rank)})" if run or rank else ""))


def _line(label: str, value: str) -> str:
    return f"{label:<24}{value}"


SOURCE_OF_FACT = {"kernel": "kernel", "longest": "kernel", "memcpy": "copy", "memset": "fill"}


def _fact(key: str, value: Any, tables: dict[str, int], nothing: str) -> str:
    from ..text import clean, shorten
    from ..units import show

    table = next((table for begin, table in SOURCE_OF_FACT.items() if key.startswith(begin)), None)
    if table is not None and table not in tables:
        return nothing
    if value is None:
        return "not stated"
    if key == "longest_kernel":
        name = "" if value[0] is None else f"  {shorten(clean(str(value[0])), 80)}"
        return show(value[1], "ns") + name
    if isinstance(value, dict):
        unit = "bytes" if key.endswith("bytes") else "count"
        return ", ".join(f"{clean(k)} {show(v, unit)}" for k, v in value.items())
    if key.startswith("gpu_"):
        return f"{value} ns on the trace's clock"
    return show(value, "ns" if key.endswith("_ns") else "bytes" if key.endswith("bytes") else "count")
