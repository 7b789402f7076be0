"""Where to ask for pages so that they have come when a kernel needs them: the kernel that starts early enough."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .managed import Work
from .sorting import Ints

__all__ = ["Ahead", "Starts", "starts"]

Ahead = tuple[str, int, int]
"""A kernel, its occurrence, and how long before the other it starts, in ns."""
Name = tuple[str, int]


@dataclass(frozen=True, eq=False)
class Starts:
    """The kernels of a device by their start: when each starts, and its name and occurrence."""

    start_ns: Ints
    names: list[Name]
    place: Mapping[Name, int]

    def ahead(self, name: Name, transfer_ns: int) -> Ahead | None:
        """The last kernel that starts at least as long before the other as the transfer takes.

        The first kernel of all where none starts so early; None where the other is the first itself, or not known.
        """
        if name not in self.place:
            return None
        at = int(self.start_ns[self.place[name]])
        place = max(int(np.searchsorted(self.start_ns, at - transfer_ns, "right")) - 1, 0)
        before = at - int(self.start_ns[place])
        return (*self.names[place], before) if before > 0 else None


def starts(work: Work) -> Mapping[tuple[int, int], Starts]:
    """The kernels of each process and device by their start. Cost: one sort."""
    parts = work.rows.sort("start_ns", "stream").partition_by("process", "device", maintain_order=True)
    found: dict[tuple[int, int], Starts] = {}
    for part in parts:
        names: list[Name] = part.select("kernel", "occurrence").rows()
        lane = (int(part["process"][0]), int(part["device"][0]))
        found[lane] = Starts(part["start_ns"].to_numpy(), names, {name: at for at, name in enumerate(names)})
    return found
