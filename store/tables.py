"""The tables of an archive: the only contract between those who write events and those who read them.

Times are nanoseconds on the clock of the trace (`trace.base_unix_ns` places its zero in Unix time, where the
source says). Sizes are bytes. Null means that the source does not say. A table the source cannot give is absent.
A device operation is identified by (process, device, context, correlation), never by correlation alone.
"""

from .columns import COPY_KINDS, Column, Kind, Table
from .concurrency_tables import CONCURRENCY
from .graph_tables import GRAPHS
from .launch_tables import LAUNCHES
from .memory_tables import MEMORY
from .mined_tables import MINED
from .reader_tables import EVENTS, IDENTITIES
from .uvm_tables import UVM
from .workload_tables import WORKLOAD

__all__ = ["COPY_KINDS", "TABLES", "Column", "Kind", "Table"]

TABLES: dict[str, Table] = {
    t.name: t for t in (*EVENTS, *GRAPHS, *IDENTITIES, *MINED, *CONCURRENCY, *LAUNCHES, *UVM, *WORKLOAD, *MEMORY)
}
"""Every table by name, in the order of the documentation."""
