"""Finds what iterations consist of: types of content, and for each its loops of layers and micro-patterns.

The iterations of a level with similar content are of one type. What they agree on is folded into a tree, and so is the
order in which iterations and what lies between them follow each other. With the table `edit`, the trees give every
operation of the sequence back.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...store.tables import TABLES
from ...store.trace import Trace
from ..alignment import align, columns_of
from ..charges import charges
from ..column_times import Spread, node_sums, node_times
from ..contents import Symbols
from ..folding import LOOP, ROOT, SYMBOL, Tree, fold
from ..naming import Label, Name, kernel_names, labels, short, span_names
from ..programs import Content, Program, programs
from ..sorting import Ints, ragged
from ..spans import Spans, spans

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

VERSION = 3
NEEDS = ("iterations",)

SAMPLE_UNITS, SAMPLE_OPERATIONS, SAMPLE = 8, 20_000, 200_000
"""Units of a type whose spans are looked at, at most; operations of a type, if they are several; of all types."""
RANDOM = 0.5
"""Types follow each other at random if folding their order leaves more than this share of the units."""
KINDS = {ROOT: "root", LOOP: "loop", SYMBOL: "symbol"}


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The tables `unit` and `tree`; empty where no sequence has iterations, nothing without device work."""
    if not trace.has("iteration"):
        return {}
    found = programs(trace)
    known = labels(trace) if found else {}
    around = _Around(trace, found)
    units: list[pl.DataFrame] = []
    trees: list[pl.DataFrame] = []
    for program in found:
        before = np.r_[0, np.cumsum(program.end_ns - program.start_ns)]
        wait_ns, _ = charges(program.start_ns, program.end_ns, program.first, program.stop, program.from_ns)
        units.append(_units(program, before))
        trees.append(_order(program, before, wait_ns))
        trees += [_content(program, content, wait_ns, known, around) for content in program.contents]
    return {"unit": _numbered("unit", units), "tree": _numbered("tree", trees)}


def _units(program: Program, before: Ints) -> "pl.DataFrame":
    """The rows of a program's units, numbered from 0."""
    import polars as pl

    return pl.DataFrame(
        {
            "unit": np.arange(len(program.first)),
            "sequence": program.sequence,
            "process": program.process,
            "level": program.level,
            "iteration": program.iteration,
            "first": program.first,
            "last": program.stop - 1,
            "type": program.type,
            "distance": program.distance,
            "time_ns": before[program.stop] - before[program.first],
        }
    ).with_columns(_known("level", "iteration"))


def _order(program: Program, before: Ints, wait_ns: Ints) -> "pl.DataFrame":
    """The folded order of a program's units: of their types, or of levels where types follow each other at random."""
    kinds = {content.number: content for content in program.contents}
    one = {content.level: content.number for content in reversed(program.contents)}
    tree = fold(program.type.astype(np.int32))
    if (tree.kind == SYMBOL).sum() > RANDOM * len(program.type):
        merged = [number if kinds[number].level < 0 else one[kinds[number].level] for number in program.type.tolist()]
        tree = fold(np.array(merged, np.int32))
    columns = np.arange(len(program.first), dtype=np.int32)
    time = before[program.stop] - before[program.first]
    waits = np.add.reduceat(wait_ns, program.first)
    spread = node_times(tree, columns, np.array([0, len(columns)]), time)
    leaves = [(node, kind) for node, kind in enumerate(tree.symbol.tolist()) if kind >= 0]
    names = {node: Name("iteration" if kinds[kind].level >= 0 else "stretch", "") for node, kind in leaves}
    return _rows(program, None, tree, spread, node_sums(tree, columns, waits), names, {})


def _content(
    program: Program, content: Content, wait_ns: Ints, known: Mapping[int, Label], around: "_Around"
) -> "pl.DataFrame":
    """The folded content of a type, with the times of its steady units (of all, where none is steady)."""
    units = np.flatnonzero(program.type == content.number)
    units = units[program.steady[units]] if program.steady[units].any() else units
    columns = _columns(program, content, units)
    size = program.stop[units] - program.first[units]
    operations = ragged(program.first[units], size)
    tree = fold(content.symbols)
    duration = (program.end_ns - program.start_ns)[operations]
    spread = node_times(tree, columns, np.r_[0, np.cumsum(size)], duration)
    names = kernel_names(tree, spread.total_ns, known)
    sampled, near = around.of(content)
    if near is not None:
        names |= span_names(tree, _columns(program, content, sampled), near)
    return _rows(program, content, tree, spread, node_sums(tree, columns, wait_ns[operations]), names, known)


def _columns(program: Program, content: Content, units: Ints) -> Symbols:
    """The columns of the operations of some units of a type."""
    texts = program.units.take(units)
    return columns_of(align(content.symbols, texts, int(program.distance[units].max(initial=0))), texts)


class _Around:
    """The spans around the launches of some units of each type, had with one query."""

    def __init__(self, trace: Trace, found: Sequence[Program]) -> None:
        ranges: list[tuple[int, int, int]] = []
        self.units: dict[int, tuple[Ints, int, int]] = {}
        size = 0
        for program in found:
            for content in program.contents:
                chosen = _sample(program, content)
                bounds = program.first[chosen].tolist(), program.stop[chosen].tolist()
                more = sum(bounds[1]) - sum(bounds[0])
                if size + more > SAMPLE:
                    continue
                ranges += [(program.sequence, first, stop) for first, stop in zip(*bounds, strict=True)]
                self.units[content.number] = chosen, size, size + more
                size += more
        self.spans = spans(trace, ranges)

    def of(self, content: Content) -> tuple[Ints, Spans | None]:
        """Units of that type, and the spans around their operations; None where none are known."""
        if self.spans is None or content.number not in self.units:
            return np.zeros(0, np.int64), None
        units, begin, stop = self.units[content.number]
        return units, self.spans.part(begin, stop)


def _sample(program: Program, content: Content) -> Ints:
    """Units of a type that are most like it, spread over the trace."""
    units = np.flatnonzero(program.type == content.number)
    units = units[program.distance[units] == program.distance[units].min()]
    count = max(1, min(SAMPLE_UNITS, len(units), SAMPLE_OPERATIONS // max(1, len(content.symbols))))
    return units[np.arange(count) * len(units) // count]


def _rows(
    program: Program,
    content: Content | None,
    tree: Tree,
    spread: Spread,
    wait_ns: Ints,
    names: Mapping[int, Name],
    known: Mapping[int, Label],
) -> "pl.DataFrame":
    """The rows of a tree, nodes numbered from 0; without a content it is that of the order of units."""
    import polars as pl

    leaf = "unit" if content is None else "symbol"
    texts = [known[symbol].text if content and symbol >= 0 else None for symbol in tree.symbol.tolist()]
    called = [
        names.get(node, Name(short(text), "kernels") if text is not None else Name("", ""))
        for node, text in enumerate(texts)
    ]
    rows: dict[str, Any] = {
        "node": np.arange(len(tree.kind)),
        "parent": tree.parent,
        "sequence": program.sequence,
        "process": program.process,
        "level": -1 if content is None else content.level,
        "type": -1 if content is None else content.number,
        "kind": [leaf if kind == SYMBOL else KINDS[kind] for kind in tree.kind.tolist()],
        "depth": tree.depth,
        "repeat": tree.repeat,
        "offset": tree.offset,
        "length": tree.length,
        "period": tree.period,
        "symbol": tree.symbol,
        "label": texts,
        "name": [name.text or None for name in called],
        "named_by": [name.source or None for name in called],
        "agreement": [name.agreement for name in called],
        "count": spread.count,
        "time_ns": spread.total_ns,
        "wait_ns": wait_ns,
        "mean_ns": _rounded(spread.mean_ns),
        "std_ns": _rounded(spread.std_ns),
        "min_ns": spread.min_ns,
        "max_ns": spread.max_ns,
    }
    frame = pl.DataFrame(
        rows, schema_overrides={"label": pl.String, "name": pl.String, "named_by": pl.String, "agreement": pl.Float64}
    )
    measured = [pl.when(pl.col("count") > 0).then(pl.col(name)) for name in ("mean_ns", "std_ns", "min_ns", "max_ns")]
    return frame.with_columns(*_known("parent", "level", "type", "symbol"), *measured)


def _rounded(times: npt.NDArray[np.float64]) -> Ints:
    return np.rint(np.nan_to_num(times)).astype(np.int64)


def _known(*names: str) -> "list[pl.Expr]":
    """The columns with null for -1."""
    import polars as pl

    return [pl.when(pl.col(name) != -1).then(pl.col(name)) for name in names]


def _numbered(name: str, parts: "list[pl.DataFrame]") -> "pa.Table":
    """The parts as one table, what they number (with its parents) numbered through."""
    import polars as pl

    if not parts:
        return TABLES[name].schema.empty_table()
    key = TABLES[name].names[0]
    first = np.cumsum([0, *(len(part) for part in parts)]).tolist()
    numbered = [key, *({"parent"} & set(parts[0].columns))]
    moved = [part.with_columns(pl.col(*numbered) + at) for part, at in zip(parts, first, strict=False)]
    return pl.concat(moved).to_arrow().cast(TABLES[name].schema)
