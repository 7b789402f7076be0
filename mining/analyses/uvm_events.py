"""Says of every fault and move of managed memory to which allocation, kernel and iteration it belongs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...store.tables import TABLES
from ...store.trace import Trace
from ..managed import Work, events, measured, moved_again, stalls, where
from ..managed_ranges import located

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1
NEEDS = ("iterations",)


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The tables `uvm_event`, `uvm_range`, `uvm_device` and `uvm_stall`; nothing where nothing was recorded of it.

    No `uvm_stall` where no fault of a device has an end: then it is not known what kernels wait.

    Cost: a few sorts of the events and of the kernels, and a step for each move and each allocation.
    """
    found = events(trace)
    if not len(found):
        return {}
    work = Work.of(trace)
    placed = where(found, work)
    placed, ranges = located(trace, moved_again(placed))
    devices, timed = measured(placed, work)
    tables = {"uvm_event": placed, "uvm_range": timed(ranges), "uvm_device": devices}
    if devices["stall_ns"].count():
        tables["uvm_stall"] = stalls(placed, work)
    return {name: rows.select(TABLES[name].names).to_arrow().cast(TABLES[name].schema) for name, rows in tables.items()}
