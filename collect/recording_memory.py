"""Memory as the event collector records it: the lives of allocations, and what the driver's pools hold."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute

from .cupti_work import MEMORY
from .database_columns import INT, TEXT, Rows
from .lives import lives
from .nsys_columns import arguments, nonzero, translated
from .recording import Recording

__all__ = ["read_memory"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

RELEASE = 2
BLOCKS = {"pageable": "host", "pinned": "pinned", "managed": "managed"}
"""What a block of that memory is called; all other memory is the device's."""

ON_HOST = ("host", "pinned")
POOL_MADE, POOL_GONE = 1, 2
POOL_COUNTERS = (("pool size", "size"), ("pool in use", "utilizedSize"))


def read_memory(recording: Recording) -> None:
    """Writes allocations and pools into the recording's sink."""
    for found in (list(_blocks(recording)), list(_pools(recording))):
        if found:
            recording.sink.write("allocation", lives(pa.concat_tables(found)))


def _blocks(recording: Recording) -> Iterator[pa.Table]:
    """The allocations and releases of blocks."""
    for rows in recording.events("MEMORY2", _ints("timestamp", "memoryOperationType", "bytes")):
        kinds = translated(rows["memoryKind"], lambda kind: BLOCKS.get(MEMORY.get(kind, ""), "device")).cast(TEXT)
        said = {
            "stream": pc.if_else(pc.greater(rows["isAsync"], 0), rows["streamId"], None),
            "pool": nonzero(rows["poolAddress"]),
        }
        device = recording.fitting(rows["deviceId"], "deviceId")
        yield _events(
            recording,
            rows,
            kind=kinds,
            device=pc.if_else(pc.is_in(kinds, pa.array(ON_HOST)), None, device),
            bytes=rows["bytes"],
            owner=recording.text(rows["name"]).cast(TEXT),
            args=arguments(said),
            ends=pc.equal(rows["memoryOperationType"], RELEASE),
        )


def _pools(recording: Recording) -> Iterator[pa.Table]:
    """The making and destroying of pools; what they hold goes to `counter` each time it changes."""
    for rows in recording.events("MEMORY_POOL", _ints("timestamp", "memoryPoolOperationType")):
        place = {"process": recording.main, "device": recording.fitting(rows["deviceId"], "deviceId")}
        for name, column in POOL_COUNTERS:
            value = rows[column].cast(pa.float64(), safe=False)
            sample = {"name": name, "time_ns": rows["timestamp"], "value": value, "unit": "bytes"}
            recording.sink.write("counter", place | sample)
        made = rows.filter(pc.is_in(rows["memoryPoolOperationType"], pa.array([POOL_MADE, POOL_GONE])))
        if made.count:
            yield _events(
                recording,
                made,
                kind=pa.array(["pool"] * made.count),
                device=recording.fitting(made["deviceId"], "deviceId"),
                bytes=made["size"],
                owner=pa.nulls(made.count, TEXT),
                args=None,
                ends=pc.equal(made["memoryPoolOperationType"], POOL_GONE),
            )


def _events(recording: Recording, rows: Rows, *, args: pa.Array | None, **columns: pa.Array) -> pa.Table:
    """The columns that `lives` needs."""
    shared = {
        "process": recording.process(rows["address"]),
        "address": rows["address"],
        "time": rows["timestamp"],
        "args": pa.nulls(rows.count, TEXT) if args is None else args.cast(TEXT),
    }
    return pa.table(shared | columns)


def _ints(*names: str) -> dict[str, pa.DataType]:
    return dict.fromkeys(names, INT)
