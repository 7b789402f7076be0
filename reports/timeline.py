"""Packs a timeline into a few bytes an operation, for the canvas to unpack.

First stand the names as JSON, then the rows. A row's columns stand one after another: the gaps between an operation's
start and the latest end before it (zigzag: the sign in the lowest bit) and the durations as uint32, name ids as uint16
(uint32 from 65,535 names on), each column byte-shuffled (all lowest bytes first), then everything deflated. What needs
more than 32 bits is escaped: the column holds `FAR`, and the row lists the true values in order. A curve has the steps
of its times and float64 values.

Of more than `MOST_OPERATIONS` operations the smallest lanes are held whole. The others are held in full only in the
stretches of time that `stretches` chooses; for all their time they have `levels`.
"""

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .levels import FACTOR, FULL, Grid, Levels, Times, covered, grid_of, levels
from .report import Curve, Lane, Timeline
from .stretches import Stretch, chosen
from .text import clean

__all__ = ["FAR", "MOST_OPERATIONS", "Packed", "busy_ns", "busy_shares", "pack", "span"]

FAR = 2**32 - 1
"""Stands in a column for a value that does not fit."""
MOST_OPERATIONS = 250_000
"""Operations that a page carries one by one."""
SMALL = 0.25
"""Share of them for lanes that are carried whole because they are small."""
MOST_TOTALS = 10


@dataclass(frozen=True)
class Packed:
    """A timeline as the viewer reads it: `header` is safe text for JSON, `data` base64 of raw deflate."""

    header: dict[str, Any]
    data: str


@dataclass(frozen=True)
class _Row:
    label: str
    kind: str
    group: str
    sql: str
    start: Times
    duration: Times
    name: Times


def pack(timeline: Timeline, most: int = MOST_OPERATIONS) -> Packed:
    """The timeline packed; a `ValueError` where a lane is not sorted by start or names what is not there."""
    names = list(timeline.names)
    overlays = [_overlay_row(o.label, o.group or o.label, o.spans, names) for o in timeline.overlays]
    lanes = [_lane_row(lane, timeline.sql) for lane in timeline.lanes]
    for row in (*overlays, *lanes):
        _check(row, len(names))
    large = _large([row.start.size for row in lanes], most)
    grid, full = _plan(timeline, lanes, large, most)
    wide = len(names) >= 2**16 - 1
    base = timeline.base_ns
    encoded = [_encode(row, base, wide=wide) for row in overlays]
    encoded += [_encode_curve(curve, base) for curve in timeline.curves]
    for at, row in enumerate(lanes):
        held = _encode(_within(row, full) if at in large else row, base, wide=wide)
        found = levels(row.start, row.duration, row.name, grid) if at in large else None
        encoded.append(_with_levels(held, row.start.size, found, wide=wide))
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    texts = json.dumps([clean(name) for name in names], separators=(",", ":")).encode()
    data = deflate.compress(b"".join([texts, *(columns for _, columns in encoded)])) + deflate.flush()
    header = {
        "base": str(base),
        "letters": len(texts),
        "wide": wide,
        "rows": [head for head, _ in encoded],
        "last": span(timeline)[1] - base,
        "bins": {"first": grid.first_ns - base, "width": grid.width_ns, "factor": FACTOR, "full": FULL},
        "stretches": _shown(full, base),
        "wanted": _shown(timeline.wanted, base),
        **_totals(lanes, len(timeline.names)),
    }
    return Packed(header, base64.b64encode(data).decode("ascii"))


def span(timeline: Timeline) -> tuple[int, int]:
    """First start and last end of the lanes; 0 and 0 where they are empty."""
    lanes = [lane for lane in timeline.lanes if len(lane.start_ns)]
    ends = [int((_integers(lane.start_ns) + _integers(lane.duration_ns)).max()) for lane in lanes]
    return min((int(lane.start_ns[0]) for lane in lanes), default=0), max(ends, default=0)


def busy_ns(start_ns: Any, duration_ns: Any) -> int:
    """Time covered by at least one operation of a lane that is sorted by start."""
    begin, end = covered(_integers(start_ns), _integers(duration_ns))
    return int((end - begin).sum())


def busy_shares(lane: Lane, first_ns: int, last_ns: int, count: int) -> list[float]:
    """How much of each of `count` equal parts of the time from first to last the lane is busy, 0 to 1."""
    begin, end = covered(_integers(lane.start_ns), _integers(lane.duration_ns))
    edges = np.linspace(first_ns, last_ns, count + 1)
    done = np.cumsum(end - begin)
    times, busy = np.stack([begin, end], axis=1).ravel(), np.stack([done - (end - begin), done], axis=1).ravel()
    parts = np.diff(np.interp(edges, times, busy)) if times.size else np.zeros(count)
    return np.clip(parts / max((last_ns - first_ns) / count, 1), 0, 1).tolist()


def _lane_row(lane: Lane, sql: str) -> _Row:
    arrays = map(_integers, (lane.start_ns, lane.duration_ns, lane.name))
    return _Row(lane.label, "lane", "", _source(lane.sql or sql), *arrays)


def _overlay_row(label: str, group: str, spans: Sequence[tuple[int, int, str]], names: list[str]) -> _Row:
    """The spans as a row; their labels are appended to the names, each once."""
    ids: dict[str, int] = {}
    for _, _, text in spans:
        ids.setdefault(text, len(names) + len(ids))
    names.extend(ids)
    ordered = sorted(spans)
    start = _integers([s for s, _, _ in ordered])
    end = _integers([e for _, e, _ in ordered])
    return _Row(label, "overlay", group, "", start, end - start, _integers([ids[text] for _, _, text in ordered]))


def _source(sql: str) -> str:
    """The query as the source of another one."""
    return clean(sql.strip(" \n").rstrip(";"), keep="\n\t")


def _large(sizes: Sequence[int], most: int) -> set[int]:
    """The lanes that are not carried whole: none where all operations find room."""
    if sum(sizes) <= most:
        return set()
    smallest = sorted(range(len(sizes)), key=lambda at: sizes[at])
    held = np.cumsum([sizes[at] for at in smallest])
    return {at for at, so_far in zip(smallest, held.tolist(), strict=True) if so_far > most * SMALL}


def _plan(timeline: Timeline, lanes: list[_Row], large: set[int], most: int) -> tuple[Grid, list[Stretch]]:
    """The bins of the large lanes, and the stretches of time in which they are carried in full."""
    room = most - sum(row.start.size for at, row in enumerate(lanes) if at not in large)
    full = chosen([lanes[at].start for at in sorted(large)], timeline.wanted, room) if large else []
    return grid_of(*span(timeline), len(large)), full


def _within(row: _Row, stretches: Sequence[Stretch]) -> _Row:
    """Those operations of the row that lie in a stretch or reach into it."""
    end = row.start + row.duration
    keep = np.zeros(row.start.size, dtype=bool)
    for first, last, _ in stretches:
        keep |= (row.start < last) & ((end > first) | (row.start >= first))
    return _Row(row.label, row.kind, row.group, row.sql, row.start[keep], row.duration[keep], row.name[keep])


def _shown(stretches: Sequence[Stretch], base: int) -> list[tuple[int, int, str]]:
    return [(first - base, last - base, clean(label)) for first, last, label in stretches]


def _totals(lanes: list[_Row], names: int) -> dict[str, Any]:
    """Operations and time of the names with most of it, and of all: exact, whatever is carried."""
    count, time = np.zeros(names, dtype=np.int64), np.zeros(names)
    for row in lanes:
        count += np.bincount(row.name, minlength=names)
        time += np.bincount(row.name, weights=row.duration, minlength=names)
    most = np.lexsort((np.arange(names), -time))[:MOST_TOTALS]
    totals = [[int(at), int(count[at]), int(time[at])] for at in most if count[at]]
    used = int((count > 0).sum())
    return {"totals": totals, "operations": int(count.sum()), "used": used, "spent": int(time.sum())}


def _encode(row: _Row, base: int, *, wide: bool) -> tuple[dict[str, Any], bytes]:
    far: list[int] = []
    first = int(row.start[0]) - base if row.start.size else 0
    end = np.maximum.accumulate(row.start + row.duration)
    gaps = row.start - np.concatenate([row.start[:1], end[:-1]])
    columns = [
        _shuffle(_escape((gaps << 1) ^ (gaps >> 63), gaps, far)),
        _shuffle(_escape(row.duration, row.duration, far)),
        _shuffle(row.name.astype("<u4" if wide else "<u2")),
    ]
    head = _head(row.label, row.kind, row.group, row.start.size, first, far)
    return head | ({"sql": row.sql} if row.sql else {}), b"".join(columns)


def _encode_curve(curve: Curve, base: int) -> tuple[dict[str, Any], bytes]:
    time, far = _integers(curve.time_ns), list[int]()
    steps = np.diff(time, prepend=time[:1])
    if (steps < 0).any():
        raise ValueError(f"timeline row {curve.label!r} is not sorted by time")
    value = np.asarray(curve.value, dtype="<f8")
    first = int(time[0]) - base if time.size else 0
    head = _head(curve.label, "curve", curve.group, time.size, first, far) | {"unit": clean(curve.unit)}
    return head, _shuffle(_escape(steps, steps, far)) + _shuffle(value)


def _head(label: str, kind: str, group: str, count: int, first: int, far: list[int]) -> dict[str, Any]:
    return {"label": clean(label), "kind": kind, "group": clean(group), "count": count, "first": first, "far": far}


def _with_levels(
    held: tuple[dict[str, Any], bytes], size: int, found: Levels | None, *, wide: bool
) -> tuple[dict[str, Any], bytes]:
    """A lane with its levels: the busy shares and the counts of the finest bins, then the names of each level."""
    head, columns = held
    if found is None:
        return head, columns
    parts = [_shuffle(found.busy), _shuffle(found.count.astype("<u4"))]
    parts += [_shuffle(name.astype("<u4" if wide else "<u2")) for name in found.name]
    return head | {"whole": size, "levels": [name.size for name in found.name]}, columns + b"".join(parts)


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


def _escape(values: Times, true: Times, far: list[int]) -> npt.NDArray[np.uint32]:
    """The values with those that need the escape replaced by it; the true ones go to the end of `far`."""
    escaped = values >= FAR
    far.extend(true[escaped].tolist())
    return np.where(escaped, FAR, values).astype("<u4")


def _shuffle(values: npt.NDArray[Any]) -> bytes:
    """All first bytes, then all second bytes: neighbours alike, which deflate likes."""
    return values.view(np.uint8).reshape(-1, values.itemsize).T.tobytes()


def _integers(values: Any) -> Times:
    return np.asarray(values, dtype=np.int64)
