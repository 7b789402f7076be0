"""rocpd database of rocprofv3 and rocprofiler-systems (SQLite, tables with a suffix of their own), schemas 3 and 4.

The plain names (`rocpd_region`, `kernels`, ...) are views and never read. A file merged from several recordings is
read as one trace. What no table here holds goes to `other` while it is little, and is counted in a note beyond that.
"""

from ...store.trace import Facts
from ..amd_database import note_strangers
from ..files import TraceFile
from ..rocpd_host import read_counters, read_regions, read_samples
from ..rocpd_identity import facts, write_identities
from ..rocpd_recording import Node, suffixes
from ..rocpd_work import read_allocations, read_copies, read_kernels
from ..sink import Sink
from ..sqlite import open_database, schema

VERSION = 5

DESCRIPTIONS = ("rocpd_info_", "rocpd_metadata")
PARTS = tuple(f"rocpd_{what}" for what in ("arg", "event", "pmc_event", "string", "timestamp", "track"))
"""Tables of the format that hold no events by themselves."""


def recognises(file: TraceFile) -> bool:
    """Whether the content is of this format, by its tables. Raises as `open_database` does."""
    tables = schema(file) or {}
    return bool(suffixes(tables))


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every event to the sink and returns the facts; `UnreadableFile` for a damaged database."""
    if not file.packing:
        file.digest()
    with open_database(file) as database:
        found, taken = suffixes(database.tables), set[int]()
        nodes = [Node(database, sink, suffix, found, taken) for suffix in found]
        for node in nodes:
            times = read_kernels(node)
            read_copies(node)
            read_allocations(node)
            read_regions(node)
            times += read_samples(node)
            read_counters(node, times)
            write_identities(node)
        told = facts(nodes)
        note_strangers(database, sink, set[str]().union(*(node.known((*DESCRIPTIONS, *PARTS)) for node in nodes)))
        for node in nodes:
            node.write_others(DESCRIPTIONS)
        database.report(sink.note)
    return told
