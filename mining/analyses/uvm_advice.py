"""What to do about each range of managed memory, and what could that save?"""

from ...store.trace import Trace
from ..finding import Finding
from ..managed_places import PLACE
from ..managed_sums import recorded
from ..managed_vendors import names_hint
from ..uvm_rules import uvm_rules
from ..words import duration, percent, plural

NEEDS = ("uvm_choices",)

SQL = f"""
select
    advice,
    action,
    range,{PLACE} as name,
    uvm_advice.level,
    uvm_advice.process,
    uvm_advice.device,
    kernel,
    uvm_advice.occurrence,
    operator,
    executions,
    ahead_kernel,
    ahead_occurrence,
    ahead_ns,
    uvm_advice.bytes,
    cost_ns,
    transfer_ns,
    saves_least_ns,
    saves_most_ns,
    confidence,
    evidence,
    rule,
    cuda,
    hip
from uvm_advice
join uvm_range as place using (range)
order by advice
"""
NAMED = "In a line p is the allocation named beside it, and stream one of the program's streams."
NAMELESS = (
    "{ranges} to act on known by addresses only: the allocations behind them are not recorded, and may be several. "
    "Such a line is a template, to be used for each allocation within its range. To have allocations named, {hint}."
)
DOES = {
    "prefetch": "prefetch {name} before {kernel}",
    "pin": "pin {name} to the device",
    "accessed_by": "keep {name} on the host and map it for the device",
    "read_mostly": "mark {name} as read mostly",
    "offload": "move {name} to the host after {last}",
    "leave": "leave {name} as it is",
}


def find(trace: Trace) -> Finding:
    """Advice on each range, the most that could be saved first.

    Savings are intervals from bytes over the measured throughput of the link: the transfer hidden not at all and whole.
    They are estimates from one run; a second run with the advice taken says what it saved.
    """
    recorded(trace)
    sql = SQL if trace.has("kernel") else SQL.replace("    executions,\n", "    null::bigint as executions,\n")
    rows = trace.sql(sql)
    if not len(rows):
        return Finding("uvm_advice", "No event of managed memory has an address: no advice.", rows, sql.strip())
    acted = rows.filter(rows["action"] != "leave")
    rules = uvm_rules("advice")
    notes = (
        "Estimates from one run, not measured: from bytes over the link's throughput, with the transfer hidden not at "
        "all and whole. Savings of several ranges overlap and do not add up.",
        f"Left alone: what takes less than {percent(rules['least_share'], 1)} of kernel time and is not evicted. "
        f"Thrashing: at least {percent(rules['again_share'], 1)} of the bytes moved to a device had been there. "
        "mining/uvm.toml has all.",
    )
    nameless = int((acted["level"] == "addresses").sum())
    if nameless < len(acted):
        notes = (NAMED, *notes)
    if nameless:
        notes = (NAMELESS.format(ranges=plural(nameless, "range"), hint=names_hint(trace)), *notes)
    if not len(acted):
        return Finding("uvm_advice", "No range costs kernels enough to advise anything.", rows, sql.strip(), notes)
    first = acted.row(0, named=True)
    kernel = first["kernel"]
    name = f"what lies in the {first['name']}" if first["level"] == "addresses" else first["name"]
    what = DOES[first["action"]].format(name=name, kernel=kernel or "its first use", last=kernel or "its last use")
    saves = (
        f": saves {duration(first['saves_least_ns'])} to {duration(first['saves_most_ns'])}"
        if first["saves_most_ns"]
        else ""
    )
    sentence = f"{plural(len(acted), 'range')} to act on; first {what}{saves} (estimated)."
    return Finding("uvm_advice", sentence, rows, sql.strip(), notes)
