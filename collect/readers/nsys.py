"""Nsight Systems SQLite export (nsys export --type sqlite), from the first schemas to 3.25.

What is not copied row by row, only counted in a note: thread scheduling, processor samples, call stacks and hardware
metrics (their rows outnumber all others, and no table here holds them), and tables that no one knows where those hold
more than 10,000 rows together. The list of all processes and threads of the machine is read for the names of those
that have events.
"""

import re

from ...store.trace import Facts
from ..files import TraceFile
from ..nsys_reading import read_export
from ..nsys_source import EVENT_TABLES, OWN_TABLES
from ..sink import Sink
from ..sqlite import MAGIC, open_database, schema

VERSION = 2

KINDS = ("RUNTIME", "DRIVER", "KERNEL", "MEMCPY", "MEMSET", "SYNCHRONIZATION", "GRAPH_TRACE")
NAMES = ("StringIds", "NVTX_EVENTS", *(f"CUPTI_ACTIVITY_KIND_{kind}" for kind in KINDS))
"""Tables of work, calls and ranges, which SQLite gives in whatever case the file has their names."""

DAMAGED_HEAD = re.compile(
    rb'CREATE TABLE "?(TARGET_INFO_|META_DATA_|EXPORT_META_DATA|CUPTI_ACTIVITY_KIND_|NVTX_EVENTS)', re.IGNORECASE
)


def recognises(file: TraceFile) -> bool:
    """Whether the content is of this format: by its tables; of a damaged database, by the beginning of its schema."""
    if not file.head.startswith(MAGIC):
        return False
    tables = schema(file)
    if tables is None:
        return bool(DAMAGED_HEAD.search(file.head)) and b"_id_" not in file.head
    if any(name in tables for name in OWN_TABLES):
        return True
    events = [columns for name, columns in tables.items() if EVENT_TABLES.fullmatch(name)]
    return any("start" in columns and "_id_" not in columns for columns in events)


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every event to the sink and returns the facts; `UnreadableFile` for a damaged database."""
    if not file.packing:
        file.digest()
    with open_database(file, NAMES) as database:
        return read_export(database, sink, "nsys")
