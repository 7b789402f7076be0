"""Says of every fault and move of managed memory to which allocation, kernel and iteration it belongs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...store.tables import TABLES
from ...store.trace import Trace
from ..managed_events import events, moved_again, where
from ..managed_kernels import Kernels
from ..managed_ranges import located
from ..managed_stall import devices, stalls, with_times

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 2
NEEDS = ("iterations",)


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The tables `uvm_event`, `uvm_range`, `uvm_device` and `uvm_stall`; nothing where nothing was recorded of it.

    No `uvm_stall` where no fault of a device has an end: then it is not known what kernels wait.

    Cost: a few sorts of the events and of the kernels, and a step for each move and each allocation.
    """
    found = events(trace)
    if not len(found):
        return {}
    kernels = Kernels.of(trace)
    placed, ranges = located(trace, where(found, kernels))
    placed, of_devices = moved_again(placed), devices(placed, kernels)
    tables = {"uvm_event": placed, "uvm_range": with_times(ranges, placed, kernels), "uvm_device": of_devices}
    if of_devices["stall_ns"].count():
        tables["uvm_stall"] = stalls(placed, kernels)
    return {name: rows.select(TABLES[name].names).to_arrow().cast(TABLES[name].schema) for name, rows in tables.items()}
