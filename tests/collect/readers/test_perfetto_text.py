import gzip
from pathlib import Path

import pytest

from tests.collect.reading import Told, damaged, packed, read
from tracelode.collect.files import open_file
from tracelode.collect.readers import perfetto, perfetto_text
from tracelode.store import UnreadableFile

TRACE = """# A thread with two slices, a counter and a stage of a device.
packet {
  trusted_packet_sequence_id: 1
  timestamp: 10
  sequence_flags: 1  # SEQ_INCREMENTAL_STATE_CLEARED
  interned_data {
    event_categories { iid: 1 name: "hip_api" }
    event_names { iid: 1 name: "hipLaunchKernel" }
    debug_annotation_names { iid: 1 name: "corr_id" }
    [perfetto.protos.GpuInternedData.compute_kernels] { iid: 3 name: "_Z3addv" demangled_name: "add()" }
  }
  track_descriptor { uuid: 5 thread { pid: 40 tid: 41 thread_name: "main" } }
}
packet {
  trusted_packet_sequence_id: 1 timestamp: 100
  track_event {
    type: TYPE_SLICE_BEGIN track_uuid: 5 category_iids: 1 name_iid: 1
    debug_annotations { name_iid: 1 uint_value: 9 }
    debug_annotations { name: "note" string_value: 'it\\'s' }
    task_execution { posted_from_iid: 1 }
  }
}
packet { trusted_packet_sequence_id: 1 timestamp: 140 track_event { type: TYPE_SLICE_END track_uuid: 5 } }
packet { trusted_packet_sequence_id: 1 timestamp: 150
  track_event { type: TYPE_INSTANT track_uuid: 5 name: "mark" flow_ids: 7 } }
packet { trusted_packet_sequence_id: 1 track_descriptor { uuid: 6 name: "power" counter { unit_name: "W" } } }
packet { trusted_packet_sequence_id: 1 timestamp: 160
  track_event { type: TYPE_COUNTER track_uuid: 6 double_counter_value: -1.5 } }
packet < trusted_packet_sequence_id: 1 timestamp: 200
  gpu_render_stage_event { event_id: 2 duration: 50 gpu_id: 1 kernel_iid: 3 context: 4 } >
"""


def told(tmp_path: Path, text: str) -> Told:
    path = tmp_path / "trace.textproto"
    path.write_text(text)
    return read(perfetto_text, path, tmp_path)


def test_packets_as_text_give_the_rows_that_their_bytes_give(tmp_path: Path) -> None:
    trace = told(tmp_path, TRACE)
    call = {"process": 40, "thread": 41, "start_ns": 100, "end_ns": 140, "name": "hipLaunchKernel", "kind": "runtime"}
    assert [{k: v for k, v in row.items() if k != "op"} for row in trace["api"]] == [
        call | {"correlation": 9, "args": '{"note":"it\'s"}'}
    ]
    stage = {"device": 1, "start_ns": 200, "end_ns": 250, "kind": "gpu_stage", "id": 2}
    assert sorted(trace["range"], key=lambda row: row["start_ns"]) == [
        {"process": 40, "thread": 41, "start_ns": 150, "end_ns": 150, "name": "mark", "kind": "mark"},
        {"process": 40, **stage, "args": '{"context":4,"kernel":"add()"}'},
    ]
    assert trace["counter"] == [{"process": 40, "name": "power", "time_ns": 160, "value": -1.5, "unit": "W"}]
    assert trace["flow"] == [{"process": 40, "track": 41, "time_ns": 150, "kind": "flow", "id": 7, "phase": "s"}]
    assert trace.facts.format == "perfetto_text"


def test_fields_that_are_not_known_are_counted(tmp_path: Path) -> None:
    trace = told(tmp_path, TRACE + "packet { timestamp: 300 frame_timeline_event { x: 1 y { z: 2 } } }")
    assert trace.counts() == {"unknown-field": 2}
    assert trace.notes["unknown-field"].example in ("task_execution", "frame_timeline_event")


@pytest.mark.parametrize(
    "content",
    [
        "packet",
        "packet {",
        "packet { size: 5 source: 'eth0' }",
        "# packet { timestamp: 1 }",
        "buffers { size_kb: 63488 }",
        "x packet { timestamp: 1 }",
        '{"packet": {"timestamp": 1}}',
    ],
)
def test_other_text_is_not_claimed(tmp_path: Path, content: str) -> None:
    (tmp_path / "other").write_text(content)
    assert not perfetto_text.recognises(open_file(tmp_path / "other"))


def test_neither_perfetto_reader_claims_the_other_form(tmp_path: Path) -> None:
    (tmp_path / "text").write_text(TRACE)
    assert perfetto_text.recognises(open_file(tmp_path / "text"))
    assert not perfetto.recognises(open_file(tmp_path / "text"))


def test_a_packed_text_is_read_as_the_plain_one(tmp_path: Path) -> None:
    plain = told(tmp_path, TRACE)
    assert gzip.decompress(packed(tmp_path / "trace.textproto").read_bytes()) == TRACE.encode()
    assert read(perfetto_text, tmp_path / "trace.textproto.gz", tmp_path).tables == plain.tables


@pytest.mark.parametrize("end", ["", "packet { timestamp: 1 }\n@", "packet {"])
def test_a_text_in_blocks_of_any_length_is_read_as_the_whole(tmp_path: Path, end: str) -> None:
    whole = told(tmp_path, "\ufeff" + TRACE.replace("main", "é€😀") + end)
    for length in (1, 7, 1000):
        trace = read(perfetto_text, tmp_path / "trace.textproto", tmp_path, length=length)
        assert (trace.tables, trace.notes, trace.facts) == (whole.tables, whole.notes, whole.facts)


def test_a_cut_text_gives_the_packets_before_the_cut_or_is_refused(tmp_path: Path) -> None:
    first = TRACE.index("\n}\n") + 2
    for cut in range(120, len(TRACE), 31):
        path = tmp_path / "cut.textproto"
        path.write_text(TRACE[:cut])
        try:
            trace = read(perfetto_text, path, tmp_path)
        except UnreadableFile as error:
            assert "cut.textproto" in error.message
            assert "line" in error.message
            assert cut < first
            continue
        assert cut >= first
        assert trace.notes.keys() <= {"damaged", "unfinished", "unknown-field"}


def test_damage_is_refused_or_read(tmp_path: Path) -> None:
    (tmp_path / "whole").write_text(TRACE)
    whole = 0
    for content in damaged(tmp_path / "whole", 30):
        (tmp_path / "damaged").write_bytes(content)
        if not perfetto_text.recognises(open_file(tmp_path / "damaged")):
            continue
        try:
            read(perfetto_text, tmp_path / "damaged", tmp_path)
        except UnreadableFile:
            continue
        whole += 1
    assert whole > 10


@pytest.mark.corpus
def test_real_texts_give_the_rows_of_the_traces_made_of_them(corpus: Path, tmp_path: Path) -> None:
    texts = sorted((corpus / "perfetto-textproto").rglob("*.textproto"))
    assert len(texts) >= 4
    for path in texts:
        twin = corpus / "perfetto" / path.parent.name / f"{path.stem}.pftrace"
        made, given = read(perfetto_text, path, tmp_path), read(perfetto, twin, tmp_path)
        assert made.tables == given.tables, path.name
        assert made.notes == given.notes
