"""Names in bytes that are no UTF-8: the event counts, and the name is as much of it as can be read."""

from pathlib import Path

import pytest

from tests.collect.kineto_traces import read_bytes, rows_of
from tests.real_world.traces import kernels, notes


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (b"\xf0gemm", "\ufffdgemm"),
        (b"gemm\x80\x81", "gemm\ufffd\ufffd"),
        (b"\xed\xa0\x80gemm", "\ufffd\ufffd\ufffdgemm"),
        ("核心 gemm".encode(), "核心 gemm"),
    ],
)
def test_a_kernel_whose_name_is_no_text_is_still_a_kernel(tmp_path: Path, written: bytes, name: str) -> None:
    """kineto#988, pytorch#136040, #113564, #121219, #52504, #64345: byte 0xf0 and garbage from Python 3.11 names."""
    event = (
        b'{"ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": 7, "ts": 100, "dur": 5, '
        b'"args": {"device": 0, "stream": 7}}'
    )
    trace = read_bytes(tmp_path, b'{"schemaVersion": 1, "traceEvents": [' + event % written + b"]}")
    assert kernels(trace) == [(name, 5000)]
    assert notes(trace).get("invalid-utf8", 0) == ("\ufffd" in name)


def test_a_frame_whose_name_is_no_text_costs_only_its_name(tmp_path: Path) -> None:
    """pytorch#121219: users clean the file with regular expressions before any tool reads it."""
    frame = b'{"ph": "X", "cat": "python_function", "name": "%s", "pid": 10, "tid": 11, "ts": 5, "dur": %d, "args": {}}'
    frames = b", ".join([frame % (b"\xff\xfe", 9), frame % (b"f", 2)])
    trace = read_bytes(tmp_path, b'{"schemaVersion": 1, "traceEvents": [' + frames + b"]}")
    assert [(row["name"], row["end_ns"] - row["start_ns"]) for row in rows_of(trace, "range")] == [
        ("\ufffd\ufffd", 9000),
        ("f", 2000),
    ]
    assert notes(trace) == {"invalid-utf8": 1}
