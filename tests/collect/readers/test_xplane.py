import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.collect.protobuf_messages import fixed64, message, told
from tracelode.collect.files import open_file
from tracelode.collect.protobuf import Damage
from tracelode.collect.readers import xplane
from tracelode.collect.xplane import Space, planes
from tracelode.store import UnreadableFile

STATS = [
    *("correlation_id", "kernel_details", "memcpy_details", "context_id", "cuda_graph_id", "shape", "device_vendor"),
    *("clock_rate", "core_count", "profile_start_time", "grid text", "memset_details", "memory_residency_details"),
    *("num_bytes", "share"),
]


def stat(name: str, value: int | str | float) -> bytes:
    key = STATS.index(name) + 1
    if isinstance(value, float):
        return message((1, key)) + fixed64(2, {0.5: 0x3FE0000000000000}[value])
    return message((1, key), (4 if isinstance(value, int) else 5, value))


def reference(name: str, target: str) -> bytes:
    return message((1, STATS.index(name) + 1), (7, STATS.index(target) + 1))


def event(name: int, offset_ps: int, duration_ps: int, *stats: bytes) -> bytes:
    return message((1, name), (2, offset_ps), (3, duration_ps), *[(4, s) for s in stats])


def line(number: int, name: str, origin_ns: int, *events: bytes) -> bytes:
    return message((1, number), (2, name), (3, origin_ns), *[(4, e) for e in events])


def plane(name: str, lines: list[bytes], names: list[str], *stats: bytes) -> bytes:
    events = [(4, message((1, i + 1), (2, message((1, i + 1), (2, n))))) for i, n in enumerate(names)]
    texts = [(5, message((1, i + 1), (2, message((1, i + 1), (2, n))))) for i, n in enumerate(STATS)]
    return message((2, name), *[(3, content) for content in lines], *events, *texts, *[(6, s) for s in stats])


def space(*planes: bytes, host: str = "box") -> bytes:
    return message(*[(1, p) for p in planes], (4, host))


DETAILS = "regs:38 static_shared:16 dynamic_shared:32 grid:160,2,1 block:1024,1,1 occ_pct:50"
WORK = [
    event(1, 2_500, 1_750, stat("correlation_id", 7), stat("kernel_details", DETAILS), stat("context_id", "$$5")),
    event(2, 9_000_000, 3_000, stat("correlation_id", 8), stat("memcpy_details", "size:112 dest:1 async:0")),
    event(3, 20_000_000, 1_000, stat("correlation_id", 9), stat("memset_details", "kind:device num_bytes:64 async:1")),
]
NAMES = [
    "gemm",
    "MemcpyH2D",
    "Memset",
    "cuLaunchKernel",
    "layer/dense:MatMul",
    "$model.py:5 step",
    "5",
    "hipMemcpyAsync",
]
CALLS = [
    event(5, 0, 900_000, stat("shape", "(float[16,64];int32[])")),
    event(4, 100_000, 50_000, stat("correlation_id", 7)),
    event(8, 300_000, 50_000, stat("correlation_id", 8)),
    event(6, 0, 800_000),
]
GPU = plane(
    "/device:GPU:1",
    [line(13, "Stream #13(Compute,Memcpy)", 1000, *WORK), line(99, "Steps", 1000, event(7, 2_500, 9_000_000))],
    NAMES,
    stat("device_vendor", "Nvidia"),
    stat("clock_rate", 1_530_000),
    stat("core_count", 80),
)
HOST = plane("/host:CPU", [line(42, "python3", 1000, *CALLS)], NAMES)
ENVIRONMENT = plane("Task Environment", [], [], stat("profile_start_time", 1_700_000_000_000_000_000))
TRACE = space(HOST, GPU, ENVIRONMENT)


def test_a_kernel_has_its_times_rounded_down_its_shape_and_the_call_that_launched_it() -> None:
    rows, _, _ = told(xplane, TRACE)
    kernel = rows["kernel"][0]
    args = json.loads(kernel.pop("args"))
    assert args == {"kernel_details": DETAILS}
    place = {"process": 0, "device": 1, "context": 5, "stream": 13, "start_ns": 1002, "end_ns": 1004, "name": "gemm"}
    shape = {"grid_x": 160, "grid_y": 2, "grid_z": 1, "block_x": 1024, "block_y": 1, "block_z": 1}
    launch = {"correlation": 7, "launch": 0, "launch_ns": 1100, "launch_thread": 42, "op": 0}
    assert kernel == place | shape | launch | {"registers": 38, "shared_bytes": 48}


def test_copies_and_fills_are_told_from_kernels_by_their_details() -> None:
    rows, _, _ = told(xplane, TRACE)
    copy, fill = rows["copy"][0], rows["fill"][0]
    assert (copy["kind"], copy["bytes"], copy["start_ns"], copy["end_ns"], copy["launch"]) == (
        "HtoD",
        112,
        10000,
        10003,
        1,
    )
    assert (fill["bytes"], fill["memory"], fill["start_ns"]) == (64, "device", 21000)


def test_host_events_are_calls_operators_and_spans() -> None:
    rows, _, _ = told(xplane, TRACE)
    assert [(c["name"], c["kind"], c["correlation"], c["op"]) for c in rows["api"]] == [
        ("cuLaunchKernel", "driver", 7, 0),
        ("hipMemcpyAsync", "runtime", 8, 0),
    ]
    op = rows["op"][0]
    assert (op["name"], op["shapes"], op["types"]) == ("layer/dense:MatMul", "[[16, 64], []]", '["float", "int32"]')
    assert [(s["name"], s["kind"]) for s in rows["range"] if "thread" in s] == [("$model.py:5 step", "python")]


def test_derived_lines_of_a_device_are_spans_not_kernels() -> None:
    rows, _, _ = told(xplane, TRACE)
    assert len(rows["kernel"]) == 1
    place = {"process": 0, "device": 1, "start_ns": 1002, "end_ns": 10002}
    span = place | {"name": "5", "kind": "device_annotation", "domain": "Steps"}
    assert [s for s in rows["range"] if "thread" not in s] == [span]


def test_the_plane_describes_the_device_and_the_file_its_host_and_time() -> None:
    rows, _, said = told(xplane, TRACE)
    device = rows["device"][0]
    assert (device["device"], device["vendor"], device["clock_hz"], device["compute_units"]) == (
        1,
        "nvidia",
        1_530_000_000,
        80,
    )
    assert (said.host, said.base_unix_ns) == ("box", 1_700_000_000_000_000_000)
    assert rows["process"] == [{"process": 0, "host": "box"}]
    assert {(t["track"], t["kind"]) for t in rows["track"]} == {(13, "stream"), (42, "thread")}


def test_a_launch_named_after_its_kernel_is_a_launch() -> None:
    launch = event(
        1,
        0,
        5_000,
        stat("correlation_id", 7),
        stat("kernel_details", "regs:687194767361 grid:944,139757090178736,1 block:0,0,0"),
    )
    rows, _, _ = told(xplane, space(plane("/host:CPU", [line(4, "worker", 0, launch)], NAMES), GPU))
    assert (rows["api"][0]["name"], json.loads(rows["api"][0]["args"])["kernel"]) == ("kernel launch", "gemm")


def test_values_may_be_references_to_names_or_fractions() -> None:
    odd = event(1, 0, 1_000, reference("kernel_details", "grid text"), stat("share", 0.5))
    rows, _, _ = told(xplane, space(plane("/device:GPU:0", [line(1, "Stream #1(Kernel)", 0, odd)], NAMES)))
    assert json.loads(rows["kernel"][0]["args"]) == {"kernel_details": "grid text", "share": 0.5}


def test_numbers_that_no_kernel_has_are_not_taken() -> None:
    odd = event(
        1,
        0,
        1_000,
        stat("kernel_details", "regs:2191500840 static_shared:32462 dynamic_shared:0 grid:9,1,1 block:8,1,1"),
    )
    rows, _, _ = told(xplane, space(plane("/device:GPU:0", [line(1, "Stream #1(Kernel)", 0, odd)], NAMES)))
    kernel = rows["kernel"][0]
    assert (kernel["grid_x"], kernel["block_x"]) == (9, 8)
    assert "registers" not in kernel
    assert "shared_bytes" not in kernel


def test_devices_that_are_no_gpu_give_spans_and_memory_lines_no_kernels() -> None:
    tpu = plane("/device:TPU:0", [line(3, "XLA Ops", 0, event(1, 1_999, 2_002))], NAMES)
    memory = event(7, 0, 10, stat("memory_residency_details", "num_bytes:4"))
    gpu = plane("/device:GPU:0", [line(1, "Stream #1(MemoryResidency)", 0, memory)], NAMES)
    rows, _, _ = told(xplane, space(tpu, gpu))
    assert "kernel" not in rows
    assert [(r["name"], r["start_ns"], r["end_ns"]) for r in rows["range"]] == [("5", 0, 0), ("gemm", 1, 4)]


def test_an_event_that_sums_many_or_has_no_name_is_in_no_sum() -> None:
    summed = message((1, 1), (5, 30), (3, 4_000))
    content = space(plane("/device:GPU:0", [line(1, "Stream #1", 0, summed, event(77, 0, 5_000))], NAMES))
    rows, notes, _ = told(xplane, content)
    assert "kernel" not in rows
    assert notes["unknown-event"].count == 2
    assert {json.loads(r["json"]).get("num_occurrences") for r in rows["other"]} == {30, None}


def test_times_beyond_the_clock_are_left_out_with_a_note() -> None:
    late = event(1, 2**63 - 1, 1_000)
    content = space(plane("/device:GPU:0", [line(1, "Stream #1", 2**63 - 1, late, event(1, 0, 0))], NAMES))
    rows, notes, _ = told(xplane, content)
    assert len(rows["kernel"]) == 1
    assert notes["out-of-range"].count == 1


def test_messages_of_the_recorder_are_notes() -> None:
    _, notes, _ = told(xplane, TRACE + message((3, "no CUPTI")))
    assert notes["recorder-message"].example == "no CUPTI"


@pytest.mark.parametrize(
    "content", [b"\n{", b'\n{"traceEvents": []}', message((1, message((3, 7), (8, 9)))), b"\n\x02hi", message((2, "x"))]
)
def test_other_contents_are_not_taken_for_a_plane(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other").write_bytes(content)
    assert not xplane.recognises(open_file(tmp_path / "other"))


def rows_of(content: bytes) -> dict[str, list[dict[str, Any]]] | None:
    try:
        rows, notes, _ = told(xplane, content, recognised=False)
    except UnreadableFile:
        return None
    assert content == TRACE or notes or rows
    return rows


def test_a_cut_file_gives_what_came_before_the_cut_and_a_note() -> None:
    whole, _, _ = told(xplane, TRACE)
    known = {(k["name"], k["start_ns"], k["end_ns"]) for k in whole["kernel"]}
    for cut in range(1, len(TRACE), 67):
        try:
            rows, notes, _ = told(xplane, TRACE[:cut], recognised=False)
        except UnreadableFile as error:
            assert "damaged" in error.message
            continue
        assert "damaged" in notes or cut >= len(TRACE) - len(message((4, "box")))
        assert {(k["name"], k["start_ns"], k["end_ns"]) for k in rows.get("kernel", [])} <= known


def test_flipped_bytes_never_break_the_reader() -> None:
    chance = random.Random(5)
    read = 0
    for _ in range(30):
        content = bytearray(TRACE)
        for _ in range(chance.randint(1, 4)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        read += rows_of(bytes(content)) is not None
    assert read > 10


def test_a_field_of_another_wire_type_is_damage_not_one_that_is_new() -> None:
    whole = line(7, "Stream #7", 1, *WORK)
    rows, notes, _ = told(xplane, space(plane("/device:GPU:0", [whole], NAMES)))
    assert (len(rows["kernel"]), len(rows["copy"]), len(rows["fill"]), "damaged" in notes) == (1, 1, 1, False)
    event_as_number = whole + message((4, 5))
    rows, notes, _ = told(xplane, space(plane("/device:GPU:0", [event_as_number], NAMES)))
    assert len(rows["kernel"]) == 1
    assert notes["damaged"].example == "a line with field 4 of wire type 0"
    time_as_text = line(7, "Stream #7", 1, *WORK, message((1, 1), (2, "soon")))
    rows, notes, _ = told(xplane, space(plane("/device:GPU:0", [time_as_text], NAMES)))
    assert (len(rows["kernel"]), notes["bad-event"].count) == (1, 1)


def test_a_file_that_goes_on_without_planes_is_not_read_to_its_end() -> None:
    damage = Damage()
    assert list(planes([message((4, 7)) * 30_000 + message((1, message((2, "late"))))], Space(), damage)) == []
    assert damage.count == 10_002


def test_names_sizes_and_directions_that_are_missing_are_counted() -> None:
    copy = event(2, 5_000, 1_000, stat("memcpy_details", "dest:1 async:0"))
    unnamed = event(77, 9_000, 1_000, stat("kernel_details", DETAILS))
    rows, notes, _ = told(xplane, space(plane("/device:GPU:0", [line(7, "Stream #7", 1, copy, unnamed)], NAMES)))
    assert (rows["copy"][0].get("bytes"), rows["kernel"][0].get("name")) == (None, None)
    assert (notes["no-size"].count, notes["unknown-name"].count) == (1, 1)
    assert "no-direction" not in notes
