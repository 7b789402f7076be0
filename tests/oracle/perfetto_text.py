"""Perfetto traces as text: written out as bytes by a table of the usual fields, which the oracle of bytes reads."""

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from data.generator.wire import fixed64, message
from tests.oracle import perfetto
from tests.oracle.rows import Damaged, Odd, Rows, unpacked

TOKEN = re.compile(r'\s*(?:(\w+):\s*(?:(\d+)|([A-Z_]+)|"((?:[^"\\\n]|\\["\\])*)")(?=\s|$)|(\w+)\s*\{|(\}))')
FIELDS = {
    "packet": {
        "timestamp": 8, "trusted_packet_sequence_id": 10, "track_event": 11, "interned_data": 12, "sequence_flags": 13,
        "system_info": 45, "timestamp_clock_id": 58, "trace_packet_defaults": 59, "track_descriptor": 60,
    },
    "track_event": {
        "category_iids": 3, "debug_annotations": 4, "type": 9, "name_iid": 10, "track_uuid": 11, "flow_ids": 47,
    },
    "debug_annotations": {"name_iid": 1, "uint_value": 3, "string_value": 6},
    "interned_data": {"event_categories": 1, "event_names": 2, "debug_annotation_names": 3},
    "event_categories": {"iid": 1, "name": 2},
    "event_names": {"iid": 1, "name": 2},
    "debug_annotation_names": {"iid": 1, "name": 2},
    "system_info": {"tracing_service_version": 4},
    "trace_packet_defaults": {"timestamp_clock_id": 58},
    "track_descriptor": {"uuid": 1, "name": 2, "process": 3, "parent_uuid": 5},
    "process": {"pid": 1, "process_name": 6},
}  # fmt: skip
TEXTS = {"name", "string_value", "process_name", "tracing_service_version"}
TYPES = {"TYPE_SLICE_BEGIN": 1, "TYPE_SLICE_END": 2}


def read(path: Path) -> Rows:
    text = unpacked(path).decode(errors="replace").rstrip()
    tokens = _tokens(text)
    packets: list[bytes] = []
    for found in tokens:
        if found[5] != "packet":
            raise Odd("something else than a packet")
        packets.append(message((1, _message("packet", tokens))))
    with TemporaryDirectory() as folder:
        file = Path(folder) / "trace.pftrace"
        file.write_bytes(b"".join(packets))
        return perfetto.read(file)


def _tokens(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while at < len(text):
        found = TOKEN.match(text, at)
        if not found:
            raise Odd("another form of text")
        yield found
        at = found.end()


def _message(kind: str, tokens: Iterator[re.Match[str]]) -> bytes:
    out = b""
    for found in tokens:
        name, digits, word, quoted, opened, closed = found.groups()
        if closed:
            return out
        number = FIELDS[kind].get(name or opened)
        if number is None or (opened in FIELDS) != bool(opened) or (name in TEXTS) != (quoted is not None):
            raise Odd("a field that is not usual")
        if opened:
            out += message((number, _message(opened, tokens)))
        elif quoted is not None:
            out += message((number, re.sub(r"\\(.)", r"\1", quoted)))
        else:
            out += _number(name, number, digits, word)
    raise Damaged("the end within a message")


def _number(name: str, number: int, digits: str | None, word: str | None) -> bytes:
    if (word is not None) != (name == "type") or (word or "TYPE_SLICE_END") not in TYPES:
        raise Odd("a type that is not usual")
    value = TYPES[word] if word else int(digits or 0)
    if value >> 63 or re.match("0.", digits or ""):
        raise Odd("a number of another base, or one that is negative as a varint")
    return fixed64(number, value) if name == "flow_ids" else message((number, value))
