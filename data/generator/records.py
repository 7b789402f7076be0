"""What the generated run consists of: device work, operators, and the events that playing it makes."""

from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Call", "Copy", "Fill", "Gap", "Kernel", "Memory", "Operator", "Segment", "Shade", "Span", "Wait", "Work"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Kernel:
    """One kernel as it is launched, with its usual duration; `reduces` holds the bytes that a collective moves."""

    name: str
    duration_ns: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int] = (128, 1, 1)
    registers: int = 32
    static_shared: int = 0
    dynamic_shared: int = 0
    call: str = "cudaLaunchKernel"
    reduces: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Copy:
    """One memory copy: direction (HtoD or DtoH), the two memories, and the speed in bytes per microsecond."""

    direction: str
    source: str
    target: str
    bytes: int
    speed: int
    blocking: bool = False
    call: str = "cudaMemcpyAsync"

    @property
    def name(self) -> str:
        """Returns the name that profilers show."""
        return f"Memcpy {self.direction} ({self.source} -> {self.target})"

    @property
    def duration_ns(self) -> int:
        """Returns the usual duration: a start-up time and the transfer."""
        return 1500 + self.bytes * 1000 // self.speed


@dataclass(frozen=True, eq=False, kw_only=True)
class Fill:
    """One memset of device memory with zeros."""

    bytes: int
    duration_ns: int
    name: str = "Memset (Device)"
    call: str = "cudaMemsetAsync"


@dataclass(frozen=True, eq=False, kw_only=True)
class Operator:
    """One named stretch of host time: a framework operator, a user annotation or a Python frame."""

    name: str
    category: str = "cpu_op"
    dims: tuple[tuple[int, ...], ...] = ()
    types: tuple[str, ...] = ()
    concrete: tuple[str, ...] = ()
    backward: bool = False


class Span(NamedTuple):
    """An operator's execution; `ordinal` counts all host events, `parent` is the Python frame around a Python frame."""

    operator: Operator
    thread: int
    start_ns: int
    end_ns: int
    id: int
    ordinal: int
    sequence: int | None
    parent: int | None


class Memory(NamedTuple):
    """A tensor's birth (bytes > 0) or death (bytes < 0) in the caching allocator."""

    thread: int
    time_ns: int
    ordinal: int
    address: int
    bytes: int
    allocated: int
    reserved: int


class Work(NamedTuple):
    """One execution on the device; `owner` is the id of the innermost framework operator, or 0."""

    spec: Kernel | Copy | Fill
    stream: int
    start_ns: int
    end_ns: int
    correlation: int
    owner: int


class Call(NamedTuple):
    """One API call; `work` is what it put on the device."""

    name: str
    thread: int
    start_ns: int
    end_ns: int
    correlation: int
    owner: int
    work: Work | None


class Wait(NamedTuple):
    """One synchronisation: the stream that waits (None: the whole context), and the event and stream waited for."""

    kind: str
    stream: int | None
    start_ns: int
    end_ns: int
    correlation: int
    owner: int
    event: int | None
    event_stream: int | None
    event_correlation: int | None


class Shade(NamedTuple):
    """The shadow of an annotation on one stream: from its first to its last work."""

    operator: Operator
    stream: int
    start_ns: int
    end_ns: int
    id: int


class Gap(NamedTuple):
    """A planted sleep of the host, and the device's idle time around it."""

    host_start_ns: int
    host_end_ns: int
    idle_from_ns: int
    first_work: int


@dataclass(kw_only=True)
class Segment:
    """The events of one iteration, evaluation, checkpoint or end of the run, in the order of the host."""

    kind: str
    number: int
    start_ns: int
    end_ns: int = 0
    host: list[Span | Memory] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    works: list[Work] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    shades: list[Shade] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    marks: list[tuple[str, int]] = field(default_factory=list)  # a planted thing and the index of its work
    edits: dict[str, int] = field(default_factory=dict)
