"""A batch of events as the scanner leaves it: rows of numbers, string ids and leftovers, read back as Arrow columns."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from . import kineto_scan as layout
from .jsonrepair import load, text_of
from .jsonscan import BEYOND_ASCII, ESCAPED, FULL, PADDING, RAW, Strings, gather, hash_text, intern, read_string
from .kineto_record import Record
from .kineto_vocabulary import CATEGORIES, HOLDS, KEYS, NEEDS, ROLE_OF, ROLES, TYPES, Kind, Role, kind_of

__all__ = ["NOTHING", "Batch", "Rows"]

ROWS = 32_768
SPANS = 512
LEFT = 16 << 20
STRINGS = 1 << 17
ARENA = 16 << 20
NOTHING = np.iinfo(np.int64).min
"""Stands for null where an array of integers has no mask."""

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Batch:
    """Room for events on their way from JSON text to tables; `scan` is what the scanner writes to.

    `note` is told of strings that had to be repaired.
    """

    def __init__(self, plain: Kind, note: Callable[[str, int, str], None]) -> None:
        self._plain, self._note = plain, note
        self._sizes = {"strings": STRINGS, "arena": ARENA, "left": LEFT}
        self._ids: dict[tuple[str, bool], int] = {}
        self._fixed: dict[int, str] = {}
        self._texts: pa.Array | None = None
        self._order: tuple[Ints, Ints] | None = None
        self.scan = self._new_scan()

    @property
    def count(self) -> int:
        """Events in the batch."""
        return int(self.scan.at[layout.ROWS])

    def empty(self) -> None:
        """Forgets the events; strings stay, until they take half of their room.

        The counts of spans and the position are the scanner's own: they are lost then.
        """
        self._order = None
        self.scan.at[[layout.ROWS, layout.LEFT_USED]] = 0
        count = self.scan.strings.used[0]
        if count > self._sizes["strings"] // 2 or self.scan.strings.starts[count] > self._sizes["arena"] // 2:
            self.scan = self._new_scan()

    def grow(self) -> None:
        """Doubles all room: for an event that does not fit an empty batch."""
        self._sizes = {name: 2 * size for name, size in self._sizes.items()}
        self.scan = self._new_scan()

    def learn(self, category: str, kind: Kind) -> None:
        """Has the scanner take duration events of that category, from here on, as of that kind."""
        i = self._intern(category)
        if i >= 0:
            self.scan.kinds[i] = kind

    def add(self, record: Record) -> bool:
        """Appends an event as the scanner would; False when there is no room for it."""
        s = self.scan
        left = text_of(record.left).encode("utf-8", "replace") if record.left else b""
        row, used = self.count, int(s.at[layout.LEFT_USED])
        if row == len(s.rows) or used + len(left) > len(s.left):
            return False
        values: dict[int, int] = {}
        present = 1 << layout.CAT if record.category is not None else 0
        for key, lane, text in (
            (layout.PID, record.process, layout.PID_TEXT),
            (layout.TID, record.thread, layout.TID_TEXT),
        ):
            if lane is not None:
                values[key] = self._intern(lane) if isinstance(lane, str) else lane
                present |= 1 << key | (text if isinstance(lane, str) else 0)
        for key, string in ((layout.NAME, record.name), (layout.CAT, record.category)):
            values[key] = self._intern(string) if string is not None else 0
        if record.flow is not None:
            values[layout.ID] = record.flow
            present |= 1 << layout.ID
        for role, value in record.roles.items():
            present |= 1 << (layout.TOP + role)
            for i, number in enumerate(value if isinstance(value, tuple) else (value,)):
                is_list = TYPES[role] == layout.LIST
                number = self._intern(number, raw=is_list) if isinstance(number, str) else number
                values[layout.FIRST_ROLE + role + i] = number
        if any(values[key] == FULL for key in values if self._is_string(key, present)):
            return False
        values |= {layout.KIND: record.kind, layout.PHASE: ord(record.phase), layout.PRESENT: present}
        values |= {layout.TS: record.time, layout.DUR: record.duration}
        values |= {layout.LEFT: used, layout.LEFT + 1: used + len(left)}
        s.rows[row, list(values)] = list(values.values())
        s.left[used : used + len(left)] = np.frombuffer(left, np.uint8)
        s.at[layout.LEFT_USED], s.at[layout.ROWS] = used + len(left), row + 1
        return True

    def rows(self, kind: Kind) -> "Rows | None":
        """The events of that kind, or None. Ask when all are there."""
        if self._order is None:
            kinds = self.scan.rows[: self.count, layout.KIND].astype(np.int8)
            bounds = np.zeros(len(Kind) + 1, np.int64)
            np.cumsum(np.bincount(kinds, minlength=len(Kind)), out=bounds[1:])
            self._order = np.argsort(kinds, kind="stable"), bounds
        order, bounds = self._order
        index = order[bounds[kind] : bounds[kind + 1]]
        return Rows(self, index) if len(index) else None

    def first_time(self) -> int | None:
        """The time of the first event that has one, or None."""
        rows = self.scan.rows[: self.count]
        timed = rows[rows[:, layout.KIND] != int(Kind.META), layout.TS]
        return int(timed[0]) if len(timed) else None

    def texts(self) -> pa.Array:
        """All strings by id."""
        count = int(self.scan.strings.used[0])
        if self._texts is None or len(self._texts) != count:
            self._texts = self._read_strings(count)
        return self._texts

    def leftovers(self, begins: Ints, ends: Ints) -> pa.Array:
        """The leftover members between those bounds, as JSON objects; null where there are none."""
        bounds = np.empty(len(begins) + 1, np.int32)
        data = np.empty(int((ends - begins).sum()), np.uint8)
        gather(self.scan.left, begins, ends, data, bounds)
        valid = None if (begins < ends).all() else pa.py_buffer(np.packbits(begins < ends, bitorder="little"))
        raw = pa.BinaryArray.from_buffers(pa.binary(), len(begins), [valid, pa.py_buffer(bounds), pa.py_buffer(data)])
        return raw.view(pa.string()) if not (data & 0x80).any() else self._decoded(raw)

    def _decoded(self, raw: pa.Array) -> pa.Array:
        try:
            return raw.cast(pa.string())
        except pa.ArrowInvalid:
            # A loop over rows: only for a batch that holds bytes which are not UTF-8.
            texts = [None if value is None else value.decode(errors="replace") for value in raw.to_pylist()]
            broken = sum(text is not None and "\ufffd" in text for text in texts)
            self._note("invalid-utf8", broken, "arguments of an event")
            return pa.array(texts, pa.string())

    def _read_strings(self, count: int) -> pa.Array:
        s = self.scan.strings
        starts = s.starts[: count + 1].astype(np.int32)
        data = pa.py_buffer(s.arena[: int(starts[-1])].tobytes())
        if not s.used[1]:
            return pa.StringArray.from_buffers(count, pa.py_buffer(starts), data)
        marked = (s.marks[:count] & (ESCAPED | BEYOND_ASCII)) > 0
        marked &= (s.marks[:count] & (RAW | BEYOND_ASCII)) != RAW
        raw = pa.BinaryArray.from_buffers(pa.binary(), count, [None, pa.py_buffer(starts), data])
        good = pc.if_else(pa.array(marked), pa.scalar(b""), raw).cast(pa.string())
        for i in np.flatnonzero(marked).tolist():
            if i not in self._fixed:
                self._fixed[i] = self._unescaped(raw[i].as_py(), int(s.marks[i]))
        return pc.replace_with_mask(good, pa.array(marked), pa.array(self._fixed.values(), pa.string()))

    def _unescaped(self, raw: bytes, marks: int) -> str:
        if marks & RAW:
            return raw.decode(errors="replace")
        text, faults = load(b'"' + raw + b'"')
        if "invalid-utf8" in faults:
            self._note("invalid-utf8", 1, text[:80])
        return text

    def _intern(self, text: str, *, raw: bool = False) -> int:
        known = self._ids.get((text, raw))
        if known is not None:
            return known
        data = (text if raw else text_of(text)[1:-1]).encode("utf-8", "replace")
        buf = np.full(len(data) + PADDING, ord('"'), np.uint8)
        buf[: len(data)] = np.frombuffer(data, np.uint8)
        h, marks = hash_text(buf, 0, len(data)) if raw else read_string(buf, 0)[1:]
        i = int(intern(self.scan.strings, buf, 0, len(data), h, marks))
        if i >= 0:
            self._ids[text, raw] = i
        return i

    def _is_string(self, key: int, present: int) -> bool:
        if key in (layout.NAME, layout.CAT):
            return True
        if key in (layout.PID, layout.TID):
            return bool(present & (layout.PID_TEXT if key == layout.PID else layout.TID_TEXT))
        return key >= layout.FIRST_ROLE and TYPES[key - layout.FIRST_ROLE] in (layout.LIST, layout.TEXT)

    def _new_scan(self) -> layout.Scan:
        ids, arena = self._sizes["strings"], self._sizes["arena"]
        strings = Strings(
            slots=np.zeros(2 * ids, np.int32),
            hashes=np.empty(ids, np.int64),
            starts=np.empty(ids + 1, np.int64),
            marks=np.empty(ids, np.uint8),
            arena=np.empty(arena, np.uint8),
            used=np.zeros(2, np.int64),
        )
        roles = np.full(len(KEYS), -1, np.int8)
        scan = layout.Scan(
            strings=strings,
            rows=np.empty((ROWS, layout.FIRST_ROLE + ROLES), np.int64),
            left=np.empty(self._sizes["left"], np.uint8),
            spans=np.empty((SPANS, 3), np.int64),
            at=np.zeros(8, np.int64),
            kinds=np.zeros(ids, np.int8),
            roles=roles,
            types=TYPES,
            holds=HOLDS,
            needs=NEEDS,
            seen=np.empty(64, np.int64),
        )
        strings.starts[0] = 0
        scan.at[layout.PLAIN_KIND] = self._plain
        self._ids, self._fixed, self._texts, self.scan = {}, {}, None, scan
        for i, key in enumerate(KEYS):
            if self._intern(key) != i:
                raise AssertionError(f"{key} stands twice in the vocabulary")
            roles[i] = ROLE_OF.get(key, -1)
        for category in CATEGORIES:
            self.learn(category, kind_of(category))
        return scan


class Rows:
    """Some events of a batch, as columns."""

    def __init__(self, batch: Batch, index: Ints) -> None:
        self._batch, self._index = batch, index
        self._present = batch.scan.rows[index, layout.PRESENT]

    def __len__(self) -> int:
        return len(self._index)

    def values(self, column: int) -> Ints:
        """A column of the row layout (of roles: `layout.FIRST_ROLE + role`) as it is."""
        return self._batch.scan.rows[self._index, column]

    def has(self, bit: int) -> Bools:
        """Which events have the member of that bit of PRESENT."""
        return (self._present >> bit) & 1 == 1

    def has_role(self, role: Role) -> Bools:
        """Which events have that argument."""
        return self.has(layout.TOP + role)

    def where(self, chosen: Bools) -> "Rows | None":
        """Those of the events, or None."""
        return Rows(self._batch, self._index[chosen]) if chosen.any() else None

    def ints(self, role: Role, place: int = 0) -> pa.Array:
        """An argument as integers, null where the event does not have it; `place` within a triple."""
        there = self.has_role(role)
        if not there.any():
            return pa.nulls(len(there), pa.int64())
        return pa.array(self.values(layout.FIRST_ROLE + role + place), mask=~there)

    def numbers(self, role: Role) -> Ints:
        """The same with NOTHING for null."""
        there = self.has_role(role)
        if not there.any():
            return np.full(len(there), NOTHING, np.int64)
        return np.where(there, self.values(layout.FIRST_ROLE + role), NOTHING)

    def role_texts(self, role: Role) -> pa.DictionaryArray:
        """An argument as text, null where the event does not have it."""
        return self._coded(self.values(layout.FIRST_ROLE + role), self.has_role(role))

    def texts(self, column: int) -> pa.DictionaryArray:
        """The names (`layout.NAME`) or categories (`layout.CAT`, null where there is none)."""
        return self._coded(self.values(column), self.has(column) if column == layout.CAT else None)

    def leftovers(self) -> pa.Array:
        """The column `args`."""
        return self._batch.leftovers(self.values(layout.LEFT), self.values(layout.LEFT + 1))

    def _coded(self, ids: Ints, there: Bools | None) -> pa.DictionaryArray:
        codes = pa.array(ids.astype(np.int32), mask=None if there is None else ~there)
        return pa.DictionaryArray.from_arrays(codes, self._batch.texts(), safe=False)

    def distinct(self, column: int, chosen: Bools | None = None) -> tuple[list[str], Ints]:
        """The distinct strings of a column (in the chosen rows) and, by row, which of them it has."""
        values = self.values(column)
        ids, which = np.unique(values if chosen is None else values[chosen], return_inverse=True)
        return self._batch.texts().take(pa.array(ids)).to_pylist(), which
