"""Track events of a Perfetto trace, decoded with the names their sequence has interned."""

from dataclasses import dataclass, field

from .perfetto import CATEGORIES, NAMES, Sequence
from .perfetto_schema import WIRES
from .protobuf import FIXED64, VARINT, check, double, fields, signed

__all__ = ["TrackEvent", "decoded"]


@dataclass
class TrackEvent:
    """A track event; `annotations` are still undecoded, `flows` are ids and whether the arrow ends here."""

    kind: int = 0
    track: int | None = None
    name: str | None = None
    categories: list[str] = field(default_factory=list[str])
    annotations: list[bytes] = field(default_factory=list[bytes])
    flows: list[tuple[int, bool]] = field(default_factory=list[tuple[int, bool]])
    value: float | None = None


def decoded(content: bytes, sequence: Sequence) -> TrackEvent:
    """The event of a packet; `MalformedError` where it is no whole message."""
    event = TrackEvent()
    for number, wire, value, inner in fields(content):
        check(number, wire, WIRES["TrackEvent"])
        if wire == VARINT:
            _set_number(event, number, value, sequence)
        elif wire == FIXED64:
            if number in (47, 48):
                event.flows.append((value, number == 48))
            elif number == 44:
                event.value = double(value)
        elif number == 4:
            event.annotations.append(inner)
        elif number == 22:
            event.categories.append(inner.decode("utf-8", "replace"))
        elif number == 23:
            event.name = inner.decode("utf-8", "replace")
    return event


def _set_number(event: TrackEvent, number: int, value: int, sequence: Sequence) -> None:
    if number == 9:
        event.kind = value
    elif number == 10:
        event.name = sequence.name(NAMES, value)
    elif number == 11:
        event.track = value
    elif number == 3:
        event.categories.append(sequence.name(CATEGORIES, value) or f"category {value}")
    elif number == 30:
        event.value = float(signed(value))
    elif number in (36, 42):
        event.flows.append((value, number == 42))
