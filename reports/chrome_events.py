"""Rows of the tables as events of a Chrome trace, in the words that profilers of PyTorch write.

Each event is one JSON object, put together column by column. What a row's `args` keep of the place or the name that
its event had in another Chrome trace goes back to where it stood.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from ..collect.jsonrepair import loads, text_of

__all__ = ["EVENTS", "as_events"]

_ON_DEVICE = {"device": "device", "context": "context", "stream": "stream", "correlation": "correlation"}
_LAUNCHED = _ON_DEVICE | {"graph id": "graph", "graph node id": "graph_node", "External id": "external"}

_SYNCS = {
    "event": "Event Sync",
    "stream": "Stream Sync",
    "context": "Context Sync",
    "stream-event": "Stream Wait Event",
}
_RANGES = {
    "python": "python_function",
    "annotation": "user_annotation",
    "device_annotation": "gpu_user_annotation",
    "overhead": "overhead",
    "profiler": "Trace",
    "profiler_range": "cuda_profiler_range",
    "device_activity": "mtia_ccp_events",
}
_MOVED = ("pid", "tid", "name", "recorded_end_ns")
_OF: Mapping[str, tuple[str, ...]] = {
    "kernel": ("pid", "tid"),
    "copy": ("pid", "tid", "name"),
    "fill": ("pid", "tid", "name"),
    "sync": ("tid", "name"),
    "range": ("pid",),
    "flow": ("pid", "name"),
}
"""Members of the `args` of a table that are no arguments of the event; the recorded end is none in any."""


def as_events(table: str, rows: pl.DataFrame, lanes: Mapping[int, str]) -> list[str]:
    """The events of those rows of a table, as JSON; `lanes` are names that stand for a thread's id."""
    rows = _with_moved(rows, _OF.get(table, ())) if "args" in rows.columns else rows
    thread = pl.col("thread" if "thread" in rows.columns else "stream" if "stream" in rows.columns else "process")
    if lanes:
        names = {number: _quoted(name) for number, name in lanes.items()}
        known = thread.replace_strict(names, default=None, return_dtype=pl.String)
        return _lines(rows, EVENTS[table](rows, pl.coalesce(known, thread.cast(pl.String))))
    return _lines(rows, EVENTS[table](rows, thread.cast(pl.String)))


def _lines(rows: pl.DataFrame, event: pl.Expr) -> list[str]:
    return rows.select(event).to_series().to_list()


def _with_moved(rows: pl.DataFrame, members: tuple[str, ...]) -> pl.DataFrame:
    """The rows with what `args` keep of place, name and time as columns of their own, as JSON."""
    marked = pl.lit(value=False)
    if members:
        marked |= pl.col("args").str.contains("|".join(f'"{name}"\\s*:' for name in members)).fill_null(value=False)
    if "flaw" in rows.columns:
        marked |= pl.col("flaw").is_not_null() & pl.col("args").is_not_null()
        members = (*members, "recorded_end_ns")
    found = rows.select(marked & pl.col("args").is_not_null()).to_series()
    columns: dict[str, list[str | None]] = {f"{name}_": [None] * len(rows) for name in _MOVED}
    args = rows["args"].to_list()
    for at in found.arg_true().to_list():  # a loop over rows: the few whose events stood in an unusual place
        said = loads(args[at])
        for name in members:
            if name in said:
                columns[f"{name}_"][at] = text_of(said.pop(name))
        args[at] = text_of(said)
    moved = [pl.Series(name, values, pl.String) for name, values in columns.items()]
    return rows.with_columns(pl.Series("args", args, pl.String), *moved)


def _quoted(text: Any) -> str:
    return json.dumps(text, ensure_ascii=False)


def _json(rows: pl.DataFrame, column: str) -> pl.Expr:
    """A column of texts as JSON: each distinct text is written once."""
    distinct = rows[column].drop_nulls().unique().to_list()
    known = pl.col(column).replace_strict(
        distinct, [_quoted(text) for text in distinct], default=None, return_dtype=pl.String
    )
    return known if distinct else pl.lit(None, pl.String)


def _micros(time: pl.Expr) -> pl.Expr:
    """Nanoseconds as microseconds with three decimals."""
    sign = pl.when(time < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    size = time.abs()
    return pl.concat_str(sign, (size // 1000).cast(pl.String), pl.lit("."), (size % 1000).cast(pl.String).str.zfill(3))


def _times() -> list[pl.Expr]:
    recorded = pl.coalesce(pl.col("recorded_end_ns_").cast(pl.Int64, strict=False), pl.col("end_ns"))
    return [pl.lit(',"ts":'), _micros(pl.col("start_ns")), pl.lit(',"dur":'), _micros(recorded - pl.col("start_ns"))]


def _member(key: str, value: pl.Expr) -> pl.Expr:
    """A member with its comma; null where the value is null."""
    return pl.when(value.is_not_null()).then(pl.concat_str(pl.lit(f",{_quoted(key)}:"), value.cast(pl.String)))


def _inner() -> pl.Expr:
    """The members of `args`, after a comma."""
    text = pl.col("args").str.strip_chars(" ")
    inner = text.str.slice(1, text.str.len_chars() - 2)
    return pl.when(inner.str.contains(r"\S")).then(pl.concat_str(pl.lit(","), inner))


def _object(*members: pl.Expr) -> pl.Expr:
    text = pl.concat_str(*members, ignore_nulls=True).str.strip_prefix(",")
    return pl.concat_str(pl.lit("{"), text, pl.lit("}"))


def _event(
    phase: str, category: pl.Expr, name: pl.Expr, pid: pl.Expr, tid: pl.Expr, times: Sequence[pl.Expr], args: pl.Expr
) -> pl.Expr:
    head = [pl.lit(f'{{"ph":"{phase}"'), _member("cat", category), pl.lit(',"name":'), name, pl.lit(',"pid":'), pid]
    tail = [_member("tid", tid), *times, pl.lit(',"args":'), args, pl.lit("}")]
    return pl.concat_str(*head, *tail, ignore_nulls=True)


def _moved(column: str, other: pl.Expr) -> pl.Expr:
    return pl.coalesce(pl.col(f"{column}_"), other.cast(pl.String))


def _x(category: pl.Expr, name: pl.Expr, pid: str, tid: pl.Expr, members: Sequence[pl.Expr]) -> pl.Expr:
    places = _moved("pid", pl.coalesce(pl.col(pid).cast(pl.Int64), pl.col("process"))), _moved("tid", tid)
    return _event("X", category, name, *places, _times(), _object(*members, _inner()))


def _columns(columns: Mapping[str, str]) -> list[pl.Expr]:
    return [_member(key, pl.col(column)) for key, column in columns.items()]


def _category(text: str) -> pl.Expr:
    return pl.lit(_quoted(text))


def _named(rows: pl.DataFrame) -> pl.Expr:
    return pl.coalesce(_json(rows, "name"), pl.lit('""'))


def _kernel(rows: pl.DataFrame, tid: pl.Expr) -> pl.Expr:
    def size(what: str) -> pl.Expr:
        axes = [pl.col(f"{what}_{axis}").cast(pl.String) for axis in "xyz"]
        return pl.concat_str(pl.lit("["), axes[0], pl.lit(","), axes[1], pl.lit(","), axes[2], pl.lit("]"))

    members = [
        *_columns(_LAUNCHED | {"registers per thread": "registers", "shared memory": "shared_bytes"}),
        *(_member(what, size(what)) for what in ("grid", "block")),
    ]
    return _x(_category("kernel"), _named(rows), "device", tid, members)


def _copy(_: pl.DataFrame, tid: pl.Expr) -> pl.Expr:
    ends = [pl.col(c).str.slice(0, 1).str.to_uppercase() + pl.col(c).str.slice(1) for c in _MEMORIES]
    told = pl.concat_str(pl.lit('"Memcpy '), "kind", pl.lit(" ("), ends[0], pl.lit(" -> "), ends[1], pl.lit(')"'))
    spelt = pl.concat_str(pl.lit('"Memcpy '), "kind", pl.lit('"'))
    name = pl.coalesce("name_", told, spelt, pl.lit('"Memcpy"'))
    untold = pl.when(pl.any_horizontal(pl.col(c).is_null() for c in _MEMORIES)).then(
        pl.concat_str(pl.lit('"'), "kind", pl.lit('"'))
    )
    own = pl.when(pl.col("args").str.contains('"kind":').fill_null(value=False)).then(None).otherwise(untold)
    members = [*_columns(_LAUNCHED | {"bytes": "bytes"}), _member("kind", own)]
    return _x(_category("gpu_memcpy"), name, "device", tid, members)


_MEMORIES = ("source_memory", "target_memory")


def _fill(_: pl.DataFrame, tid: pl.Expr) -> pl.Expr:
    memory = pl.col("memory").str.slice(0, 1).str.to_uppercase() + pl.col("memory").str.slice(1)
    name = pl.coalesce("name_", pl.concat_str(pl.lit('"Memset ('), memory, pl.lit(')"')), pl.lit('"Memset"'))
    return _x(_category("gpu_memset"), name, "device", tid, _columns(_LAUNCHED | {"bytes": "bytes", "value": "value"}))


def _sync(_: pl.DataFrame, __: pl.Expr) -> pl.Expr:
    kind = pl.concat_str(pl.lit('"'), pl.col("kind").replace(_SYNCS), pl.lit('"'))
    stream = pl.col("stream").fill_null(-1)
    place = _columns({key: column for key, column in _ON_DEVICE.items() if key != "stream"})
    told = _member("wait_on_cuda_event_id", pl.col("event")), _member("cuda_sync_kind", kind)
    members = [*place, _member("stream", stream), *told]
    return _x(_category("cuda_sync"), pl.coalesce("name_", kind), "device", stream, members)


def _api(rows: pl.DataFrame, tid: pl.Expr) -> pl.Expr:
    category = pl.concat_str(pl.lit('"cuda_'), "kind", pl.lit('"'))
    members = _columns({"External id": "external", "correlation": "correlation", "status": "status"})
    return _x(category, _named(rows), "process", tid, members)


def _op(rows: pl.DataFrame, tid: pl.Expr) -> pl.Expr:
    columns = {"External id": "external", "Sequence number": "sequence", "Fwd thread id": "forward_thread"}
    lists = {"Input Dims": "shapes", "Input type": "types", "Ev Idx": "event_index"}
    return _x(_category("cpu_op"), _named(rows), "process", tid, _columns(columns | lists))


def _range(rows: pl.DataFrame, tid: pl.Expr) -> pl.Expr:
    known = pl.col("kind").replace_strict(_RANGES, default=None, return_dtype=pl.String)
    domain = pl.when(pl.col("kind").is_in(["span", "mark"])).then(_json(rows, "domain"))
    other = pl.when(pl.col("kind") != "mark").then(pl.lit('"user_annotation"'))
    category = pl.coalesce(pl.concat_str(pl.lit('"'), known, pl.lit('"')), domain, other)
    spans = _columns({"Python id": "id", "Python parent id": "parent_id", "Ev Idx": "event_index"})
    activity = pl.when(pl.col("kind") == "device_activity").then(pl.col("stream"))
    place = pl.when(pl.col("kind") == "device_annotation").then(pl.col("stream").cast(pl.String)).otherwise(tid)
    on_device = pl.col("kind").is_in(["device_annotation", "device_activity"])
    device = pl.when(on_device).then(pl.col("device").cast(pl.Int64))
    pid = _moved("pid", pl.coalesce(device, pl.col("process")))
    places = pid, _moved("tid", place)
    whole = _event(
        "X", category, _named(rows), *places, _times(), _object(*spans, _member("stream", activity), _inner())
    )
    times = [pl.lit(',"ts":'), _micros(pl.col("start_ns"))]
    moment = _event("i", category, _named(rows), *places, times, _object(_inner()))
    return pl.when(pl.col("kind") == "mark").then(moment).otherwise(whole)


def _flow(rows: pl.DataFrame, _: pl.Expr) -> pl.Expr:
    kind = pl.coalesce(_json(rows, "kind"), pl.lit('""'))
    members = [
        *(_member(key, value) for key, value in (("cat", kind), ("name", pl.coalesce("name_", kind)))),
        _member("pid", _moved("pid", pl.col("process"))),
        _member("tid", pl.col("track")),
        _member("ts", _micros(pl.col("time_ns"))),
        _member("id", pl.col("id")),
        _inner(),
    ]
    return pl.concat_str(pl.lit('{"ph":"'), "phase", pl.lit('"'), *members, pl.lit("}"), ignore_nulls=True)


def _counter(rows: pl.DataFrame, _: pl.Expr) -> pl.Expr:
    key = pl.coalesce(_json(rows, "unit"), pl.lit('"value"'))
    args = pl.concat_str(pl.lit("{"), key, pl.lit(":"), pl.col("value").cast(pl.String), pl.lit("}"))
    name = [pl.lit('{"ph":"C","name":'), _named(rows), pl.lit(',"pid":'), pl.col("process").cast(pl.String)]
    return pl.concat_str(*name, pl.lit(',"ts":'), _micros(pl.col("time_ns")), pl.lit(',"args":'), args, pl.lit("}"))


def _managed(what: str) -> "Callable[[pl.DataFrame, pl.Expr], pl.Expr]":
    def event(_: pl.DataFrame, __: pl.Expr) -> pl.Expr:
        kind = pl.coalesce("kind", pl.lit(what))
        name = pl.concat_str(pl.lit(f'"{what} '), kind, pl.lit('"'))
        end = pl.coalesce("end_ns", "start_ns")
        times = [pl.lit(',"ts":'), _micros(pl.col("start_ns")), pl.lit(',"dur":'), _micros(end - pl.col("start_ns"))]
        place = pl.coalesce(pl.col("device").cast(pl.Int64), pl.col("process")).cast(pl.String)
        args = _object(*_columns({"address": "address"}))
        return _event("X", pl.lit(f'"uvm_{what}"'), name, place, pl.lit('"managed memory"'), times, args)

    return event


EVENTS: Mapping[str, Callable[[pl.DataFrame, pl.Expr], pl.Expr]] = {
    "kernel": _kernel,
    "copy": _copy,
    "fill": _fill,
    "sync": _sync,
    "api": _api,
    "op": _op,
    "range": _range,
    "flow": _flow,
    "counter": _counter,
    "fault": _managed("fault"),
    "migration": _managed("migration"),
}
"""Table to its events: the rows and the thread's id as JSON in, the event as JSON out."""
