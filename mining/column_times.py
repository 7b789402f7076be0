"""Times by column of aligned iterations: of each operation of the consensus, and of each node of its tree."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..store.compiled import jit
from .contents import Symbols
from .folding import Tree
from .sorting import Ints

__all__ = ["Spread", "medians", "node_sums", "node_times"]

Floats = npt.NDArray[np.float64]
Sums = tuple[Ints, Ints, Floats, Floats, Ints, Ints]
"""By node: count, sum, running mean, sum of squares around it, least and most."""


@dataclass(frozen=True, eq=False)
class Spread:
    """Count, sum, mean, standard deviation (of the population), least and most of the times of each of several things.

    Without times the sum is 0, the mean and the deviation are not numbers, and least exceeds most.
    """

    count: Ints
    total_ns: Ints
    mean_ns: Floats
    std_ns: Floats
    min_ns: Ints
    max_ns: Ints


def medians(columns: Symbols, values: Ints, length: int) -> Ints:
    """The lower median of the values in each of `length` columns, 0 for an empty one; column -1 is left out."""
    kept = columns >= 0
    count = np.bincount(columns[kept], minlength=length)
    begins = np.r_[0, np.cumsum(count)]
    result = np.zeros(length, np.int64)
    _medians(columns, values, begins, np.empty(int(begins[-1]), np.int64), result)
    return result


def node_times(tree: Tree, columns: Symbols, begins: Ints, values: Ints) -> Spread:
    """The times of one pass through each node of a tree.

    `columns` and `values` hold the operations of all texts, one text after the other from `begins[i]` to
    `begins[i + 1]`. A pass of a loop is the sum over its operations that are there. Each column is read once, and once
    more for each loop around it; what is kept does not grow with the texts.
    """
    passes = tree.passes()
    nodes = np.array(list(passes), np.int64)
    starts = np.concatenate(list(passes.values()))
    owner = np.repeat(nodes, [len(places) for places in passes.values()])
    leaf = tree.leaves()
    count = np.zeros(len(tree.kind), np.int64)
    total, least, most = count.copy(), count + np.iinfo(np.int64).max, count - 1
    mean, squares = np.zeros(len(count)), np.zeros(len(count))
    sums = (count, total, mean, squares, least, most)
    _by_node(columns, begins, values, leaf, starts, starts + tree.period[owner], owner, sums)
    some = np.maximum(count, 1)
    absent = np.where(count > 0, 0.0, np.nan)
    return Spread(count, total, total / some + absent, np.sqrt(squares / some) + absent, least, most)


def node_sums(tree: Tree, columns: Symbols, values: Ints) -> Ints:
    """For each node the sum of the values in its columns, all passes together; column -1 is left out."""
    length = int(tree.length[0])
    by_column = np.zeros(length, np.int64)
    np.add.at(by_column, columns[columns >= 0], values[columns >= 0])
    before = np.r_[0, np.cumsum(by_column)]
    sums = np.zeros(len(tree.kind), np.int64)
    np.add.at(sums, tree.leaves(), by_column)
    for node, begins in tree.passes().items():
        sums[node] = (before[begins + tree.period[node]] - before[begins]).sum()
    return sums


@jit()
def _medians(columns: Symbols, values: Ints, begins: Ints, grouped: Ints, result: Ints) -> None:
    free = begins.copy()
    for at in range(len(columns)):
        if columns[at] >= 0:
            grouped[free[columns[at]]] = values[at]
            free[columns[at]] += 1
    for column in range(len(result)):
        if begins[column + 1] > begins[column]:
            result[column] = _middle(grouped, begins[column], begins[column + 1] - 1)


@jit()
def _middle(values: Ints, low: int, high: int) -> int:
    """The lower median of the values from `low` to `high`, which it moves (Hoare 1961)."""
    wanted = (low + high) // 2
    while low < high:
        pivot, left, right = values[(low + high) // 2], low, high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while values[right] > pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left, right = left + 1, right - 1
        if wanted <= right:
            high = right
        elif wanted >= left:
            low = left
        else:
            break
    return values[wanted]


@jit()
def _by_node(
    columns: Symbols,
    begins: Ints,
    values: Ints,
    leaf: Ints,
    starts: Ints,
    stops: Ints,
    owner: Ints,
    sums: Sums,
) -> None:
    before = np.zeros(len(leaf) + 1, np.int64)
    for text in range(len(begins) - 1):
        before[:] = 0
        for at in range(begins[text], begins[text + 1]):
            if columns[at] >= 0:
                before[columns[at] + 1] = values[at]
                _add(int(leaf[columns[at]]), int(values[at]), sums)
        for column in range(len(leaf)):
            before[column + 1] += before[column]
        for one in range(len(starts)):
            _add(int(owner[one]), int(before[stops[one]] - before[starts[one]]), sums)


@jit()
def _add(node: int, value: int, sums: Sums) -> None:
    """Takes a value into the running mean and the sum of squares around it (Welford 1962)."""
    count, total, mean, squares, least, most = sums
    count[node] += 1
    total[node] += value
    away = value - mean[node]
    mean[node] += away / count[node]
    squares[node] += away * (value - mean[node])
    least[node] = min(least[node], value)
    most[node] = max(most[node], value)
