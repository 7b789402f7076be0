import json
from pathlib import Path

from tests.collect.kineto_traces import HOST, read_bytes, read_events, rows_of


def test_facts_come_from_before_and_after_the_events(tmp_path: Path) -> None:
    """Items 10 and 47: metadata after `traceEvents`, and the base of the clock."""
    device = {
        "id": 0,
        "name": "NVIDIA H100",
        "totalGlobalMem": 80,
        "computeMajor": 9,
        "computeMinor": 0,
        "numSms": 132,
        "warpSize": 32,
    }
    head = json.dumps({"schemaVersion": 1, "deviceProperties": [device], "cupti_version": 22})
    tail = json.dumps(
        {
            "distributedInfo": {"rank": 3, "world_size": 8},
            "host_name": "node7",
            "trace_id": "AB",
            "baseTimeNanoseconds": 1775078550000000000,
        }
    )
    trace = read_bytes(tmp_path, f'{head[:-1]}, "traceEvents": [{json.dumps(HOST)}], {tail[1:]}'.encode())
    facts = trace.facts
    assert (facts.format, facts.producer, facts.framework, facts.host) == (
        "kineto",
        "Kineto, schema 1",
        "PyTorch",
        "node7",
    )
    assert (facts.clock, facts.base_unix_ns) == ("unix", 1775078550000000000)
    assert facts.labels["trace_id"] == "AB"
    assert facts.labels["cupti_version"] == "22"
    assert rows_of(trace, "process") == [{"process": 10, "pid": 10, "rank": 3, "world_size": 8, "host": "node7"}]
    assert rows_of(trace, "device") == [
        {
            "process": 10,
            "device": 0,
            "name": "NVIDIA H100",
            "vendor": "nvidia",
            "compute_units": 132,
            "memory_bytes": 80,
            "architecture": "9.0",
            "args": {"warpSize": 32},
        }
    ]
    assert rows_of(trace, "api")[0]["start_ns"] == 105_000


def test_a_trace_without_rank_or_with_an_odd_one_is_read(tmp_path: Path) -> None:
    """Item 64: no `distributedInfo`, one without a rank, and one that is no object."""
    for info in ({}, {"distributedInfo": {"backend": "nccl"}}, {"distributedInfo": "none"}):
        assert rows_of(read_events(tmp_path, HOST, **info), "process") == [{"process": 10, "pid": 10}]


def test_damage_in_what_stands_before_the_events_is_said(tmp_path: Path) -> None:
    head = b'{"schemaVersion": 1, "deviceProperties": [{"id": 0,, "name": "A"}], "traceEvents": ['
    trace = read_bytes(tmp_path, head + json.dumps(HOST).encode() + b"]}")
    (note,) = [note for note in trace.notes if note.kind == "metadata-damaged"]
    assert (note.count, note.example) == (1, '"deviceProperties": [{"id": 0,, "name": "A"}]')
