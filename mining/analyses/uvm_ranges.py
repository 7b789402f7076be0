"""Which allocations, or ranges of addresses, do faults and moves of managed memory fall on?"""

from ...store.trace import Trace
from ..finding import Finding
from ..managed_places import find_places

NEEDS = ("uvm_events",)


def find(trace: Trace) -> Finding:
    """Each managed allocation, and each range of addresses without one, with its faults and moves.

    An event counts to the object that held its first address at that moment, so addresses that are used again are told
    apart; where no allocation is known, 2 MiB blocks next to each other are one range.
    """
    return find_places(trace, "uvm_ranges", "range")
