"""Derives the performance graph: what takes a device's time, from iterations to operations, and what follows what.

The nodes are mined structure. The busy time of a device is parted among its operations (`mining.shares`): an instant
counts to one of those that run then, so that the leaves of a device sum to its busy time, and those of a state to its
segments of that state. The idle time of a device is parted among the successions in the same way.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...store.tables import TABLES
from ...store.trace import Trace
from ..categories import LEAVES
from ..columns import chosen, numbers, words
from ..lookup import until
from ..naming import Label, called, labelled, labels
from ..nodes import NONE, Graph, Told, Work, devices_of, graph
from ..programs import programs
from ..shares import STATES, shares
from ..sorting import Ints, lexical_order, stable_order
from ..successions import Gaps, successions

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

VERSION = 2
NEEDS = ("hierarchy", "segments")

KEYS = "process, device, stream, start_ns, end_ns"
OTHERS = """
select process, device, start_ns, end_ns, {name} as label, {category} as category
from (
    select *, row_number() over (partition by {keys} order by row) as copy
    from (select *, row_number() over () as row from {table})
    where flaw is distinct from 'no start'
) as work
anti join (
    select {keys}, row_number() over (partition by {keys}) as copy from member where kind = '{table}'
) as mined using ({keys}, copy)
"""
"""SQL: the operations of a table that no mined sequence has; of equal ones as many as are left."""
WARM_UP = """
select coalesce(phase = 'warm-up', false) as warm
from unit
left join iteration using (level, iteration)
order by unit
"""
LABELS = """
select symbol, any_value(label) as label from tree where kind = 'symbol' group by symbol order by symbol
"""


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The tables `performance_node` and `performance_edge`; nothing without device work whose times can be trusted."""
    if not trace.has("segment"):
        return {}
    work, times, state = _work(trace)
    found = graph(work, *_structure(trace))
    order, number = _preorder(found)
    nodes = _nodes(found, work, times, state, order, number)
    return {"performance_node": nodes, "performance_edge": _edges(trace, found, work, times, number)}


def _work(trace: Trace) -> tuple[Work, tuple[Ints, Ints], Ints]:
    """The operations of a trace, their starts and ends, and the state of each of their labels."""
    import polars as pl

    names = ["process", "device", "sequence", "symbol", "start_ns", "end_ns"]
    member = trace.arrow("member", [*names, "kind"])
    columns = {name: member[name].to_numpy().astype(np.int64, copy=False) for name in names}
    others = _others(trace)
    known = _labels(trace, columns["symbol"], member["kind"])
    told = [*known.values(), *(Label(*row) for row in others.select("label", "category").unique().sort("label").rows())]
    called = list(dict.fromkeys(told))
    index = {label: at for at, label in enumerate(called)}
    of_symbol = np.zeros(max(known, default=-1) + 1, np.int64)
    of_symbol[list(known)] = [index[label] for label in known.values()]
    more = [index[Label(*row)] for row in others.select("label", "category").rows()]
    none = np.full(len(others), NONE)
    joined = {name: np.r_[columns[name], others[name].cast(pl.Int64).to_numpy()] for name in ("process", "device")}
    start, end = (np.r_[columns[name], others[name].to_numpy()] for name in ("start_ns", "end_ns"))
    label = np.r_[of_symbol[columns["symbol"]], np.array(more, np.int64)]
    state = np.array([STATES.index("compute")] * len(called), np.int64)
    state[:] = [LEAVES.get(one.category, 0) for one in called]
    time = np.zeros(len(label), np.int64)
    for here in devices_of(joined["process"], joined["device"]):
        time[here] = shares(start[here], end[here], state[label[here]])
    sequence = np.r_[columns["sequence"], none]
    symbol = np.r_[columns["symbol"], none].astype(np.int32)
    return Work(joined["process"], joined["device"], sequence, symbol, label, called, time), (start, end), state


def _labels(trace: Trace, symbol: Ints, kind: "pa.ChunkedArray[Any]") -> Mapping[int, Label]:
    """What each symbol stands for: as the trees have it, or else as its operations do, which takes longer."""
    first = np.full(int(symbol.max(initial=-1)) + 1, NONE, np.int64)
    first[symbol[::-1]] = np.arange(len(symbol))[::-1]
    there = np.flatnonzero(first != NONE)
    if not len(there):
        return {}
    told = dict(trace.sql(LABELS).rows())
    if not told.keys() >= set(there.tolist()):
        return dict(sorted(labels(trace).items()))
    kinds = zip(there.tolist(), kind.take(first[there]).to_pylist(), strict=True)
    return labelled((symbol, of_kind, told[symbol]) for symbol, of_kind in kinds)


def _others(trace: Trace) -> "pl.DataFrame":
    """The operations that no mined sequence has, by device and start."""
    import polars as pl

    mined = dict(trace.sql("select kind, count(*) from member group by kind").rows())
    parts: list[pl.DataFrame] = []
    for table, name in called().items():
        if not trace.has(table) or trace.rows[table] == mined.get(table):
            continue
        kind = "category" if table == "kernel" else f"'{table}'"
        parts.append(trace.sql(OTHERS.format(name=name, category=kind, keys=KEYS, table=table)))
    if not parts:
        types = {"process": pl.Int64, "device": pl.Int32, "start_ns": pl.Int64, "end_ns": pl.Int64}
        return pl.DataFrame(schema=types | {"label": pl.String, "category": pl.String})
    return pl.concat(parts).sort("process", "device", "start_ns", "end_ns", "label")


def _structure(trace: Trace) -> tuple[Any, Any, Any]:
    """What was found in the sequences of a trace: programs, which of their units are of warm-up, and trees."""
    found = {program.sequence: program for program in programs(trace)}
    if not found:
        return {}, {}, {}
    warm = trace.sql(WARM_UP)["warm"].to_numpy()
    cuts = np.cumsum([len(program.first) for program in found.values()])[:-1]
    rows = trace.sql("select type, node, name from tree where type is not null order by node")
    told = {
        int(part["type"][0]): Told(part["node"].to_list(), part["name"].to_list())
        for part in rows.partition_by("type", maintain_order=True)
    }
    return found, dict(zip(found, np.split(warm, cuts), strict=True)), told


def _preorder(found: Graph) -> tuple[list[int], Ints]:
    """The nodes in the order in which each is right before what is in it, and the place of each in that order."""
    inside: list[list[int]] = [[] for _ in found.nodes]
    roots: list[int] = []
    for node, one in enumerate(found.nodes):
        (roots if one.parent == NONE else inside[one.parent]).append(node)
    order: list[int] = []
    stack = roots[::-1]
    while stack:
        node = stack.pop()
        order.append(node)
        stack += inside[node][::-1]
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return order, number


def _nodes(
    found: Graph, work: Work, times: tuple[Ints, Ints], state: Ints, order: list[int], number: Ints
) -> "pa.Table":
    """The rows of `performance_node`."""
    import pyarrow as pa

    size = len(order)
    sums = np.zeros((2, size), np.int64)
    for at, values in enumerate((work.time_ns, times[1] - times[0])):
        np.add.at(sums[at], number[found.leaf], values)
    chosen = [found.nodes[node] for node in order]
    parent = np.array([number[node.parent] if node.parent != NONE else NONE for node in chosen], np.int64)
    depth = np.zeros(size, np.int64)
    for node in range(size):
        depth[node] = 0 if parent[node] == NONE else depth[parent[node]] + 1
    for node in range(size - 1, 0, -1):  # parents stand before their children
        if parent[node] != NONE:
            sums[:, parent[node]] += sums[:, node]
    busy = np.zeros(size, np.int64)
    for node in range(size):
        busy[node] = sums[0, node] if parent[node] == NONE else busy[parent[node]]
    spread = _spread(number[np.r_[found.leaf, found.passed]], np.r_[work.time_ns, found.passed_ns], size)
    label = np.array([node.label for node in chosen], np.int64)
    leaf = np.array([node.kind == "operation" for node in chosen])
    columns: dict[str, Any] = {
        "node": np.arange(size),
        "parent": parent,
        "process": [node.process for node in chosen],
        "device": [node.device for node in chosen],
        "sequence": [node.sequence for node in chosen],
        "level": [node.level for node in chosen],
        "type": [node.type for node in chosen],
        "tree_node": [node.tree_node for node in chosen],
        "kind": [node.kind for node in chosen],
        "depth": depth,
        "name": [node.name for node in chosen],
        "label": [work.labels[one].text if there else None for one, there in zip(label.tolist(), leaf, strict=True)],
        "state": [STATES[state[one]] if there else None for one, there in zip(label.tolist(), leaf, strict=True)],
        "repeat": [node.repeat for node in chosen],
        "units": [node.units for node in chosen],
        "time_ns": sums[0],
        "work_ns": sums[1],
        "share": sums[0] / np.maximum(busy, 1),
        "busy_ns": busy,
        **spread,
    }
    return _table("performance_node", columns, ("parent", "sequence", "level", "type", "tree_node", "repeat"), pa)


def _spread(node: Ints, time: Ints, size: int) -> dict[str, npt.NDArray[Any]]:
    """Count, mean, median, 95th percentile, standard deviation and variation of the times of each node's passes."""
    order = lexical_order(node, time)
    node, time = node[order], time[order]
    count = np.bincount(node, minlength=size)
    begin = np.r_[0, np.cumsum(count)[:-1]]
    some = np.maximum(count, 1)
    total = np.zeros(size)
    np.add.at(total, node, time)
    mean = total / some
    std = np.sqrt(np.bincount(node, (time - mean[node]) ** 2, size) / some)
    ends = np.r_[time, 0]
    half, most = (ends[begin + np.maximum(np.ceil(share * count).astype(np.int64) - 1, 0)] for share in (0.5, 0.95))
    whole = {name: np.rint(values).astype(np.int64) for name, values in (("mean_ns", mean), ("std_ns", std))}
    variation = np.where(mean > 0, std / np.where(mean > 0, mean, 1), np.nan)
    return {"count": count, "p50_ns": half, "p95_ns": most, **whole, "variation": variation}


def _edges(trace: Trace, found: Graph, work: Work, times: tuple[Ints, Ints], number: Ints) -> "pa.Table":
    """The rows of `performance_edge`."""
    import pyarrow as pa

    sequence = work.sequence
    apart = np.zeros(len(sequence), np.int64)
    fresh = (np.diff(sequence) != 0) | (np.diff(work.process) != 0) | (np.diff(work.device) != 0)
    apart[1:] = np.cumsum(fresh)
    gaps = _gaps(trace, work, times[0])
    edges = successions(found, apart, gaps)
    numbers = np.r_[number, NONE]
    parent, source, target = (numbers[part] for part in (edges.parent, edges.source, edges.target))
    rows = np.lexsort((target, source, parent))
    columns: dict[str, Any] = {
        "process": np.array([node.process for node in found.nodes])[edges.target],
        "device": np.array([node.device for node in found.nodes])[edges.target],
        "parent": parent,
        "source": source,
        "target": target,
        "count": edges.count,
        "gaps": edges.gaps,
        "idle_ns": edges.idle_ns,
        "mean_ns": np.rint(edges.idle_ns / np.maximum(edges.count, 1)).astype(np.int64),
        "longest_ns": edges.longest_ns,
        "cause": np.array([*gaps.causes, None], object)[edges.cause],
        "cause_ns": edges.cause_ns,
    }
    return _table("performance_edge", {name: column[rows] for name, column in columns.items()}, ("source",), pa)


def _gaps(trace: Trace, work: Work, start: Ints) -> Gaps:
    """The idle stretches of all devices, each with the operation that ends it: the first that starts then."""
    file = trace.files["segment"]
    segments, causes = numbers(file, ("process", "device", "start_ns", "end_ns")), words(file, "cause")
    kept = np.flatnonzero(words(file, "state").are("idle"))
    idle = chosen(segments, kept)
    ends = np.full(len(kept), NONE, np.int64)
    for here in devices_of(work.process, work.device):
        own = (idle["process"] == work.process[here[0]]) & (idle["device"] == work.device[here[0]])
        order = here[stable_order(start[here])]
        ends[own] = order[until(start[order], idle["end_ns"][own])]
    texts, code = ["unknown" if text is None else text for text in causes.texts], causes.code[kept]
    names = sorted({texts[one] for one in np.flatnonzero(np.bincount(code)).tolist()})
    place = np.array([names.index(text) if text in names else NONE for text in texts])
    return Gaps(ends, idle["end_ns"] - idle["start_ns"], place[code], names)


def _table(name: str, columns: Mapping[str, Any], missing: tuple[str, ...], pa: Any) -> "pa.Table":
    """The columns as a table, with null for `NONE` in some of them."""
    import polars as pl

    texts = {one: pl.String for one in ("label", "state", "cause", "name", "kind") if one in columns}
    frame = pl.DataFrame({key: list(value) if key in texts else value for key, value in columns.items()},
                         schema_overrides=texts)  # fmt: skip
    frame = frame.with_columns(
        *(pl.when(pl.col(one) != NONE).then(pl.col(one)) for one in missing),
        *(pl.col(one).fill_nan(None) for one in ("variation",) if one in columns),
    )
    return frame.select(TABLES[name].names).to_arrow().cast(TABLES[name].schema)
