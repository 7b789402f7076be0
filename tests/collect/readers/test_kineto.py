import gzip
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.collect.kineto_traces import HOST, duration, notes_of, read_bytes, read_events, rows_of
from tracelode.collect.files import open_file
from tracelode.collect.readers import kineto
from tracelode.store import Trace, UnreadableFile


def test_a_trace_of_metadata_alone_is_a_trace_without_events(tmp_path: Path) -> None:
    """Item 10: metadata-only traces crash other tools."""
    trace = read_events(tmp_path, {"name": "process_name", "ph": "M", "pid": 1, "tid": 0, "args": {"name": "python"}})
    assert [row["name"] for row in rows_of(trace, "track")] == ["python"]
    assert notes_of(trace) == {"no-events": 1}


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b'{"schemaVersion": 1, "traceEvents": [', True),
        (b'\xef\xbb\xbf\n{"metadata": {"a": [1]}, "traceEvents" : [', True),
        (b'[{"ph": "X", "ts": 1, "pid": 1, "name": "a"}', True),
        (b'[{"args": {"name": "x"}, "ph": "M", "pid": 1, "name": "process_name"}', True),
        (b'[{"ph": "X", "name": "cut of', False),
        (b'[{"pid": 1, "ph": "X", "name": "say "hi"", "ts": 1}]', True),
        (b'{ "traceEvents":[{}\n,{"args":{"name":"CPU"},"ph":"M"}', False),
        (b"[ {}\n,{\"name\": \"process_name\", \"ph\": \"M\"}", False),
        (b'{"rocprofiler-sdk-tool": [{"metadata": {}}]}', False),
        (b'{"schema": "1.0.1", "nodes": [{"name": "x", "id": 2}]}', False),
        (b'{"workload_graph": [{"Id": 216}]}', False),
        (b'{"traceEvents": "none"}', False),
        (b'[]', False),
        (b'[1, 2]', False),
        (b'[{"name": "x", "id": 2}]', False),
        (b"[[[[", False),
        (b'[' + b'{"a":' * 3000, False),
        (b'{"Timestamp": 1}\n{"Timestamp": 2}', False),
        (b"name,start,end\n", False),
    ],
)  # fmt: skip
def test_only_chrome_traces_are_recognised(tmp_path: Path, content: bytes, wanted: bool) -> None:
    (tmp_path / "file").write_bytes(content)
    assert kineto.recognises(open_file(tmp_path / "file")) is wanted


def test_rows_are_the_same_however_the_file_comes_in_blocks(tmp_path: Path) -> None:
    """Events of every length around the borders of megabyte blocks, and more of them than one batch holds."""
    dice = random.Random(7)
    events = [duration("cpu_op", f"op {n % 97}", 10, n % 3, n, 1, pad="x" * dice.randrange(60)) for n in range(40_000)]
    trace = read_bytes(tmp_path, gzip.compress(json.dumps({"schemaVersion": 1, "traceEvents": events}).encode(), 1))
    rows = sorted(rows_of(trace, "op"), key=lambda row: row["start_ns"])
    assert [(r["start_ns"], r["name"], r["thread"], r["args"]["pad"]) for r in rows] == [
        (n * 1000, f"op {n % 97}", n % 3, events[n]["args"]["pad"]) for n in range(40_000)
    ]


def test_an_event_larger_than_any_buffer_is_read(tmp_path: Path) -> None:
    big = "y" * (20 << 20)
    trace = read_events(
        tmp_path, HOST, duration("cpu_op", "big", 10, 11, 1, 1, stack=big), duration("cpu_op", big, 10, 11, 3, 1)
    )
    assert [(len(row["name"]), len(row.get("args", {}).get("stack", ""))) for row in rows_of(trace, "op")] == [
        (3, 20 << 20),
        (20 << 20, 0),
    ]


def test_nothing_usable_is_an_error_that_says_where(tmp_path: Path) -> None:
    for content, words in (
        (b'{"schemaVersion": 1, "deviceProperties": [', "no list of events in 42 bytes"),
        (
            b'{"schemaVersion": 1, "traceEvents": [{"ph": "X", "na',
            "ends at byte 52, before the first event",
        ),
        (b'{"schemaVersion": 1, "traceEvents": ["ph": X}, x]}', "is damaged from byte 37 on, before the first event"),
    ):
        with pytest.raises(UnreadableFile, match=words):
            read_bytes(tmp_path, content)


def test_a_gzip_file_cut_short_gives_the_events_before_the_cut_and_one_note(tmp_path: Path) -> None:
    """Item 9: a rank was killed while it wrote."""
    events = [duration("cpu_op", f"op {n}", 10, 1, n, 1, noise=random.Random(n).random()) for n in range(3000)]
    packed = gzip.compress(json.dumps({"schemaVersion": 1, "traceEvents": events}).encode())
    trace = read_bytes(tmp_path, packed[: len(packed) // 2])
    names = [row["name"] for row in rows_of(trace, "op")]
    assert 1000 < len(names) < 2000
    assert names == [f"op {n}" for n in range(len(names))]
    assert notes_of(trace) == {"truncated": 1}


@pytest.mark.corpus
def test_every_event_of_public_traces_is_in_exactly_one_row(corpus: Path, tmp_path: Path) -> None:
    """Counted by plain `json`: what the events are by phase and name, against the rows of the tables."""
    names = (
        *("kineto-h100-sync/after_fix_trace.json", "hta-mi250-minitoy/mi250_minitoy_train_ROCm6_2_kineto.json.gz"),
        *(
            "hta-legacy-categories/inference_rank_1.json.gz",
            "tracelens-h100-vit/Falconsai_nsfw_image_detection__1016002.json.gz",
        ),
        *("hpct-merged-nccl/merged_nccl_only.json.gz", "hta-alexnet/benchmark_result_2869224_1695835535_trace.json.gz"),
        *("hta-mtia-inference/mtia_inference_rank_0.json.gz", "tracelens-sglang-decode/sglang_Qwen3-8B_decode.json.gz"),
    )
    for name in names:
        content = (corpus / "kineto" / name).read_bytes()
        content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
        assert _counted_rows(read_bytes(tmp_path, content)) == _counted_events(json.loads(content)["traceEvents"]), name


def _counted_events(events: list[dict[str, Any]]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for event in events:
        name = (
            "memory"
            if event["name"] == "[memory]"
            else {"M": "metadata", "s": "flow", "f": "flow"}.get(event["ph"], "span")
        )
        counted[name] += 1
    return counted


def _counted_rows(trace: Trace) -> Counter[str]:
    rows = {
        name: count
        for name, count in trace.rows.items()
        if name in ("kernel", "copy", "fill", "api", "op", "range", "sync", "other")
    }
    lives = rows_of(trace, "allocation")
    memory = sum(("birth_ns" in life) + ("death_ns" in life) for life in lives)
    memory += sum(row["name"] == "memory change" for row in rows_of(trace, "counter"))
    tracks = sum(row["kind"] != "lane" for row in rows_of(trace, "track"))
    found = Counter(
        {"span": sum(rows.values()), "flow": trace.rows.get("flow", 0), "metadata": tracks, "memory": memory}
    )
    return +found
