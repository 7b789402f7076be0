"""Nodes of an execution graph on their way to the table `node`: what PyTorch and Chakra say of them in common."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from .jsonrepair import text_of
from .rowwise import Rowwise
from .sink import Sink

__all__ = ["KINDS", "Nodes", "Row", "json_text", "nanoseconds"]

Row = dict[str, Any]

KINDS = {
    0: "invalid",
    1: "metadata",
    2: "load",
    3: "store",
    4: "compute",
    5: "send",
    6: "receive",
    7: "collective",
    8: "storage",
    9: "batch",
    10: "checkpoint",
}
"""Chakra's types of nodes."""

COLUMNS = {
    "rf_id": "external",
    "fw_parent": "forward",
    "seq_id": "sequence",
    "tid": "thread",
    "fw_tid": "forward_thread",
}
"""Attributes that PyTorch gives its nodes, and the columns that hold them."""
NOTHING = {"rf_id": 0, "fw_parent": 0, "seq_id": -1, "fw_tid": 0}
"""What an attribute is where there is nothing to say."""
UNJOINED = frozenset({"process", "thread", "metadata", "kernel", "copy", "fill"})
"""Kinds of nodes that no operator of a profiler trace stands for."""
_ENCODER = json.JSONEncoder(ensure_ascii=False)
FARTHEST = 1 << 63


class Nodes:
    """Gathers the nodes of one process; they are written together, when it is known how they hang together."""

    def __init__(self, sink: Sink, process: int) -> None:
        self._sink, self._process = sink, process
        self._nodes: list[Row] = []

    def add(self, row: Row, attributes: Mapping[str, Any]) -> None:
        """Takes a node: its columns as far as they are known, and what else is said of it by name.

        Attributes that are empty say nothing and are left out.
        """
        args: Row = {}
        for name, value in attributes.items():
            column = COLUMNS.get(name)
            if column and type(value) is int:
                row[column] = None if value == NOTHING.get(name) else value
            elif value not in (None, "", [], {}):
                args[name] = value
        self._nodes.append(row | {"process": self._process, "args": args})

    def finish(self) -> int:
        """Writes all nodes and notes what is odd about them; how many there are."""
        parents = self._parents()
        rows = Rowwise(self._sink)
        for row in self._nodes:
            args: Row = row["args"]
            if row.get("id") in parents:
                args["parent"] = row.pop("parent")
            rows.add("node", row | {"args": self._json(args)})
        unjoined = [row for row in self._nodes if _is_unjoined(row)]
        if unjoined:
            meaning = "nodes without a record-function id: nothing joins them to a Kineto trace of the same run"
            example = f"{len(unjoined)} of {len(self._nodes)} nodes, first {unjoined[0].get('name')}"
            self._sink.note("no-record-function-id", meaning, count=len(unjoined), example=example)
        rows.add("process", {"process": self._process, "pid": self._process or None})
        rows.finish()
        return len(self._nodes)

    def _parents(self) -> set[int | None]:
        """Checks ids and parents; the nodes whose parent is not to be followed, since it is below them."""
        above: dict[int, set[int]] = {}
        nameless = repeated = 0
        for row in self._nodes:
            number, parent = row.get("id"), row.get("parent")
            if parent is not None and parent == number:
                row["parent"] = parent = None
            if number is None:
                nameless += 1
                continue
            repeated += number in above
            above.setdefault(number, set()).update(() if parent is None else (parent,))
        circle = _in_circles(above)
        self._odd("no-node-id", nameless, "nodes without an id: nothing can refer to them")
        self._odd("repeated-node-id", repeated, "nodes with the id of an earlier one: references to it mean either")
        meaning = "nodes within themselves by their parents: `args` keeps the parent, the column has none"
        self._odd("parent-circle", len(circle), meaning)
        orphans = [r for r in self._nodes if r.get("parent") is not None and r["parent"] not in above]
        example = f"{orphans[0].get('name')} in node {orphans[0]['parent']}" if orphans else None
        meaning = "nodes whose parent is not in the file: it is kept, and stands for nothing"
        self._odd("orphan-node", len(orphans), meaning, example)
        return {*circle}

    def _odd(self, kind: str, count: int, meaning: str, example: str | None = None) -> None:
        if count:
            self._sink.note(kind, meaning, count=count, example=example)

    def _json(self, args: Row) -> str | None:
        return json_text(args, self._sink) if args else None


def json_text(value: Any, sink: Sink) -> str | None:
    """The value as JSON, its numbers as they were; None, and a note, where it is nested too deeply to be written."""
    try:
        return _ENCODER.encode(value)
    except TypeError:  # a number that JSON's own encoder would round
        pass
    except RecursionError:
        return _too_deep(sink)
    try:
        return text_of(value)
    except RecursionError:
        return _too_deep(sink)


def _too_deep(sink: Sink) -> None:
    sink.note("too-deep", "values nested too deeply: left out")


def _is_unjoined(row: Row) -> bool:
    """Whether it is work of the host that could have a record-function id and has none."""
    return row.get("external") is None and row["kind"] not in UNJOINED and row["args"].get("is_cpu_op") is not False


def nanoseconds(micros: Any) -> int | None:
    """Microseconds as whole nanoseconds, exactly; None for what is no time."""
    if type(micros) not in (int, Decimal) or not -FARTHEST < micros < FARTHEST:
        return None
    return int(micros * 1000)


def _in_circles(above: Mapping[int, set[int]]) -> set[int]:
    """The nodes from which the way up comes back to where it was (or lies between two such ways)."""
    left = _unpeeled(above)
    below: dict[int, set[int]] = {number: set() for number in left}
    for number in left:
        for parent in above[number] & left:
            below[parent].add(number)
    return _unpeeled(below)


def _unpeeled(graph: Mapping[int, set[int]]) -> set[int]:
    """What is left when nodes that point at none that is left are taken away, again and again; one visit an edge."""
    waiting = {number: sum(target in graph for target in targets) for number, targets in graph.items()}
    pointing: dict[int, list[int]] = {}
    for number, targets in graph.items():
        for target in targets:
            pointing.setdefault(target, []).append(number)
    free = [number for number, count in waiting.items() if not count]
    while free:
        number = free.pop()
        del waiting[number]
        for other in pointing.get(number, ()):
            waiting[other] -= 1
            if not waiting[other]:
                free.append(other)
    return set(waiting)
