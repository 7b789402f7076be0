"""A batch of events as the scanner leaves it: rows of numbers and string ids by kind, read back as Arrow columns."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from . import kineto_layout as layout
from .jsonrepair import load, text_of
from .jsonscan import BEYOND_ASCII, ESCAPED, FULL, PADDING, RAW, Strings, hash_text, intern, read_string
from .kineto_record import Record
from .kineto_vocabulary import CATEGORIES, COLUMNS, HOLDS, KEYS, NEEDS, ROLE_OF, ROLES, TYPES, Kind, Role, kind_of
from .spool import NOTHING
from .successors import new_successors

__all__ = ["Batch", "Rows"]

ROWS = 16_384
"""Events of a kind that are read before they are written."""
MOST_SPANS = 512
LEFT = 1 << 20
STRINGS = 1 << 16
ARENA = 4 << 20

WIDTHS = np.array([len(COLUMNS[kind]) for kind in Kind], np.int64)
PLACES = np.zeros((len(Kind), int(WIDTHS.max())), np.int64)
for _kind in Kind:
    PLACES[_kind, : len(COLUMNS[_kind])] = COLUMNS[_kind]

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
        self._broken: list[int] = []
        self._texts: pa.Array | None = None
        self.scan = self._new_scan()
        self._forget_strings()

    @property
    def count(self) -> int:
        """Events in the batch."""
        return int(self.scan.counts.sum())

    @property
    def first_time(self) -> int | None:
        """The time of the first event of the file that has one, or None."""
        return int(self.scan.at[layout.FIRST_TIME]) if self.scan.at[layout.TIMED] else None

    @property
    def full(self) -> Kind:
        """The kind there is no more room for; OTHER when it is not that which is full."""
        return Kind(int(self.scan.at[layout.FULL_KIND]))

    def empty(self) -> None:
        """Forgets the events; strings stay, until they take half of their room."""
        self.scan.counts[:] = 0
        count = self.scan.strings.used[0]
        if count > self._sizes["strings"] // 2 or self.scan.strings.starts[count] > self._sizes["arena"] // 2:
            self._forget_strings()

    def close(self) -> None:
        """Gives the room for events back; the time of the first one is still known."""
        self.scan = self.scan._replace(cells=np.empty(0, np.int64))

    def grow(self) -> None:
        """Doubles all room: for an event that does not fit an empty batch. Spans that were not taken are lost."""
        self._sizes = {name: 2 * size for name, size in self._sizes.items()}
        at = self.scan.at
        at[layout.SPANS] = 0
        self.scan = self._new_scan()
        self.scan.at[:] = at
        self._forget_strings()

    def learn(self, category: str, kind: Kind) -> None:
        """Has the scanner take duration events of that category, from here on, as of that kind."""
        i = self._intern(category)
        if i >= 0:
            self.scan.kinds[i] = kind

    def add(self, record: Record) -> bool:
        """Appends an event as the scanner would; False when there is no room for it."""
        s = self.scan
        left = self._intern(text_of(record.left), raw=True) if record.left else -1
        if left == FULL:
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
        values |= {layout.PHASE: ord(record.phase), layout.PRESENT: present, layout.LEFT: left}
        values |= {layout.TS: record.time, layout.DUR: record.duration}
        s.row[list(values)] = list(values.values())
        return bool(layout.put(s, int(record.kind)))

    def rows(self, kind: Kind) -> "Rows | None":
        """The events of that kind, or None."""
        count = int(self.scan.counts[kind])
        return Rows(self, kind, self._cells(kind)[:count]) if count else None

    def forget(self, kind: Kind) -> None:
        """Makes room for more events of that kind; those that were there are lost."""
        self.scan.counts[kind] = 0

    def count_broken(self, ids: Ints) -> None:
        """Notes how many of the rows with these arguments have some that are not UTF-8."""
        count = int(np.isin(ids, self._broken).sum()) if self._broken else 0
        if count:
            self._note("invalid-utf8", count, "arguments of an event")

    def texts(self) -> pa.Array:
        """All strings by id."""
        count = int(self.scan.strings.used[0])
        if self._texts is None or len(self._texts) != count:
            self._texts = self._read_strings(count)
        return self._texts

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
                self._fixed[i] = self._read_string(i, raw[i].as_py())
        return pc.replace_with_mask(good, pa.array(marked), pa.array(self._fixed.values(), pa.string()))

    def _read_string(self, i: int, raw: bytes) -> str:
        """The string of that id; counts a name that is not UTF-8, and remembers JSON text that is not."""
        if self.scan.strings.marks[i] & RAW:
            text = raw.decode(errors="replace")
            if text.encode() != raw:
                self._broken.append(i)
            return text
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

    def _cells(self, kind: Kind) -> npt.NDArray[np.int64]:
        """The room for events of that kind, shape (ROWS, columns)."""
        base, width = int(self.scan.bases[kind]), len(COLUMNS[kind])
        return self.scan.cells[base : base + ROWS * width].reshape(ROWS, width)

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
        scan = layout.Scan(
            strings=strings,
            next=new_successors(),
            row=np.zeros(layout.FIRST_ROLE + ROLES, np.int64),
            cells=np.empty(ROWS * int(WIDTHS.sum()), np.int64),
            counts=np.zeros(len(Kind), np.int64),
            bases=ROWS * (np.cumsum(WIDTHS) - WIDTHS),
            widths=WIDTHS,
            columns=PLACES,
            room=ROWS,
            left=np.empty(self._sizes["left"], np.uint8),
            spans=np.empty((MOST_SPANS, 3), np.int64),
            at=np.zeros(layout.COUNTERS, np.int64),
            kinds=np.zeros(ids, np.int8),
            roles=np.array([ROLE_OF.get(key, -1) for key in KEYS], np.int8),
            types=TYPES,
            holds=HOLDS,
            needs=NEEDS,
            seen=np.empty(64, np.int64),
        )
        scan.at[layout.PLAIN_KIND] = self._plain
        return scan

    def _forget_strings(self) -> None:
        """Empties the strings but for those that the scanner knows by their ids."""
        strings = self.scan.strings
        strings.slots[:], strings.used[:], strings.starts[0] = 0, 0, 0
        self.scan.kinds[:] = 0
        self._ids, self._fixed, self._broken, self._texts = {}, {}, [], None
        for i, key in enumerate(KEYS):
            if self._intern(key) != i:
                raise AssertionError(f"{key} stands twice in the vocabulary")
        for category in CATEGORIES:
            self.learn(category, kind_of(category))


class Rows:
    """Some events of a batch, as columns."""

    def __init__(self, batch: Batch, kind: Kind, cells: npt.NDArray[np.int64]) -> None:
        self._batch, self._kind, self._cells = batch, kind, cells
        self._present = self.values(layout.PRESENT)

    def __len__(self) -> int:
        return len(self._cells)

    def values(self, column: int) -> Ints:
        """A column of the row layout (of roles: `layout.FIRST_ROLE + role`) as it is."""
        return self._cells[:, COLUMNS[self._kind].index(column)].copy()

    def has(self, bit: int) -> Bools:
        """Which events have the member of that bit of PRESENT."""
        return (self._present & (1 << bit)) != 0

    def has_role(self, role: Role) -> Bools:
        """Which events have that argument."""
        return self.has(layout.TOP + role)

    def where(self, chosen: Bools) -> "Rows | None":
        """Those of the events, or None."""
        return Rows(self._batch, self._kind, self._cells[chosen]) if chosen.any() else None

    def ints(self, role: Role, place: int = 0) -> pa.Array:
        """An argument as integers, null where the event does not have it; `place` within a triple."""
        there = self.has_role(role)
        if not there.any():
            return pa.nulls(len(there), pa.int64())
        return pa.array(self.values(layout.FIRST_ROLE + role + place), mask=None if there.all() else ~there)

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

    def leftovers(self) -> pa.DictionaryArray:
        """The column `args`. Ask once: what is not UTF-8 in it is counted."""
        ids = self.values(layout.LEFT)
        coded = self._coded(ids, ids >= 0)
        self._batch.count_broken(ids)
        return coded

    def _coded(self, ids: Ints, there: Bools | None) -> pa.DictionaryArray:
        codes = pa.array(ids.astype(np.int32), mask=None if there is None else ~there)
        return pa.DictionaryArray.from_arrays(codes, self._batch.texts(), safe=False)

    def distinct(self, column: int, chosen: Bools | None = None) -> tuple[list[str], Ints]:
        """The distinct strings of a column (in the chosen rows) and, by row, which of them it has."""
        values = self.values(column)
        ids, which = np.unique(values if chosen is None else values[chosen], return_inverse=True)
        return self._batch.texts().take(pa.array(ids)).to_pylist(), which
