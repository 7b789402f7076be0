import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.collect.reading import ODD, Told, damaged, read
from tracelode.collect.files import open_file
from tracelode.collect.ingest import read as ingest
from tracelode.collect.readers import execution_trace
from tracelode.store import Archive, UnreadableFile

Json = dict[str, Any]


def attributes(**values: int | str) -> list[Json]:
    return [
        {"name": name, "type": "string" if isinstance(v, str) else "int64", "value": v} for name, v in values.items()
    ]


MM = {
    "id": 5,
    "name": "aten::mm",
    "ctrl_deps": 3,
    "inputs": {
        "values": [[11, 12, 0, 4, 4, "cuda:0"], 0.5],
        "shapes": [[2, 2], []],
        "types": ["Tensor(float)", "Double"],
        "strides": [[2, 1], []],
    },
    "outputs": {"values": [[13, 14, 0, 4, 4, "cuda:0"]], "shapes": [[2, 2]], "types": ["Tensor(float)"], "strides": []},
    "attrs": attributes(
        rf_id=4, fw_parent=0, seq_id=9, scope=0, tid=1, fw_tid=0, op_schema="aten::mm(...)", kernel_file=""
    ),
}
BACKWARD = {
    "id": 7,
    "name": "MmBackward0",
    "ctrl_deps": 2,
    "attrs": attributes(rf_id=6, fw_parent=5, seq_id=9, scope=1, tid=2, fw_tid=1),
}
NODES: list[Json] = [
    {
        "id": 2,
        "name": "[pytorch|profiler|execution_trace|thread]",
        "ctrl_deps": 1,
        "attrs": attributes(rf_id=0, tid=1, scope=7),
    },
    {"id": 3, "name": "## forward ##", "ctrl_deps": 2, "attrs": attributes(rf_id=2, scope=7, tid=1)},
    MM,
    BACKWARD,
    {
        "id": 8,
        "name": "record_param_comms",
        "ctrl_deps": 2,
        "attrs": attributes(rf_id=7, tid=1, collective_name="allreduce", pg_size=8),
    },
    {
        "id": 1,
        "name": "[pytorch|profiler|execution_trace|process]",
        "ctrl_deps": 1,
        "attrs": attributes(rf_id=0, scope=7),
    },
]
TRACE = {"schema": "1.1.1-chakra.0.0.4", "pid": 77, "start_ts": 100, "nodes": NODES, "finish_ts": 105}


def told(tmp_path: Path, trace: Json) -> Told:
    path = tmp_path / "et.json"
    path.write_text(json.dumps(trace))
    return read(execution_trace, path, tmp_path)


def test_a_node_has_its_columns_and_the_rest_in_args(tmp_path: Path) -> None:
    trace = told(tmp_path, TRACE)
    nodes = {node["id"]: node for node in trace["node"]}
    assert nodes[5] == {
        "process": 77,
        "id": 5,
        "parent": 3,
        "name": "aten::mm",
        "kind": "operator",
        "thread": 1,
        "external": 4,
        "sequence": 9,
        "inputs": '[[11, 12, 0, 4, 4, "cuda:0"], 0.5]',
        "shapes": "[[2, 2], []]",
        "types": '["Tensor(float)", "Double"]',
        "outputs": '[[13, 14, 0, 4, 4, "cuda:0"]]',
        "output_shapes": "[[2, 2]]",
        "output_types": '["Tensor(float)"]',
        "args": '{"scope": 0, "op_schema": "aten::mm(...)", "input_strides": [[2, 1], []]}',
    }
    assert nodes[7] == {
        "process": 77,
        "id": 7,
        "parent": 2,
        "name": "MmBackward0",
        "kind": "operator",
        "thread": 2,
        "external": 6,
        "sequence": 9,
        "forward": 5,
        "forward_thread": 1,
        "args": '{"scope": 1}',
    }
    kinds = {number: node["kind"] for number, node in nodes.items()}
    assert kinds == {1: "process", 2: "thread", 3: "label", 5: "operator", 7: "operator", 8: "collective"}
    assert "parent" not in nodes[1]
    assert trace.notes == {}


def test_what_the_file_says_of_itself_is_facts_and_labels(tmp_path: Path) -> None:
    trace = told(tmp_path, TRACE)
    facts = trace.facts
    assert (facts.format, facts.framework) == ("execution_trace", "PyTorch")
    assert facts.producer == "PyTorch execution trace, schema 1.1.1-chakra.0.0.4"
    assert facts.labels == {"schema": "1.1.1-chakra.0.0.4", "pid": "77", "start_ts": "100", "finish_ts": "105"}
    assert trace["process"] == [{"process": 77, "pid": 77}]


def test_the_first_schema_has_its_values_in_members_of_the_node(tmp_path: Path) -> None:
    node = {"name": "aten::add", "id": 3, "rf_id": 1, "parent": 2, "fw_parent": 0, "seq_id": -1, "scope": 0, "tid": 1}
    node |= {"fw_tid": 0, "op_schema": "", "inputs": [1, "<None>"], "input_shapes": [[], []]}
    node |= {"input_types": ["Int", "None"], "outputs": [], "output_shapes": [], "output_types": []}
    (row,) = told(tmp_path, {"schema": "1.0.1", "pid": 5, "nodes": [node], "finish_ts": 1})["node"]
    assert row == {
        "process": 5,
        "id": 3,
        "parent": 2,
        "name": "aten::add",
        "kind": "operator",
        "thread": 1,
        "external": 1,
        "inputs": '[1, "<None>"]',
        "shapes": "[[], []]",
        "types": '["Int", "None"]',
        "outputs": "[]",
        "output_shapes": "[]",
        "output_types": "[]",
        "args": '{"scope": 0}',
    }


def test_a_linked_trace_has_the_device_work_and_exact_times(tmp_path: Path) -> None:
    kernel = '{"id": 9, "name": "gemm", "ctrl_deps": 5, "cat": "kernel", "ph": "X", "stream": 7,'
    kernel += ' "ts": 1767225600000000.123, "inclusive_dur": 2.5, "exclusive_dur": 2}'
    path = tmp_path / "et.json"
    path.write_text(json.dumps(TRACE).replace('"nodes": [', f'"nodes": [{json.dumps(MM)}, {kernel}, ', 1))
    rows = [row for row in read(execution_trace, path, tmp_path)["node"] if row["id"] == 9]
    assert rows == [
        {
            "process": 77,
            "id": 9,
            "parent": 5,
            "name": "gemm",
            "kind": "kernel",
            "start_ns": 1767225600000000123,
            "time_ns": 2500,
            "args": '{"cat": "kernel", "ph": "X", "stream": 7, "exclusive_dur": 2}',
        }
    ]


def test_chakra_json_has_types_dependencies_and_run_times(tmp_path: Path) -> None:
    first = {"Id": 4, "Name": "a(0)", "NodeType": 4, "data_deps": [], "runtime": 3, "is_cpu_op": True}
    second = {"Id": 5, "Name": "b(0)", "NodeType": 7, "ctrlDeps": [4, 6], "data_deps": [4], "is_cpu_op": False}
    third = {"Id": 6, "Name": "c(0)", "NodeType": 99, "ctrlDeps": [4], "is_cpu_op": True}
    trace = told(tmp_path, {"workload_graph": [first, second, third], "ngpus": 8})
    assert trace["node"] == [
        {"process": 0, "id": 4, "name": "a(0)", "kind": "compute", "time_ns": 3000, "args": '{"is_cpu_op": true}'},
        {
            "process": 0,
            "id": 5,
            "parent": 4,
            "name": "b(0)",
            "kind": "collective",
            "control": "[4, 6]",
            "data": "[4]",
            "args": '{"is_cpu_op": false}',
        },
        {"process": 0, "id": 6, "parent": 4, "name": "c(0)", "kind": "type 99", "args": '{"is_cpu_op": true}'},
    ]
    assert trace.counts() == {"no-record-function-id": 2}
    assert (trace.facts.producer, trace.facts.labels) == ("Chakra JSON", {"ngpus": "8"})


def test_operators_without_a_record_function_id_are_counted(tmp_path: Path) -> None:
    bare = [{**node, "attrs": [a for a in node["attrs"] if a["name"] != "rf_id"]} for node in NODES]
    trace = told(tmp_path, TRACE | {"nodes": bare})
    assert trace.counts() == {"no-record-function-id": 4}
    assert trace.notes["no-record-function-id"].example == "4 of 6 nodes, first ## forward ##"


def test_elements_that_are_no_nodes_and_odd_attributes_are_kept_or_counted(tmp_path: Path) -> None:
    odd = {"id": "7", "name": 5, "ctrl_deps": "x", "rf_id": 1, "attrs": [{"name": "tid"}, 3], "ts": "now", "dur": -1}
    trace = told(tmp_path, TRACE | {"nodes": [MM, 5, None, odd]})
    assert trace.counts() == {"bad-node": 2, "no-node-id": 1, "orphan-node": 1}
    row = next(row for row in trace["node"] if "id" not in row)
    assert json.loads(row["args"]) == {"id": "7", "name": 5, "ts": "now", "dur": -1, "attrs": [{"name": "tid"}, 3]}


@pytest.mark.parametrize(
    "content",
    [
        '{"traceEvents": [], "nodes": [{"id": 1, "name": "a", "rf_id": 1}]}',
        '{"nodes": [{"id": 1, "label": "a"}], "links": []}',
        '{"nodes": [{"id": 1, "name": "a"}], "links": []}',
        '{"nodes": []}',
        '{"schema": "http://example.org/1", "nodes": []}',
        '{"meta": {"nodes": [{"id": 1, "name": "a", "rf_id": 1}]}}',
        '{"workload_graph": [{"Id": 1}]}',
        '{"nodes": 1}',
        "[]",
    ],
)
def test_other_json_is_not_claimed(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    assert not execution_trace.recognises(open_file(path))


def test_an_empty_graph_is_read_as_one_without_events(tmp_path: Path) -> None:
    trace = told(tmp_path, {"schema": "1.0.3-chakra.0.0.4", "nodes": [], "finish_ts": 1})
    assert trace.tables.keys() == {"process"}


@pytest.mark.parametrize("lost", ["", '"finish_ts": 105}', '"id": 5, '])
def test_a_file_in_blocks_of_any_length_is_read_as_the_whole(tmp_path: Path, lost: str) -> None:
    path = tmp_path / "et.json"
    path.write_text(json.dumps(TRACE).replace("## forward ##", "é€😀 \\ud83d\\ude00").replace(lost, "", 1))
    whole = read(execution_trace, path, tmp_path)
    assert "é€😀 \N{GRINNING FACE}" in [row["name"] for row in whole["node"]]
    for length in (1, 7, 1000):
        trace = read(execution_trace, path, tmp_path, length=length)
        assert (trace.tables, trace.notes, trace.facts) == (whole.tables, whole.notes, whole.facts)


def test_a_cut_file_gives_the_nodes_before_the_cut_or_is_refused(tmp_path: Path) -> None:
    content = json.dumps(TRACE)
    whole = told(tmp_path, TRACE)["node"]
    numbers = random.Random(5)
    for cut in sorted(numbers.randrange(40, len(content) - 1) for _ in range(25)):
        (tmp_path / "cut.json").write_text(content[:cut])
        file = open_file(tmp_path / "cut.json")
        if not execution_trace.recognises(file):
            assert cut < content.index("attrs") + 400
            continue
        try:
            trace = read(execution_trace, tmp_path / "cut.json", tmp_path)
        except UnreadableFile as error:
            assert "cut.json" in error.message
            assert error.hint
            continue
        assert trace.counts()["truncated"] == 1
        assert all({**row, "process": 77} in whole for row in trace["node"])


def test_damage_is_refused_or_read_with_a_note(tmp_path: Path) -> None:
    (tmp_path / "whole.json").write_text(json.dumps(TRACE, indent=1))
    outcomes: Counter[bool] = Counter()
    for content in damaged(tmp_path / "whole.json", 40):
        path = tmp_path / "damaged.json"
        path.write_bytes(content)
        if not execution_trace.recognises(open_file(path)):
            continue
        try:
            read(execution_trace, path, tmp_path)
        except UnreadableFile:
            outcomes[False] += 1
        else:
            outcomes[True] += 1
    assert outcomes[True] > 10


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_odd_values_never_break_the_reader(tmp_path: Path, data: st.DataObject) -> None:
    node = json.loads(json.dumps(MM))
    keys = data.draw(st.lists(st.sampled_from([*node, "ts", "dur", "data_deps", "parent", "NodeType"]), max_size=5))
    for key in keys:
        value = data.draw(ODD | st.sampled_from([[1, 2], {}, {"values": 3}, [{"name": "tid", "value": 2**80}], [[[]]]]))
        node[key] = value.hex() if isinstance(value, bytes) else value
    trace = told(tmp_path, TRACE | {"nodes": [MM, node], "pid": data.draw(st.sampled_from([77, -1, 2**70, "x", None]))})
    assert 1 <= len(trace["node"]) <= 2


def test_hostile_names_and_depths_are_survived(tmp_path: Path) -> None:
    deep = "[" * 900 + "]" * 900
    hostile = f'{{"id": 9, "name": "\\ud800<script>", "ctrl_deps": 5, "inputs": {{"values": {deep}}}}}'
    path = tmp_path / "et.json"
    path.write_text('{"schema": "1.0.1", "nodes": [' + json.dumps(MM) + "," + hostile + "]}")
    trace = read(execution_trace, path, tmp_path)
    assert len(trace["node"]) + trace.counts().get("bad-node", 0) == 2
    assert trace.notes.keys() <= {"bad-node", "too-deep", "no-record-function-id", "orphan-node", "invalid-utf8"}


@pytest.mark.corpus
def test_real_traces_have_the_facts_worked_out_by_other_means(corpus: Path, tmp_path: Path) -> None:
    every: dict[str, Json] = json.loads((corpus / "TRUTH.json").read_text())
    truth = {name: facts for name, facts in every.items() if facts["format"] == "execution-trace"}
    assert len(truth) >= 17
    for name, expected in truth.items():
        trace, _ = ingest(corpus / name, Archive(tmp_path / "archive"))
        nodes = trace.node.collect()
        labels = trace.facts.labels
        assert {
            "format": "execution-trace",
            "nodes": len(nodes),
            "ids_distinct": nodes["id"].n_unique(),
            "names": nodes["name"].n_unique(),
            "schema": labels.get("schema"),
            "start_ts": int(labels["start_ts"]) if "start_ts" in labels else None,
            "finish_ts": int(labels["finish_ts"]) if "finish_ts" in labels else None,
        } == expected, name
        assert {note.kind for note in trace.notes} <= {"no-record-function-id", "orphan-node"}
