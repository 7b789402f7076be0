"""Writes a run's Perfetto trace as text, in the form of protobuf's printer."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from .perfetto import write_perfetto
from .run import Run
from .wire import fields

__all__ = ["write_perfetto_text"]

MESSAGES = {
    "TracePacket": {
        8: "timestamp", 10: "trusted_packet_sequence_id", 11: "track_event TrackEvent",
        12: "interned_data InternedData", 13: "sequence_flags", 45: "system_info SystemInfo", 58: "timestamp_clock_id",
        59: "trace_packet_defaults TracePacketDefaults", 60: "track_descriptor TrackDescriptor",
    },
    "TrackEvent": {
        3: "category_iids", 4: "debug_annotations DebugAnnotation", 9: "type Type", 10: "name_iid", 11: "track_uuid",
        47: "flow_ids",
    },
    "DebugAnnotation": {1: "name_iid", 3: "uint_value", 6: "string_value"},
    "InternedData": {1: "event_categories Name", 2: "event_names Name", 3: "debug_annotation_names Name"},
    "Name": {1: "iid", 2: "name"},
    "SystemInfo": {4: "tracing_service_version"},
    "TracePacketDefaults": {58: "timestamp_clock_id"},
    "TrackDescriptor": {1: "uuid", 2: "name", 3: "process ProcessDescriptor", 5: "parent_uuid"},
    "ProcessDescriptor": {1: "pid", 6: "process_name"},
}  # fmt: skip
"""Message: its fields by number, each with its name and its message or enumeration, where it is one."""

ENUMERATIONS = {"Type": {1: "TYPE_SLICE_BEGIN", 2: "TYPE_SLICE_END"}}
ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n"})


def write_perfetto_text(run: Run, path: Path) -> None:
    """Writes the packets that `write_perfetto` does, each field of a packet on a line."""
    with TemporaryDirectory() as folder:
        binary = Path(folder) / "run.pftrace"
        write_perfetto(run, binary)
        packets = [content for _, content in fields(binary.read_bytes()) if isinstance(content, bytes)]
    with path.open("w") as file:
        for packet in packets:
            file.writelines(("packet {\n", *(f"  {field}\n" for field in _fields("TracePacket", packet)), "}\n"))


def _fields(kind: str, content: bytes) -> Iterator[str]:
    """Yields each field of a message as text."""
    for number, value in fields(content):
        name, _, inner = MESSAGES[kind][number].partition(" ")
        if isinstance(value, int):
            yield f"{name}: {ENUMERATIONS[inner][value] if inner else value}"
        elif inner:
            yield f"{name} {{ {' '.join(_fields(inner, value))} }}"
        else:
            yield f'{name}: "{value.decode().translate(ESCAPES)}"'
