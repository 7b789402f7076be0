"""AccelProf's `hot_analysis`: accesses to each 2 MiB of each object, one file per launch and one of the totals.

A launch's file has three parts parted by empty lines: `start end count` of each block, `address size` of the live
objects, and the same of the live tensors. Blocks and the marks of tensors between them follow from the other parts:
where they do not, one of the parts is damaged. Blocks without accesses are not kept: they are those of the live objects
that are left.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path

from ..store.trace import Facts
from .accelprof_text import MOST_OBJECTS, NUMBER, PROCESS, Kind, Log, beginning
from .files import TraceFile, open_file
from .sink import Sink

__all__ = ["HOT_ANALYSIS"]

BLOCK_BYTES = 2 << 20
LEAST_ADDRESS, MOST_ADDRESS = 1 << 32, 1 << 56
"""Device and pinned memory of a 64-bit program lie between these."""

ALIGNED = 256
"""What CUDA allocates begins at a multiple of this, but for variables of modules: tells addresses from times."""

BLOCK = re.compile(rf"({NUMBER}) ({NUMBER}) ({NUMBER})")
PAIR = re.compile(rf"({NUMBER}) ({NUMBER})")
MARK = re.compile(rf"Tensor (start|end) -{{20,80}}({NUMBER})")
MEMBER = re.compile(r"kernel_([0-9]{1,9})\.txt")
TOTALS = "all_kernels.txt"
WRAP = 1 << 32
LOOKED_AT = 8
Block = tuple[int, int, int]
"""Its first address, the one behind its last, and the accesses to it."""


@dataclass
class _Launch:
    """The three parts of a launch's file: blocks with counts, live objects and live tensors with sizes, by address."""

    blocks: list[Block] = field(default_factory=list[Block])
    marks: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    objects: dict[int, int] = field(default_factory=dict[int, int])
    tensors: dict[int, int] = field(default_factory=dict[int, int])
    parts: int = 0


def _begins(file: TraceFile, lines: list[str]) -> bool:
    members = _members(file)
    if not members:
        return _looks(lines)
    # The first launches may find nothing allocated, and their files say nothing then.
    first = (_opened(members[number]) for number in sorted(members)[:LOOKED_AT])
    return any(_looks(beginning(member)) for member in first if member is not None)


def _looks(lines: list[str]) -> bool:
    """Whether every line fits the file of a launch, or of the totals, and the numbers can be what they stand for."""
    found, before = _Launch(), LEAST_ADDRESS - 1
    if not all(_fill(found, line) for line in lines) or not found.blocks:
        return False
    for start, end, _ in found.blocks:
        if not before < start < end <= min(start + BLOCK_BYTES, MOST_ADDRESS):
            return False
        before = start
    blocks = [block[:2] for block in found.blocks]
    if found.parts == 0:  # the totals, or a head that ends within the blocks
        return 2 * sum(start % ALIGNED == 0 for start, _ in blocks) >= len(blocks)
    divided = _divided(found.objects)
    return blocks == divided if found.parts == 2 else blocks[: len(divided)] == divided


def _divided(objects: dict[int, int]) -> list[tuple[int, int]]:
    """The blocks the tool divides live objects into."""
    divided = (
        (start, min(start + BLOCK_BYTES, address + size))
        for address, size in objects.items()
        for start in range(address, address + max(size, 1), BLOCK_BYTES)
    )
    return list(islice(divided, MOST_OBJECTS + 1))


def _marked(blocks: list[Block], tensors: dict[int, int]) -> list[tuple[str, int]]:
    """The marks of tensors: the tool goes to the next one only where a block ends with the one before."""
    waiting, marks = iter(tensors.items()), list[tuple[str, int]]()
    address, size = next(waiting, (0, 0))
    for start, end, _ in blocks:
        if start == address:
            marks.append(("start", start))
        if end == address + size:
            marks.append(("end", end))
            address, size = next(waiting, (0, 0))
    return marks


def _fill(found: _Launch, line: str) -> bool:
    """Takes one line of a launch's file; whether it is one."""
    if not line:
        found.parts += 1
        return found.parts < 3
    if found.parts == 0:
        if told := BLOCK.fullmatch(line):
            found.blocks.append((int(told[1]), int(told[2]), int(told[3])))
        elif told := MARK.fullmatch(line):
            found.marks.append((told[1], int(told[2])))
        return told is not None
    live = found.objects if found.parts == 1 else found.tensors
    told = PAIR.fullmatch(line)
    if told is None or int(told[1]) in live:
        return False
    live[int(told[1])] = int(told[2])
    return True


def _members(file: TraceFile) -> dict[int, Path]:
    """The files of launches in the folder, by number; none for a file."""
    if file.head:
        return {}
    found = {member: MEMBER.fullmatch(member.name) for member in file.members()}
    return {int(told[1]): member for member, told in found.items() if told}


def _opened(member: Path) -> TraceFile | None:
    return open_file(member) if member.stat().st_size else None


def _read(file: TraceFile, sink: Sink) -> Facts:
    members, log = _members(file), Log(sink)
    if not members:
        return _read_one(file, log)
    file.digest()
    reading = _Folder(log)
    for number in sorted(members):
        reading.take(number, members[number])
    totals = next((member for member in file.members() if member.name == TOTALS), None)
    reading.finish(totals)
    missing = max(members) + 1 - len(members)
    if missing:
        sink.note("missing-launches", "launches without a file, between others that have one", count=missing)
    return log.finish(file, "hot_analysis", {"launches": len(members)}, clock="ordinal")


HOT_ANALYSIS = Kind("hot_analysis", _begins, _read)
"""The folder `hotness_<app>_<time>`, or one file of it: `kernel_N.txt` or `all_kernels.txt`."""


def _read_one(file: TraceFile, log: Log) -> Facts:
    found = _parsed(log, file)
    named = MEMBER.fullmatch(file.path.name)
    launch = int(named[1]) if named else 0
    if found.parts:
        _write_launch(log, launch, found)
        for kind, lives in (("object", found.objects), ("tensor", found.tensors)):
            for address, size in lives.items():
                log.rows.add("allocation", {"process": PROCESS, "kind": kind, "address": address, "bytes": size})
        if not named:
            log.sink.note("no-launch-number", "the file's name does not say which launch it is of: taken for the first")
        if found.parts < 2:
            log.truncated("before the live tensors")
    else:
        _write_blocks(log, None, found.blocks)
        log.sink.note("no-launches", "the sums over all launches, not which launch made them", count=len(found.blocks))
    return log.finish(file, "hot_analysis", {}, clock="ordinal")


class _Folder:
    """The files of one run: its launches in order, and the lives of the objects and tensors they list.

    A life is from the first launch that lists the memory to the first that does not: both are ordinals of launches.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._live: dict[tuple[str, int, int], int | None] = {}
        self._first = True
        self._sums: Counter[int] = Counter()
        self._blocks: set[tuple[int, int]] = set()

    def take(self, launch: int, member: Path) -> None:
        """Reads the file of one launch."""
        file = _opened(member)
        if file is None:
            self._log.truncated(f"{member.name} is empty")
            return
        found = _parsed(self._log, file)
        if found.parts < 2:
            self._log.truncated(f"{member.name}, before the live tensors")
        _write_launch(self._log, launch, found)
        for start, end, count in found.blocks:
            self._sums[start] += count
            self._blocks.add((start, end))
        now = {("object", *item) for item in found.objects.items()}
        now |= {("tensor", *item) for item in found.tensors.items()}
        if found.parts == 2:  # a file that ends early does not say what died
            for key in sorted(self._live.keys() - now):
                self._write_life(key, self._live.pop(key), launch)
        for key in now - self._live.keys():
            self._live[key] = None if self._first else launch
        self._first = False

    def finish(self, totals: Path | None) -> None:
        """Hands over the lives that are left, and holds the totals of the run against the sums of its launches."""
        for key in sorted(self._live):
            self._write_life(key, self._live[key], None)
        file = _opened(totals) if totals else None
        if file is None:
            meaning = (
                f"no {TOTALS}: the run did not end as it should; the tool stops the program when more than "
                f"{MOST_OBJECTS:,} blocks are live"
            )
            self._log.sink.note("no-totals", meaning)
            return
        printed: Counter[int] = Counter()
        for start, end, count in _totals(self._log, file):
            printed[start] += count
            if (start, end) not in self._blocks:
                self._differ(f"block {start} to {end}: in no launch")
        for start in sorted(self._sums):
            told, summed = printed[start], self._sums[start]
            if start not in printed:
                self._differ(f"block {start}: not there, by its launches {summed}")
            elif told != summed and told == summed % WRAP:
                meaning = f"sums in {TOTALS} cut to 32 bits: those of the launches hold"
                example = f"block {start}: {told}, by its launches {summed}"
                self._log.sink.note("wrapped-totals", meaning, example=example)
            elif told != summed:
                self._differ(f"block {start}: {told}, by its launches {summed}")

    def _differ(self, example: str) -> None:
        meaning = f"sums in {TOTALS} that are not those of the launches' files: what the launches say is kept"
        self._log.sink.note("totals-differ", meaning, example=example)

    def _write_life(self, key: tuple[str, int, int], birth: int | None, death: int | None) -> None:
        kind, address, size = key
        life = {"kind": kind, "address": address, "bytes": size, "birth_ns": birth, "death_ns": death}
        self._log.rows.add("allocation", {"process": PROCESS, **life})


def _parsed(log: Log, file: TraceFile) -> _Launch:
    found = _Launch()
    for line in log.lines(file):
        parts = found.parts
        if not _fill(found, line):
            found.parts = min(found.parts, parts)
            log.unread(line)
    if file.damage:
        log.truncated(file.damage)
    divided = [(start, end) for start, end, _ in found.blocks]
    if found.parts == 2 and (divided != _divided(found.objects) or found.marks != _marked(found.blocks, found.tensors)):
        meaning = (
            "launches whose blocks are not those of their live objects, or whose marks are not those of their live "
            "tensors (a damaged file): all parts are kept as they stand"
        )
        log.sink.note("parts-differ", meaning, example=file.path.name)
    return found


def _totals(log: Log, file: TraceFile) -> Iterator[Block]:
    """Yields the sums of the blocks over all launches."""
    for line in log.lines(file):
        if told := BLOCK.fullmatch(line):
            yield int(told[1]), int(told[2]), int(told[3])
        else:
            log.unread(line)
    if file.damage:
        log.truncated(file.damage)


def _write_launch(log: Log, launch: int, found: _Launch) -> None:
    _write_blocks(log, launch, found.blocks)
    addresses = sorted(found.objects)
    touched: set[int] = set()
    for start, _, count in found.blocks:
        at = bisect_right(addresses, start) - 1
        if count and at >= 0 and start < addresses[at] + found.objects[addresses[at]]:
            touched.add(addresses[at])
    whole = found.parts == 2
    row = {
        "process": PROCESS,
        "launch": launch,
        "accesses": sum(count for _, _, count in found.blocks),
        "objects": len(touched) if whole else None,
        "memory_working_set_bytes": sum(found.objects[address] for address in touched) if whole else None,
        "memory_footprint_bytes": sum(found.objects.values()) if whole else None,
        "tensor_footprint_bytes": sum(found.tensors.values()) if whole else None,
    }
    log.rows.add("launch_memory", row)


def _write_blocks(log: Log, launch: int | None, blocks: list[Block]) -> None:
    for start, end, count in blocks:
        if count:
            block = {"object": start, "object_bytes": end - start, "granularity": "block", "accesses": count}
            log.rows.add("access", {"process": PROCESS, "launch": launch, **block})
    uncertain = sum(1 for _, _, count in _before_gaps(blocks) if count)
    if uncertain:
        meaning = (
            "blocks with accesses and nothing live behind them: an address beyond their end is charged to them, so "
            "their counts are upper bounds"
        )
        log.sink.note("lower-neighbour", meaning, count=uncertain)


def _before_gaps(blocks: list[Block]) -> Iterator[Block]:
    """The blocks that no other follows at once."""
    for block, behind in pairwise([*blocks, (-1, -1, 0)]):
        if block[1] != behind[0]:
            yield block
