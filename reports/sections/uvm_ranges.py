"""Which allocations, addresses and tensors faults and moves fall on."""

from ...mining.finding import Finding
from ...store.errors import NotCollected
from ...store.trace import Trace
from ..known import known_table
from ..report import Block, Column, Section, Text
from ..shown import Ask, section_of

__all__ = ["section"]

COLUMNS = (
    Column("range", "Range", "id"),
    Column("process", "Process", "id"),
    Column("name", "What"),
    Column("bytes", "Size", "bytes"),
    Column("stall_ns", "Stall, at most", "ns"),
    Column("beside_ns", "Moves beside kernels", "ns"),
    Column("gpu_faults", "Fault groups", "count"),
    Column("gpu_fault_pages", "Page faults", "count"),
    Column("cpu_faults", "Faults of the host", "count"),
    Column("to_device_bytes", "To devices", "bytes"),
    Column("to_host_bytes", "To the host", "bytes"),
    Column("again_bytes", "Moved again", "bytes"),
    Column("thrashes", "Thrashes", "count"),
    Column("throttles", "Throttles", "count"),
    Column("remote_maps", "Remote maps", "count"),
)


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("uvm_ranges", "Allocations and addresses", ask, "uvm_ranges", lambda found: _blocks(found, ask))


def _blocks(found: Finding, ask: Ask) -> tuple[Block, ...]:
    told: list[Block] = [known_table("By allocation or range of addresses, what costs most first", COLUMNS, found)]
    try:
        tensors = ask("uvm_tensors")
    except NotCollected as missing:
        return (*told, Text(f"Not collected: {missing.message}. To see them, {missing.hint}."))
    return (*told, Text(tensors.sentence), known_table("By tensor", COLUMNS, tensors))
