"""Execution traces of PyTorch's ExecutionTraceObserver (schemas 1.0.1 to 1.1.1), and Chakra graphs as JSON.

A graph of operators with their inputs, outputs and parents, without times: when the observer began and ended, by a
clock of its own, is kept as labels. A trace that chakra_trace_link has joined with a profile has the device's work as
further nodes, and times. Nodes are taken one by one; what of them must be joined is told with `Nodes`.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ...store.errors import UnreadableFile
from ...store.trace import Facts
from ..files import TraceFile
from ..graph_json import Document
from ..graph_nodes import KINDS, Nodes, Row, json_text, nanoseconds
from ..jsonrepair import FAULTS
from ..sink import Sink
from ..text_window import decoded

__all__ = ["VERSION", "read", "recognises"]

VERSION = 3

PYTORCH, CHAKRA = "nodes", "workload_graph"
LISTS = frozenset({PYTORCH, CHAKRA})
LIST = re.compile(rb'"(?:nodes|workload_graph)"\s*:\s*\[')
SCHEMA = re.compile(r"\d+\.\d+\.\d+(?:-chakra\.[\d.]+)?")
SIGNS = {
    PYTORCH: ({"id", "name"}, {"ctrl_deps", "rf_id", "fw_parent", "op_schema"}),
    CHAKRA: ({"Id", "Name"}, {"NodeType", "is_cpu_op", "data_deps", "ctrlDeps"}),
}
"""Keys that a node has all of, and keys of which it has one."""
LANE = re.compile(r"\[pytorch\|profiler\|execution_(?:trace|graph)\|(process|thread)\]")
USER_SCOPE = 7
DEVICE_WORK = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "fill"}
COLLECTIVE = "record_param_comms"
SIDES = (
    ("inputs", "input", ("inputs", "shapes", "types")),
    ("outputs", "output", ("outputs", "output_shapes", "output_types")),
)
DURATIONS = ("inclusive_dur", "dur", "runtime")


def recognises(file: TraceFile) -> bool:
    """Whether it is an object with a list of nodes, of which the first has the keys of its kind, or a known schema."""
    if LIST.search(file.head) is None:
        return False
    document = Document(decoded((file.head,)), LISTS)
    if document.key is None or "traceEvents" in document.members:
        return False
    first = next(document.elements(), None)
    if not isinstance(first, dict):
        return SCHEMA.fullmatch(str(document.members.get("schema"))) is not None
    needed, signs = SIGNS[document.key]
    return needed <= first.keys() and bool(signs & first.keys())


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every node to the sink and returns the facts; `UnreadableFile` where damage leaves no node."""
    blocks = file.blocks()
    document = Document(decoded(blocks), LISTS)
    pid = _number(document.members.get("pid")) or 0
    nodes = Nodes(sink, pid if 0 <= pid < 1 << 63 else 0)
    for element in document.elements():
        if isinstance(element, dict):
            nodes.add(*_node(element, sink))
        else:
            meaning = "parts of the graph or tree that are no nodes: left out"
            sink.note("bad-node", meaning, example=str(element)[:80])
    for _ in blocks:  # what damage left unread: whether the file is cut is known at its end
        pass
    _report(file, document, sink, nodes.finish())
    schema = document.members.get("schema")
    labels = {k: v if isinstance(v, str) else json_text(v, sink) or "" for k, v in document.members.items()}
    return Facts(
        "execution_trace",
        producer="Chakra JSON" if document.key == CHAKRA else f"PyTorch execution trace, schema {schema}",
        framework="PyTorch" if document.key == PYTORCH else None,
        labels=labels,
    )


def _report(file: TraceFile, document: Document, sink: Sink, count: int) -> None:
    if not count and not document.closed:
        raise UnreadableFile(
            f"{file.path}: ends or is damaged before the first node of its graph",
            "was the observer stopped and unregistered before the program ended? record it again",
        )
    if document.damaged:
        meaning = "parts of the graph or tree that are no nodes: left out"
        sink.note("bad-node", meaning, count=document.damaged, example=document.first_damaged)
    if document.loose:
        sink.note("mended", FAULTS["mended"], count=document.loose, example=document.first_loose)
    if document.repeated:
        sink.note("duplicate-key", FAULTS["duplicate-key"], count=document.repeated, example=document.first_repeated)
    if not document.closed and not file.damage:  # which ingest notes by itself
        meaning = "the file ends early: events after that point are missing"
        sink.note("truncated", meaning, example=f"after {count} nodes")


def _node(element: Mapping[str, Any], sink: Sink) -> tuple[Row, Row]:
    """The row of a node, and what no column holds."""
    left = dict(element)
    row: Row = {"id": _taken(left, ("id", "Id")), "name": _text(left, ("name", "Name"))}
    _dependencies(row, left, sink)
    start = nanoseconds(left.get("ts"))
    if start is not None:
        row["start_ns"] = start
        del left["ts"]
    for key in DURATIONS:
        duration = nanoseconds(left.get(key))
        if duration is not None and duration >= 0:
            row["time_ns"] = duration
            del left[key]
            break
    for side, prefix, columns in SIDES:
        _values(row, left, sink, side, prefix, columns)
    attributes = _attributes(left.pop("attrs", None)) | left
    row["kind"] = _kind(row["name"], attributes)
    return row, attributes


def _dependencies(row: Row, left: Row, sink: Sink) -> None:
    """The parent: given as such, or the first of what controls the node."""
    control = next((left.pop(key) for key in ("ctrl_deps", "ctrlDeps") if key in left), None)
    listed = control if isinstance(control, list) else [] if control is None else [control]
    row["parent"] = _taken(left, ("parent",)) if "parent" in left else _number(listed[0]) if listed else None
    if isinstance(control, list) and len(control) > 1:
        row["control"] = json_text(control, sink)
    data = next((left.pop(key) for key in ("data_deps", "dataDeps") if key in left), None)
    if data:
        row["data"] = json_text(data, sink)


def _values(row: Row, left: Row, sink: Sink, side: str, prefix: str, columns: Iterable[str]) -> None:
    """Values, shapes and types: in one object, as schemas from 1.0.2 on have them, or in three members."""
    given = left.pop(side, None)
    parts = (
        [given.pop(key, None) for key in ("values", "shapes", "types")]
        if isinstance(given, dict)
        else [given, left.pop(f"{prefix}_shapes", None), left.pop(f"{prefix}_types", None)]
    )
    for column, value in zip(columns, parts, strict=True):
        row[column] = None if value is None else json_text(value, sink)
    if isinstance(given, dict):
        left |= {f"{prefix}_{key}": value for key, value in given.items()}


def _attributes(listed: Any) -> Row:
    """The attributes by name; what is no list of them stays as it is."""
    named: Row = {}
    odd: list[Any] = []
    for one in listed if isinstance(listed, list) else [] if listed is None else [listed]:
        if isinstance(one, dict) and isinstance(one.get("name"), str) and "value" in one:
            named[one["name"]] = one["value"]
        else:
            odd.append(one)
    return named | ({"attrs": odd} if odd else {})


def _kind(name: str | None, attributes: Row) -> str:
    lane = LANE.fullmatch(name or "")
    if lane:
        return lane[1]
    if type(attributes.get("NodeType")) is int:
        number = attributes.pop("NodeType")
        return KINDS.get(number, f"type {number}")
    category = attributes.get("cat")
    if isinstance(category, str) and category in DEVICE_WORK:
        return DEVICE_WORK[category]
    if name == COLLECTIVE or attributes.get("collective_name"):
        return "collective"
    return "label" if attributes.get("scope") == USER_SCOPE else "operator"


def _taken(left: Row, keys: Iterable[str]) -> int | None:
    """The first of those members that is a whole number, taken out."""
    for key in keys:
        number = _number(left.get(key))
        if number is not None:
            del left[key]
            return number
    return None


def _text(left: Row, keys: Iterable[str]) -> str | None:
    key = next((k for k in keys if isinstance(left.get(k), str)), None)
    return None if key is None else left.pop(key)


def _number(value: Any) -> int | None:
    return value if type(value) is int else None
