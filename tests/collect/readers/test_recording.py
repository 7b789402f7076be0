import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.collect.reading import Told, damaged, packed, read
from tests.collect.recordings import CLOCKS, FINAL, NONE, PROCESS, Spool, complete
from tracelode.collect.files import open_file
from tracelode.collect.ingest import read as ingest
from tracelode.collect.readers import recording
from tracelode.store import Archive, UnreadableFile

PLACE = {"device": 0, "context": 1, "stream": 7}
T0 = 5_000_000_000


def told(tmp_path: Path, events: Spool | None = None, python: Spool | None = None) -> Told:
    folder = tmp_path / "node7-4711-17"
    for name, file in (("events.spool", events), ("python.spool", python)):
        if file:
            file.write(folder / name)
    return read(recording, folder, tmp_path)


def kernels(file: Spool, *correlations: int) -> Spool:
    """A kernel of each correlation, 10 ns long, 100 ns apart, in that order."""
    file.rows("config", {"id": 0, "name": file.name("gemm"), "grid_x": 1, "grid_y": 1, "grid_z": 1})
    spans = ({"start": T0 + 100 * at, "end": T0 + 100 * at + 10} for at in range(len(correlations)))
    rows = ({**span, "correlation": id, "config": 0, **PLACE} for span, id in zip(spans, correlations, strict=True))
    return file.rows("kernel", *rows)


def test_a_kernel_has_the_name_and_the_size_that_its_configuration_says(tmp_path: Path) -> None:
    file = complete()
    size = {"grid_x": 4, "grid_y": 2, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1, "registers": 32}
    shared = {"static_shared": 1024, "dynamic_shared": 512, "launch_type": 1}
    file.rows("config", {"id": 5, "name": file.name("void gemm<float>(float*)"), **size, **shared})
    file.rows("kernel", {"start": T0 + 100, "end": T0 + 150, "correlation": 9, "config": 5, **PLACE})
    assert told(tmp_path, file)["kernel"] == [
        {
            "process": 4711,
            **PLACE,
            "start_ns": T0 + 100,
            "end_ns": T0 + 150,
            "name": "void gemm<float>(float*)",
            **size,
            "shared_bytes": 1536,
            "correlation": 9,
            "launch": 0,
            "args": '{"launchType": "cooperative_single_device"}',
        }
    ]


def test_without_recorded_calls_the_numbers_of_the_calls_are_the_order_of_the_launches(tmp_path: Path) -> None:
    found = told(tmp_path, kernels(complete(), 30, 10, 20, 10))
    assert [row["launch"] for row in found["kernel"]] == [2, 0, 1, 0]  # two kernels of one graph share their launch
    assert not any("launch_ns" in row for row in found["kernel"])
    assert "no-launch" not in found.notes


def test_with_recorded_calls_these_say_the_launch_and_its_time(tmp_path: Path) -> None:
    file = kernels(complete(), 12)
    call = {"start": T0 - 50, "end": T0 - 40, "correlation": 12, "thread": 99}
    file.rows("call", {**call, "function": 211, "interface": 0}, {**call, "function": 307, "interface": 1})
    file.rows("call_name", {"interface": 0, "function": 211, "name": file.name("cudaLaunchKernel_v7000")})
    found = told(tmp_path, file)
    assert [(row["kind"], row["name"], row["thread"]) for row in found["api"]] == [
        ("runtime", "cudaLaunchKernel", 99),
        ("driver", "cuLaunchKernel", 99),
    ]
    assert [(row["launch"], row["launch_ns"], row["launch_thread"]) for row in found["kernel"]] == [(0, T0 - 50, 99)]


def test_copies_fills_and_waits_keep_what_cupti_says_of_them(tmp_path: Path) -> None:
    span = {"start": T0, "end": T0 + 8, "context": 1, "stream": 7}
    alone = {"source_device": NONE, "target_device": NONE}
    file = complete()
    file.rows("copy", {**span, "correlation": 1, "bytes": 4096, "kind": 1, "source": 1, "target": 3, **alone})
    peers = {"source_device": 0, "target_device": 1}
    file.rows(
        "copy", {**span, "stream": 8, "correlation": 2, "bytes": 64, "kind": 10, "source": 3, "target": 3, **peers}
    )
    file.rows("fill", {**span, "stream": 9, "correlation": 3, "bytes": 256, "value": 7, "memory": 3})
    file.rows("sync", {**span, "stream": NONE, "correlation": 4, "kind": 4, "event": NONE})
    found = told(tmp_path, file)
    names = ("kind", "bytes", "source_memory", "target_memory", "peer_device")
    assert [tuple(row.get(name) for name in names) for row in found["copy"]] == [
        ("HtoD", 4096, "pageable", "device", None),
        ("PtoP", 64, "device", "device", 1),
    ]
    assert [(row["bytes"], row["value"], row["memory"]) for row in found["fill"]] == [(256, 7, "device")]
    assert [(row["kind"], row.get("stream"), row.get("event")) for row in found["sync"]] == [("context", None, None)]


def test_kernels_of_graphs_keep_graph_and_node_and_whole_graphs_are_ranges(tmp_path: Path) -> None:
    file = complete()
    file.rows("config", {"id": 0, "name": file.name("gemm")})
    span = {"start": T0, "end": T0 + 5, "correlation": 4, **PLACE}
    file.rows("graph_kernel", {**span, "config": 0, "graph": 2, "graph_node": 8589934593})
    file.rows("graph_launch", {**span, "start": T0 + 10, "end": T0 + 90, "graph": 3})
    found = told(tmp_path, file)
    assert [(row["graph"], row["graph_node"]) for row in found["kernel"]] == [(2, 8589934593)]
    assert [(row["name"], row["kind"], row["end_ns"] - row["start_ns"]) for row in found["range"]] == [
        ("graph 3", "graph", 80)
    ]
    assert found.notes["whole-graphs"].count == 1


def test_an_allocation_lives_until_the_release_of_its_address(tmp_path: Path) -> None:
    block = {"address": 0x7000, "bytes": 512, "kind": 3, "name": NONE, "stream": NONE}
    file = complete().rows(
        "memory",
        {**block, "time": T0 + 1, "operation": 1},
        {**block, "time": T0 + 5, "operation": 2},
        {**block, "time": T0 + 9, "operation": 1, "kind": 5},
        {**block, "time": T0 + 3, "operation": 2, "address": 0x9000, "kind": 2},
    )
    file.rows("pool", {"time": T0 + 2, "address": 77, "size": 4096, "utilized": 100, "operation": 1})
    found = told(tmp_path, file)
    names = ("kind", "address", "device", "birth_ns", "death_ns")
    assert {tuple(row.get(name) for name in names) for row in found["allocation"]} == {
        ("device", 0x7000, 0, T0 + 1, T0 + 5),
        ("managed", 0x7000, 0, T0 + 9, None),
        ("pinned", 0x9000, None, None, T0 + 3),
        ("pool", 77, 0, T0 + 2, None),
    }
    assert [(row["name"], row["value"], row["unit"]) for row in found["counter"]] == [
        ("pool in use", 100.0, "bytes"),
        ("pool size", 4096.0, "bytes"),
    ]


def test_markers_pair_by_id_in_time_and_names_and_domains_are_texts(tmp_path: Path) -> None:
    file = complete()
    step, domain = file.name("step"), file.name("train")
    mark = {"object_kind": 2, "process": 4711, "thread": 99, "name": step, "domain": domain}
    file.rows("marker", {**mark, "time": T0 + 10, "id": 1, "flags": 2}, {**mark, "time": T0 + 15, "id": 2, "flags": 1})
    file.rows("marker", {**mark, "time": T0 + 30, "id": 1, "flags": 4, "name": NONE})
    file.rows("overhead", {"start": T0, "end": T0 + 4, "kind": 1 << 16, "object_kind": 2, "process": 4711, "thread": 5})
    names = ("name", "kind", "domain", "thread", "start_ns", "end_ns")
    assert [tuple(row.get(name) for name in names) for row in told(tmp_path, file)["range"]] == [
        ("CUPTI buffer flush", "overhead", None, 5, T0, T0 + 4),
        ("step", "nvtx", "train", 99, T0 + 10, T0 + 30),
        ("step", "mark", "train", 99, T0 + 15, T0 + 15),
    ]


def test_managed_memory_becomes_migrations_and_faults(tmp_path: Path) -> None:
    span = {"start": T0, "end": T0 + 6, "address": 0x10000, "process": 4711}
    file = complete().rows(
        "uvm",
        {**span, "counter": 1, "value": 65536, "source": NONE, "target": 0, "flags": 3},
        {**span, "counter": 4, "value": 12, "source": 0, "flags": 2},
    )
    found = told(tmp_path, file)
    assert [(row["kind"], row["bytes"], row["cause"], row["device"]) for row in found["migration"]] == [
        ("UVM_HtoD", 65536, "prefetch", 0)
    ]
    assert [(row["processor"], row["pages"], row["kind"], row["device"]) for row in found["fault"]] == [
        ("gpu", 12, "write", 0)
    ]


def test_totals_are_the_last_that_were_written_with_their_histogram(tmp_path: Path) -> None:
    file = complete()
    gemm, relu = file.name("gemm"), file.name("relu")
    file.rows("total", {"name": gemm, "count": 1, "time": 10, "shortest": 10, "longest": 10})
    file.rows("histogram", {"name": gemm, "bucket": 3, "count": 1})
    file.rows(
        "total",
        {"name": relu, "count": 1, "time": 3, "shortest": 3, "longest": 3},
        {"name": gemm, "count": 3, "time": 31, "shortest": 5, "longest": 16},
    )
    file.rows(
        "histogram",
        {"name": gemm, "bucket": 2, "count": 1},
        {"name": gemm, "bucket": 3, "count": 1},
        {"name": gemm, "bucket": 4, "count": 1},
    )
    first, second = told(tmp_path, file)["total"]
    assert (first["name"], first["count"], first["time_ns"]) == ("gemm", 3, 31)
    assert json.loads(first["args"]) == {"shortest_ns": 5, "longest_ns": 16, "histogram": {"4": 1, "8": 1, "16": 1}}
    assert (second["name"], second["count"], json.loads(second["args"])["histogram"]) == ("relu", 1, {})


def test_rank_devices_clock_and_options_are_facts_of_the_trace(tmp_path: Path) -> None:
    file = kernels(complete(), 1)
    device = {"what": "device", "device": 0, "name": "NVIDIA H200", "compute_capability": "9.0", "multiprocessors": 132}
    file.text(device | {"memory_bytes": 150_000_000_000, "bandwidth_kB_s": 4_800_000_000, "clock_kHz": 1_980_000})
    found = told(tmp_path, file)
    assert found["process"] == [
        {"process": 4711, "pid": 4711, "rank": 3, "world_size": 8, "name": "/usr/bin/python3", "host": "node7"}
    ]
    assert found["device"] == [
        {
            "process": 4711,
            "device": 0,
            "name": "NVIDIA H200",
            "vendor": "nvidia",
            "compute_units": 132,
            "memory_bytes": 150_000_000_000,
            "memory_bandwidth": 4_800_000_000_000,
            "clock_hz": 1_980_000_000,
            "architecture": "9.0",
        }
    ]
    facts = found.facts
    assert (facts.format, facts.producer, facts.host) == ("recording", "tracelode 0.1.0, CUPTI 130000", "node7")
    assert facts.base_unix_ns == CLOCKS["realtime"] - CLOCKS["monotonic_raw"]
    assert json.loads(facts.labels["command"]) == ["python3", "train.py"]


@pytest.mark.parametrize(
    ("state", "kinds"),
    [
        (FINAL, {}),
        (FINAL | {"final": False}, {"unfinished": 1}),
        (FINAL | {"dropped": 5}, {"recorder-loss": 5}),
        (FINAL | {"sampled_out": 90}, {"sampled": 90}),
        (FINAL | {"filtered": 3, "outside_range": 4}, {"selected": 7}),
        (FINAL | {"stopped": "size", "beyond_limit": 70}, {"recorder-stopped": 1}),
        (FINAL | {"reduced": 9}, {"reduced": 9}),
        (
            FINAL | {"open": 1, "errors": 5, "error": "boom", "skipped_threads": 2},
            {"open-range": 1, "recorder-error": 5, "skipped-thread": 2},
        ),
        (
            FINAL | {"stopped": "disk", "error": "No space left", "unwritten": 2},
            {"recorder-stopped": 1, "recorder-loss": 2},
        ),
        (FINAL | {"invalid": {"zero": 2, "inverted": 1, "future": 0}}, {"no-time": 3}),
        (FINAL | {"names_beyond": 4}, {"unknown-name": 4}),
        (FINAL | {"unknown": {"99": 2, "61": 1}}, {"unknown-activity": 3}),
    ],
)
def test_what_was_lost_or_left_out_is_noted(tmp_path: Path, state: dict[str, Any], kinds: dict[str, int]) -> None:
    file = kernels(Spool().text(PROCESS).text(CLOCKS), 1).text(state)
    found = told(tmp_path, file)
    assert found.counts() == kinds
    if "unknown-activity" in kinds:
        assert [(row["kind"], row["json"]) for row in found["other"]] == [
            ("CUPTI activity 61", '{"count": 1}'),
            ("CUPTI activity 99", '{"count": 2}'),
        ]


def test_a_clock_that_is_set_while_recording_is_noted(tmp_path: Path) -> None:
    later = CLOCKS | {"realtime": CLOCKS["realtime"] + 3_000_000_000, "monotonic_raw": T0 + 1_000_000_000}
    assert told(tmp_path, kernels(complete().text(later), 1)).counts() == {"clock-set": 1}


def test_where_cupti_refuses_the_raw_clock_both_files_are_told_on_the_wall_clock(tmp_path: Path) -> None:
    wall = CLOCKS["realtime"] - CLOCKS["monotonic_raw"]
    events = Spool().text(PROCESS | {"clock": "realtime"}).text(CLOCKS).text(FINAL)
    events.rows("config", {"id": 0, "name": events.name("gemm")})
    events.rows("kernel", {"start": wall + T0, "end": wall + T0 + 5, "correlation": 1, **PLACE})
    python = Spool().text(PROCESS).text(CLOCKS).text(FINAL)
    python.rows("range", {"start": T0 - 5, "end": T0 + 9, "thread": 9, "name": python.name("step")})
    found = told(tmp_path, events, python)
    assert (found["kernel"][0]["start_ns"], found["range"][0]["start_ns"]) == (wall + T0, wall + T0 - 5)
    assert (found.facts.clock, found.facts.base_unix_ns) == ("Unix time", 0)


def test_a_kernel_without_times_stays_marked_and_in_no_sum(tmp_path: Path) -> None:
    file = kernels(complete(), 1)
    file.rows("kernel", {"start": 0, "end": 0, "correlation": 2, "config": 0, **PLACE})
    file.rows("kernel", {"start": T0 + 900, "end": T0 + 800, "correlation": 3, "config": 0, **PLACE})
    found = told(tmp_path, file)
    assert sorted(row.get("flaw", "") for row in found["kernel"]) == ["", "negative duration", "no start"]


def test_a_program_that_was_killed_leaves_what_was_written(tmp_path: Path) -> None:
    file = kernels(Spool().text(PROCESS).text(CLOCKS), 1, 2)
    file.rows("kernel", {"start": T0 + 900, "end": T0 + 950, "correlation": 3, "config": 0, **PLACE})
    del file.data[-20:]
    found = told(tmp_path, file)
    assert len(found["kernel"]) == 2
    assert found.counts() == {"truncated": 1, "unfinished": 1}


def test_a_chunk_that_is_missing_is_counted(tmp_path: Path) -> None:
    file = kernels(complete(), 1)
    file._chunks += 2  # pyright: ignore[reportPrivateUsage] - as if two had been lost on the way
    file.rows("kernel", {"start": T0 + 900, "end": T0 + 950, "correlation": 3, "config": 0, **PLACE})
    assert told(tmp_path, file).notes["lost-chunk"].count == 2


def test_names_that_are_no_text_and_configurations_that_are_lost_cost_only_themselves(tmp_path: Path) -> None:
    file = complete()
    file.rows("config", {"id": 0, "name": file.name(b"gem\xffm")})
    file.rows("kernel", {"start": T0, "end": T0 + 1, "correlation": 1, "config": 0, **PLACE})
    file.rows("kernel", {"start": T0 + 5, "end": T0 + 6, "correlation": 2, "config": 8, **PLACE})
    found = told(tmp_path, file)
    assert [row.get("name") for row in found["kernel"]] == ["gem\N{REPLACEMENT CHARACTER}m", None]
    assert found.notes["invalid-utf8"].count == 1


def test_ids_of_the_framework_are_those_pushed_at_the_call(tmp_path: Path) -> None:
    file = kernels(complete(), 5, 6).rows("external", {"correlation": 5, "kind": 1, "external": 321})
    assert [row.get("external") for row in told(tmp_path, file)["kernel"]] == [321, None]


def test_the_agent_gives_ranges_modules_steps_and_operators(tmp_path: Path) -> None:
    file = Spool().text(PROCESS | {"collector": "python"}).text(CLOCKS).text(FINAL)
    names = [file.name(text) for text in ("load", "encoder.layer.0", "forward", "step", "aten::mm", "[[4,8]]")]
    rows = [{"start": T0 + at, "end": T0 + at + 50, "thread": 9, "name": names[at], "kind": at} for at in range(4)]
    file.rows("range", *rows)
    operator = {"start": T0, "end": T0 + 9, "thread": 9, "name": names[4], "types": NONE, "stack": NONE}
    file.rows(
        "op", {**operator, "sequence": 3, "phase": 1, "shapes": names[5]}, {**operator, "sequence": -1, "shapes": NONE}
    )
    found = told(tmp_path, None, file)
    assert [(row["name"], row["kind"]) for row in found["range"]] == [
        ("load", "annotation"),
        ("nn.Module: encoder.layer.0", "python"),
        ("forward", "phase"),
        ("step", "annotation"),
    ]
    told_of = ("name", "sequence", "phase", "shapes", "types")
    assert sorted((tuple(row.get(name) for name in told_of) for row in found["op"]), key=str) == [
        ("aten::mm", 3, "forward", "[[4,8]]", None),
        ("aten::mm", None, None, None, None),
    ]


def test_what_the_allocator_holds_are_counters_and_stacks_of_operators_stay(tmp_path: Path) -> None:
    file = Spool().text(PROCESS).text(CLOCKS).text(FINAL)
    file.text({"what": "allocator", "device": 0, "allocated": 512, "reserved": 2048, "time": T0 + 3})
    file.text({"what": "allocator", "device": "0", "allocated": 512, "reserved": -1, "time": T0 + 3})
    operator = {"start": T0, "end": T0 + 9, "thread": 9, "name": file.name("aten::mm"), "sequence": -1}
    file.rows("op", {**operator, "shapes": NONE, "types": NONE, "stack": file.name("a.py:1 main;a.py:7 step")})
    found = told(tmp_path, None, file)
    assert [(row["name"], row["value"], row["device"], row["time_ns"]) for row in found["counter"]] == [
        ("memory allocated", 512.0, 0, T0 + 3),
        ("memory reserved", 2048.0, 0, T0 + 3),
    ]
    assert found["op"][0]["args"] == '{"Call stack": "a.py:1 main;a.py:7 step"}'


def test_a_tensor_belongs_to_what_was_last_found_at_its_address(tmp_path: Path) -> None:
    file = Spool().text(PROCESS).text(CLOCKS).text(FINAL)
    weight, other = file.name("model.weight"), file.name("model.bias")
    block = {"address": 0x100, "bytes": 64, "device": 0, "thread": 9, "stack": NONE, "owner": NONE}
    file.rows(
        "tensor",
        {**block, "time": T0 + 1, "event": 0},
        {**block, "time": T0 + 2, "event": 2, "owner": weight},
        {**block, "time": T0 + 5, "event": 1, "bytes": -64},
        {**block, "time": T0 + 6, "event": 2, "owner": other},  # nothing lives there now
        {**block, "time": T0 + 7, "event": 0, "device": -1, "bytes": 32},
    )
    names = ("kind", "device", "bytes", "birth_ns", "death_ns", "owner")
    assert [tuple(row.get(name) for name in names) for row in told(tmp_path, None, file)["allocation"]] == [
        ("tensor", 0, 64, T0 + 1, T0 + 5, "model.weight"),
        ("tensor", None, 32, T0 + 7, None, None),
    ]


def test_kernels_and_operators_of_one_process_are_one_trace_and_linked_by_the_calls(tmp_path: Path) -> None:
    events = kernels(complete(), 12)
    events.rows("call", {"start": T0 - 50, "end": T0 - 40, "correlation": 12, "thread": 9, "function": 211})
    python = Spool().text(PROCESS).text(CLOCKS).text(FINAL)
    operator = {"start": T0 - 60, "end": T0 - 30, "thread": 9, "name": python.name("aten::mm"), "sequence": -1}
    python.rows("op", {**operator, "shapes": NONE, "types": NONE, "stack": NONE})
    found = told(tmp_path, events, python)
    assert {row["process"] for table in ("api", "kernel", "op") for row in found[table]} == {4711}
    assert found["op"][0]["id"] == found["kernel"][0]["op"] == 0


def test_one_file_that_cannot_be_read_costs_only_what_it_holds(tmp_path: Path) -> None:
    folder = tmp_path / "node7-4711-17"
    kernels(complete(), 1).write(folder / "events.spool")
    (folder / "python.spool").write_bytes(b"TLC1" + b"\0" * 8)
    found = read(recording, folder, tmp_path)
    assert len(found["kernel"]) == 1
    assert "unreadable-companion" in found.notes


def test_a_file_alone_also_compressed_gives_the_same_rows(tmp_path: Path) -> None:
    path = kernels(complete(), 1, 2).write(tmp_path / "events.spool")
    plain = read(recording, path, tmp_path)
    assert read(recording, packed(path), tmp_path)["kernel"] == plain["kernel"]
    assert len(plain["kernel"]) == 2


def test_the_folder_of_a_recording_holds_a_trace_for_each_process(tmp_path: Path) -> None:
    kernels(complete(), 1).write(tmp_path / "run" / "node7-4711-17" / "events.spool")
    archive = Archive(tmp_path / "archive")
    trace, new = ingest(tmp_path / "run" / "node7-4711-17", archive)
    assert new and trace.facts.format == "recording"
    assert ingest(tmp_path / "run" / "node7-4711-17", archive) == (trace, False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:20], "cut off in a chunk"),
        (lambda data: data[:32], "cut off in a chunk"),
        (lambda data: data.replace(b'{"spool": 1', b'{"spool": 2'), "of a newer version, 2"),
        (lambda data: data.replace(b'"<u4"', b'"u16"').replace(b'"u8"', b'"U8"'), "describes a table wrongly"),
        (lambda data: data.replace(b'{"spool"', b'{"stool"'), "does not describe its tables"),
    ],
)
def test_a_file_that_does_not_describe_itself_is_refused_with_the_reason(
    tmp_path: Path, change: Any, message: str
) -> None:
    path = tmp_path / "events.spool"
    path.write_bytes(change(bytes(complete().data)))
    with pytest.raises(UnreadableFile, match=message):
        ingest(path, Archive(tmp_path / "archive"))


@pytest.mark.parametrize(
    ("environment", "rank", "size"),
    [
        ({"RANK": "1", "WORLD_SIZE": "4", "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, 1, 4),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, 1, 2),
        ({"PMIX_RANK": "3", "SLURM_PROCID": "3", "SLURM_NTASKS": "8"}, 3, None),
        ({"SLURM_PROCID": "5", "SLURM_NTASKS": "8"}, 5, 8),
        ({"RANK": "x", "PMI_RANK": "2", "PMI_SIZE": "3"}, 2, 3),
        ({}, None, None),
    ],
)
def test_the_rank_is_that_of_the_innermost_launcher(
    tmp_path: Path, environment: dict[str, str], rank: int | None, size: int | None
) -> None:
    file = kernels(Spool().text(PROCESS | {"environment": environment}).text(CLOCKS).text(FINAL), 1)
    (process,) = told(tmp_path, file)["process"]
    assert (process.get("rank"), process.get("world_size")) == (rank, size)


def test_a_recording_that_waited_for_the_programs_word_says_so(tmp_path: Path) -> None:
    file = kernels(Spool().text(PROCESS | {"options": {"paused": True}}).text(CLOCKS).text(FINAL), 1)
    assert told(tmp_path, file).counts() == {"paused": 1}


def test_numbers_and_texts_that_cannot_be_are_left_out_or_replaced(tmp_path: Path) -> None:
    file = kernels(Spool().text(PROCESS | {"executable": "caf\ud800"}).text(CLOCKS).text(FINAL), 1)
    file.rows("total", {"name": 0, "device": NONE, "count": 1, "time": 5, "shortest": 5, "longest": 5})
    file.rows("histogram", {"name": 0, "device": NONE, "bucket": 200, "count": 1})
    block = {"address": 1, "bytes": 4, "owner": NONE, "stack": NONE, "thread": NONE, "time": T0}
    file.rows("tensor", {**block, "device": 2**31 - 1})
    found = told(tmp_path, file)
    assert found["process"][0]["name"] == "caf?"
    assert "device" not in found["total"][0]
    assert json.loads(found["total"][0]["args"])["histogram"] == {}


def test_a_second_description_of_the_tables_is_damage(tmp_path: Path) -> None:
    file = kernels(complete(), 1)
    file.chunk(0, 1, 1, b'{"spool": 1, "tables": {"kernel": {"kind": 4, "columns": [["start", "u8"]]}}}')
    assert told(tmp_path, file).counts() == {"truncated": 1}


def test_damaged_files_give_an_error_or_some_rows_and_never_a_crash(tmp_path: Path) -> None:
    file = kernels(complete(), *range(1, 40))
    file.rows("memory", {"time": T0, "address": 1, "operation": 1, "name": NONE})
    file.rows("external", {"correlation": 5, "external": 321}).rows("total", {"count": 2, "time": 7})
    whole = file.write(tmp_path / "events.spool")
    read_anyway = 0
    for number, content in enumerate(damaged(whole, 150)):
        path = tmp_path / f"{number}.spool"
        path.write_bytes(content)
        if not recording.recognises(open_file(path)):
            continue
        try:
            ingest(path, Archive(tmp_path / f"archive-{number % 8}"))
            read_anyway += 1
        except UnreadableFile:
            pass
    assert read_anyway > 50


def test_many_kernels_are_read_chunk_by_chunk_with_every_duration(tmp_path: Path) -> None:
    file = complete()
    file.rows("config", {"id": 0, "name": file.name("gemm")})
    count = 20_000
    start = T0 + np.arange(count) * 100
    for piece in np.array_split(np.arange(count), 5):
        rows = [
            {"start": int(start[at]), "end": int(start[at]) + 7, "correlation": int(at) + 1, **PLACE} for at in piece
        ]
        file.rows("kernel", *rows)
    found = told(tmp_path, file)
    assert len(found["kernel"]) == count
    assert sum(row["end_ns"] - row["start_ns"] for row in found["kernel"]) == 7 * count
