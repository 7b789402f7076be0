"""Rules about what frameworks do in an iteration, read from a data file, and the stretches of operations they name."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..store.errors import Error

__all__ = ["PACKAGED", "Operation", "Rule", "Stretch", "read_rules", "stretches"]

PACKAGED = Path(__file__).parent / "rules.toml"
HINT = "a rule has name, label, enabled, one of names, span and before, and refers to rules above it alone"

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Rule:
    """One rule; what `names`, `span`, `before`, `within` and `after` ask for stands in `rules.toml`."""

    name: str
    label: str
    enabled: bool
    names: tuple[str, ...] = ()
    span: str = ""
    before: str = ""
    within: str = ""
    after: str = ""


@dataclass(frozen=True)
class Operation:
    """An operation of an iteration: its name, and the names of the spans that it was launched in."""

    name: str
    spans: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Stretch:
    """Operations `first` to `last` of an iteration, named by a rule; `in_order` is None where it asks for no order."""

    rule: str
    label: str
    first: int
    last: int
    in_order: bool | None


def read_rules(path: Path = PACKAGED) -> tuple[Rule, ...]:
    """The rules of a file, those not enabled among them; an `Error` that names the first that is none."""
    try:
        told = tomllib.loads(path.read_text()).get("rule", [])
    except (OSError, ValueError) as error:
        raise Error(f"{path}: {error}", HINT) from error
    rules: list[Rule] = []
    for entry in told:
        rules.append(_rule(path, entry, {rule.name for rule in rules}))
    return tuple(rules)


def _rule(path: Path, entry: Mapping[str, Any], known: set[str]) -> Rule:
    place = f"{path}: rule {entry.get('name')!r}"
    values: dict[str, Any] = {**entry, "names": tuple(entry.get("names", ()))}
    texts = [value for key, value in values.items() if key not in ("names", "enabled")]
    if not all(isinstance(text, str) for text in (*texts, *values["names"])):
        raise Error(f"{place}: a value is no text", HINT)
    if not {"name", "label", "enabled"} <= values.keys() or not isinstance(values["enabled"], bool):
        raise Error(f"{place}: name, label or enabled is missing", HINT)
    try:
        rule = Rule(**values)
        for expression in (*rule.names, rule.span):
            re.compile(expression)
    except (TypeError, re.error) as error:
        raise Error(f"{place}: {error}", HINT) from error
    if sum(map(bool, (rule.names, rule.span, rule.before))) != 1:
        raise Error(f"{place}: it asks for none or several of names, span and before", HINT)
    for other in (rule.before, rule.within, rule.after):
        if other and other not in known:
            raise Error(f"{place}: there is no rule {other!r} above it", HINT)
    return rule


def stretches(rules: Sequence[Rule], operations: Sequence[Operation]) -> list[Stretch]:
    """The stretches of an iteration that the rules name, rule by rule, each by its first operation.

    Rules that are not enabled name nothing, but are still what others refer to.
    """
    masks: dict[str, Bools] = {}
    found: list[Stretch] = []
    for rule in rules:
        ranges = _ranges(rule, operations, masks)
        mask = np.zeros(len(operations), np.bool_)
        for first, last in ranges:
            mask[first : last + 1] = True
        masks[rule.name] = mask
        in_order = _in_order(mask, masks[rule.after]) if rule.after else None
        if rule.enabled:
            found += [Stretch(rule.name, rule.label, first, last, in_order) for first, last in ranges]
    return found


def _ranges(rule: Rule, operations: Sequence[Operation], masks: Mapping[str, Bools]) -> list[tuple[int, int]]:
    """The first and last operations of what a rule names; of `names` each match, else whole runs."""
    allowed = np.ones(len(operations), np.bool_)
    if rule.within:
        allowed[:] = False
        there = np.flatnonzero(masks[rule.within])
        if len(there):
            allowed[there[0] : there[-1] + 1] = True
    if rule.names:
        matches = [_matching(expression, operations) & allowed for expression in rule.names]
        width = len(matches)
        starts = range(len(operations) - width + 1)
        return [(at, at + width - 1) for at in starts if all(matches[step][at + step] for step in range(width))]
    if rule.span:
        mask = np.array([any(re.search(rule.span, span, re.I) for span in one.spans) for one in operations], np.bool_)
    else:
        there = np.flatnonzero(masks[rule.before])
        mask = np.arange(len(operations)) < (there[0] if len(there) else 0)
    edges = np.flatnonzero(np.diff(np.r_[False, mask & allowed, False]))
    return list(zip(edges[::2].tolist(), (edges[1::2] - 1).tolist(), strict=True))


def _matching(expression: str, operations: Sequence[Operation]) -> Bools:
    known = {name: re.search(expression, name, re.I) is not None for name in {one.name for one in operations}}
    return np.array([known[one.name] for one in operations], np.bool_)


def _in_order(mask: Bools, other: Bools) -> bool | None:
    """Whether the first operation of one rule comes after that of another; None where one has none."""
    if not (mask.any() and other.any()):
        return None
    return bool(mask.argmax() > other.argmax())
