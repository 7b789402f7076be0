import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.collect.reading import Told, damaged, read
from tracelode.collect import packing
from tracelode.collect.files import open_file
from tracelode.collect.ingest import read as ingest
from tracelode.collect.readers import rocprofv3_json
from tracelode.store.archive import Archive
from tracelode.store.errors import UnreadableFile

Record = dict[str, Any]
KINDS = [
    {"kind": "NONE", "operations": []},
    {"kind": "HIP_RUNTIME_API", "operations": ["hipFree", "hipLaunchKernel"]},
    {"kind": "MEMORY_COPY", "operations": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_DEVICE"]},
    {"kind": "MARKER_CORE_API", "operations": ["roctxMarkA", "roctxRangePushA"]},
    {"kind": "MEMORY_ALLOCATION", "operations": ["MEMORY_ALLOCATION_ALLOCATE", "MEMORY_ALLOCATION_FREE"]},
]
AGENTS = [
    {"id": {"handle": 500}, "type": 1, "node_id": 0, "name": "EPYC"},
    {
        "id": {"handle": 501},
        "type": 2,
        "node_id": 2,
        "name": "gfx950",
        "product_name": "MI350X",
        "cu_count": 256,
        "vendor_name": "AMD",
        "max_engine_clk_fcompute": 2400,
        "simd_count": 4,
        "mem_banks": [{"size_in_bytes": 1000}, {"size_in_bytes": 24}],
    },
]
SYMBOL = {
    "kernel_id": 8,
    "kernel_name": "_Z4gemmPf.kd",
    "formatted_kernel_name": "gemm(float*)",
    "arch_vgpr_count": 92,
    "accum_vgpr_count": 4,
    "sgpr_count": 112,
}
DISPATCH = {
    "size": 72,
    "agent_id": {"handle": 501},
    "queue_id": {"handle": 16},
    "kernel_id": 8,
    "dispatch_id": 1,
    "private_segment_size": 0,
    "group_segment_size": 640,
    "workgroup_size": {"x": 64, "y": 2, "z": 1},
    "grid_size": {"x": 1000, "y": 4, "z": 1},
}


def record(kind: int, operation: int, start: int, end: int, correlation: int = 33, **more: Any) -> Record:
    ids = {"internal": correlation, "external": 0}
    head = {"size": 1, "kind": kind, "operation": operation, "thread_id": 71, "correlation_id": ids}
    return {**head, "start_timestamp": start, "end_timestamp": end, **more}


KERNEL = record(11, 2, 1000, 1400, dispatch_info=DISPATCH, stream_id={"handle": 5})


def tool(called: Record | None = None, strings: Record | None = None, **buffered: list[Record]) -> str:
    value = {
        "metadata": {"pid": 70, "node": {"hostname": "box"}, "command": ["train", "-u"], "env": {"KEY": "secret"}},
        "agents": AGENTS,
        "counters": [{"id": {"handle": 3}, "name": "SQ_WAVES"}],
        "strings": {"buffer_records": KINDS, **(strings or {})},
        "code_objects": [{}, {}],
        "kernel_symbols": [SYMBOL],
        "callback_records": called or {},
        "buffer_records": buffered,
    }
    return json.dumps({"rocprofiler-sdk-tool": [value]}, indent=1)


@pytest.fixture
def tell(tmp_path: Path) -> Callable[..., Told]:
    def tell(content: str) -> Told:
        path = tmp_path / "70_results.json"
        path.write_text(content)
        return read(rocprofv3_json, path, tmp_path)

    return tell


def test_a_kernel_is_read_with_its_symbol_and_linked_to_its_call(tell: Callable[..., Told]) -> None:
    told = tell(tool(kernel_dispatch=[KERNEL], hip_api=[record(1, 1, 900, 950)]))
    assert told["kernel"] == [
        {
            "process": 70,
            "device": 2,
            "stream": 16,
            "start_ns": 1000,
            "end_ns": 1400,
            "name": "gemm(float*)",
            "grid_x": 16,
            "grid_y": 2,
            "grid_z": 1,
            "block_x": 64,
            "block_y": 2,
            "block_z": 1,
            "registers": 92,
            "shared_bytes": 640,
            "correlation": 33,
            "launch": 0,
            "launch_ns": 900,
            "launch_thread": 71,
            "args": '{"kernel_id": 8, "dispatch_id": 1, "stream_id": 5, "accum_vgpr_count": 4, "sgpr_count": 112, '
            '"thread_id": 71}',
        }
    ]
    assert [(r["name"], r["kind"], r["thread"], r["correlation"]) for r in told["api"]] == [
        ("hipLaunchKernel", "runtime", 71, 33)
    ]
    assert told["device"] == [
        {
            "process": 70,
            "device": 2,
            "name": "MI350X",
            "vendor": "amd",
            "compute_units": 256,
            "memory_bytes": 1024,
            "clock_hz": 2_400_000_000,
            "architecture": "gfx950",
            "args": '{"simd_count": 4}',
        }
    ]
    assert told["process"] == [{"process": 70, "pid": 70, "name": "train", "host": "box"}]
    assert told.facts.host == "box"
    assert told.facts.labels == {"command": '["train", "-u"]', "code_objects": "2", "kernel_symbols": "1"}


def test_copies_have_their_size_and_the_gpu_of_their_two_agents(tell: Callable[..., Told]) -> None:
    cpu, gpu = {"handle": 500}, {"handle": 501}
    out = record(2, 1, 10, 20, bytes=4096, src_agent_id=cpu, dst_agent_id=gpu)
    back = record(2, 2, 30, 40, bytes=8, src_agent_id=gpu, dst_agent_id=cpu)
    inside = record(2, 3, 50, 60, bytes=8, src_agent_id=cpu, dst_agent_id=cpu)
    ways = [f"MEMORY_COPY_{way}" for way in ("NONE", "HOST_TO_DEVICE", "DEVICE_TO_HOST", "HOST_TO_HOST")]
    kinds = [{"operations": ways} if kind["kind"] == "MEMORY_COPY" else kind for kind in KINDS]
    told = tell(tool(strings={"buffer_records": kinds}, memory_copy=[out, back, inside]))
    shared = {"process": 70, "device": 2, "stream": 0, "correlation": 33}
    assert [{n: v for n, v in row.items() if n != "args"} for row in told["copy"]] == [
        {**shared, "start_ns": 10, "end_ns": 20, "kind": "HtoD", "bytes": 4096},
        {**shared, "start_ns": 30, "end_ns": 40, "kind": "DtoH", "bytes": 8},
    ]
    assert [row["args"] for row in told["copy"]] == [
        '{"source": "Agent 0", "target": "Agent 2", "thread_id": 71}',
        '{"source": "Agent 2", "target": "Agent 0", "thread_id": 71}',
    ]
    assert [(r["name"], r["kind"], r["start_ns"], r["end_ns"]) for r in told["range"]] == [
        ("HtoH", "host_copy", 50, 60)
    ]
    assert [row["device"] for row in told["device"]] == [2]
    assert told.counts()["host-copy"] == 1


def test_markers_have_the_text_of_the_program(tell: Callable[..., Told]) -> None:
    texts = {"marker_api": [{"key": 4, "value": "step"}]}
    told = tell(tool(strings=texts, marker_api=[record(3, 1, 10, 20, 4), record(3, 0, 12, 12, 5)]))
    assert [(r["name"], r["kind"], r["domain"], r.get("args")) for r in told["range"]] == [
        ("step", "annotation", "MARKER_CORE_API", '{"operation": "roctxRangePushA"}'),
        ("roctxMarkA", "mark", "MARKER_CORE_API", None),
    ]


def test_an_allocation_and_its_release_are_one_life(tell: Callable[..., Told]) -> None:
    place = {"agent_id": {"handle": 501}, "address": {"handle": 16}, "allocation_size": 64}
    freed = record(4, 1, 30, 32, agent_id={"handle": 0}, address={"handle": 16}, allocation_size=0)
    (life,) = tell(tool(memory_allocation=[record(4, 0, 10, 12, **place), freed]))["allocation"]
    life.pop("args")
    assert life == {
        "process": 70,
        "device": 2,
        "kind": "device",
        "address": 16,
        "bytes": 64,
        "birth_ns": 10,
        "death_ns": 32,
        "thread": 71,
    }


def test_kernels_run_for_their_counters_are_ranges(tell: Callable[..., Told]) -> None:
    data = record(0, 0, 100, 140, dispatch_info=DISPATCH)
    counted = {"dispatch_data": data, "records": [{"counter_id": {"handle": 3}, "value": 16384.5}]}
    told = tell(tool({"counter_collection": [counted]}))
    assert told["counter"] == [{"process": 70, "device": 2, "name": "SQ_WAVES", "time_ns": 100, "value": 16384.5}]
    assert [(r["name"], r["kind"], r["start_ns"], r["end_ns"]) for r in told["range"]] == [
        ("gemm(float*)", "counted_kernel", 100, 140)
    ]
    assert "kernel" not in told.tables


def test_records_that_nobody_knows_go_to_other_whole(tell: Callable[..., Told]) -> None:
    sample = record(30, 0, 55, 60, address=0)
    torn = {**KERNEL, "start_timestamp": "soon"}
    told = tell(tool(spm=[sample], kernel_dispatch=[torn, KERNEL]))
    assert [(r["kind"], r.get("time_ns"), json.loads(r["json"])) for r in told["other"]] == [
        ("spm", 55, sample),
        ("kernel", None, torn),
    ]
    assert len(told["kernel"]) == 1
    assert told.counts() == {"incomplete": 1, "no-launch": 1, "unread-record": 1}


@pytest.mark.parametrize(
    "odd",
    [
        "[" * 3000,
        '"\\ud800"',
        "1e999",
        "1e9999999",
        "-1e9999999",
        "-1",
        "123456789012345678901234",
        "null",
        "[]",
        "NaN",
        "true",
    ],
)
@pytest.mark.parametrize(
    "member", ["start_timestamp", "grid_size", "hostname", "dispatch_info", "formatted_kernel_name"]
)
def test_odd_values_do_no_harm(odd: str, member: str, tmp_path: Path) -> None:
    head, _, rest = tool(kernel_dispatch=[KERNEL]).partition(f'"{member}": ')
    _, end = json.JSONDecoder().raw_decode(rest)
    path = tmp_path / "results.json"
    path.write_text(f'{head}"{member}": {odd}{rest[end:]}')
    try:
        trace, _ = ingest(path, Archive(tmp_path / "archive"))
    except UnreadableFile as error:
        assert odd.startswith("[[") and "results.json" in error.message
    else:
        assert trace.has("kernel") or trace.has("other")


def test_of_a_file_cut_anywhere_the_records_before_its_end_are_read(tmp_path: Path) -> None:
    kernels = [{**KERNEL, "start_timestamp": at, "end_timestamp": at + 5} for at in (1000, 1010, 1020)]
    calls = [record(1, 1, at, at + 5) for at in (900, 910)]
    whole = file_of(members_of(tool(kernel_dispatch=kernels, hip_api=calls)))
    ends = {json.dumps(one): whole.index(json.dumps(one)) + len(json.dumps(one)) for one in (*kernels, *calls)}
    (begin, *_), *_, (last, *_) = ([end - len(text), end] for text, end in ends.items())
    path = tmp_path / "results.json"
    outcomes: set[int] = set()
    for cut in [*range(1, begin, 61), *range(begin, last, 7), *range(last, len(whole))]:
        path.write_text(whole[:cut])
        if not rocprofv3_json.recognises(open_file(path)):
            assert cut < 40
            continue
        there = [sum(ends[json.dumps(one)] <= cut for one in part) for part in (kernels, calls)]
        outcomes.add(sum(there))
        if not any(there):
            with pytest.raises(
                UnreadableFile, match=rf"results\.json: .* cut off at byte {cut}, before the first record"
            ):
                read(rocprofv3_json, path, tmp_path)
            continue
        told = read(rocprofv3_json, path, tmp_path)
        assert [len(told.tables.get(table, [])) for table in ("kernel", "api")] == there
        assert {row["name"] for row in told["kernel"]} == {"gemm(float*)"}
        assert told.notes["truncated"].example == f"JSON that ends at byte {cut}"
    assert outcomes == {0, 1, 2, 3, 4, 5}


@pytest.mark.parametrize("behind", [json.dumps(KERNEL), json.dumps(AGENTS)], ids=["a record", "a member"])
def test_a_missing_comma_loses_nothing(tell: Callable[..., Told], behind: str) -> None:
    whole = file_of(members_of(tool(kernel_dispatch=[KERNEL, {**KERNEL, "start_timestamp": 1300}])))
    assert f"{behind}, " in whole
    content = whole.replace(f"{behind}, ", f"{behind} ")
    told = tell(content)
    assert told.tables == tell(whole).tables
    assert told.notes["mended"].count == 1
    assert told.notes["mended"].example == f"no comma before byte {content.index(behind) + len(behind) + 1}"


def test_flipped_bytes_give_the_same_events_a_note_or_a_refusal(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(tool(kernel_dispatch=[KERNEL], hip_api=[record(1, 1, 900, 950)]))
    whole = read(rocprofv3_json, path, tmp_path)
    outcomes: set[str] = set()
    for content in list(damaged(path, 150))[1::2]:
        path.write_bytes(content)
        if not rocprofv3_json.recognises(open_file(path)):
            continue
        try:
            told = read(rocprofv3_json, path, tmp_path)
        except UnreadableFile as error:
            assert "results.json: JSON that is cut off or damaged at character" in error.message
            outcomes.add("refused")
            continue
        outcomes |= told.notes.keys()
        assert told.notes or {table: len(told[table]) for table in ("kernel", "api")} == {"kernel": 1, "api": 1}
    assert not whole.notes
    assert {"refused", "invalid-utf8", "no-correlation"} <= outcomes


def members_of(content: str) -> Record:
    return json.loads(content)["rocprofiler-sdk-tool"][0]


def file_of(*processes: Record) -> str:
    return json.dumps({"rocprofiler-sdk-tool": processes})


COUNTED = {"dispatch_data": record(0, 0, 100, 140, dispatch_info=DISPATCH), "records": [{"counter_id": 3, "value": 2}]}
FULL = tool(
    {"counter_collection": [COUNTED], "é": [1]},
    {"marker_api": [{"key": 4, "value": "schritt \u00e9 \U0001f600"}], "more": [[1.50], {}]},
    kernel_dispatch=[KERNEL, {**KERNEL, "start_timestamp": "soon"}],
    hip_api=[record(1, 1, 900, 950)],
    marker_api=[record(3, 1, 10, 20, 4)],
    memory_allocation=[record(4, 0, 10, 12, agent_id=501, address=16, allocation_size=64)],
    spm=[record(30, 0, 55, 60)],
)


def test_the_order_of_members_does_not_matter(tell: Callable[..., Told]) -> None:
    members = members_of(FULL)
    wanted = tell(file_of(members))
    assert {"kernel", "api", "range", "allocation", "counter", "other"} <= wanted.tables.keys()
    for turned in (dict(reversed(members.items())), dict(sorted(members.items()))):
        told = tell(file_of(turned))
        assert (told.tables, told.notes, told.facts) == (wanted.tables, wanted.notes, wanted.facts)


def test_of_a_member_that_is_given_twice_the_last_counts(tell: Callable[..., Told]) -> None:
    whole = tool(kernel_dispatch=[KERNEL], hip_api=[record(1, 1, 900, 950)])
    other = json.dumps({"kernel_dispatch": [KERNEL, KERNEL]})
    before = whole.replace('"metadata"', f'"buffer_records": {other}, "kernel_symbols": [], "metadata"', 1)
    told, wanted = tell(before), tell(whole)
    assert told.tables == wanted.tables
    assert {kind: note.count for kind, note in told.notes.items()} == {"repeated-member": 2}
    again = tell(whole.replace('"start_timestamp": ', '"start_timestamp": 5, "start_timestamp": ', 1))
    assert again["kernel"][0]["start_ns"] == wanted["kernel"][0]["start_ns"]
    assert "start_timestamp (2)" in again["kernel"][0]["args"]
    assert {kind: note.count for kind, note in again.notes.items()} == {"duplicate-key": 1}
    emptied = json.dumps(members_of(whole))[:-1] + ', "buffer_records": 7}'
    assert "kernel" not in tell(f'{{"rocprofiler-sdk-tool": [{emptied}]}}').tables


def test_each_process_has_its_own_records(tell: Callable[..., Told]) -> None:
    one = members_of(FULL)
    two = {**one, "metadata": {"pid": 71}, "kernel_symbols": [{**SYMBOL, "formatted_kernel_name": "other()"}]}
    told = tell(file_of(one, two))
    assert [(row["process"], row["name"]) for row in told["kernel"]] == [(70, "gemm(float*)"), (71, "other()")]
    assert [row["process"] for row in told["counter"]] == [70, 71]
    assert [row["process"] for row in told["allocation"]] == [70, 71]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 500])
def test_a_file_read_in_small_blocks_gives_the_same(
    tell: Callable[..., Told], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = json.dumps({"rocprofiler-sdk-tool": [members_of(FULL)]}, ensure_ascii=False)
    wanted = tell(content)
    monkeypatch.setattr(packing, "BLOCK", size)
    told = tell(content)
    assert (told.tables, told.notes, told.facts) == (wanted.tables, wanted.notes, wanted.facts)


@pytest.mark.parametrize(
    "fault",
    [
        lambda text: text.replace("[[1.5]", "[[1.x]").replace('"soon"', "soon"),
        lambda text: text.replace('"soon"', "soon")[:-1],
        lambda text: text + " }",
    ],
    ids=["the first of two", "in a record and behind", "behind the end"],
)
def test_damage_behind_records_leaves_nothing_in_the_archive(fault: Callable[[str], str], tmp_path: Path) -> None:
    members = members_of(FULL)
    content = fault(file_of({"buffer_records": members.pop("buffer_records"), **members}))
    with pytest.raises(json.JSONDecodeError) as first:
        json.loads(content)
    path = tmp_path / "70_results.json"
    path.write_text(content)
    place = f"at character {first.value.pos} of {len(content)}$"
    with pytest.raises(UnreadableFile, match=f"JSON that is cut off or damaged {place}"):
        ingest(path, Archive(tmp_path / "archive"))
    assert not Archive(tmp_path / "archive").manifests()


def peak(folder: Path, records: int) -> int:
    """Most memory that reading so many records takes, and as many members that nothing is made of.

    The records are of a kind that gives a note, and no rows: those would wait for others of their table.
    """
    lost = record(5, 0, 10, 10, count=1, filler="x" * 200)
    kinds = [*KINDS, {"kind": "KFD_EVENT_DROPPED_EVENTS", "operations": ["DROPPED"]}]
    unused = [{"comment": "y" * 200, "line": number} for number in range(records)]
    one = members_of(tool(strings={"buffer_records": kinds, "pc_sample_comments": unused}, kfd=[lost] * records))
    path = folder / f"{records}_results.json"
    path.write_text(file_of({**one, "host_functions": unused, "callback_records": {}, "summary": {"more": unused}}))
    tracemalloc.start()
    try:
        told = read(rocprofv3_json, path, folder / str(records))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert told.counts() == {"lost-events": records}
    assert told.facts.labels["host_functions"] == str(records)
    return most


def test_memory_does_not_grow_with_the_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "BLOCK", 1 << 14)
    peak(tmp_path, 100)  # what is made once
    few, many = peak(tmp_path, 1000), peak(tmp_path, 8000)
    assert many < few * 1.5, (few, many)
