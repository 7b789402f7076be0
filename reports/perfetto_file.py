"""A Perfetto trace as it is written: tracks, each lane of them a sequence of packets of its own.

Every sequence interns its texts and counts time from its last packet, so that a kernel takes about 45 bytes and
tracks can be written one after the other, whatever their length. Slices that cut each other go to lanes, since
Perfetto drops what does not nest; lanes of a track have its name, by which Perfetto draws them as one.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .export_file import Out
from .perfetto_slices import NOTHING, counted, ended, placed, room, written
from .protobuf import message, varint

__all__ = ["CATEGORIES", "KEYS", "NAMES", "TEXTS", "PerfettoFile", "Slices", "Track"]

CATEGORIES, NAMES, KEYS, TEXTS = 1, 2, 3, 29
"""Tables of interned texts, as numbered in interned_data.proto."""
_PACKET, _CLOCKS, _SEQUENCE, _EVENT, _INTERNED, _FLAGS, _DEFAULTS, _DESCRIPTOR = 1, 6, 10, 11, 12, 13, 59, 60
_CLEARED, _NEEDS_STATE = 1, 2
_REAL_TIME, _BOOT_TIME, _OWN_CLOCK = 1, 6, 64
_WHOLE, _TEXT = 4, 17
_EXPLICIT = 3
_DESCRIPTIONS = 1
"""The sequence of what describes tracks and clocks."""
_FOREVER = 2**63 - 1
_LARGEST_ID = 2**31

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Slices:
    """Slices of a track in order of start, longest first where they nest.

    `name` and `category` are numbers of interned texts; `values` are annotations by their key, `texts` those that are
    numbers of interned texts. NOTHING: the slice has none.
    """

    start_ns: Ints
    end_ns: Ints
    name: Ints
    category: Ints
    values: Mapping[str, Ints] = field(default_factory=dict[str, Ints])
    texts: Mapping[str, Ints] = field(default_factory=dict[str, Ints])


@dataclass
class _Lane:
    """A sequence of packets: the time of its last one and the slices under way, and the texts it has interned."""

    fixed: npt.NDArray[np.uint8]
    number: int
    state: Ints
    stack: Ints
    seen: set[tuple[int, int]]


class PerfettoFile:
    """Writes to an open file. `base_unix_ns` is the Unix time of the trace's zero, where that is known."""

    def __init__(self, out: Out, base_unix_ns: int | None) -> None:
        self._out, self._tracks, self._sequences = out, 0, _DESCRIPTIONS
        self._numbers: dict[int, dict[str, int]] = {table: {} for table in (CATEGORIES, NAMES, KEYS, TEXTS)}
        self._texts: dict[int, list[str]] = {table: [] for table in self._numbers}
        if base_unix_ns is not None and base_unix_ns >= 0:
            times = (_BOOT_TIME, 0), (_REAL_TIME, base_unix_ns)
            clocks = message(*((1, message((1, clock), (2, time))) for clock, time in times))
            self._packet(message((_SEQUENCE, _DESCRIPTIONS), (_CLOCKS, clocks)))

    def number(self, table: int, text: str) -> int:
        """The number of a text, the same in all sequences."""
        numbers = self._numbers[table]
        if text not in numbers:
            numbers[text] = len(numbers) + 1
            self._texts[table].append(text)
        return numbers[text]

    def process(self, process: int, name: str) -> int:
        """Describes a process; the id of its track."""
        known = message((1, process), (6, name)) if 0 < process < _LARGEST_ID else None
        return self._described((3, known) if known else (2, name), (11, _EXPLICIT))

    def group(self, parent: int, name: str, rank: int) -> int:
        """Describes a track that only holds others; `rank` orders it among those beside it."""
        return self._described((2, name), (5, parent), (12, rank))

    def thread(self, parent: int, process: int, thread: int, name: str, rank: int) -> "Track":
        """Begins the track of a thread."""
        own = (4, message((1, process), (2, thread), (5, name)))
        return Track(self, lambda at: self._described(*_first(at, own, name), (5, parent), (12, rank)), nested=True)

    def track(self, parent: int, name: str, rank: int, *, nested: bool = False) -> "Track":
        """Begins a track of that name; `nested`: slices may lie within others."""
        return Track(self, lambda _: self._described((2, name), (5, parent), (12, rank)), nested=nested)

    def counter(self, parent: int, name: str, unit: str | None, rank: int) -> "Track":
        """Begins the track of a counter."""
        kind = message((6, unit)) if unit else b""
        return Track(self, lambda _: self._described((2, name), (5, parent), (8, kind), (12, rank)), nested=False)

    def lane(self, uuid: int) -> _Lane:
        """Begins a sequence of packets whose events belong to that track."""
        self._sequences += 1
        clocks = ((1, message((1, _BOOT_TIME), (2, 0))), (1, message((1, _OWN_CLOCK), (2, 0), (3, 1))))
        first = (_SEQUENCE, self._sequences), (_FLAGS, _CLEARED), (_CLOCKS, message(*clocks))
        defaults = message((58, _OWN_CLOCK), (_EVENT, message((_EVENT, uuid))))
        self._packet(message(*first))
        self._packet(message((_SEQUENCE, self._sequences), (_FLAGS, _NEEDS_STATE), (_DEFAULTS, defaults)))
        fixed = message((_SEQUENCE, self._sequences), (_FLAGS, _NEEDS_STATE))
        return _Lane(
            np.frombuffer(fixed, np.uint8), self._sequences, np.zeros(2, np.int64), np.zeros(4, np.int64), set()
        )

    def intern(self, lane: _Lane, table: int, numbers: Iterable[int]) -> None:
        """Gives the texts of those numbers to the lane's sequence, unless it has them."""
        new = [number for number in numbers if number != NOTHING and (table, number) not in lane.seen]
        if new:
            lane.seen.update((table, number) for number in new)
            texts = message(*((table, message((1, n), (2, self._texts[table][n - 1]))) for n in new))
            self._packet(message((_SEQUENCE, lane.number), (_FLAGS, _NEEDS_STATE), (_INTERNED, texts)))

    def put(self, content: npt.NDArray[np.uint8]) -> None:
        """Writes packets that are ready."""
        self._out.write(content.data)

    def _described(self, *parts: tuple[int, int | str | bytes]) -> int:
        self._tracks += 1
        self._packet(message((_SEQUENCE, _DESCRIPTIONS), (_DESCRIPTOR, message((1, self._tracks), *parts))))
        return self._tracks

    def _packet(self, content: bytes) -> None:
        self._out.write(varint(_PACKET << 3 | 2) + varint(len(content)) + content)


class Track:
    """A track that is being written: `add` slices or `samples` in order of time, then `close` it."""

    def __init__(self, file: PerfettoFile, described: Callable[[int], int], *, nested: bool) -> None:
        self._file, self._described, self._nested = file, described, nested
        self._lanes: list[_Lane] = []
        self._tops, self._depths = np.zeros((1, 4), np.int64), np.zeros(1, np.int64)

    def add(self, slices: Slices) -> None:
        """Writes slices, none of which begins before those that were added before."""
        lane = self._placed(slices)
        keys = np.array([self._file.number(KEYS, key) for key in (*slices.values, *slices.texts)], np.int64)
        tags = np.array([*(_WHOLE << 3 for _ in slices.values), *(_TEXT << 3 for _ in slices.texts)], np.int64)
        values = np.array([*slices.values.values(), *slices.texts.values()], np.int64).reshape(len(keys), len(lane))
        for at in np.unique(lane).tolist():
            chosen = np.flatnonzero(lane == at)
            one, name, category = self._lane(at), slices.name[chosen], slices.category[chosen]
            self._intern(one, NAMES, name)
            self._intern(one, CATEGORIES, category)
            self._file.intern(one, KEYS, keys.tolist())
            for numbers in slices.texts.values():
                self._intern(one, TEXTS, numbers[chosen])
            out = np.empty(room(len(chosen) + len(one.stack), len(keys), len(one.fixed)), np.uint8)
            times = slices.start_ns[chosen], slices.end_ns[chosen]
            mine = np.ascontiguousarray(values[:, chosen])
            size = written(out, one.fixed, one.state, one.stack, *times, name, category, keys, tags, mine)
            self._file.put(out[:size])

    def samples(self, time_ns: Ints, values: npt.NDArray[np.float64]) -> None:
        """Writes samples of a counter."""
        lane = self._lane(0)
        out = np.empty(room(len(time_ns), 1, len(lane.fixed)), np.uint8)
        self._file.put(out[: counted(out, lane.fixed, lane.state, time_ns, values.view(np.int64))])

    def close(self) -> None:
        """Ends what is under way."""
        for lane in self._lanes:
            out = np.empty(room(len(lane.stack), 0, len(lane.fixed)), np.uint8)
            self._file.put(out[: ended(out, lane.fixed, lane.state, lane.stack, _FOREVER)])

    def _placed(self, slices: Slices) -> Ints:
        """The lane of each slice; the tables of what is under way grow until all have one."""
        lane, done = np.empty(len(slices.start_ns), np.int64), 0
        while True:
            now = slices.start_ns, slices.end_ns, self._nested, self._tops, self._depths, lane, done
            done = placed(*now)
            if done == len(lane):
                return lane
            lanes, depth = self._tops.shape
            deep = bool((self._depths == depth).any())
            self._tops = np.pad(self._tops, ((0, 0 if deep else lanes), (0, depth if deep else 0)))
            self._depths = np.pad(self._depths, (0, 0 if deep else lanes))

    def _lane(self, at: int) -> _Lane:
        while len(self._lanes) <= at:
            self._lanes.append(self._file.lane(self._described(len(self._lanes))))
        lane = self._lanes[at]
        lane.stack = np.pad(lane.stack, (0, max(self._tops.shape[1] + 1 - len(lane.stack), 0)))
        return lane

    def _intern(self, lane: _Lane, table: int, numbers: Ints) -> None:
        self._file.intern(lane, table, np.unique(numbers).tolist())


def _first(at: int, own: tuple[int, bytes], name: str) -> tuple[tuple[int, int | str | bytes], ...]:
    """The thread itself for its first lane, its name for the others."""
    return (own,) if at == 0 else ((2, name),)
