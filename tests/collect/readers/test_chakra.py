import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.collect import reading
from tests.collect.protobuf_messages import message, told, varint
from tracelode.collect.files import open_file
from tracelode.collect.ingest import read
from tracelode.collect.readers import chakra
from tracelode.store import Archive, UnreadableFile

Row = dict[str, Any]
INT, BOOL, TEXT = 9, 27, 29


def attribute(name: str, place: int, value: int | str) -> tuple[int, bytes]:
    return 10, message((1, name), (place, value))


def stream(*messages: bytes) -> bytes:
    return b"".join(varint(len(one)) + one for one in messages)


METADATA = message(
    (1, "0.0.4"), (2, message((1, "schema"), (TEXT, "1.1.0-chakra.0.0.4"))), (2, message((1, "pid"), (INT, 41)))
)
ROOT = message((2, "step"), (3, 4), attribute("rf_id", INT, 1), attribute("scope", INT, 7))
MM = message(
    (1, 5),
    (2, "aten::mm"),
    (3, 4),
    (4, b"\x00"),
    (5, varint(3) + varint(300)),
    (6, 10),
    (7, 6),
    (8, message((1, "[[11, 111, 0, 4, 4, 'cuda:0'], None]"), (2, "[[2, 2], []]"), (3, "['Tensor(float)', 'None']"))),
    (9, message((1, "[]"), (2, "[]"), (3, "[]"))),
    attribute("rf_id", INT, 4),
    attribute("fw_parent", INT, 0),
    attribute("seq_id", INT, -1),
    attribute("tid", INT, 2),
    attribute("op_schema", TEXT, ""),
    attribute("is_cpu_op", BOOL, 1),
)
REDUCE = message((1, 6), (2, "nccl"), (3, 7), (4, 5), (4, 0), (7, 3), attribute("is_cpu_op", BOOL, 0))
GRAPH = stream(METADATA, ROOT, MM, REDUCE)


def nodes(content: bytes) -> dict[int, Row]:
    rows, _, _ = told(chakra, content)
    return {row["id"]: row for row in rows["node"]}


def test_a_node_has_its_columns_and_the_rest_in_args() -> None:
    found = nodes(GRAPH)
    assert found[0] == {
        "process": 41,
        "id": 0,
        "name": "step",
        "kind": "compute",
        "external": 1,
        "args": '{"scope": 7}',
    }
    assert found[5] == {
        "process": 41,
        "id": 5,
        "parent": 0,
        "name": "aten::mm",
        "kind": "compute",
        "thread": 2,
        "external": 4,
        "start_ns": 10000,
        "time_ns": 6000,
        "inputs": '[[11, 111, 0, 4, 4, "cuda:0"], null]',
        "shapes": "[[2, 2], []]",
        "types": '["Tensor(float)", "None"]',
        "outputs": "[]",
        "output_shapes": "[]",
        "output_types": "[]",
        "data": "[3, 300]",
        "args": '{"is_cpu_op": true}',
    }
    assert found[6] == {
        "process": 41,
        "id": 6,
        "parent": 5,
        "name": "nccl",
        "kind": "collective",
        "time_ns": 3000,
        "control": "[5, 0]",
        "args": '{"is_cpu_op": false}',
    }


def test_what_the_file_says_of_itself_is_facts_and_labels() -> None:
    rows, notes, facts = told(chakra, GRAPH)
    assert (facts.format, facts.producer) == ("chakra", "Chakra, schema 1.1.0-chakra.0.0.4")
    assert facts.labels == {"version": "0.0.4", "schema": "1.1.0-chakra.0.0.4", "pid": "41"}
    assert rows["process"] == [{"process": 41, "pid": 41}]
    assert notes == {}


def test_older_metadata_and_none_at_all_are_read() -> None:
    _, _, facts = told(chakra, stream(message((1, message((1, "schema"), (TEXT, "symbolic")))), MM))
    assert facts.labels == {"schema": "symbolic"}
    rows, _, facts = told(chakra, stream(MM))
    assert (len(rows["node"]), facts.producer) == (1, "Chakra")


def test_types_and_fields_that_are_not_known_are_kept() -> None:
    node = message((1, 1), (2, "odd"), (3, 30), (11, b"\x08\x01"), (20, 5), (21, "x"), attribute("rf_id", INT, 1))
    (row,) = told(chakra, stream(METADATA, node), recognised=False)[0]["node"]
    assert row["kind"] == "type 30"
    assert json.loads(row["args"]) == {"storage": "0801", "field 20": 5, "field 21": "78"}


def test_nodes_of_the_host_without_a_record_function_id_are_counted() -> None:
    plain = message((1, 1), (2, "COMP_NODE"), (3, 4), attribute("num_ops", INT, 5))
    device_work = message((1, 2), (2, "gemm"), (3, 4), (4, 1), attribute("is_cpu_op", BOOL, 0))
    _, notes, _ = told(chakra, stream(METADATA, plain, device_work))
    assert {kind: note.count for kind, note in notes.items()} == {"no-record-function-id": 1}


def test_numbers_beyond_a_column_and_circles_are_noted() -> None:
    far = message((1, 2**64 - 1), (2, "far"), (3, 4), (7, 2**63), attribute("rf_id", INT, 1))
    circle = [message((1, n), (2, f"n{n}"), (3, 4), (4, m), attribute("rf_id", INT, n)) for n, m in ((1, 2), (2, 1))]
    rows, notes, _ = told(chakra, stream(METADATA, far, *circle))
    assert [row.get("id") for row in rows["node"]] == [1, 2, None]
    assert {kind: note.count for kind, note in notes.items()} == {"out-of-range": 1, "parent-circle": 2}


@pytest.mark.parametrize(
    "content",
    [
        b"\x0a",
        b"\x00\x00\x00",
        b"#\n packet { timestamp: 1 }" * 9,
        stream(b"plain text"),
        stream(METADATA, b"\x08"),
        stream(message((1, 5), (9, 9))),
        stream(message((1, "x"))) + b"\x05",
        b'{"nodes": []}',
    ],
)
def test_other_content_is_not_claimed(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(content)
    assert not chakra.recognises(open_file(tmp_path / "other"))


@pytest.mark.parametrize("lost", [0, 5])
def test_a_file_in_blocks_of_any_length_is_read_as_the_whole(tmp_path: Path, lost: int) -> None:
    path = tmp_path / "graph.et"
    path.write_bytes(GRAPH[: len(GRAPH) - lost])
    whole = reading.read(chakra, path, tmp_path)
    assert len(whole["node"]) == (2 if lost else 3)
    for length in (1, 7, 1000):
        trace = reading.read(chakra, path, tmp_path, length=length)
        assert (trace.tables, trace.notes, trace.facts) == (whole.tables, whole.notes, whole.facts)


def test_a_cut_file_gives_the_nodes_before_the_cut_or_is_refused() -> None:
    ends = [len(stream(METADATA, *(ROOT, MM, REDUCE)[:n])) for n in range(4)]
    for cut in sorted({*range(1, len(GRAPH), 9), *ends[:3]}):
        try:
            rows, notes, _ = told(chakra, GRAPH[:cut], recognised=False)
        except UnreadableFile as error:
            assert "damaged" in error.message
            assert cut < ends[1]
            continue
        assert len(rows.get("node", [])) == sum(cut >= end for end in ends[1:])
        assert ("truncated" in notes) == (cut not in ends)


def test_flipped_bytes_never_break_the_reader() -> None:
    chance, read_whole = random.Random(3), 0
    for _ in range(30):
        content = bytearray(GRAPH)
        for _ in range(chance.randint(1, 4)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        try:
            told(chakra, bytes(content), recognised=False)
        except UnreadableFile:
            continue
        read_whole += 1
    assert read_whole > 10


@pytest.mark.corpus
def test_real_graphs_have_the_facts_worked_out_by_other_means(corpus: Path, tmp_path: Path) -> None:
    every: dict[str, Row] = json.loads((corpus / "TRUTH.json").read_text())
    truth = {name: facts for name, facts in every.items() if facts["format"] == "chakra-et"}
    assert truth
    types = {"metadata": "1", "load": "2", "store": "3", "compute": "4", "send": "5", "receive": "6", "collective": "7"}
    for name, expected in truth.items():
        trace, _ = read(corpus / name, Archive(tmp_path / "archive"))
        kinds = dict(trace.node.collect()["kind"].value_counts().iter_rows())
        assert {
            "format": "chakra-et",
            "nodes": trace.rows["node"],
            "node_types": {types[kind]: count for kind, count in kinds.items()},
            "metadata": trace.facts.labels.get("version", ""),
            "cut_short": any(note.kind == "truncated" for note in trace.notes),
        } == expected, name
