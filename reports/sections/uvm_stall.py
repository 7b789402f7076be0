"""What kernels wait for page faults at most, by device, kernel and operator."""

from ...mining.finding import Finding
from ...store.errors import NotCollected
from ...store.trace import Trace
from ..known import known_table
from ..report import Block, Column, Section, Text
from ..shown import Ask, section_of

__all__ = ["section"]

DEVICES = (
    Column("process", "Process", "id"),
    Column("device", "Device", "id"),
    Column("stall_ns", "Stall, at most", "ns"),
    Column("stall_share", "Of kernel time", "share"),
    Column("kernel_ns", "Kernel time", "ns"),
    Column("faults", "Fault groups", "count"),
    Column("untimed_faults", "Without an end", "count"),
    Column("service_ns", "Service, added up", "ns"),
    Column("fault_ns", "Service, united", "ns"),
    Column("moves", "Unasked moves", "count"),
    Column("move_ns", "Moves, united", "ns"),
    Column("beside_ns", "Of it beside kernels", "ns"),
)
WORK = (
    Column("process", "Process", "id"),
    Column("device", "Device", "id"),
    Column("kernel", "Kernel"),
    Column("operator", "Operator"),
    Column("stall_ns", "Stall, at most", "ns"),
    Column("stall_share", "Of their time", "share"),
    Column("executions", "Executions", "count"),
    Column("gpu_faults", "Fault groups", "count"),
    Column("gpu_fault_pages", "Page faults", "count"),
    Column("to_device_bytes", "To the device", "bytes"),
    Column("to_host_bytes", "To the host", "bytes"),
    Column("again_bytes", "Moved again", "bytes"),
)


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("uvm_stall", "What kernels wait for", ask, "uvm_devices", lambda found: _blocks(found, ask))


def _blocks(found: Finding, ask: Ask) -> tuple[Block, ...]:
    is_told = "stall_ns" in found.rows.columns and found.rows["stall_ns"].count() > 0
    what, first = ("Stall", "the longest stall") if is_told else ("Faults and moves", "the most bytes to the device")
    told: list[Block] = [known_table(f"{what} by device: unions, each moment once", DEVICES, found)]
    for name, caption in (
        ("uvm_kernels", f"By kernel, {first} first"),
        ("uvm_operators", f"By operator, {first} first"),
    ):
        try:
            part = ask(name)
        except NotCollected as missing:
            said = Text(f"Not collected: {missing.message}.")
            told += [said] * (said not in told)  # kernels, once for both
            continue
        told.append(Text(" ".join([part.sentence, *part.notes])))
        told += [known_table(caption, WORK, part)] * bool(len(part.rows))
    return tuple(told)
