"""In which kernels do faults and moves of managed memory fall, and how long do these wait at most?"""

from ...store.trace import Trace
from ..finding import Finding
from ..managed_work import find_work

NEEDS = ("uvm_events",)


def find(trace: Trace) -> Finding:
    """Kernels by name with what happened while they ran: an event counts to the kernel that ran at its start.

    `stall_ns` adds up, over the executions of the name, the time in which a fault was serviced: an upper bound.
    """
    return find_work(trace, "uvm_kernels", "kernel")
