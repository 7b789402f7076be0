"""How fast do pages of managed memory move in each direction?"""

from ...store.trace import Trace
from ..finding import Finding
from ..managed_links import LINKS
from ..managed_sums import wanted
from ..words import count, size

NEEDS = ("uvm_events",)

WAYS = {"HtoD": "to devices at", "DtoH": "to the host at", "DtoD": "between devices at"}


def find(trace: Trace) -> Finding:
    """The migration throughput: bytes over summed duration; and that of the largest moves, which is what estimates use.

    Moves without an end or a size are left out.
    """
    wanted(trace, "HtoD", "DtoH", "DtoD")
    rows = trace.sql(LINKS)
    parts = [
        f"{WAYS[row['kind']]} {size(row['bytes_per_s'])}/s over all moves, "
        f"{size(row['large_bytes_per_s'])}/s over the {_largest(row['large_moves'])}"
        for row in rows.head(2).iter_rows(named=True)
    ]
    sentence = f"Pages move {'; '.join(parts)}." if parts else "No move has a duration and a size."
    return Finding("uvm_links", sentence, rows, LINKS.strip())


def _largest(moves: int) -> str:
    return "largest" if moves == 1 else f"{count(moves)} largest"
