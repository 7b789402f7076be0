"""Perfetto traces as text (`*.textproto`): the packets of a protobuf trace, written out by name.

They are encoded as the bytes they stand for, a packet at a time; these wait on disk, since they are read twice, as
`perfetto` reads bytes. In memory is what that joins: tracks, interned names, slices that are open, arrows' numbers.
Fields that are not known here are counted.
"""

import re
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...store.errors import UnreadableFile
from ...store.trace import Facts
from ..files import TraceFile
from ..perfetto_schema import PERFETTO
from ..protobuf import BYTES
from ..sink import Sink
from ..text_window import decoded
from ..textproto import TextError, TextMessages, encoded_field
from . import perfetto

__all__ = ["VERSION", "read", "recognises"]

VERSION = 4

BLOCK = 1 << 20
PACKETS, PACKET, KIND = 1, "packet", "TracePacket"
BEGINNING = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s|#[^\n]*\n)*+packet\s*:?\s*[{<]")
KNOWN = re.compile(
    rb"[{<\s;,](?:timestamp|trusted_\w+|track_event|track_descriptor|interned_data|clock_snapshot|process_tree"
    rb"|ftrace_events|gpu_render_stage_event|trace_config|sequence_flags)\s*[:{<]"
)


@dataclass
class _Encoded(TraceFile):
    """The file as if its content were the bytes that its text stands for, which are in another."""

    encoded: Path = field(kw_only=True)

    def blocks(self) -> Generator[bytes]:
        """The bytes in blocks of a megabyte."""
        with self.encoded.open("rb") as content:
            while block := content.read(BLOCK):
                yield block


def recognises(file: TraceFile) -> bool:
    """Whether the content is text that begins with a packet, comments aside, and has a field that packets have."""
    return BEGINNING.match(file.head) is not None and KNOWN.search(file.head) is not None


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every event to the sink and returns the facts; `UnreadableFile` where damage leaves no packet."""
    messages = TextMessages(decoded(file.blocks(), "utf-8-sig", "surrogateescape"), PERFETTO)
    encoded = sink.scratch("packets")
    with encoded.open("wb") as content:
        try:
            for packet in messages.each(PACKET, KIND):
                content.write(encoded_field(PACKETS, BYTES, packet))
        except TextError as error:
            if not content.tell():
                raise UnreadableFile(
                    f"{file.path}: damaged ({error}), before its first packet ends",
                    "copy it again, or give the binary trace",
                ) from error
            meaning = "the file is cut or damaged: what follows that place is missing"
            sink.note("damaged", meaning, example=str(error))
    facts = perfetto.read(_Encoded(file.path, file.head, None, encoded=encoded), sink)
    if messages.unknown:
        name, _ = messages.unknown.most_common(1)[0]
        meaning = "fields of the text that are not known here: not read"
        sink.note("unknown-field", meaning, count=messages.unknown.total(), example=name)
    return replace(facts, format="perfetto_text")
