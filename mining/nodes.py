"""The nodes of a performance graph: what a device does, in stages, iterations, repeated blocks and operations.

A node stands for passes of mined structure. Operations of an iteration are nodes by their place in it; elsewhere they
are by name, except in the loops found there. Every operation belongs to exactly one leaf.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .alignment import align, columns_of
from .contents import Symbols
from .folding import LOOP, SYMBOL, Tree, fold
from .naming import Label, kernel_names, short
from .programs import STRETCH, Content, Program
from .sorting import Ints, distinct, ragged, stable_order

__all__ = ["NONE", "Graph", "Node", "Told", "Work", "devices_of", "graph"]

NONE = -1
MOST_TYPES = 16
"""Types of iterations of a level, or of stretches, that are nodes, or have loops: those that take most time."""
MOST_NODES = 20_000
"""Nodes of one content, at most; of a larger one the longest loops are kept."""

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Work:
    """The operations of a trace: those of mined sequences, each in its order, then the others of each device by start.

    `sequence` is `NONE` for the others; `label` is an index of `labels`; `time_ns` is the part of the busy time of its
    device that counts to an operation.
    """

    process: Ints
    device: Ints
    sequence: Ints
    symbol: Symbols
    label: Ints
    labels: Sequence[Label]
    time_ns: Ints


@dataclass(frozen=True)
class Node:
    """A node but for its times. `repeat` counts its passes in one of the node around it, `units` those of its stage."""

    parent: int
    process: int
    device: int
    kind: str
    name: str
    label: int = NONE
    sequence: int = NONE
    level: int = NONE
    type: int = NONE
    tree_node: int = NONE
    repeat: int = NONE
    units: int = 1


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes, parents before children; `leaf` is that of each operation.

    `unit` is the node that an operation's unit (an iteration, a stretch) is a pass of, `number` tells units apart.
    `passed` and `passed_ns` are the nodes that are no leaves and the times of their passes, pass by pass.
    """

    nodes: Sequence[Node]
    leaf: Ints
    unit: Ints
    number: Ints
    passed: Ints
    passed_ns: Ints


@dataclass(frozen=True)
class Told:
    """What the table `tree` says of the nodes of a type, in its order."""

    node: Sequence[int]
    name: Sequence[str | None]


def graph(work: Work, programs: Mapping[int, Program], warm: Mapping[int, Bools], told: Mapping[int, Told]) -> Graph:
    """The nodes of all devices of a trace.

    `programs` are those of the sequences with iterations, by sequence, and `warm` says which of their units are of
    warm-up; `told` has the trees of types.
    """
    growth = _Growth(work, told)
    for here in devices_of(work.process, work.device):
        _device(growth, here, programs, warm)
    return growth.finished()


def devices_of(process: Ints, device: Ints) -> list[Ints]:
    """The indices of the operations of each device of each process, in their order."""
    if len(process) and (process == process[0]).all() and (device == device[0]).all():
        return [np.arange(len(process))]
    number = np.searchsorted(distinct(process), process)
    key = number * (int(device.max(initial=0)) + 1) + device
    order = stable_order(key)
    return np.split(order, np.flatnonzero(np.diff(key[order])) + 1) if len(order) else []


def _device(growth: "_Growth", here: Ints, programs: Mapping[int, Program], warm: Mapping[int, Bools]) -> None:
    """The node of a device and all below it; `here` are its operations."""
    process, device = int(growth.work.process[here[0]]), int(growth.work.device[here[0]])
    root = growth.add(Node(NONE, process, device, "device", f"device {device}"))
    growth.measure(root, here)
    sequences = growth.work.sequence[here]
    found = distinct(sequences[sequences != NONE]).tolist()
    for number in found:
        own = here[sequences == number]
        around = root
        if len(found) > 1:
            around = growth.below(root, "sequence", f"sequence {number}", sequence=number)
            growth.measure(around, own)
        if number in programs:
            _program(growth, around, programs[number], int(own[0]), warm[number])
        else:
            _plain(growth, around, own)
    others = here[sequences == NONE]
    if len(others):
        stage = growth.below(root, "stage", "other operations")
        growth.measure(stage, others)
        growth.under(stage, others)


def _program(growth: "_Growth", around: int, program: Program, begin: int, warm: Bools) -> None:
    """The iterations of a sequence, and what lies outside them; its operations are those from `begin` on."""
    before = np.r_[0, np.cumsum(growth.work.time_ns[begin : begin + len(program.symbols)])]
    part = _Part(program, begin, before[program.stop] - before[program.first])
    inside = (program.level != STRETCH) & ~warm
    levels = list(dict.fromkeys(program.level[inside].tolist()))
    for level in levels:
        name = "iterations" if len(levels) == 1 else f"iterations of level {level}"
        _iterations(growth, around, name, part, np.flatnonzero(inside & (program.level == level)))
    if not inside.all():
        _outside(growth, around, part, inside, warm)


@dataclass(frozen=True, eq=False)
class _Part:
    """A program whose operations are those of the work from `begin` on; the time of each of its units."""

    program: Program
    begin: int
    time_ns: Ints

    def operations(self, units: Ints) -> Ints:
        """The operations of some units."""
        return self.begin + ragged(self.program.first[units], self.program.units.size[units])


def _iterations(growth: "_Growth", around: int, name: str, part: _Part, units: Ints) -> None:
    """The iterations of a level, by type, each with what it consists of."""
    program = part.program
    phase = growth.below(around, "iterations", name, level=int(program.level[units[0]]), units=len(units))
    growth.passes(phase, part.time_ns[units])
    types = _costly(program.type[units], part.time_ns[units])
    for content in program.contents:
        own = units[program.type[units] == content.number]
        if content.number in types and len(own):
            name = "iteration" if len(types) == 1 else f"iteration of type {content.number}"
            one = growth.below(phase, "iteration", name, type=content.number, units=len(own))
            _units(growth, one, part, own)
            _content(growth, one, part, content, own, ordered=True)
    rest = units[~np.isin(program.type[units], types)]
    if len(rest):
        one = growth.below(phase, "iteration", "iterations of other types", units=len(rest))
        _units(growth, one, part, rest)
        growth.under(one, part.operations(rest))


def _outside(growth: "_Growth", around: int, part: _Part, inside: Bools, warm: Bools) -> None:
    """What lies outside the iterations, in stages, each with its loops and its other operations by name."""
    program = part.program
    units = np.flatnonzero(~inside)
    outside = growth.below(around, "outside", "outside iterations", units=len(units))
    growth.passes(outside, part.time_ns[units])
    stretch, at = program.level == STRETCH, np.arange(len(inside))
    bounds = np.flatnonzero(inside)
    first, last = (int(bounds[0]), int(bounds[-1])) if len(bounds) else (len(at), len(at))
    stages = {
        "warm-up": warm,
        "before the iterations": stretch & (at < first),
        "between iterations": stretch & (at > first) & (at < last),
        "after the iterations": stretch & (at > last),
    }
    costly = _costly(program.type[stretch], part.time_ns[stretch])
    for name, chosen in stages.items():
        units = np.flatnonzero(chosen)
        if not len(units):
            continue
        stage = growth.below(outside, "stage", name, units=len(units))
        _units(growth, stage, part, units)
        for content in program.contents:
            own = units[program.type[units] == content.number]
            if content.number in costly and content.level == STRETCH and len(own):
                _content(growth, stage, part, content, own, ordered=False)
        growth.under(stage, part.operations(units))


def _costly(types: Ints, time: Ints) -> list[int]:
    """The types that take most time, of units of those types and times."""
    sums = np.bincount(types, time, int(types.max(initial=-1)) + 1)
    there = distinct(types)
    return there[np.argsort(-sums[there], kind="stable")[:MOST_TYPES]].tolist()


def _units(growth: "_Growth", node: int, part: _Part, units: Ints) -> None:
    """Makes units the passes of a node."""
    growth.passes(node, part.time_ns[units])
    index = part.operations(units)
    growth.unit[index] = node
    growth.number[index] = np.repeat(units, part.program.units.size[units])


def _content(growth: "_Growth", around: int, part: _Part, content: Content, units: Ints, *, ordered: bool) -> None:
    """The folded content of a type under a node, with some units of it; `ordered`: not only its loops."""
    texts = part.program.units.take(units)
    columns = columns_of(align(content.symbols, texts, int(part.program.distance[units].max(initial=0))), texts)
    index = part.operations(units)
    told = growth.told[content.number]
    aligned = index, columns, np.repeat(np.arange(len(units)), texts.size)
    names = [name or "" for name in told.name]
    _folded(growth, around, fold(content.symbols), aligned, names, told.node, ordered=ordered)
    if ordered:
        strays = index[columns < 0]
        if len(strays):
            edits = growth.below(around, "edits", "operations of single iterations")
            number = growth.number[strays]
            begins = np.flatnonzero(np.r_[True, number[1:] != number[:-1]])
            growth.passes(edits, np.add.reduceat(growth.work.time_ns[strays], begins))
            growth.under(edits, strays)
        growth.under(around, index)


def _plain(growth: "_Growth", around: int, own: Ints) -> None:
    """A sequence without iterations: its loops, and its other operations by name."""
    stage = growth.below(around, "stage", "whole recording")
    growth.measure(stage, own)
    growth.unit[own], growth.number[own] = stage, 0
    tree = fold(growth.work.symbol[own])
    columns = np.arange(len(own), dtype=np.int32)
    leaf = tree.leaves()
    time = np.zeros(len(tree.kind), np.int64)
    np.add.at(time, leaf, growth.work.time_ns[own])
    one = np.zeros(int(growth.work.symbol[own].max(initial=0)) + 1, np.int64)
    one[growth.work.symbol[own]] = growth.work.label[own]
    there = distinct(tree.symbol[tree.symbol >= 0])
    known = {
        symbol: growth.work.labels[label] for symbol, label in zip(there.tolist(), one[there].tolist(), strict=True)
    }
    called = kernel_names(tree, time, known)
    names = [
        called[node].text if node in called else short(known[symbol].text) if symbol >= 0 else ""
        for node, symbol in enumerate(tree.symbol.tolist())
    ]
    _folded(growth, stage, tree, (own, columns, np.zeros(len(own), np.int64)), names, None, ordered=False)
    growth.under(stage, own)


def _folded(
    growth: "_Growth",
    around: int,
    tree: Tree,
    aligned: tuple[Ints, Symbols, Ints],
    names: Sequence[str],
    numbers: Sequence[int] | None,
    *,
    ordered: bool,
) -> None:
    """The nodes of a folded content under a node.

    `aligned` are operations, the column of each (negative: none), and a number for each unit, from 0 and ascending.
    """
    index, columns, unit = aligned
    kept = _kept(tree, ordered=ordered)
    place = np.full(len(tree.kind), NONE, np.int64)
    place[0] = around
    there = columns >= 0
    leaf = tree.leaves()
    own = index[there]
    example = np.full(len(tree.kind), NONE, np.int64)
    example[leaf[columns[there]]] = growth.work.label[own]
    for node in np.flatnonzero(kept).tolist():
        place[node] = growth.below(
            int(place[tree.parent[node]]),
            "loop" if tree.kind[node] == LOOP else "operation",
            names[node],
            label=int(example[node]),
            tree_node=NONE if numbers is None else numbers[node],
            repeat=int(tree.repeat[node]),
        )
    growth.leaf[own] = np.where(kept[leaf[columns[there]]], place[leaf[columns[there]]], growth.leaf[own])
    loops = {node: begins for node, begins in tree.passes().items() if node and kept[node]}
    if not loops:
        return
    begins = np.concatenate(list(loops.values()))
    owner = np.repeat(np.array(list(loops), np.int64), [len(one) for one in loops.values()])
    stops = begins + tree.period[owner]
    units, length = int(unit.max(initial=-1)) + 1, int(tree.length[0])
    time, count = np.zeros((units, length + 1), np.int64), np.zeros((units, length + 1), np.int32)
    time[unit[there], columns[there] + 1] = growth.work.time_ns[own]
    count[unit[there], columns[there] + 1] = 1
    np.cumsum(time, axis=1, out=time)
    np.cumsum(count, axis=1, out=count)
    some = count[:, stops] > count[:, begins]
    growth.passes_of(np.broadcast_to(place[owner], some.shape)[some], (time[:, stops] - time[:, begins])[some])


def _kept(tree: Tree, *, ordered: bool) -> Bools:
    """The nodes of a content that become nodes of the graph: all, or only loops with what is in them."""
    kept = np.zeros(len(tree.kind), np.bool_)
    if ordered and len(kept) <= MOST_NODES:
        kept[1:] = True
        return kept
    top = np.flatnonzero(tree.depth == 1)
    after = np.r_[top[1:], len(kept)]
    left = MOST_NODES
    for at in np.argsort(-tree.length[top], kind="stable").tolist():
        if tree.kind[top[at]] == SYMBOL or after[at] - top[at] > left:
            continue
        kept[top[at] : after[at]] = True
        left -= int(after[at] - top[at])
    return kept


class _Growth:
    """The graph so far. `loose` has for operations without a leaf of their own the node that they are under."""

    def __init__(self, work: Work, told: Mapping[int, Told]) -> None:
        self.work, self.told = work, told
        self.nodes: list[Node] = []
        self.leaf, self.loose, self.unit, self.number = (np.full(len(work.label), NONE, np.int64) for _ in range(4))
        self._passed: list[Ints] = []
        self._passed_ns: list[Ints] = []

    def add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def below(self, parent: int, kind: str, name: str, **more: Any) -> int:
        """Adds a node of the same device, sequence, level and type as its parent where `more` says nothing else."""
        own = {"label": NONE, "tree_node": NONE, "repeat": NONE}
        return self.add(replace(self.nodes[parent], parent=parent, kind=kind, name=name, **(own | more)))

    def passes(self, node: int, time_ns: Ints) -> None:
        self.passes_of(np.full(len(time_ns), node), time_ns)

    def passes_of(self, nodes: Ints, time_ns: Ints) -> None:
        self._passed.append(nodes)
        self._passed_ns.append(time_ns)

    def measure(self, node: int, operations: Ints) -> None:
        """Makes operations one pass of a node."""
        self.passes(node, self.work.time_ns[operations].sum(keepdims=True))

    def under(self, node: int, operations: Ints) -> None:
        """Puts those of the operations that are not in the graph yet under a node, by name."""
        self.loose[operations[(self.leaf[operations] == NONE) & (self.loose[operations] == NONE)]] = node

    def finished(self) -> Graph:
        loose = np.flatnonzero(self.leaf == NONE)
        key = self.loose[loose] * len(self.work.labels) + self.work.label[loose]
        order = stable_order(key)
        fresh = np.r_[True, np.diff(key[order]) != 0][: len(order)]
        first = len(self.nodes)
        for at in loose[order[fresh]].tolist():
            label = int(self.work.label[at])
            self.below(int(self.loose[at]), "operation", short(self.work.labels[label].text), label=label)
        self.leaf[loose[order]] = first + np.cumsum(fresh) - 1
        none = np.zeros(0, np.int64)
        passed, passed_ns = np.concatenate([none, *self._passed]), np.concatenate([none, *self._passed_ns])
        return Graph(self.nodes, self.leaf, self.unit, self.number, passed, passed_ns)
