"""A plan of prefetches as a file: what to move to the device before which kernel, told by names that another run has.

`docs/report-uvm.md` documents the format. A kernel is its name and the number of the execution among those of its name,
memory its kind, size, owner and number among those alike: neither ordinals nor addresses, which change between runs.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..store.errors import Error

__all__ = ["FORMAT", "VERSION", "Key", "Plan", "Prefetch", "Step", "read_plan", "write_plan"]

FORMAT, VERSION = "tracelode.uvm-plan", 1
MOST_BYTES = 64 << 20
"""A larger file is none of ours."""
MOST_NAME = 65_536
MOST = 2**63
HINT = "write it with tracelode report uvm TRACE --plan FILE"


@dataclass(frozen=True)
class Key:
    """An object of managed memory: `occurrence` counts those of equal kind, size and owner, by their birth, from 0."""

    kind: str
    bytes: int
    owner: str | None
    occurrence: int


@dataclass(frozen=True)
class Prefetch:
    """A part of an object to be moved to the device; `memory` is its place in the plan's list."""

    memory: int
    offset: int
    bytes: int


@dataclass(frozen=True)
class Step:
    """What to ask for before an execution of a kernel starts."""

    kernel: str
    occurrence: int
    prefetch: tuple[Prefetch, ...]


@dataclass(frozen=True)
class Plan:
    """A plan for one process: by whole objects or by tensors, for a device that holds `capacity_bytes`.

    Simulated with `look_ahead` steps from asking to use; `evidence` is what told the touches: accesses or faults.
    `why_empty` says why a plan has no steps; None of one that has some, and of those written before it was known.
    """

    trace: str
    level: str
    evidence: str
    capacity_bytes: int
    look_ahead: int
    memory: tuple[Key, ...]
    steps: tuple[Step, ...]
    why_empty: str | None = None

    @property
    def bytes(self) -> int:
        """All bytes that it moves."""
        return sum(part.bytes for step in self.steps for part in step.prefetch)


def write_plan(plan: Plan) -> str:
    """The plan as JSON; the same plan gives the same text."""
    told: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "trace": plan.trace,
        "level": plan.level,
        "evidence": plan.evidence,
        "capacity_bytes": plan.capacity_bytes,
        "look_ahead": plan.look_ahead,
        "memory": [vars(key) for key in plan.memory],
        "steps": [
            {
                "before": {"kernel": step.kernel, "occurrence": step.occurrence},
                "prefetch": [vars(part) for part in step.prefetch],
            }
            for step in plan.steps
        ],
    }
    if plan.why_empty is not None:
        told["why_empty"] = plan.why_empty
    return json.dumps(told, ensure_ascii=True, indent=1) + "\n"


def read_plan(text: bytes) -> Plan:
    """The plan of a file's content; an `Error` that says what is wrong and where, whatever the content is.

    Nothing may be missing, be of another type, or be there besides, but `why_empty` where there are no steps: plans
    written before it was known lack it. Parts lie within their objects, no kernel's execution has two steps, and none
    asks for more than the device holds.
    """
    if len(text) > MOST_BYTES:
        raise Error(f"plan: {len(text)} bytes are more than {MOST_BYTES}", HINT)
    try:
        told = json.loads(text.decode("utf-8"), object_pairs_hook=_once, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise Error(f"plan: no JSON: {error}", HINT) from error
    if isinstance(told, dict) and (told.get("format") != FORMAT or told.get("version", VERSION) != VERSION):
        raise Error(f"plan: not {FORMAT}, version {VERSION}", HINT)
    names = ("format", "version", "trace", "level", "evidence", "capacity_bytes", "look_ahead", "memory", "steps")
    empty = ("why_empty",) if isinstance(told, dict) and told.get("steps") == [] and "why_empty" in told else ()
    known = _fields(told, "top level", (*names, *empty))
    _number(known["version"], "version")  # true and 1.0 are equal to 1, and none
    memory = tuple(_key(one, f"memory[{at}]") for at, one in enumerate(_list(known["memory"], "memory")))
    if len(set(memory)) < len(memory):
        raise Error("plan: memory: the same object stands there twice", HINT)
    capacity = _number(known["capacity_bytes"], "capacity_bytes", least=1)
    steps = tuple(_step(one, f"steps[{at}]", memory, capacity) for at, one in enumerate(_list(known["steps"], "steps")))
    if len({(step.kernel, step.occurrence) for step in steps}) < len(steps):
        raise Error("plan: steps: two of the same execution of a kernel", HINT)
    return Plan(
        _text(known["trace"], "trace"),
        _choice(known["level"], "level", ("object", "tensor")),
        _choice(known["evidence"], "evidence", ("accesses", "faults")),
        capacity,
        _number(known["look_ahead"], "look_ahead"),
        memory,
        steps,
        _text(known["why_empty"], "why_empty") if empty else None,
    )


def _step(told: Any, where: str, memory: Sequence[Key], capacity: int) -> Step:
    step = _fields(told, where, ("before", "prefetch"))
    before = _fields(step["before"], f"{where}.before", ("kernel", "occurrence"))
    parts = tuple(
        _prefetch(one, f"{where}.prefetch[{at}]", memory)
        for at, one in enumerate(_list(step["prefetch"], f"{where}.prefetch"))
    )
    if sum(part.bytes for part in parts) > capacity:
        raise Error(f"plan: {where}: asks for more than the device's {capacity} bytes", HINT)
    kernel = _text(before["kernel"], f"{where}.before.kernel")
    return Step(kernel, _number(before["occurrence"], f"{where}.before.occurrence"), parts)


def _prefetch(told: Any, where: str, memory: Sequence[Key]) -> Prefetch:
    part = _fields(told, where, ("memory", "offset", "bytes"))
    place = _number(part["memory"], f"{where}.memory")
    if place >= len(memory):
        raise Error(f"plan: {where}.memory: there is no object {place}", HINT)
    offset, size = _number(part["offset"], f"{where}.offset"), _number(part["bytes"], f"{where}.bytes", least=1)
    if offset + size > memory[place].bytes:
        raise Error(f"plan: {where}: ends behind its object of {memory[place].bytes} bytes", HINT)
    return Prefetch(place, offset, size)


def _key(told: Any, where: str) -> Key:
    key = _fields(told, where, ("kind", "bytes", "owner", "occurrence"))
    owner = None if key["owner"] is None else _text(key["owner"], f"{where}.owner")
    size = _number(key["bytes"], f"{where}.bytes", least=1)
    return Key(_text(key["kind"], f"{where}.kind"), size, owner, _number(key["occurrence"], f"{where}.occurrence"))


def _fields(told: Any, where: str, names: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(told, dict):
        raise Error(f"plan: {where}: no object", HINT)
    known: dict[str, Any] = told  # pyright: ignore[reportUnknownVariableType] - JSON has texts for keys
    wrong = sorted(set(names) ^ set(known))
    if wrong:
        raise Error(f"plan: {where}: {wrong[0][:80]!r} is {'missing' if wrong[0] in names else 'not known'}", HINT)
    return known


def _list(told: Any, where: str) -> list[Any]:
    if not isinstance(told, list):
        raise Error(f"plan: {where}: no list", HINT)
    return told  # pyright: ignore[reportUnknownVariableType] - of what, those who take it look


def _number(told: Any, where: str, *, least: int = 0) -> int:
    if not isinstance(told, int) or isinstance(told, bool) or not least <= told < MOST:
        raise Error(f"plan: {where}: no whole number from {least} on", HINT)
    return told


def _text(told: Any, where: str) -> str:
    if not isinstance(told, str) or not told or len(told) > MOST_NAME:
        raise Error(f"plan: {where}: no text of 1 to {MOST_NAME} letters", HINT)
    return told


def _choice(told: Any, where: str, choices: Sequence[str]) -> str:
    if told not in choices or not isinstance(told, str):
        raise Error(f"plan: {where}: none of {', '.join(choices)}", HINT)
    return told


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a field stands there twice")
    return found


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no number")
