"""Links device work to the host calls that caused it, and both to the framework operators around them.

One sort and one pass per table, over whole columns of numbers; the rows themselves stay where they wait and are
moved once, when they are written. A call and its device work share (process, correlation); where several calls carry
one id (a driver call inside a runtime call, an export that lists each launch twice) the outermost, earliest one counts.
"""

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..store.tables import TABLES
from .flaws import Marking
from .launches import check_calls, check_shared, note_zero
from .memory import give_back
from .nesting import Nesting
from .ordering import Lanes, bounds_of, descends, idle_places, in_order, narrowed
from .spool import NOTHING, Spool, kept, nulls, whole

__all__ = ["DEVICE_WORK", "LINKED", "link"]

DEVICE_WORK = ("kernel", "copy", "fill")
LINKED = frozenset({*DEVICE_WORK, "api", "op"})
"""Tables whose rows are linked to one another."""

FARTHEST = np.iinfo(np.int64).max
BLOCK_ROWS = 65_536
"""Device work is linked, checked and written in blocks of about so many rows of the largest table."""

CHECKED = ("context", "flaw", "correlation", "graph", "name", "kind", "args")
LAUNCH = ("launch", "launch_ns", "launch_thread", "op")

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Note = Callable[..., None]


@dataclass(frozen=True)
class _Calls:
    """The host calls in the order of their table."""

    start: Ints
    lane: Codes | npt.NDArray[np.int16]
    threads: Ints
    """Thread of each lane."""
    op: Codes | None
    """The operator around each, or -1; None where there are no operators."""
    external: Ints | Codes | None
    """The framework's id of that operator; undefined where there is none."""
    by_process: Mapping[int, tuple[Ints | Codes, Codes]]
    """For each process the correlations in ascending order, and the place of the call that counts for each."""

    def externals(self, which: slice | Codes) -> Ints | None:
        """The framework's ids of the operators around those calls; NOTHING where there is none."""
        if self.op is None or self.external is None:
            return None
        return np.where(self.op[which] >= 0, self.external[which].astype(np.int64), NOTHING)

    def find(self, rows: pa.Table, *, zero: bool) -> Codes:
        """The place of each row's call; -1 where there is none. `zero`: whether the correlation 0 is one."""
        place = np.full(len(rows), -1, np.int32)
        if "correlation" not in rows.column_names:
            return place
        process = rows["process"].to_numpy()
        correlation = rows["correlation"].fill_null(NOTHING).to_numpy()
        for owner, (known, call) in self.by_process.items():
            wanted = np.flatnonzero((process == owner) & (correlation != NOTHING) & (zero | (correlation != 0)))
            if len(known) and len(wanted):
                ids = correlation[wanted]
                at = np.minimum(np.searchsorted(known, ids.astype(known.dtype)), len(known) - 1)
                hit = known[at] == ids
                place[wanted[hit]] = call[at[hit]]
        return place

    def ordinals(self, work: Mapping[str, Spool], zeros: Collection[str]) -> Codes:
        """The ordinal of each call among those of its process that caused device work, by start; -1 for the others."""
        caused = np.zeros(len(self.start), bool)
        for name, spool in work.items():
            for piece in spool.pieces(("process", "correlation")):
                place = self.find(piece, zero=name not in zeros)
                caused[place[place >= 0]] = True
        ordered: list[Codes] = []
        for _, rows in self.by_process.values():
            chosen = rows[caused[rows]]
            chosen.sort()
            if descends(self.start, chosen):
                chosen = chosen[np.argsort(self.start[chosen], kind="stable")]
            ordered.append(chosen)
        ordinal = np.full(len(caused), -1, np.int32)
        for chosen in ordered:
            ordinal[chosen] = np.arange(len(chosen), dtype=np.int32)
        return ordinal


def link(spools: Mapping[str, Spool], note: Note) -> Iterator[tuple[str, pa.Table]]:
    """The rows of the tables, sorted, with `op.id`, `op.parent`, `op.depth`, `api.op` and the launch columns filled in.

    In pieces, table by table.
    """
    work = {name: spools[name] for name in DEVICE_WORK if name in spools}
    blocks = _blocks(list(work.values()))  # first: it takes the most memory, and the calls are not there yet
    give_back(sum(len(spool) for spool in work.values()))
    names = [name for name in ("op", "api") if name in spools]
    lanes = Lanes([spools[name] for name in names], ("process", "thread"))
    codes = dict(zip(names, lanes.codes, strict=True))
    lanes.codes.clear()
    operators = _operators_in_time(spools["op"], codes.pop("op")) if "op" in spools else None
    order, lane, start = _in_time(spools["api"], codes.pop("api")) if "api" in spools else _NO_CALLS
    op = external = None
    if operators:
        nesting = Nesting(lane, start)
        yield from _operators(spools["op"], *operators, nesting)
        del operators
        op, carried = nesting.finish()
        external = narrowed(carried) if "external" in spools["op"].columns else None
        del nesting, carried
    calls = None
    if "api" in spools:
        if len(lanes.values) < 1 << 15:
            lane = lane.astype(np.int16)
        found = _Calls(start, lane, lanes.values[:, 1], op, external, {})
        calls = yield from _calls(spools["api"], order, found, lanes.values[:, 0], note)
        del found, order, lane, start, op, external
    give_back(sum(len(spool) for spool in spools.values()))
    yield from _device_work(work, blocks, calls, note)


def _in_time(spool: Spool, lane: Codes) -> tuple[Codes, Codes, Ints]:
    """The order of the rows by lane and start, and both in that order."""
    start = spool.numbers("start_ns")
    order = in_order(lane, start)
    return order, lane[order], start[order]


_NO_CALLS = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64)


def _operators_in_time(spool: Spool, lane: Codes) -> tuple[Codes, Ints]:
    """The order of the operators by lane, start and end, the longer first; and where each lane ends in it."""
    return in_order(lane, spool.numbers("start_ns"), lambda: -spool.numbers("end_ns")), bounds_of(lane)[1:]


def _operators(spool: Spool, order: Codes, ends: Ints, nesting: Nesting) -> Iterator[tuple[str, pa.Table]]:
    """Hands the operators to the nesting, each with the framework's id of it; `ends` is where the lanes end."""
    for part, rows in spool.ordered(order):
        lane = np.searchsorted(ends, np.arange(part.start, part.stop), "right").astype(np.int32)
        start, end = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
        parent, depth = nesting.add(lane, start, end, _numbers(rows, "external"))
        rows = _with(rows, "id", pa.array(np.arange(part.start, part.stop)))
        rows = _with(rows, "parent", _nullable(parent, parent >= 0))
        yield "op", _with(rows, "depth", pa.array(depth))
        del rows, start, end  # the next piece needs the room


def _numbers(rows: pa.Table, column: str) -> Ints:
    """A column of integers with NOTHING for null, also where the rows do not have it."""
    if column not in rows.column_names:
        return np.full(len(rows), NOTHING, np.int64)
    return rows[column].cast(pa.int64()).fill_null(NOTHING).to_numpy()


def _calls(
    spool: Spool, order: Codes, calls: _Calls, processes: Ints, note: Note
) -> Generator[tuple[str, pa.Table], None, _Calls]:
    """Writes the calls, which stand in that order; the same calls with what finds them by their correlation.

    `processes` has the process of each lane.
    """
    for part, rows in spool.ordered(order):
        if calls.op is not None:
            rows = _with(rows, "op", _nullable(calls.op[part], calls.op[part] >= 0))
        yield "api", _without_redundant(rows, calls.externals(part))
        del rows
    correlation = narrowed(spool.numbers("correlation"))
    own: dict[int, tuple[Ints | Codes, Codes]] = {}
    for process in np.unique(processes).tolist():
        lanes = np.flatnonzero(processes == process)
        begin, stop = _bounds(calls.lane, int(lanes[0]), int(lanes[-1]) + 1)
        ids, rows = correlation[order[begin:stop]], np.arange(begin, stop, dtype=np.int32)
        known = ids != NOTHING
        own[process] = (ids, rows) if known.all() else (narrowed(ids[known]), rows[known])
    del correlation
    ends = cache(partial(spool.numbers, "end_ns"))
    found = {
        process: _first_calls(process, *own.pop(process), calls.start, ends, order, note) for process in tuple(own)
    }
    return replace(calls, by_process=found)


def _first_calls(
    process: int, ids: Ints | Codes, rows: Codes, start: Ints, ends: Callable[[], Ints], order: Codes, note: Note
) -> tuple[Ints | Codes, Codes]:
    """The correlations of a process' calls, in order, and the call that counts for each."""
    if (ids[1:] < ids[:-1]).any():
        by_id = np.argsort(ids, kind="stable").astype(np.int32)
        rows, ids = rows[by_id], ids[by_id]
    again = ids[1:] == ids[:-1]
    if not again.any():
        return ids, rows
    at = np.flatnonzero(np.r_[False, again] | np.r_[again, False])  # the calls that share an id: they are sorted by it
    shared, id_of = rows[at], ids[at]
    end = ends()[order[shared]]
    by_time = np.lexsort((shared, -end, start[shared], id_of))
    rows[at] = shared[by_time]
    check_calls(np.full(len(at), process), id_of, start[rows[at]], end[by_time], note)
    first = np.r_[True, ~again]
    return ids[first], rows[first]


def _device_work(
    spools: dict[str, Spool], blocks: "_Blocks", calls: _Calls | None, note: Note
) -> Iterator[tuple[str, pa.Table]]:
    zeros = {name for name, spool in spools.items() if _many_zeros(name, spool, note)}
    ordinal = calls.ordinals(spools, zeros) if calls else None
    if "kernel" in spools:
        _check_shared(spools["kernel"], note, linked=ordinal is not None and bool((ordinal >= 0).any()))
    marking = Marking(blocks.first_ns, note)
    unlinked: Counter[str] = Counter()
    for begins, ends in pairwise(blocks.cuts):
        block = {
            name: _launched(name, spool.rows(order[begin:end]), calls, ordinal, zero=name not in zeros)
            for (name, spool), order, begin, end in zip(spools.items(), blocks.orders, begins, ends, strict=True)
            if begin < end
        }
        marked = marking.mark(block)
        del block  # as each table when it is handed on: the next block needs the room
        for name in tuple(marked):
            unlinked[name] += _unlinked(name, marked[name])
            yield name, marked.pop(name)
    marking.finish()
    for name, spool in spools.items():
        if unlinked[name]:
            note(
                "no-launch",
                "device work without a host call that caused it: no launch time, no operator",
                count=unlinked[name],
                example=f"{unlinked[name]} of {len(spool)} rows of {name}",
            )


def _check_shared(kernels: Spool, note: Note, *, linked: bool) -> None:
    def pieces() -> Iterator[tuple[Ints, Ints, Ints]]:
        for piece in kernels.pieces(("process", "correlation", "device")):
            correlation = _numbers(piece, "correlation")
            yield (
                _numbers(piece, "process"),
                np.where(correlation == NOTHING, 0, correlation),
                _numbers(piece, "device"),
            )

    check_shared(pieces, note, linked=linked)


def _many_zeros(name: str, spool: Spool, note: Note) -> bool:
    """Whether several rows have the correlation 0, which then is none; notes that."""
    zero = np.flatnonzero(spool.numbers("correlation") == 0)
    if len(zero) > 1:
        note_zero(name, len(zero), spool.rows(zero[:1]), note)
    return len(zero) > 1


@dataclass(frozen=True)
class _Blocks:
    """Device work in order, parted where nothing runs on in its stream: work that overlaps is in one block."""

    orders: list[Codes]
    """The order of each table's rows."""
    cuts: list[tuple[int, ...]]
    """Where blocks begin and end in the order of each table."""
    first_ns: int | None
    """The least start but 0."""


def _blocks(spools: list[Spool]) -> _Blocks:
    if not spools:
        return _Blocks([], [], None)
    codes = Lanes(spools, ("process", "device", "stream")).codes
    lane = np.concatenate(codes) if len(codes) > 1 else codes[0]
    del codes
    start = _all(spools, "start_ns")
    ends = cache(partial(_all, spools, "end_ns"))
    order = in_order(lane, start, ends)
    bounds = [0, *idle_places(lane, start, ends(), order, BLOCK_ROWS), len(order)]
    first_ns = int(start.min(initial=FARTHEST, where=start != 0))
    orders: list[Codes] = []
    cuts: list[list[int]] = []
    at = 0
    for spool in spools:
        own = (order >= at) & (order < at + len(spool))
        orders.append(order[own] - np.int32(at))
        cuts.append([0, *accumulate(int(own[begin:end].sum()) for begin, end in pairwise(bounds))])
        at += len(spool)
    return _Blocks(orders, list(zip(*cuts, strict=True)), None if first_ns == FARTHEST else first_ns)


def _all(spools: list[Spool], column: str) -> Ints:
    """The column of all tables, one after the other."""
    values, at = np.empty(sum(len(spool) for spool in spools), np.int64), 0
    for spool in spools:
        spool.numbers(column, out=values[at : at + len(spool)])
        at += len(spool)
    return values


def _bounds(lanes: Codes | npt.NDArray[np.int16], first: int, beyond: int) -> tuple[int, int]:
    """Where lanes from the first to before the other stand in sorted ones."""
    begin, end = np.searchsorted(lanes, np.array([first, beyond], lanes.dtype)).tolist()
    return begin, end


def _launched(name: str, rows: pa.Table, calls: _Calls | None, ordinal: Codes | None, *, zero: bool) -> pa.Table:
    """The rows with what their calls say, and all columns that the checks of `flaws` look at."""
    schema = TABLES[name].schema
    for column in (*CHECKED, *LAUNCH):
        if column in schema.names and column not in rows.column_names:
            rows = rows.append_column(column, nulls(len(rows), kept(schema.field(column).type)))
    if calls is None or ordinal is None:
        return rows
    place = calls.find(rows, zero=zero)
    found, thread = place >= 0, calls.threads[calls.lane[place]]
    rows = _with(rows, "launch", _nullable(ordinal[place], found))
    rows = _with(rows, "launch_ns", _nullable(calls.start[place], found))
    rows = _with(rows, "launch_thread", _nullable(thread, found & (thread != NOTHING)))
    if calls.op is not None:
        rows = _with(rows, "op", _nullable(calls.op[place], found & (calls.op[place] >= 0)))
    external = calls.externals(place)
    return _without_redundant(rows, None if external is None else np.where(found, external, NOTHING))


def _without_redundant(rows: pa.Table, of_operator: Ints | None) -> pa.Table:
    """The rows without the framework's id where that is the one of their operator."""
    if of_operator is None or "external" not in rows.column_names:
        return rows
    given = rows["external"].fill_null(NOTHING).to_numpy()
    return _with(rows, "external", _nullable(given, (given != NOTHING) & (given != of_operator)))


def _unlinked(name: str, rows: pa.Table) -> int:
    """How many rows have no call; the driver's own migrations of managed pages have none by nature."""
    missing = rows["launch"].is_null().to_numpy()
    if name == "copy":
        kinds = whole(rows["kind"])
        migrations = [str(kind).startswith("UVM_") for kind in kinds.dictionary.to_pylist()]
        missing = missing & ~np.array([*migrations, False])[kinds.indices.fill_null(len(migrations)).to_numpy()]
    return int(missing.sum())


def _nullable(values: npt.NDArray[np.signedinteger[Any]], valid: npt.NDArray[np.bool_]) -> pa.Array:
    """Integers of 64 bits, null where not valid."""
    return pa.array(values.astype(np.int64, copy=False), mask=None if valid.all() else ~valid)


def _with(rows: pa.Table, column: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    at = rows.schema.get_field_index(column)
    return rows.append_column(column, values) if at < 0 else rows.set_column(at, column, values)
