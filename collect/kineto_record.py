"""What an event says, read from its loaded JSON: the slow twin of `kineto_scan`, for whatever is unusual.

Both decide alike: an argument that a column holds leaves the arguments, every other member stays among the leftovers.
Here numbers may also come as text ("0x1f", "2560") or as a float without a fraction; then the original stays too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any
from zlib import crc32

from . import kineto_layout as layout
from .jsonrepair import text_of
from .kineto_vocabulary import DEVICE_KINDS, HOLDS, ROLE_OF, TYPES, Kind, Role, kind_of

__all__ = ["LARGEST_DEVICE", "OWN_KEYS", "Record", "lane_number", "nanoseconds", "record_of", "whole"]

LIMIT = 1 << 62
"""Decimals are held against it as they are: a sum, a product or a size of one may be beyond what decimals can be."""

NON_FINITE = ("NaN", "Infinity", "-Infinity")
LONGEST = LIMIT - 1
"""Nanoseconds that stand for a duration beyond any clock, which is no less an event of its time."""
OWN_KEYS = frozenset(("ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "args"))
LARGEST_DEVICE = 1 << 16


@dataclass(frozen=True)
class Record:
    """An event by its meaning. Times are nanoseconds; values of `roles` integers, triples or text; None: not said."""

    kind: Kind
    phase: str
    name: str
    category: str | None
    process: int | str | None
    thread: int | str | None
    time: int
    duration: int
    flow: int | None
    roles: Mapping[Role, Any]
    left: Mapping[str, Any]


def whole(value: Any) -> int | None:
    """The int64 that a value is or spells, or None."""
    number: int | None = None
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        number = value
    elif isinstance(value, Decimal):
        number = int(value) if -LIMIT < value < LIMIT and value == value.to_integral_value() else None
    elif isinstance(value, str):
        try:
            number = int(value, 16 if value[:2].lower() == "0x" else 10)
        except ValueError:
            return None
    return number if number is not None and -LIMIT * 2 <= number < LIMIT * 2 else None


def nanoseconds(value: Any) -> int | None:
    """A number of microseconds, or its text, in nanoseconds: exact to the nanosecond, what is finer rounded to even."""
    if isinstance(value, str | int | Decimal) and not isinstance(value, bool):
        try:
            number = Decimal(value)
        except InvalidOperation:
            return None
        if number.is_finite() and -LIMIT // 1000 < number < LIMIT // 1000:
            return int((number * 1000).to_integral_value())
    return None


def _length(value: Any) -> int | None:
    """The nanoseconds of so many microseconds: `LONGEST` where a counter overflowed, `layout.ENDLESS` for no number."""
    if value is None or value in NON_FINITE:
        return layout.ENDLESS
    length = nanoseconds(value)
    overflown = length is None and isinstance(value, int | Decimal) and not isinstance(value, bool) and value > 0
    return LONGEST if overflown else length


def lane_number(text: str) -> int:
    """The id of a process or thread that the source names by text: its number, or a hash of the name below -1."""
    number = whole(text.removeprefix("stream ").strip())
    return -2 - crc32(text.encode("utf-8", "surrogatepass")) if number is None else number


def record_of(event: Mapping[str, Any], plain: Kind) -> Record | None:
    """The record of an event; None when it is none of the kinds, or lacks what its kind must have.

    `plain` is the kind of duration events whose category says nothing.
    """
    phase, category, name = event.get("ph"), event.get("cat"), event.get("name")
    if not isinstance(phase, str) or not isinstance(name, str | None) or not isinstance(category, str | None):
        return None
    kind = _kind(event, plain)
    time = 0 if kind == Kind.META else nanoseconds(event.get("ts"))
    duration = _length(event.get("dur")) if phase == "X" else 0
    if kind == Kind.OTHER or time is None or duration is None or (kind == Kind.FLOW and category is None):
        return None
    given = event.get("args")
    arguments: dict[str, Any] = given if isinstance(given, dict) else {}
    roles, left = _arguments(kind, arguments)
    process, thread = _lane(event.get("pid")), _lane(event.get("tid"))
    extra = {key: value for key, value in event.items() if key not in OWN_KEYS}
    if not isinstance(given, dict | None):
        extra["args"] = given
    flow = whole(event.get("id")) if kind == Kind.FLOW else None
    if "id" in event and flow is None:
        extra["id"] = event["id"]
    if "dur" in event and (phase != "X" or nanoseconds(event["dur"]) is None):
        extra["dur"] = event["dur"]
    if kind == Kind.FLOW and name != category and "name" in left:
        left["name (2)"] = left.pop("name")  # the arrow's own name will be added to the leftovers
    for key, lane in (("pid", process), ("tid", thread)):
        if lane is None and event.get(key) is not None:
            extra[key] = event[key]
    if kind in DEVICE_KINDS and not _place(roles, arguments, process, thread):
        return None
    if kind == Kind.MEMORY and not {Role.DEVICE, Role.DEVICE_TYPE, Role.BYTES} <= roles.keys():
        kind, roles, left = Kind.MARK, {}, dict(arguments)
    left = extra | left if not extra.keys() & left.keys() else {"event": extra, **left}
    return Record(kind, phase, name or "", category, process, thread, time, duration, flow, roles, left)


def _kind(event: Mapping[str, Any], plain: Kind) -> Kind:
    phase, category, name = event["ph"], event.get("cat"), event.get("name")
    if phase == "M":
        return Kind.META if name is not None else Kind.OTHER
    if phase in ("s", "t", "f"):
        return Kind.FLOW
    if phase in ("i", "I", "R"):
        return Kind.MEMORY if name == "[memory]" else Kind.MARK
    if phase != "X" or name is None:
        return Kind.OTHER
    if category is None and event.get("pid") in ("CPU functions", "CUDA functions"):
        # torch.autograd.profiler without Kineto: the lane is the category, and a kernel's thread is its device.
        return Kind.OP if event["pid"] == "CPU functions" else Kind.KERNEL
    known = Kind.OTHER if category is None else kind_of(category)
    return plain if known == Kind.OTHER else known


def _arguments(kind: Kind, arguments: Mapping[str, Any]) -> tuple[dict[Role, Any], dict[str, Any]]:
    roles: dict[Role, Any] = {}
    left: dict[str, Any] = {}
    for key, value in arguments.items():
        role = ROLE_OF.get(key)
        held, whole_story = None, False
        if role is not None and role not in roles and HOLDS[kind] >> role & 1:
            held, whole_story = _held(int(TYPES[role]), value)
            if held is not None:
                roles[role] = held
        if held is None or not whole_story:
            left[key] = value
    return roles, left


def _held(kind_of_value: int, value: Any) -> tuple[Any, bool]:
    """The value as its role's type has it, or None; and whether that is all the value says."""
    if kind_of_value in (layout.WHOLE, layout.WHOLE_32):
        number = whole(value)
        fits = number is not None and (kind_of_value == layout.WHOLE or -(1 << 31) <= number < 1 << 31)
        return number if fits else None, isinstance(value, int)
    if kind_of_value == layout.TRIPLE:
        fits = isinstance(value, list) and len(value) == 3 and all(type(v) is int and 0 <= v < 1 << 31 for v in value)
        return tuple(value) if fits else None, True
    if kind_of_value == layout.LIST:
        return text_of(value) if isinstance(value, list) else None, True
    if kind_of_value == layout.TEXT:
        return value if isinstance(value, str) else None, True
    if kind_of_value == layout.MARKED:
        return 0, False
    return (value if kind_of_value == layout.ECHO and type(value) is int and whole(value) is not None else None), False


def _lane(value: Any) -> int | str | None:
    if isinstance(value, str):
        return value
    return whole(value) if isinstance(value, int) else None


def _place(roles: dict[Role, Any], arguments: Mapping[str, Any], process: Any, thread: Any) -> bool:
    """Fills in the device and the stream of device work that its arguments do not name as usual."""
    if Role.DEVICE not in roles:
        # Copies between devices name both of them; elsewhere the lane is the device.
        device = whole(arguments.get("inDevice"))
        if device is None:
            device = thread if process == "CUDA functions" else process
        if not isinstance(device, int) or not 0 <= device < LARGEST_DEVICE:
            return False
        roles[Role.DEVICE] = device
    if Role.STREAM not in roles:
        stream = 0 if process == "CUDA functions" else thread
        number = whole(stream.removeprefix("stream ")) if isinstance(stream, str) else stream
        if number is None:
            return False
        roles[Role.STREAM] = number
    return True
