"""What the text logs of AccelProf share: their lines, their numbers, and the faults of the tool that any may show."""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..store.trace import Facts
from .files import TraceFile
from .nvprof_print import decoder_of, lines
from .rowwise import Rowwise, as_json
from .sink import Sink

__all__ = ["MOST_OBJECTS", "NUMBER", "PROCESS", "SIZE", "Kind", "Log", "beginning", "bounds"]

NUMBER = "[0-9]{1,20}"
SIZE = r"[0-9]{1,20}(?:\.[0-9]{2})? (?:bytes|KB|MB|GB|TB)"
"""A size as the tool prints it once more for people, rounded to two decimals, behind the bytes."""

UNITS = {"bytes": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
PROCESS = 0
"""The logs name no process: all their rows are of one, numbered 0."""

MOST_OBJECTS, MOST_TENSORS = 16_384, 65_536
"""Live objects and tensors that AccelProf looks at per launch (`MAX_NUM_MEMORY_RANGES`, `MAX_NUM_TENSOR_RANGES`)."""

LONGEST = 300
MOST_UNREAD = 100_000
WRAPPED = 1 << 63
FIXED_NAME = re.compile(
    r"uvm_advisor_opt\.log|(memory|tensor)_gpu(_[0-9]+)?\.txt|output\.log|.+(_app_analysis|\.time_hotness_cpu)\.log"
)


@dataclass(frozen=True)
class Kind:
    """One of AccelProf's logs: the tool that writes it, whether lines begin one, and what reads it."""

    tool: str
    begins: Callable[[TraceFile, list[str]], bool]
    read: Callable[[TraceFile, Sink], Facts]


def beginning(file: TraceFile) -> list[str]:
    """The whole lines at the beginning of the file: those of its first 256 KiB; none of a file that is no text."""
    if b"\0" in file.head and not file.head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return []
    text = decoder_of(file.head).decode(file.head)
    return [line.removesuffix("\r") for line in text.split("\n")[:-1]]


def bounds(text: str) -> tuple[float, float] | None:
    """The least and the most bytes that are printed so; None for what is no size."""
    if re.fullmatch(SIZE, text) is None:
        return None
    number, unit = text.split(" ")
    half = 0.0 if unit == "bytes" else 0.005
    return (float(number) - half) * UNITS[unit], (float(number) + half) * UNITS[unit]


class Log:
    """One log on its way to the sink."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.rows = Rowwise(sink)
        self._launches: set[int] = set()
        self._unread = 0
        self._first_unread = ""
        self.whole = True
        """Whether every line so far was understood."""

    def lines(self, file: TraceFile) -> Iterator[str]:
        """The lines of the file. The tool ends each one: a last line without an end is cut, and is left out."""
        for line, ended in lines(file):
            if ended:
                yield line
            else:
                self.truncated(line)

    def truncated(self, where: str) -> None:
        """Notes that the log ends before its end."""
        self.whole = False
        meaning = "the file ends early: events after that point are missing"
        self.sink.note("truncated", meaning, example=where[:LONGEST])

    def missing(self, parts: Iterable[str]) -> None:
        """Notes the parts that the tool always writes, and that this log has not."""
        for part in parts:
            meaning = "parts that the tool always writes and that are not there: what they would say is not known"
            self.sink.note("missing-part", meaning, example=part)

    def unread(self, line: str) -> None:
        """Keeps a line that is none of the tool's in `other`, while they are not too many."""
        self.whole = False
        self._unread += 1
        self._first_unread = self._first_unread or line[:LONGEST]
        if self._unread <= MOST_UNREAD:
            self.rows.add("other", {"process": PROCESS, "kind": "line", "json": as_json({"line": line}) or "{}"})

    def number(self, text: str) -> int | None:
        """The number; None for a counter that went below zero, which the tool prints as nearly 2^64."""
        value = int(text)
        if value < WRAPPED:
            return value
        meaning = "counters below zero, printed as nearly 2^64 (memory freed that was not seen allocated): left out"
        self.sink.note("wrapped-counter", meaning, example=text)
        return None

    def size(self, text: str, rounded: str | None) -> int | None:
        """The number of bytes; notes one that is printed otherwise once more for people, where that is not `None`."""
        value = self.number(text)
        within = None if rounded is None or value is None else bounds(rounded)
        if value is not None and within is not None and not within[0] <= value <= within[1]:
            meaning = "bytes that are not those of the rounded size behind them (a damaged file): the bytes are kept"
            self.sink.note("size-differs", meaning, example=f"{text} ({rounded})")
        return value

    def launch(self, launch: int) -> None:
        """Takes the number of a launch; notes one that stood in the log before."""
        if launch in self._launches:
            meaning = "launches that stand in the log twice (two processes with one file?): both rows are kept"
            self.sink.note("repeated-launch", meaning, example=f"launch {launch}")
        self._launches.add(launch)

    def charged(self, launches: int) -> None:
        """Notes the launches whose touched memory may include what a stray address was charged to."""
        if launches:
            meaning = (
                "launches with accesses: an address in no live object is charged to the object below it, whose end "
                "the tool does not check, so touched objects and working sets are upper bounds"
            )
            self.sink.note("lower-neighbour", meaning, count=launches)

    def capped(self, objects: int, tensors: int = 0) -> None:
        """Notes that more was allocated than the tool looks at, if so: how much of it was live at once is not told."""
        for count, most, what in ((objects, MOST_OBJECTS, "objects"), (tensors, MOST_TENSORS, "tensors")):
            if count > most:
                meaning = (
                    f"{what} allocated; where more than {most:,} were live at a launch, the tool left out the rest: "
                    "touched memory is a floor there"
                )
                self.sink.note(f"capped-{what}", meaning, count=count)

    def finish(
        self, file: TraceFile, tool: str, labels: Mapping[str, int | str | None], *, clock: str | None = None
    ) -> Facts:
        """Hands over what is left; the facts, with the labels that are known."""
        self.rows.finish()
        if self._unread:
            meaning = "lines that the tool does not write (two processes with one file?): kept as they stand in `other`"
            self.sink.note("unread-line", meaning, count=self._unread, example=self._first_unread or None)
        if self._unread > MOST_UNREAD:
            meaning = f"lines that the tool does not write, beyond the first {MOST_UNREAD:,}: left out"
            self.sink.note("unread-line-dropped", meaning, count=self._unread - MOST_UNREAD)
        self.sink.write("process", {"process": [PROCESS]})
        if FIXED_NAME.fullmatch(file.path.name):
            meaning = (
                "the tool gives the logs of all processes of a program this one name: the file is that of the process "
                "that wrote last, its rank is not known, and the others are lost"
            )
            self.sink.note("fixed-name", meaning, example=file.path.name)
        told = {name: str(value) for name, value in labels.items() if value is not None}
        return Facts("accelprof", producer=f"AccelProf {tool}", clock=clock, labels={"tool": tool, **told})
