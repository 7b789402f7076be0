"""Packs a timeline into a few bytes an operation, for the canvas to unpack.

All rows' columns stand one after another: start distances and durations as uint32, name ids as uint16 (uint32 above
65,536 names), each column byte-shuffled (all lowest bytes first), then everything deflated. Times that need more than
32 bits are escaped: the column holds `FAR`, and the row lists the true values in order.
"""

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .report import Lane, Timeline
from .text import clean

__all__ = ["FAR", "Packed", "busy_ns", "busy_shares", "pack"]

FAR = 2**32 - 1
"""Stands in a column for a value that does not fit."""

Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Packed:
    """A timeline as the viewer reads it: `header` is safe text for JSON, `data` base64 of raw deflate."""

    header: dict[str, Any]
    data: str


@dataclass(frozen=True)
class _Row:
    label: str
    kind: str
    sql: str
    start: Times
    duration: Times
    name: npt.NDArray[np.int64]


def pack(timeline: Timeline) -> Packed:
    """The timeline packed; a `ValueError` where a lane is not sorted by start or names what is not there."""
    names = list(timeline.names)
    rows = [_overlay_row(o.label, o.spans, names) for o in timeline.overlays]
    rows += [
        _Row(
            lane.label,
            "lane",
            _source(lane.sql or timeline.sql),
            *map(_integers, (lane.start_ns, lane.duration_ns, lane.name)),
        )
        for lane in timeline.lanes
    ]
    wide = len(names) > 2**16
    encoded = [_encode(row, timeline.base_ns, len(names), wide=wide) for row in rows]
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = deflate.compress(b"".join(columns for _, columns in encoded)) + deflate.flush()
    header = {
        "base": str(timeline.base_ns),
        "names": [clean(name) for name in names],
        "wide": wide,
        "rows": [head for head, _ in encoded],
    }
    return Packed(header, base64.b64encode(data).decode("ascii"))


def busy_ns(start_ns: Any, duration_ns: Any) -> int:
    """Time covered by at least one operation of a lane that is sorted by start."""
    begin, end = _covered(_integers(start_ns), _integers(duration_ns))
    return int((end - begin).sum())


def busy_shares(lane: Lane, first_ns: int, last_ns: int, count: int) -> list[float]:
    """How much of each of `count` equal parts of the time from first to last the lane is busy, 0 to 1."""
    begin, end = _covered(_integers(lane.start_ns), _integers(lane.duration_ns))
    edges = np.linspace(first_ns, last_ns, count + 1)
    done = np.cumsum(end - begin)
    times, busy = np.stack([begin, end], axis=1).ravel(), np.stack([done - (end - begin), done], axis=1).ravel()
    parts = np.diff(np.interp(edges, times, busy)) if times.size else np.zeros(count)
    return np.clip(parts / max((last_ns - first_ns) / count, 1), 0, 1).tolist()


def _covered(start: Times, duration: Times) -> tuple[Times, Times]:
    """Each operation cut to the time no earlier one covers, so that overlaps count once."""
    end = np.maximum.accumulate(start + duration)
    begin = np.maximum(start, np.concatenate([start[:1], end[:-1]]))
    return begin, end


def _overlay_row(label: str, spans: Sequence[tuple[int, int, str]], names: list[str]) -> _Row:
    """The spans as a row; their labels are appended to the names, each once."""
    ids: dict[str, int] = {}
    for _, _, text in spans:
        ids.setdefault(text, len(names) + len(ids))
    names.extend(ids)
    ordered = sorted(spans)
    start = _integers([s for s, _, _ in ordered])
    end = _integers([e for _, e, _ in ordered])
    return _Row(label, "overlay", "", start, end - start, _integers([ids[text] for _, _, text in ordered]))


def _source(sql: str) -> str:
    """The query as the source of another one."""
    return clean(sql.strip(" \n").rstrip(";"), keep="\n\t")


def _encode(row: _Row, base: int, names: int, *, wide: bool) -> tuple[dict[str, Any], bytes]:
    _check(row, names)
    far: list[int] = []
    first = int(row.start[0]) - base if row.start.size else 0
    steps = np.diff(row.start, prepend=row.start[:1])
    columns = [
        _shuffle(_escape(steps, far).astype("<u4")),
        _shuffle(_escape(row.duration, far).astype("<u4")),
        _shuffle(row.name.astype("<u4" if wide else "<u2")),
    ]
    head = {"label": clean(row.label), "kind": row.kind, "count": int(row.start.size), "first": first, "far": far}
    return head | ({"sql": row.sql} if row.sql else {}), b"".join(columns)


def _check(row: _Row, names: int) -> None:
    if not row.start.size == row.duration.size == row.name.size:
        raise ValueError(f"timeline row {row.label!r}: its arrays differ in length")
    if not row.start.size:
        return
    if (np.diff(row.start) < 0).any():
        raise ValueError(f"timeline row {row.label!r} is not sorted by start")
    if (row.duration < 0).any():
        raise ValueError(f"timeline row {row.label!r} holds an operation that ends before it starts")
    if row.name.min() < 0 or row.name.max() >= names:
        raise ValueError(f"timeline row {row.label!r} names an operation that is not in the list of names")


def _escape(values: Times, far: list[int]) -> Times:
    """The values with those that need the escape replaced by it; the true ones go to the end of `far`."""
    far.extend(values[values >= FAR].tolist())
    return np.minimum(values, FAR)


def _shuffle(values: npt.NDArray[Any]) -> bytes:
    """All first bytes, then all second bytes: neighbours alike, which deflate likes."""
    return values.view(np.uint8).reshape(-1, values.itemsize).T.tobytes()


def _integers(values: Any) -> npt.NDArray[np.int64]:
    return np.asarray(values, dtype=np.int64)
