"""Which tensors do faults and moves of managed memory fall on?"""

from ...store.trace import Trace
from ..finding import Finding
from ..managed_places import find_places

NEEDS = ("uvm_events",)


def find(trace: Trace) -> Finding:
    """Each tensor with its faults and moves; what falls on memory that no living tensor holds counts to none."""
    return find_places(trace, "uvm_tensors", "tensor")
