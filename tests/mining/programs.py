"""Small programs as traces: kernels on one stream, each launched by a call of its own, at a steady pace."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tests.building import build
from tracelode.store import TABLES, Archive, Trace

PACE_NS, KERNEL_NS, WAIT_NS = 1_000, 600, 5_000
STEP = ["read", *["project_gemm", "gelu_kernel", "output_gemm"] * 4, "loss", *["back_gemm", "grad"] * 5, "adam"]


def train(
    folder: Path, *units: Sequence[str], longer: dict[int, int] | None = None, **tables: list[dict[str, Any]]
) -> tuple[Trace, Archive]:
    """A trace of kernels with those names, a wait before each unit; `longer` adds time to kernels by ordinal."""
    kernels: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    now = 0
    for unit in units:
        now += WAIT_NS
        for name in unit:
            number = len(kernels)
            duration = KERNEL_NS + (longer or {}).get(number, 0)
            kernels.append({"name": name, "start_ns": now, "end_ns": now + duration, "correlation": number + 1})
            calls.append({"start_ns": now - 900, "end_ns": now - 800, "correlation": number + 1})
            now += PACE_NS - KERNEL_NS + duration
    return build(folder, kernel=kernels, api=calls, **tables)


LEVEL = {
    "sequence": 0, "period": 2, "kind": "iteration", "count": 1, "first": 0, "last": 9, "coverage": 1.0,
    "confidence": 1.0, "phase_confidence": 1.0,
}  # fmt: skip
ITERATION = {"sequence": 0, "first": 0, "last": 1, "operations": 2, "start_ns": 0, "from_ns": 0}
UNIT = {"sequence": 0, "first": 0, "last": 1, "distance": 0, "time_ns": 0}


def timed(folder: Path, *processes: Sequence[tuple[int, int, str]]) -> Trace:
    """A trace of processes with iterations of those times, types and phases, as if mined."""
    trace, archive = build(folder, kernel=[{"start_ns": 0, "end_ns": 1}])
    rows: dict[str, list[dict[str, Any]]] = {"level": [], "iteration": [], "unit": [], "iteration_state": []}
    for level, iterations in enumerate(processes):
        key = {"process": level + 1, "level": level}
        rows["level"].append(LEVEL | key)
        for number, (time, kind, phase) in enumerate(iterations):
            one = key | {"iteration": number}
            rows["iteration"].append(ITERATION | one | {"end_ns": time, "phase": phase})
            rows["unit"].append(UNIT | one | {"unit": len(rows["unit"]), "type": kind})
    tables = {name: pa.Table.from_pylist(part, schema=TABLES[name].schema) for name, part in rows.items()}
    return archive.put_derived(trace, "made", 1, tables)


def expanded(trace: Trace) -> dict[int, list[int]]:
    """For each sequence the symbols that its units, trees and edits give."""
    tree, unit, edit = (trace.table(name).collect() for name in ("tree", "unit", "edit"))
    texts = {int(key[0]): _text(nodes) for key, nodes in tree.drop_nulls("type").group_by(["type"])}
    edits = edit.filter(edit["kind"].is_in(["substitution", "insertion", "deletion"])).sort("unit", "number")
    result: dict[int, list[int]] = {}
    for row in unit.sort("unit").iter_rows(named=True):
        mine = edits.filter(edits["unit"] == row["unit"]).select("kind", "column", "symbol").rows()
        result.setdefault(row["sequence"], []).extend(_edited(texts[row["type"]], mine))
    return result


def _text(nodes: pl.DataFrame) -> list[int]:
    text = np.full(int(nodes.filter(nodes["kind"] == "root")["length"][0]), -1)
    leaves = nodes.filter(nodes["kind"] == "symbol")
    text[leaves["offset"].to_numpy()] = leaves["symbol"].to_numpy()
    loops = nodes.filter(nodes["kind"] == "loop").sort("depth", descending=True)
    for offset, period, repeat in loops.select("offset", "period", "repeat").rows():
        text[offset : offset + period * repeat] = np.tile(text[offset : offset + period], repeat)
    return text.tolist()


def _edited(text: list[int], edits: list[tuple[str, int, int]]) -> list[int]:
    result: list[int] = []
    at = 0
    for kind, column, symbol in edits:
        result += text[at:column]
        at = column + (kind != "insertion")
        result += [symbol] * (kind != "deletion")
    return result + text[at:]
