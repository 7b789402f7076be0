import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.collect.reading import ODD, Told, read
from tracelode.collect.files import open_file
from tracelode.collect.ingest import read as ingest
from tracelode.collect.readers import proton
from tracelode.store import Archive, UnreadableFile

Json = dict[str, Any]


def node(name: str, *children: Any, **metrics: Any) -> Json:
    return {"children": list(children), "frame": {"name": name, "type": "function"}, "metrics": metrics}


TIMES = {"time (ns)": 1664, "count": 2, "device_id": "1", "device_type": "CUDA", "bytes": 2.50}
TREE = [
    node("ROOT", node("scope", node("gemm", **TIMES), node("host")), node("second"), count=0),
    {"CUDA": {"1": {"arch": "90", "bus_width": 5120, "clock_rate": 1980000, "num_sms": 132}}},
]


def told(tmp_path: Path, profile: Any) -> Told:
    path = tmp_path / "step.hatchet"
    path.write_text(json.dumps(profile))
    return read(proton, path, tmp_path)


def test_a_tree_becomes_totals_with_parents_first(tmp_path: Path) -> None:
    assert told(tmp_path, TREE)["total"] == [
        {"process": 0, "id": 0, "depth": 0, "name": "ROOT", "kind": "function", "count": 0},
        {"process": 0, "id": 1, "parent": 0, "depth": 1, "name": "scope", "kind": "function"},
        {
            "process": 0,
            "id": 2,
            "parent": 1,
            "depth": 2,
            "name": "gemm",
            "kind": "function",
            "device": 1,
            "device_kind": "CUDA",
            "count": 2,
            "time_ns": 1664,
            "args": '{"bytes": 2.5}',
        },
        {"process": 0, "id": 3, "parent": 1, "depth": 2, "name": "host", "kind": "function"},
        {"process": 0, "id": 4, "parent": 0, "depth": 1, "name": "second", "kind": "function"},
    ]


def test_devices_stand_after_the_tree(tmp_path: Path) -> None:
    trace = told(tmp_path, TREE)
    assert trace["device"] == [
        {
            "process": 0,
            "device": 1,
            "vendor": "nvidia",
            "compute_units": 132,
            "clock_hz": 1980000000,
            "architecture": "90",
            "args": '{"kind": "CUDA", "bus_width": 5120}',
        }
    ]
    assert (trace.facts.format, trace.facts.producer, trace.notes) == ("proton", "Triton Proton", {})


def test_what_is_not_understood_is_kept_or_counted(tmp_path: Path) -> None:
    odd = {"children": 5, "frame": "f", "metrics": [1], "more": 2}
    profile = [node("ROOT", odd, 7, **{"time (ns)": 1.5}), {"XPU": {"x": {}, "0": 3}, "HIP": []}, "end"]
    trace = told(tmp_path, profile)
    assert [row.get("args") for row in trace["total"]] == [
        '{"time (ns)": 1.5}',
        '{"children": 5, "more": 2, "frame": "f", "metrics": [1]}',
    ]
    assert trace.counts() == {"bad-node": 1}
    kept = [(row["kind"], row["json"]) for row in trace["other"]]
    assert kept == [("XPU x", "{}"), ("XPU 0", "3"), ("HIP", "[]"), ("element", '"end"')]


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        "[{}]",
        '{"children": [], "frame": {"name": "a"}, "metrics": {}}',
        '[{"ph": "X", "ts": 1, "pid": 1, "args": {"frame": {"name": "x"}, "metrics": {}}}]',
        '[{"frame": {"name": "a"}}]',
        '[{"metrics": {"a": 1}}]',
        '[{"children": [], "frame": "a", "metrics": {}}]',
    ],
)
def test_other_json_is_not_claimed(tmp_path: Path, content: str) -> None:
    (tmp_path / "other.json").write_text(content)
    assert not proton.recognises(open_file(tmp_path / "other.json"))


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    content, checked = json.dumps(TREE), 0
    for cut in range(1, len(content) - 1, 7):
        path = tmp_path / "cut.hatchet"
        path.write_text(content[:cut])
        if proton.recognises(open_file(path)):
            with pytest.raises(UnreadableFile, match=r"cut\.hatchet"):
                read(proton, path, tmp_path)
            checked += 1
    assert checked > 50


def test_a_tree_that_is_too_deep_is_refused_and_a_deep_one_read(tmp_path: Path) -> None:
    deep = node("leaf")
    for _ in range(150):
        deep = node("a", deep)
    assert [row["depth"] for row in told(tmp_path, [deep])["total"]] == list(range(151))
    begin = '{"frame": {"name": "a"}, "metrics": {}, "children": ['
    (tmp_path / "deep.hatchet").write_text("[" + begin * 30_000 + "]}" * 30_000 + "]")
    with pytest.raises(UnreadableFile, match="nested too deeply"):
        read(proton, tmp_path / "deep.hatchet", tmp_path)


@pytest.mark.parametrize("digits", [7, 20])
def test_numbers_that_are_too_large_are_kept_or_the_file_refused(tmp_path: Path, digits: int) -> None:
    far = "1e" + "9" * digits
    path = tmp_path / "far.hatchet"
    path.write_text(f'[{{"frame": {{"name": "a"}}, "metrics": {{"time (ns)": {far}}}, "children": []}}]')
    if digits == 20:  # no decimal has such an exponent
        with pytest.raises(UnreadableFile):
            read(proton, path, tmp_path)
        return
    (row,) = read(proton, path, tmp_path)["total"]
    assert ("time_ns" in row, row["args"]) == (False, '{"time (ns)": 1E+9999999}')


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_odd_values_never_break_the_reader(tmp_path: Path, data: st.DataObject) -> None:
    profile = json.loads(json.dumps(TREE))
    for part in (
        profile[0]["children"][0],
        profile[0]["children"][0]["children"][0]["metrics"],
        profile[1]["CUDA"]["1"],
    ):
        for key in data.draw(st.lists(st.sampled_from([*part]), max_size=2)):
            value = data.draw(ODD | st.sampled_from([[], {}, [[]], 2**70, "9" * 30, "\ud800"]))
            part[key] = value.hex() if isinstance(value, bytes) else value
    assert told(tmp_path, profile)["total"]


@pytest.mark.corpus
def test_real_profiles_have_the_facts_worked_out_by_other_means(corpus: Path, tmp_path: Path) -> None:
    every: dict[str, Json] = json.loads((corpus / "TRUTH.json").read_text())
    truth = {name: facts for name, facts in every.items() if facts["format"] == "proton"}
    assert len(truth) >= 3
    for name, expected in truth.items():
        trace, _ = ingest(corpus / name, Archive(tmp_path / "archive"))
        leaves = trace.sql(
            "select name, time_ns from total where id not in (select parent from total where parent is not null)"
        )
        assert {"format": "proton", "leaves": len(leaves), "time_ns": dict(leaves.iter_rows())} == expected, name
