"""Turns batches of Kineto events into rows of the tables: one function for each sort of row.

What a table has no column for stays in its `args`. Of metadata events the time is dropped: it says nothing.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from . import kineto_layout as layout
from .jsonrepair import text_of
from .kineto_args import with_member
from .kineto_batch import Batch, Rows
from .kineto_collectives import collective_columns
from .kineto_copies import told_by_args, told_by_name
from .kineto_memory import Lifetimes
from .kineto_process import Columns, Lanes, Processes
from .kineto_record import LARGEST_DEVICE, lane_number
from .kineto_vocabulary import RANGES, Kind, Role
from .spool import NOTHING, whole

__all__ = ["Tables"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
PID_TEXT, TID_TEXT = layout.PID_TEXT.bit_length() - 1, layout.TID_TEXT.bit_length() - 1
FILL_NAME = re.compile(r"Memset \((\w+)\)")
SYNC_KINDS = {
    "Event Sync": "event",
    "Stream Sync": "stream",
    "Context Sync": "context",
    "Stream Wait Event": "stream-event",
}
PHASES = pa.array([chr(c) for c in range(128)])
NO_STREAM = (-1, 0xFFFFFFFF)
TRACK_KINDS = {"process_name": "process", "thread_name": "thread"}


class Tables:
    """Writes batches to the tables of one trace."""

    def __init__(self, processes: Processes, *, generic: bool) -> None:
        self._processes, self._generic = processes, generic
        self._lifetimes = Lifetimes(processes)
        self._named: dict[tuple[int, int], str] = {}
        self.process_names: dict[int, str] = {}
        self.raw_pids: dict[int, int] = {}
        self._writers: dict[Kind, Callable[[Rows, Kind], None]] = {
            Kind.OP: self._op,
            Kind.RUNTIME: self._api,
            Kind.DRIVER: self._api,
            Kind.KERNEL: self._kernel,
            Kind.COPY: self._copy,
            Kind.FILL: self._fill,
            Kind.SYNC: self._sync,
            Kind.FLOW: self._flow,
            Kind.MEMORY: self._memory,
            Kind.META: self._track,
            **dict.fromkeys(RANGES, self._range),
        }

    def write(self, batch: Batch) -> None:
        """Writes all events of a batch and empties it."""
        for kind in self._writers:
            self.write_kind(batch, kind)
        batch.empty()

    def write_kind(self, batch: Batch, kind: Kind) -> None:
        """Writes the events of one kind, and makes room for others."""
        rows = batch.rows(kind)
        if rows:
            self._writers[kind](rows, kind)
            batch.forget(kind)

    def finish(self) -> None:
        """Writes what was kept until all is known, and the names of lanes that are text; before `Processes.finish`."""
        self._lifetimes.finish()
        named: dict[tuple[int, int], str] = self._named | {
            (pid, NOTHING): name for pid, name in self._processes.names.items()
        }
        if named:
            pid, thread = (np.array(column, np.int64) for column in zip(*named, strict=True))
            columns = {"track": _nullable(thread), "name": pa.array(named.values(), pa.string()), "kind": "lane"}
            columns["args"] = pa.nulls(len(pid), pa.string())
            self._processes.write("track", columns, Lanes.of(pid), self._with_pid)

    def _op(self, rows: Rows, _: Kind) -> None:
        forward = rows.numbers(Role.FORWARD_THREAD)
        columns = {
            **self._host_span(rows),
            "name": rows.texts(layout.NAME),
            "external": rows.ints(Role.EXTERNAL),
            "sequence": rows.ints(Role.SEQUENCE),
            # On a forward operator the profiler writes 0, which is no thread.
            "forward_thread": pa.array(forward, mask=(forward == NOTHING) | (forward == 0)),
            "shapes": rows.role_texts(Role.SHAPES),
            "types": rows.role_texts(Role.TYPES),
            "event_index": rows.ints(Role.EVENT_INDEX),
            "args": rows.leftovers(),
        }
        self._processes.write_host("op", columns, self._lanes_of(rows))

    def _api(self, rows: Rows, kind: Kind) -> None:
        device, pid = rows.numbers(Role.DEVICE), self._lanes_of(rows).pid
        on_host = (device == NOTHING) | (device != pid)
        for chosen, write in (
            (on_host, self._processes.write_host),
            (~on_host, self._processes.write),  # calls of MTIA may stand in the device's lane
        ):
            part = rows.where(chosen)
            if part:
                columns = {
                    **self._host_span(part),
                    "name": part.texts(layout.NAME),
                    "kind": "runtime" if kind == Kind.RUNTIME else "driver",
                    "correlation": part.ints(Role.CORRELATION),
                    "external": part.ints(Role.EXTERNAL),
                    "args": with_member(part.leftovers(), "device", part.ints(Role.DEVICE).cast(pa.string())),
                }
                write("api", columns, self._lanes_of(part))

    def _kernel(self, rows: Rows, _: Kind) -> None:
        columns = {
            **self._device_work(rows),
            "name": rows.texts(layout.NAME),
            **{f"grid_{axis}": rows.ints(Role.GRID, i) for i, axis in enumerate("xyz")},
            **{f"block_{axis}": rows.ints(Role.BLOCK, i) for i, axis in enumerate("xyz")},
            "registers": rows.ints(Role.REGISTERS),
            "shared_bytes": rows.ints(Role.SHARED),
        }
        self._processes.write_device("kernel", columns, self._lanes_of(rows))
        told = rows.has_role(Role.COLLECTIVE)
        collectives = rows.where(told)
        if collectives:
            self._collective(collectives, columns["args"].filter(pa.array(told)))

    def _collective(self, rows: Rows, args: pa.DictionaryArray) -> None:
        columns = {
            "device": rows.numbers(Role.DEVICE).astype(np.int32),
            "stream": rows.numbers(Role.STREAM),
            **_span(rows),
            "name": rows.texts(layout.NAME),
            "correlation": rows.ints(Role.CORRELATION),
            **collective_columns(args),
        }
        self._processes.write_device("collective", columns, self._lanes_of(rows))

    def _copy(self, rows: Rows, _: Kind) -> None:
        names, which = rows.distinct(layout.NAME)
        parsed = [told_by_name(name) for name in names]
        columns = {
            **self._device_work(rows),
            **{
                column: pa.array([p[i] for p in parsed], pa.string()).take(pa.array(which))
                for i, column in enumerate(("kind", "source_memory", "target_memory"))
            },
            "bytes": rows.ints(Role.BYTES),
        }
        kept = np.array([p[3] for p in parsed])[which]
        columns["args"] = with_member(columns["args"], "name", _json_texts(names, which, kept))
        columns |= told_by_args(columns)
        if unknown := columns["kind"].null_count:
            meaning = "copies whose name does not tell a known direction: of none, the name is in `args`"
            example = names[which[np.flatnonzero(np.asarray(columns["kind"].is_null()))[0]]]
            self._processes.sink.note("unknown-direction", meaning, count=unknown, example=example)
        self._processes.write_device("copy", columns, self._lanes_of(rows))

    def _fill(self, rows: Rows, _: Kind) -> None:
        names, which = rows.distinct(layout.NAME)
        found = [FILL_NAME.fullmatch(name) for name in names]
        columns = {
            **self._device_work(rows),
            "bytes": rows.ints(Role.BYTES),
            "memory": pa.array([f[1].lower() if f else None for f in found], pa.string()).take(pa.array(which)),
        }
        kept = np.array([f is None for f in found])[which]
        columns["args"] = with_member(columns["args"], "name", _json_texts(names, which, kept))
        self._processes.write_device("fill", columns, self._lanes_of(rows))

    def _sync(self, rows: Rows, _: Kind) -> None:
        stream, tid = rows.numbers(Role.STREAM), self._thread(rows)
        names, which = rows.distinct(layout.NAME)
        name = pa.array(names).take(pa.array(which))
        what = pc.coalesce(rows.role_texts(Role.SYNC_KIND).dictionary_decode(), name)
        renamed = np.asarray(pc.not_equal(what, name))
        args = with_member(rows.leftovers(), "name", _json_texts(names, which, renamed))
        columns = {
            "device": rows.ints(Role.DEVICE).cast(pa.int32()),
            "context": rows.ints(Role.CONTEXT),
            "stream": pa.array(stream, mask=np.isin(stream, (NOTHING, *NO_STREAM))),
            **_span(rows),
            "kind": _replaced(what, SYNC_KINDS),
            "event": rows.ints(Role.EVENT),
            "correlation": rows.ints(Role.CORRELATION),
            "args": with_member(args, "tid", _json_numbers(tid, tid != stream)),
        }
        self._processes.write_device("sync", columns, self._lanes_of(rows))

    def _range(self, rows: Rows, kind: Kind) -> None:
        columns: dict[str, Any] = {
            **_span(rows),
            "name": rows.texts(layout.NAME),
            "kind": RANGES[kind],
            "event_index": rows.ints(Role.EVENT_INDEX),
            "args": rows.leftovers(),
        }
        lanes = self._lanes_of(rows)
        thread = _nullable(self._thread(rows))
        if kind == Kind.DEVICE_ANNOTATION:
            self._processes.write_device("range", {**columns, "stream": thread}, lanes, self._on_device)
            return
        columns["thread"] = thread
        if kind == Kind.DEVICE_ACTIVITY:
            columns |= {"stream": rows.ints(Role.STREAM), "domain": rows.texts(layout.CAT)}
            self._processes.write_device("range", columns, lanes, self._on_device)
        elif kind == Kind.PYTHON:
            # The profiler writes pid 0 for threads it knows nothing of: not for sure that of a process.
            columns |= {"id": rows.ints(Role.PYTHON_ID), "parent_id": rows.ints(Role.PYTHON_PARENT)}
            self._processes.write("range", columns, lanes, self._on_known_device)
        elif kind == Kind.MARK and not self._generic:
            self._processes.write("range", {**columns, "domain": rows.texts(layout.CAT)}, lanes, self._on_known_device)
        elif kind in (Kind.SPAN, Kind.MARK):
            self._processes.write_host("range", {**columns, "domain": rows.texts(layout.CAT)}, lanes)
        else:
            self._processes.write("range", columns, lanes, self._on_known_device)

    def _flow(self, rows: Rows, _: Kind) -> None:
        names, which = rows.distinct(layout.NAME)
        named = _json_texts(names, which, rows.values(layout.NAME) != rows.values(layout.CAT))
        columns = {
            "track": _nullable(self._thread(rows)),
            "time_ns": rows.values(layout.TS),
            "kind": rows.texts(layout.CAT),
            "id": pa.array(rows.values(layout.ID), mask=~rows.has(layout.ID)),
            "phase": pa.DictionaryArray.from_arrays(rows.values(layout.PHASE).astype(np.int32), PHASES),
            "args": with_member(rows.leftovers(), "name", named),
        }
        self._processes.write("flow", columns, self._lanes_of(rows), self._with_pid)

    def _memory(self, rows: Rows, _: Kind) -> None:
        self._lifetimes.add(rows, self._thread(rows), self._lanes_of(rows))

    def _track(self, rows: Rows, _: Kind) -> None:
        kinds, which = rows.distinct(layout.NAME)
        labels = pc.coalesce(*(a.dictionary_decode() for a in (rows.role_texts(Role.LABEL), rows.texts(layout.NAME))))
        lanes = self._lanes_of(rows)
        thread = self._thread(rows)
        of_process = np.array([kind.startswith("process_") for kind in kinds])[which]
        columns = {
            "track": _nullable(np.where(of_process, NOTHING, thread)),
            "name": labels,
            "kind": pa.array([TRACK_KINDS.get(kind, kind) for kind in kinds]).take(pa.array(which)),
            "args": rows.leftovers(),
        }
        named = np.flatnonzero(np.array([kind == "process_name" for kind in kinds])[which])
        self.process_names |= dict(
            zip(lanes.pid[named].tolist(), labels.take(pa.array(named)).to_pylist(), strict=True)
        )
        self._processes.write("track", columns, lanes, self._on_lane)

    def _host_span(self, rows: Rows) -> dict[str, Any]:
        return {"thread": _nullable(self._thread(rows)), **_span(rows)}

    def _device_work(self, rows: Rows) -> dict[str, Any]:
        lanes = self._lanes_of(rows)
        device, stream = rows.numbers(Role.DEVICE), rows.numbers(Role.STREAM)
        pids, first = np.unique(lanes.pid, return_index=True)
        self._processes.devices |= dict(zip(pids.tolist(), device[first].tolist(), strict=True))
        thread = self._thread(rows)
        args = with_member(rows.leftovers(), "tid", _json_numbers(thread, thread != stream))
        args = with_member(args, "pid", _json_numbers(lanes.pid, lanes.pid != device))
        return {
            "device": device.astype(np.int32),
            "context": rows.ints(Role.CONTEXT),
            "stream": stream,
            **_span(rows),
            "correlation": rows.ints(Role.CORRELATION),
            "graph": rows.ints(Role.GRAPH),
            "graph_node": rows.ints(Role.GRAPH_NODE),
            "external": rows.ints(Role.EXTERNAL),
            "args": args,
        }

    def _on_device(self, columns: Columns, pid: Ints) -> Columns:
        """Adds the device of spans in lanes of devices: of one without work, the pid is all there is."""
        devices = self._processes.devices
        return {**columns, "device": _by_lane(pid, lambda p: devices.get(p, p if 0 <= p < LARGEST_DEVICE else None))}

    def _on_known_device(self, columns: Columns, pid: Ints) -> Columns:
        """Adds the device of spans that stand among a device's work without being marked as such."""
        devices = {p: d for p, d in self._processes.devices.items() if p not in self._processes.hosts}
        return {**self._with_pid(columns, pid), "device": _by_lane(pid, devices.get)}

    def _on_lane(self, columns: Columns, pid: Ints) -> Columns:
        """Tells the names of streams from those of threads."""
        lanes = pa.array(self._processes.lanes(pid))
        kinds = pc.if_else(lanes, _replaced(columns["kind"], {"thread": "stream"}), columns["kind"])
        return {**self._with_pid(columns, pid), "kind": kinds}

    def _with_pid(self, columns: Columns, pid: Ints) -> Columns:
        """Keeps the pid of lanes in the arguments, since their rows come to stand with a process."""
        pids, which = np.unique(pid, return_inverse=True)
        shown = pa.array([text_of(self._processes.names.get(p, p)) for p in pids.tolist()])
        texts = pa.DictionaryArray.from_arrays(pa.array(which, mask=~self._processes.lanes(pid)), shown)
        return {**columns, "args": with_member(columns["args"], "pid", texts)}

    def _lanes_of(self, rows: Rows) -> Lanes:
        pid = np.where(rows.has(layout.PID), rows.values(layout.PID), NOTHING)
        texts = rows.has(PID_TEXT)
        if texts.any():
            pid[texts] = self._numbers(rows, layout.PID, texts, self._processes.names)
        raw = rows.numbers(Role.RAW_PID)
        if (raw != NOTHING).any():
            self.raw_pids |= dict(np.unique(np.stack([pid, raw])[:, raw != NOTHING], axis=1).T.tolist())
        return Lanes(pid, rows.numbers(Role.RANK))

    def _thread(self, rows: Rows) -> Ints:
        thread = np.where(rows.has(layout.TID), rows.values(layout.TID), NOTHING)
        texts = rows.has(TID_TEXT)
        if texts.any():
            names: dict[int, str] = {}
            thread[texts] = self._numbers(rows, layout.TID, texts, names)
            if names:
                pairs = np.stack([self._lanes_of(rows).pid, thread])[:, np.isin(thread, list(names))]
                self._named |= {(pid, tid): names[tid] for pid, tid in np.unique(pairs, axis=1).T.tolist()}
        return thread

    def _numbers(self, rows: Rows, column: int, chosen: Bools, names: dict[int, str]) -> Ints:
        """Numbers for lanes given as text; notes the names of those that are no number."""
        texts, which = rows.distinct(column, chosen)
        numbers = [lane_number(text) for text in texts]
        names |= {n: text for n, text in zip(numbers, texts, strict=True) if n < 0 and text != str(n)}
        return np.array(numbers, np.int64)[which]


def _json_numbers(values: Ints, chosen: Bools) -> pa.Array:
    """The numbers as JSON text; null where not chosen or NOTHING."""
    return pa.array(values, mask=~chosen | (values == NOTHING)).cast(pa.string())


def _json_texts(texts: list[str], which: Ints, chosen: Bools) -> pa.Array:
    """The texts as JSON text, by row; null where not chosen."""
    return pa.DictionaryArray.from_arrays(
        pa.array(which, mask=~chosen), pa.array([text_of(text) for text in texts], pa.string())
    )


def _by_lane(pid: Ints, device: Callable[[int], int | None]) -> pa.Array:
    pids, which = np.unique(pid, return_inverse=True)
    return pa.array([device(p) for p in pids.tolist()], pa.int32()).take(pa.array(which))


def _replaced(texts: Any, by: Mapping[str, str]) -> pa.Array:
    """The texts, some of them replaced."""
    encoded = pc.dictionary_encode(texts)
    encoded = whole(encoded)
    return pa.array([by.get(t, t) for t in encoded.dictionary.to_pylist()], pa.string()).take(encoded.indices)


def _span(rows: Rows) -> dict[str, Any]:
    start, length = rows.values(layout.TS), rows.values(layout.DUR)
    if (endless := length == layout.ENDLESS).any():
        return {"start_ns": start, "end_ns": pa.array(start + np.where(endless, 0, length), mask=endless)}
    return {"start_ns": start, "end_ns": start + length}


def _nullable(values: Ints) -> pa.Array:
    return pa.array(values, mask=values == NOTHING)
