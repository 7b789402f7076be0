"""Tiles each device's time with stretches of one state: compute, communication, copy, or idle with one cause.

Busy is the union over streams. Where several things run at once the stretch is compute, else communication, else
copy: so communication and copy are the exposed parts, and the states of a device sum to its span exactly.

The cause of an idle stretch is read off the operation that ends it, and the host call that launched that operation:

- synchronisation: launched after the device ran dry, at most `AFTER_WAIT_NS` after its thread had waited for it;
- launch: launched after the device ran dry, by a thread that issues launches at a steady pace (`LAUNCH_PACE_NS`);
- host: launched after the device ran dry, by a thread that did something else;
- dependency: launched in time, and what ran last was on another stream;
- device: launched in time, and what ran last was on the same stream: the device was slow to take it up;
- unknown: no host call is known for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...store.tables import TABLES
from ...store.trace import Trace
from ..categories import LEAVES, kernel_categories
from ..columns import MISSING, Rows, chosen, joined, numbers, words
from ..naming import names_of
from ..sorting import Ints, distinct, lexical_order, runs
from ..tiling import IDLE, tile

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 2
NEEDS = ()

LAUNCH_PACE_NS = 50_000
"""A thread whose previous launch is no longer ago than this is busy launching: eager PyTorch takes 5-30 µs each."""

AFTER_WAIT_NS = 1_000_000
"""A thread that launches nothing for so long after a wait for the device did something else: it is the host."""

WORK = ("kernel", "copy", "fill")
COLUMNS = ("process", "device", "stream", "start_ns", "end_ns", "launch_ns", "launch_thread")
COPY = 2
WAITING = r"synchronize|^(cuda|hip)memcpy(_v\d+)?$"
"""Names of calls that return when the device is done."""
SYNCHRONISING = f"""
select process, thread, end_ns
from api
where name in (
    select one from (select min(name) as one from api group by name) where regexp_matches(one, '{WAITING}', 'i')
)
order by process, thread, end_ns
"""
"""SQL. Names are few: the aggregate keeps DuckDB from matching the name of every call instead of every name."""
STATES = ("compute", "communication", "copy", "idle")
CAUSES = ("unknown", "synchronisation", "launch", "host", "dependency", "device")

Waits = Mapping[tuple[int, int], Ints]
"""By process and thread: when its waits for the device ended, in order."""


@dataclass(frozen=True, eq=False)
class _Work:
    """Operations by device, start, end, stream and name: columns of their tables, `state` and `name`.

    `name` is an index of `names`.
    """

    columns: Rows
    names: list[str]


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `segment`; nothing when the trace has no device work, or none whose times are to be trusted."""
    import pyarrow as pa

    work = _work(trace)
    if work is None:
        return {}
    waits = _waits(trace)
    devices = runs(work.columns["process"], work.columns["device"])
    parts = (_Work(chosen(work.columns, slice(*ends)), work.names) for ends in devices)
    return {"segment": pa.concat_tables(_tile(part, waits) for part in parts)}


def _work(trace: Trace) -> _Work | None:
    """The operations whose times are to be trusted; None without any."""
    tables = [name for name in WORK if trace.has(name)]
    called = {table: names_of(trace, table) for table in tables}
    names = sorted({name for _, there in called.values() for name in there})
    place = {name: at for at, name in enumerate(names)}
    states = {
        "(no name)" if name is None else name: LEAVES.get(one, 0) for name, one in kernel_categories(trace).items()
    }
    parts: list[dict[str, npt.NDArray[Any]]] = []
    for table, (code, there) in called.items():
        part: dict[str, npt.NDArray[Any]] = {**numbers(trace.files[table], COLUMNS)}
        state = [states.get(name, 0) if table == "kernel" else COPY for name in there]
        part["state"] = np.array(state, np.int8)[code]
        part["name"] = np.array([place[name] for name in there], np.int32)[code]
        kept = words(trace.files[table], "flaw").are(None)
        parts.append(part if kept.all() else chosen(part, kept))
    if not sum(len(part["name"]) for part in parts):
        return None
    work = joined(parts)
    order = lexical_order(*(work[name] for name in ("process", "device", "start_ns", "end_ns", "stream", "name")))
    return _Work(chosen(work, order), names)


def _waits(trace: Trace) -> Waits:
    if not trace.has("api"):
        return {}
    parts = trace.sql(SYNCHRONISING).partition_by("process", "thread", maintain_order=True, as_dict=True)
    return {(process, thread): part["end_ns"].to_numpy() for (process, thread), part in parts.items()}


def _tile(work: _Work, waits: Waits) -> "pa.Table":
    import pyarrow as pa

    of = work.columns
    tiles = tile(of["start_ns"], of["end_ns"], of["state"])
    first, last, idle = tiles.cuts[:-1], tiles.cuts[1:], tiles.state == IDLE
    rows, schema = len(first), TABLES["segment"].schema
    causes = _causes(of, first[idle], tiles.before, tiles.after, waits)
    columns = {
        "process": np.full(rows, of["process"][0]),
        "device": np.full(rows, of["device"][0], np.int32),
        "start_ns": first,
        "end_ns": last,
        "state": _where(np.ones(rows, bool), tiles.state, STATES),
        "cause": _where(idle, causes, CAUSES),
        "before": _where(idle, of["name"][tiles.before], work.names),
        "after": _where(idle, of["name"][tiles.after], work.names),
    }
    return pa.table([columns[name] for name in schema.names], names=schema.names)


def _causes(of: Mapping[str, Ints], dry: Ints, before: Ints, after: Ints, waits: Waits) -> Ints:
    """Why each idle stretch is one, an index of `CAUSES`."""
    launched = of["launch_ns"][after]
    waited, paced = _host(of, dry, after, launched, waits)
    late, stream = launched >= dry, of["stream"]
    conditions = [launched == MISSING, late & waited, late & paced, late, stream[before] != stream[after]]
    return np.select(conditions, [0, 1, 2, 3, 4], 5)


def _host(
    of: Mapping[str, Ints], dry: Ints, after: Ints, launched: Ints, waits: Waits
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """For each idle stretch: did the launching thread wait for the device, and was it launching steadily before."""
    thread, launch, process = of["launch_thread"], of["launch_ns"], int(of["process"][0])
    waited, paced = np.zeros(len(dry), bool), np.zeros(len(dry), bool)
    threads = thread[after]
    for one in distinct(threads).tolist():
        mine = np.flatnonzero(threads == one)
        launches = distinct(launch[(thread == one) & (launch != MISSING)])
        if not len(launches):
            continue
        own = launched[mine]
        at = np.searchsorted(launches, own) - 1
        paced[mine] = (at >= 0) & (own - launches[np.maximum(at, 0)] <= LAUNCH_PACE_NS)
        ends = waits.get((process, one), launches[:0])
        if len(ends):
            next_end = np.append(ends, np.iinfo(np.int64).max)[np.searchsorted(ends, dry[mine])]
            waited[mine] = (next_end <= own) & (own - next_end <= AFTER_WAIT_NS)
    return waited, paced


def _where(there: npt.NDArray[np.bool_], code: Ints, texts: Sequence[str]) -> "pa.DictionaryArray[Any]":
    """A text for each of those that are there, null for the others."""
    import pyarrow as pa

    codes = np.zeros(len(there), np.int32)
    codes[there] = code
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=~there), pa.array(texts, pa.string()))
