"""Names for the nodes of a tree: from operators, modules and annotations where they agree, else from the kernels."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..store.kinds import categories_of
from ..store.trace import Trace
from .columns import words
from .contents import Symbols
from .folding import SYMBOL, Tree, cover
from .sorting import Ints, distinct
from .spans import KEYS, Spans

__all__ = ["Label", "Name", "called", "kernel_names", "labelled", "labels", "names_of", "short", "span_names"]

LEAST_AGREEMENT = 0.8
"""A loop has the name of spans if the operations in both are this share of those in either; a leaf that of an operator
if it launched this share of its operations."""
MOST_SPANS = 1.25
"""A loop is not named after spans that are this many times as many as its passes, or so many times fewer."""
LONGEST = 40

CALLED = {"kernel": "coalesce({0}name, '(no name)')", "copy": "concat_ws(' ', 'copy', {0}kind)", "fill": "'fill'"}


@dataclass(frozen=True)
class Label:
    """What a symbol stands for: its name, or that of its kind, and its category."""

    text: str
    category: str


@dataclass(frozen=True)
class Name:
    """The name of a node, where it comes from, and the share of the node's operations that agree, where that can be."""

    text: str
    source: str
    agreement: float | None = None


def called(of: str = "") -> Mapping[str, str]:
    """SQL: what an operation is called, by its table; `of` goes before the columns, such as `work.`."""
    return {table: name.format(of) for table, name in CALLED.items()}


def names_of(trace: Trace, table: str) -> tuple[npt.NDArray[np.integer], list[str]]:
    """What the operations of a table are called, as `called` says: an index of names for each, and the names."""
    if table == "fill":
        return np.zeros(trace.rows[table], np.int32), ["fill"]
    found = words(trace.files[table], "name" if table == "kernel" else "kind")
    if table == "kernel":
        return found.code, ["(no name)" if text is None else text for text in found.texts]
    return found.code, ["copy" if text is None else f"copy {text}" for text in found.texts]


def labels(trace: Trace) -> Mapping[int, Label]:
    """What each symbol of the table `member` stands for, as one of its operations says."""
    rows = trace.arrow("member", ["symbol", *KEYS, "kind"])
    one = rows.take(_examples(*(rows[name].to_numpy() for name in ("symbol", "start_ns", "end_ns"))))
    values = ", ".join(
        f"({symbol}, {', '.join(map(str, keys))}, '{kind}')"
        for symbol, *keys, kind in zip(*(one[name].to_pylist() for name in one.column_names), strict=True)
    )
    match = " and ".join(f"work.{key} = one.{key}" for key in KEYS)
    parts = [
        f"select symbol, one.kind, {label} as label from {kind} as work join one on {match} where one.kind = '{kind}'"
        for kind, label in called("work.").items()
        if trace.has(kind)
    ]
    found = trace.sql(
        f"with one(symbol, {', '.join(KEYS)}, kind) as (values {values}), "
        # Of operations without duration several may have the same times.
        f"select symbol, kind, min(label) as label from ({' union all '.join(parts)}) group by symbol, kind"
    )
    return labelled(found.rows())


def labelled(operations: Iterable[tuple[int, str, str]]) -> dict[int, Label]:
    """What symbols stand for, of which each is given with its kind and what an operation of it is called."""
    told = list(operations)
    judged = categories_of(label for _, kind, label in told if kind == "kernel")
    return {symbol: Label(label, judged[label] if kind == "kernel" else kind) for symbol, kind, label in told}


def _examples(symbol: Symbols, start_ns: Ints, end_ns: Ints) -> Ints:
    """For each symbol its first operation with a duration, or its first where none has one."""
    first = np.full(int(symbol.max(initial=-1)) + 1, -1, np.int64)
    for index in (np.arange(len(symbol)), np.flatnonzero(end_ns > start_ns)):
        first[symbol[index[::-1]]] = index[::-1]  # of several that are written to one place the last one stays
    return first[first >= 0]


def kernel_names(tree: Tree, time_ns: Ints, labels: Mapping[int, Label]) -> dict[int, Name]:
    """Names of root and loops from what runs in them: the category that takes most time, and a distinctive operation.

    That is the one of the category with the most time here, weighed by the share of its time that is here.
    """
    leaves = np.flatnonzero(tree.kind == SYMBOL)
    symbol, time = tree.symbol[leaves], np.maximum(time_ns[leaves], 1)
    known = distinct(symbol).tolist()
    place = np.searchsorted(known, symbol)
    categories = sorted({labels[one].category for one in known})
    category = np.array([categories.index(labels[one].category) for one in known], np.int64)
    everywhere = np.bincount(place, time, len(known))
    found: dict[int, Name] = {}
    for node in (0, *tree.loops()) if known else ():
        low, high = np.searchsorted(tree.offset[leaves], [tree.offset[node], tree.offset[node] + tree.period[node]])
        here = np.bincount(place[low:high], time[low:high], len(known))
        most = int(np.argmax(np.bincount(category, here, len(categories))))
        one = int(np.argmax(np.where(category == most, here**2 / everywhere, -1)))
        text = short(labels[known[one]].text)
        found[node] = Name(text if text.startswith(categories[most]) else f"{categories[most]}: {text}", "kernels")
    return found


def short(name: str) -> str:
    """A kernel's name without return type, namespaces, template and call arguments."""
    bare = re.sub(r"[<(].*$", "", name.replace("void ", "").replace("(anonymous namespace)::", ""))
    return (bare.rsplit("::", 1)[-1] or name)[:LONGEST]


def span_names(tree: Tree, columns: Symbols, found: Spans) -> dict[int, Name]:
    """Names of those loops and leaves whose operations are those of an operator, a module or an annotation.

    `columns` and `found` are of the same operations: some iterations of the type that the tree is of.
    """
    return _of_leaves(tree, columns, found) | _of_loops(tree, columns, found)


def _of_leaves(tree: Tree, columns: Symbols, found: Spans) -> dict[int, Name]:
    leaf = tree.leaves()
    there = columns >= 0
    total = np.bincount(leaf[columns[there]], minlength=len(tree.kind))
    there &= found.operator >= 0
    node, name, count = _counted(leaf[columns[there]].astype(np.int64), found.operator[there], len(found.names))
    share = count / total[node]
    kept = np.flatnonzero(share >= LEAST_AGREEMENT)
    return {int(node[at]): _name(found, int(name[at]), float(share[at])) for at in kept.tolist()}


def _of_loops(tree: Tree, columns: Symbols, found: Spans) -> dict[int, Name]:
    length, names = int(tree.length[0]), len(found.names)
    there = np.bincount(columns[columns >= 0], minlength=length)
    operation, name, span = _innermost(found)
    kind = np.zeros(int(span.max(initial=-1)) + 1, np.int64)
    kind[span] = name
    passes = tree.passes()
    result: dict[int, Name] = {}
    for loop in tree.loops():
        inside = cover(passes[loop], passes[loop] + tree.period[loop], length) > 0
        size, passed = int(there[inside].sum()), int(there[passes[loop]].sum())
        within = (inside[columns] & (columns >= 0))[operation]
        touched = np.zeros(len(kind), np.bool_)
        touched[span[within]] = True
        # Spans of that name elsewhere (the layers of another part) do not count against it.
        either = np.bincount(name[touched[span]], minlength=names) + size
        both, times = np.bincount(name[within], minlength=names), np.bincount(kind[touched], minlength=names)
        alike = both / np.maximum(either - both, 1)
        alike[(times > MOST_SPANS * passed) | (times * MOST_SPANS < passed)] = 0
        best = int(np.argmax(alike)) if names else 0
        if names and alike[best] >= LEAST_AGREEMENT:
            result[loop] = _name(found, best, float(both[best] / size))
    return result


def _innermost(found: Spans) -> tuple[Ints, Ints, Ints]:
    """Operation, name and span, once for each operation and name: of spans within each other the smallest."""
    size = np.bincount(found.span)[found.span] if len(found.span) else found.span
    order = np.lexsort((found.span, size, found.name, found.operation))
    operation, name, span = found.operation[order], found.name[order], found.span[order]
    first = np.r_[True, (operation[1:] != operation[:-1]) | (name[1:] != name[:-1])][: len(order)]
    return operation[first], name[first], span[first]


def _counted(node: Ints, name: Ints, names: int) -> tuple[Ints, Ints, Ints]:
    """The distinct pairs and how often each occurs."""
    key = np.sort(node.astype(np.int64) * max(names, 1) + name)
    first = np.flatnonzero(np.r_[True, key[1:] != key[:-1]][: len(key)])
    count = np.diff(np.r_[first, len(key)])
    return key[first] // max(names, 1), key[first] % max(names, 1), count


def _name(found: Spans, index: int, agreement: float) -> Name:
    kind, text = found.names[index]
    return Name(text, kind, agreement)
