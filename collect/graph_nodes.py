"""Nodes of an execution graph on their way to the table `node`: what PyTorch and Chakra say of them in common."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .jsonrepair import text_of
from .rowwise import Rowwise
from .sink import Sink, piece_of
from .spool import NOTHING

__all__ = ["KINDS", "Nodes", "Row", "json_text", "nanoseconds"]

Row = dict[str, Any]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

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
NOTHING_SAID = {"rf_id": 0, "fw_parent": 0, "seq_id": -1, "fw_tid": 0}
"""What an attribute is where there is nothing to say."""
UNJOINED = frozenset({"process", "thread", "metadata", "kernel", "copy", "fill"})
"""Kinds of nodes that no operator of a profiler trace stands for."""
_ENCODER = json.JSONEncoder(ensure_ascii=False)
FARTHEST = 1 << 63
PIECE = 4096
"""Nodes in memory as they came."""


class Nodes:
    """Gathers the nodes of one process; they are written together, when it is known how they hang together.

    They wait on disk; in memory are tens of thousands of them. At the end the ids and parents of all are, some 50 bytes
    a node, or 110 where ids do not rise from parents to children: the way up is followed from each.
    """

    def __init__(self, sink: Sink, process: int) -> None:
        self._sink, self._process = sink, process
        self._waiting = sink.spool("nodes")
        self._rows = Rowwise(sink, write=self._wait, piece=PIECE)
        self._far: list[Row] = []
        """Nodes whose id or parent no column holds: they are to be told apart, too."""
        self._count = self._unjoined = 0
        self._first_unjoined: str | None = None

    def add(self, row: Row, attributes: Mapping[str, Any]) -> None:
        """Takes a node: its columns as far as they are known, and what else is said of it by name.

        Attributes that are empty say nothing and are left out.
        """
        args: Row = {}
        for name, value in attributes.items():
            column = COLUMNS.get(name)
            if column and type(value) is int:
                row[column] = None if value == NOTHING_SAID.get(name) else value
            elif value not in (None, "", [], {}):
                args[name] = value
        number, parent = row.get("id"), row.get("parent")
        if parent == number:
            row["parent"] = parent = None
        if _is_unjoined(row, args):
            if not self._unjoined:
                self._first_unjoined = row.get("name")
            self._unjoined += 1
        self._count += 1
        row = row | {"process": self._process, "args": json_text(args, self._sink) if args else None}
        if _is_near(number) and _is_near(parent):
            self._rows.add("node", row)
        else:
            self._far.append(row)

    def finish(self) -> int:
        """Writes all nodes and notes what is odd about them; how many there are."""
        self._rows.finish()
        circled, begin = self._circled(), 0
        for run in self._waiting.pieces():
            self._sink.write("node", _opened(run, np.flatnonzero(circled[begin : begin + len(run)])))
            begin += len(run)
        rows = Rowwise(self._sink)
        for row, within in zip(self._far, circled[begin:], strict=True):
            opened = {"parent": None, "args": _with_parent(row["args"], row["parent"])} if within else {}
            rows.add("node", row | opened)
        if self._unjoined:
            meaning = "nodes without a record-function id: nothing joins them to a Kineto trace of the same run"
            example = f"{self._unjoined} of {self._count} nodes, first {self._first_unjoined}"
            self._sink.note("no-record-function-id", meaning, count=self._unjoined, example=example)
        rows.add("process", {"process": self._process, "pid": self._process or None})
        rows.finish()
        return self._count

    def _wait(self, table: str, columns: Mapping[str, Any]) -> None:
        self._waiting.append(piece_of(table, columns))

    def _circled(self) -> Bools:
        """Checks ids and parents; which nodes have a parent that is not to be followed, since it is below them."""
        numbers, parents = self._links()
        named, below = numbers != NOTHING, parents != NOTHING
        known = np.unique(numbers[named])
        here = below & (known[np.searchsorted(known[:-1], parents)] == parents) if len(known) else np.zeros_like(below)
        self._odd("no-node-id", int((~named).sum()), "nodes without an id: nothing can refer to them")
        repeated = int(named.sum()) - len(known)
        self._odd("repeated-node-id", repeated, "nodes with the id of an earlier one: references to it mean either")
        orphans = np.flatnonzero(below & ~here)
        example = self._example(int(orphans[0])) if len(orphans) else None
        meaning = "nodes whose parent is not in the file: it is kept, and stands for nothing"
        self._odd("orphan-node", len(orphans), meaning, example)
        here &= named
        if (parents[here] < numbers[here]).all():
            return np.zeros(len(numbers), np.bool_)
        children, above = np.searchsorted(known, numbers[here]), np.searchsorted(known, parents[here])
        circle = known[_in_circles(children, above, len(known))]
        meaning = "nodes within themselves by their parents: `args` keeps the parent, the column has none"
        self._odd("parent-circle", len(circle), meaning)
        return np.isin(numbers, circle)

    def _links(self) -> tuple[Ints, Ints]:
        """The ids and parents of all nodes in order, those last that wait apart: then all are numbered anew."""
        numbers, parents = self._waiting.numbers("id"), self._waiting.numbers("parent")
        if not self._far:
            return numbers, parents
        place: dict[int | None, int] = {None: NOTHING}
        numbered = [
            [place.setdefault(one, len(place)) for one in (*_known(near), *(row.get(name) for row in self._far))]
            for near, name in ((numbers, "id"), (parents, "parent"))
        ]
        return np.array(numbered[0], np.int64), np.array(numbered[1], np.int64)

    def _example(self, orphan: int) -> str:
        far = orphan - len(self._waiting)
        row = self._far[far] if far >= 0 else self._waiting.rows(np.array([orphan])).to_pylist()[0]
        return f"{row.get('name')} in node {row['parent']}"

    def _odd(self, kind: str, count: int, meaning: str, example: str | None = None) -> None:
        if count:
            self._sink.note(kind, meaning, count=count, example=example)


def _is_near(number: int | None) -> bool:
    """Whether a column holds it, and it stands for nothing else there."""
    return number is None or NOTHING < number < FARTHEST


def _known(numbers: Ints) -> list[int | None]:
    return [None if number == NOTHING else number for number in numbers.tolist()]


def _opened(run: pa.Table, circled: Ints) -> dict[str, Any]:
    """The columns of the nodes; of those in circles `args` keeps the parent."""
    columns: dict[str, Any] = dict(zip(run.column_names, run.columns, strict=True))
    if not len(circled):
        return columns
    parents, args = run["parent"].to_pylist(), run["args"].to_pylist()
    for row in circled.tolist():
        args[row] = _with_parent(args[row], parents[row])
        parents[row] = None
    return columns | {"parent": parents, "args": args}


def _with_parent(args: str | None, parent: int | None) -> str:
    told = f'"parent": {json.dumps(parent)}}}'
    return "{" + told if args is None else f"{args[:-1]}, {told}"


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


def _is_unjoined(row: Row, args: Row) -> bool:
    """Whether it is work of the host that could have a record-function id and has none."""
    return row.get("external") is None and row["kind"] not in UNJOINED and args.get("is_cpu_op") is not False


def nanoseconds(micros: Any) -> int | None:
    """Microseconds as whole nanoseconds, exactly; None for what is no time."""
    if type(micros) not in (int, Decimal) or not -FARTHEST < micros < FARTHEST:
        return None
    return int(micros * 1000)


def _in_circles(children: Ints, parents: Ints, count: int) -> Bools:
    """Which of so many nodes the way up leads back to, or lie between two such; each child has its parent."""
    left = _unpeeled(children, parents, count)
    edges = left[children] & left[parents]
    return _unpeeled(parents[edges], children[edges], count)


def _unpeeled(begins: Ints, ends: Ints, count: int) -> Bools:
    """Which nodes are left when those that point at none that is left are taken away, again and again.

    One visit an edge, in a loop: in rounds over all there would be as many as the way up is long.
    """
    order = np.argsort(ends, kind="stable")
    pointing = begins[order].data
    first = np.searchsorted(ends[order], np.arange(count + 1)).data
    pointed = np.bincount(begins, minlength=count)
    waiting, free = pointed.data, np.flatnonzero(pointed == 0).tolist()
    while free:
        number = free.pop()
        for place in range(first[number], first[number + 1]):
            other = pointing[place]
            waiting[other] -= 1
            if not waiting[other]:
                free.append(other)
    return pointed > 0
