"""Writes files of a recording, chunk by chunk, as the event collector and the agent do: docs/formats/recording.md."""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["NONE", "Spool"]

COLUMNS = {
    "name": "id:u4 bytes:u4",
    "config": (
        "id:u4 name:u4 grid_x:i4 grid_y:i4 grid_z:i4 block_x:i4 block_y:i4 block_z:i4 registers:u4 static_shared:i4 "
        "dynamic_shared:i4 launch_type:u1"
    ),
    "kernel": "start:u8 end:u8 correlation:u4 config:u4 device:u4 context:u4 stream:u4",
    "graph_kernel": ("start:u8 end:u8 correlation:u4 config:u4 device:u4 context:u4 stream:u4 graph:u4 graph_node:u8"),
    "copy": (
        "start:u8 end:u8 correlation:u4 device:u4 context:u4 stream:u4 bytes:u8 kind:u1 source:u1 target:u1 flags:u1 "
        "source_device:u4 target_device:u4 graph:u4 graph_node:u8 count:u8"
    ),
    "fill": (
        "start:u8 end:u8 correlation:u4 device:u4 context:u4 stream:u4 bytes:u8 value:u4 memory:u4 graph:u4 "
        "graph_node:u8"
    ),
    "sync": "start:u8 end:u8 correlation:u4 context:u4 stream:u4 kind:u4 event:u4",
    "memory": (
        "time:u8 address:u8 bytes:u8 operation:u4 kind:u4 correlation:u4 device:u4 context:u4 stream:u4 async:u4 "
        "pool_type:u4 pool_address:u8 pc:u8 name:u4"
    ),
    "pool": (
        "time:u8 address:u8 size:u8 utilized:u8 release_threshold:u8 min_bytes_to_keep:u8 operation:u4 type:u4 "
        "correlation:u4 device:u4"
    ),
    "graph_launch": "start:u8 end:u8 correlation:u4 device:u4 context:u4 stream:u4 graph:u4",
    "call": "start:u8 end:u8 correlation:u4 thread:u4 function:u4 status:u4 interface:u1",
    "call_name": "interface:u1 function:u4 name:u4",
    "marker": "time:u8 id:u4 flags:u4 object_kind:u4 process:u4 thread:u4 name:u4 domain:u4",
    "overhead": "start:u8 end:u8 kind:u4 object_kind:u4 process:u4 thread:u4",
    "uvm": ("start:u8 end:u8 value:u8 address:u8 counter:u4 source:u4 target:u4 stream:u4 process:u4 flags:u4"),
    "external": "correlation:u4 kind:u4 external:u8",
    "total": "name:u4 device:u4 count:u8 time:u8 shortest:u8 longest:u8",
    "histogram": "name:u4 device:u4 bucket:u1 count:u8",
    "range": "start:u8 end:u8 thread:u4 depth:u4 name:u4 kind:u1",
    "op": "start:u8 end:u8 thread:u4 name:u4 sequence:i8 phase:u1 shapes:u4 types:u4 stack:u4",
    "tensor": "time:u8 address:u8 bytes:i8 device:i4 event:u1 thread:u4 owner:u4 stack:u4",
}
"""The tables of both files: columns and their types."""

NONE = 2**32 - 1
"""No name, stream, event or device."""


class Spool:
    """A file of a recording, in memory; names get their numbers in the order they are asked for."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._names: dict[str, int] = {}
        self._chunks = 0
        self._kinds = {name: number for number, name in enumerate(COLUMNS, start=2)}
        tables = {
            name: {"kind": self._kinds[name], "columns": [c.split(":") for c in columns.split()]}
            | ({"tail": True} if name == "name" else {})
            for name, columns in COLUMNS.items()
        }
        self.chunk(0, 1, 1, json.dumps({"spool": 1, "tables": tables}).encode())

    def chunk(self, kind: int, columns: int, rows: int, payload: bytes) -> None:
        """Appends a chunk; texts are padded with blanks."""
        payload += (b" " if kind < 2 else b"\0") * (-len(payload) % 8)
        self.data += struct.pack("<4sHHIIQQ", b"TLC1", kind, columns, rows, 1, len(payload), self._chunks) + payload
        self._chunks += 1

    def text(self, said: Mapping[str, Any]) -> "Spool":
        """Appends a JSON text."""
        self.chunk(1, 1, 1, json.dumps(said).encode())
        return self

    def name(self, text: str | bytes) -> int:
        """The number of a name, which is written now if it is new."""
        raw = text.encode() if isinstance(text, str) else text
        key = raw.decode("latin-1")
        if key not in self._names:
            self._names[key] = len(self._names)
            columns = self._packed("name", [{"id": self._names[key], "bytes": len(raw)}])
            self.chunk(self._kinds["name"], 2, 1, columns + raw)
        return self._names[key]

    def rows(self, table: str, *rows: Mapping[str, int]) -> "Spool":
        """Appends rows; columns left out are 0. No rows make no chunk."""
        if not rows:
            return self
        self.chunk(self._kinds[table], len(COLUMNS[table].split()), len(rows), self._packed(table, rows))
        return self

    def write(self, path: Path) -> Path:
        """Writes the file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data)
        return path

    def _packed(self, table: str, rows: Sequence[Mapping[str, int]]) -> bytes:
        payload = b""
        for column in COLUMNS[table].split():
            name, kind = column.split(":")
            part = np.array([row.get(name, 0) for row in rows], f"<{kind}").tobytes()
            payload += part + b"\0" * (-len(part) % 8)
        return payload
