"""Finds the parts of a kind (readers, analyses, formats, ...): the folder's files, then installed plug-ins.

A part is a module: its name is the file's name, the first line of its docstring is its help. Built-in parts and a
stranger's go through the same door: a distribution adds one with an entry point in the group named like the folder's
package, for example `tracelode.mining.analyses`.
"""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType, ModuleType

from .errors import Error

__all__ = ["GROUPS", "Part", "load", "names"]

GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "reader": "tracelode.collect.readers",
        "analysis": "tracelode.mining.analyses",
        "comparison": "tracelode.mining.comparisons",
        "diagnosis": "tracelode.mining.diagnoses",
        "topic": "tracelode.reports.topics",
        "format": "tracelode.reports.formats",
        "export": "tracelode.reports.exports",
        "command": "tracelode.reports.commands",
    }
)
"""Kind of part to the package whose folder holds it; also the name of the entry-point group."""


@dataclass(frozen=True)
class Part:
    """A part that is there but not imported yet."""

    name: str
    origin: str
    load: Callable[[], ModuleType]


@cache
def names(kind: str) -> Mapping[str, Part]:
    """The parts of a kind by name, built-in ones first; none is imported. A plug-in never replaces a built-in."""
    group = GROUPS[kind]
    package = importlib.import_module(group)
    found = {
        module.name: Part(module.name, "tracelode", lambda name=module.name: importlib.import_module(f"{group}.{name}"))
        for module in pkgutil.iter_modules(package.__path__)
    }
    for entry in entry_points(group=group):
        origin = entry.dist.name if entry.dist else entry.value
        found.setdefault(entry.name, Part(entry.name, origin, entry.load))
    return MappingProxyType(dict(sorted(found.items())))


def load(kind: str, name: str) -> ModuleType:
    """Imports the part of that kind and name; an `Error` that lists what there is when there is none."""
    parts = names(kind)
    if name not in parts:
        raise Error(f"there is no {kind} named {name}", f"there are: {', '.join(parts) or 'none'}")
    return parts[name].load()
