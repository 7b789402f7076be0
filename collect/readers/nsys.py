"""Nsight Systems SQLite export (nsys export --type sqlite), from the first schemas to 3.25.

What is not copied row by row, only counted in a note: thread scheduling, processor samples, call stacks and hardware
metrics (their rows outnumber all others, and no table here holds them), and tables that no one knows where those hold
more than 10,000 rows together. The list of all processes and threads of the machine is read for the names of those
that have events.
"""

from ...store.trace import Facts
from ..files import TraceFile
from ..nsys_reading import read_export
from ..nsys_source import EVENT_TABLES, OWN_TABLES
from ..sink import Sink
from ..sqlite import open_database, schema

VERSION = 4

KINDS = ("RUNTIME", "DRIVER", "KERNEL", "MEMCPY", "MEMSET", "SYNCHRONIZATION", "GRAPH_TRACE")
NAMES = ("StringIds", "NVTX_EVENTS", *(f"CUPTI_ACTIVITY_KIND_{kind}" for kind in KINDS))
"""Tables of work, calls and ranges, which SQLite gives in whatever case the file has their names."""


def recognises(file: TraceFile) -> bool:
    """Whether the content is of this format, by its tables. Raises as `open_database` does."""
    tables = schema(file) or {}
    if any(name in tables for name in OWN_TABLES):
        return True
    events = [columns for name, columns in tables.items() if EVENT_TABLES.fullmatch(name)]
    return any("start" in columns and "_id_" not in columns for columns in events)


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every event to the sink and returns the facts; `UnreadableFile` where a table that matters is damaged."""
    if not file.packing:
        file.digest()
    with open_database(file, NAMES) as database:
        return read_export(database, sink, "nsys")
