"""In which operators do faults and moves of managed memory fall, and how long do these wait at most?"""

from ...store.trace import Trace
from ..finding import Finding
from ..managed_work import find_work

NEEDS = ("uvm_events",)


def find(trace: Trace) -> Finding:
    """Operators by name, with what happened while the kernels ran that were launched directly in them.

    `stall_ns` is an upper bound, as for kernels. `NotCollected` without operators around these kernels.
    """
    return find_work(trace, "uvm_operators", "operator")
