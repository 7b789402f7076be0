"""Where to ask for pages so that they have come when a kernel needs them: the kernel that starts early enough."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .managed_kernels import Kernels, Lane, lanes
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


def starts(kernels: Kernels) -> Mapping[Lane, Starts]:
    """The kernels of each process and device by their start. Cost: one sort."""
    found: dict[Lane, Starts] = {}
    for lane, part in lanes(kernels.rows.sort("start_ns", "stream")).items():
        names: list[Name] = part.select("kernel", "occurrence").rows()
        found[lane] = Starts(part["start_ns"].to_numpy(), names, {name: at for at, name in enumerate(names)})
    return found
