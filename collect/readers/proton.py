"""Profiles of Triton's Proton as hatchet JSON (`*.hatchet`): a tree of scopes and kernels with their totals.

There is no timeline: each node has the count and the time of its executions over the whole recording, kernels
mostly as the leaves. After the tree stand the devices by kind and number.
"""

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any

from ...store.errors import UnreadableFile
from ...store.trace import Facts
from ..files import TraceFile
from ..graph_json import decoded_text
from ..graph_nodes import Row, json_text
from ..rowwise import Rowwise
from ..sink import Sink

__all__ = ["VERSION", "read", "recognises"]

VERSION = 1

PROCESS = 0
BEGINNING = re.compile(rb'(?:\xef\xbb\xbf)?\s*\[\s*\{\s*"(?:children|frame|metrics)"\s*:')
FRAME = re.compile(rb'"frame"\s*:\s*\{\s*"(?:name|type)"\s*:')
METRICS = re.compile(rb'"metrics"\s*:\s*\{')
TIME, COUNT, DEVICE, DEVICE_KIND = "time (ns)", "count", "device_id", "device_type"
VENDORS = {"CUDA": "nvidia", "HIP": "amd", "XPU": "intel"}


def recognises(file: TraceFile) -> bool:
    """Whether it is a list whose first element is a node of a tree: frame, metrics and children."""
    head = file.head
    return BEGINNING.match(head) is not None and FRAME.search(head) is not None and METRICS.search(head) is not None


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands the totals and the devices to the sink; `UnreadableFile` where the JSON is not whole."""
    text = decoded_text(file).removeprefix("\ufeff")
    try:
        parts = json.loads(text, strict=False, parse_float=Decimal, parse_constant=str)
    except (ValueError, RecursionError, InvalidOperation) as error:
        place = f" at character {error.pos} of {len(text)}" if isinstance(error, json.JSONDecodeError) else ""
        raise UnreadableFile(
            f"{file.path}: JSON that is cut off, damaged or nested too deeply{place}",
            "was proton.finalize() called? copy the file again, or record it again",
        ) from error
    rows = Rowwise(sink)
    trees = [part for part in parts if isinstance(part, dict) and "frame" in part]
    _tree(trees, rows, sink)
    for part in parts:
        if isinstance(part, dict) and "frame" not in part:
            _devices(part, rows, sink)
        elif not isinstance(part, dict):
            rows.add("other", {"kind": "element", "json": json_text(part, sink) or "null"})
    rows.add("process", {"process": PROCESS})
    rows.finish()
    return Facts("proton", producer="Triton Proton", framework="Triton")


def _tree(trees: list[Any], rows: Rowwise, sink: Sink) -> None:
    """Writes the nodes, parents first, in the order of the file."""
    waiting: list[tuple[Any, int | None, int]] = [(tree, None, 0) for tree in reversed(trees)]
    number = 0
    while waiting:
        node, parent, depth = waiting.pop()
        if not isinstance(node, dict):
            meaning = "parts of the graph or tree that are no nodes: left out"
            sink.note("bad-node", meaning, example=str(node)[:80])
            continue
        children = node.get("children")
        inner = children if isinstance(children, list) else []
        row = {"process": PROCESS, "id": number, "parent": parent, "depth": depth}
        rows.add("total", row | _total(node, sink, keep_children=not isinstance(children, list)))
        waiting += [(child, number, depth + 1) for child in reversed(inner)]
        number += 1


def _total(node: Row, sink: Sink, *, keep_children: bool) -> Row:
    """What a node says of itself. A number that is not whole stays as the file has it."""
    left = {k: v for k, v in node.items() if k not in ("frame", "metrics") and (keep_children or k != "children")}
    frame, metrics = node.get("frame"), node.get("metrics")
    row: Row = {}
    if isinstance(frame, dict):
        row = {"name": _text(frame, "name"), "kind": _text(frame, "type")}
        left |= {k: v for k, v in frame.items() if k not in ("name", "type")}
    elif frame is not None:
        left["frame"] = frame
    if isinstance(metrics, dict):
        row |= {"count": _whole(metrics, COUNT), "time_ns": _whole(metrics, TIME)}
        row |= {"device": _whole(metrics, DEVICE), "device_kind": _text(metrics, DEVICE_KIND)}
        left |= metrics
    elif metrics is not None:
        left["metrics"] = metrics
    return row | {"args": json_text(left, sink) if left else None}


def _devices(kinds: Row, rows: Rowwise, sink: Sink) -> None:
    """Writes the devices. Clock rates are in kHz, as CUDA and HIP give them."""
    for kind, numbered in kinds.items():
        if not isinstance(numbered, dict):
            rows.add("other", {"kind": str(kind), "json": json_text(numbered, sink) or "null"})
            continue
        for number, said in numbered.items():
            device = _whole({"device": number}, "device")
            if device is None or not isinstance(said, dict):
                rows.add("other", {"kind": f"{kind} {number}", "json": json_text(said, sink) or "null"})
                continue
            left = dict(said)
            row: Row = {"process": PROCESS, "device": device, "vendor": VENDORS.get(kind)}
            row |= {"architecture": _text(left, "arch"), "compute_units": _whole(left, "num_sms")}
            clock = _whole(left, "clock_rate")
            row |= {"clock_hz": None if clock is None else clock * 1000, "args": json_text({"kind": kind} | left, sink)}
            rows.add("device", row)


def _whole(members: Row, name: str) -> int | None:
    """The member that is a whole number below 2^63, also as text, taken out; None where it is no such."""
    value = members.get(name)
    if isinstance(value, str):
        number = int(value) if re.fullmatch(r"\d{1,18}", value, re.ASCII) else None
    elif isinstance(value, Decimal):
        number = int(value) if -(1 << 63) < value < 1 << 63 and value == int(value) else None
    else:
        number = value if type(value) is int else None
    if number is not None:
        del members[name]
    return number


def _text(members: Row, name: str) -> str | None:
    """The member that is text, taken out."""
    return members.pop(name) if isinstance(members.get(name), str) else None
