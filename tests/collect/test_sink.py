import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.collect import linking
from tracelode.collect.sink import Sink
from tracelode.store import Note, stored
from tracelode.store.archive import Archive
from tracelode.store.staging import Staging


@pytest.fixture
def staging(tmp_path: Path) -> Iterator[Staging]:
    with Archive(tmp_path).stage() as staging:
        yield staging


def _read(staging: Staging, table: str) -> list[dict[str, object]]:
    return stored.read(staging.path / f"{table}.parquet").to_pylist()


KERNEL = {"process": 1, "device": 0, "stream": 7}
CALL = {"process": 1, "kind": "runtime", "name": "cudaLaunchKernel"}


def test_columns_left_out_are_null_and_single_values_are_for_all_rows(staging: Staging) -> None:
    sink = Sink(staging)
    sink.write("counter", {"process": 3, "name": "power", "time_ns": np.array([1, 2]), "value": [0.5, 1.5]})
    sink.finish()
    staging.finish()
    assert _read(staging, "counter") == [
        {"process": 3, "device": None, "name": "power", "time_ns": 1, "value": 0.5, "unit": None},
        {"process": 3, "device": None, "name": "power", "time_ns": 2, "value": 1.5, "unit": None},
    ]


def test_an_unknown_column_is_a_bug(staging: Staging) -> None:
    with pytest.raises(KeyError, match="colour"):
        Sink(staging).write("fill", {"colour": [1]})


def test_an_end_before_its_start_is_repaired_and_counted(staging: Staging) -> None:
    sink = Sink(staging)
    sink.write("kernel", {**KERNEL, "start_ns": [10, 20], "end_ns": [15, 5], "name": ["a", "b"]})
    notes = sink.finish()
    staging.finish()
    assert [(row["name"], row["start_ns"], row["end_ns"]) for row in _read(staging, "kernel")] == [
        ("a", 10, 15),
        ("b", 20, 20),
    ]
    assert [(n.kind, n.count, n.example) for n in notes if n.kind == "negative-duration"] == [
        ("negative-duration", 1, "kernel b at 20 ns, -15 ns long")
    ]


def test_notes_of_a_kind_are_counted_with_their_first_example(staging: Staging) -> None:
    sink = Sink(staging)
    sink.note("odd", "left as it is", example="first")
    sink.note("odd", "left as it is", count=4, example="second")
    (note,) = sink.finish()
    assert (note.kind, note.count, note.example) == ("odd", 5, "first")


def test_device_work_is_linked_to_the_call_and_the_operator_around_it(staging: Staging) -> None:
    sink = Sink(staging)
    sink.write(
        "kernel",
        {
            **KERNEL,
            "start_ns": [100, 50, 70],
            "end_ns": [110, 60, 80],
            "name": ["b", "a", "lost"],
            "correlation": [2, 1, 9],
        },
    )
    sink.write("api", {**CALL, "thread": 5, "start_ns": [30, 10], "end_ns": [35, 15], "correlation": [2, 1]})
    sink.write("op", {"process": 1, "thread": 5, "start_ns": [25, 20], "end_ns": [40, 45], "name": ["inner", "outer"]})
    notes = sink.finish()
    staging.finish()
    assert [
        (k["name"], k["launch"], k["launch_ns"], k["launch_thread"], k["op"]) for k in _read(staging, "kernel")
    ] == [
        ("a", 0, 10, 5, None),
        ("lost", None, None, None, None),
        ("b", 1, 30, 5, 1),
    ]
    assert [(o["name"], o["id"], o["parent"], o["depth"]) for o in _read(staging, "op")] == [
        ("outer", 0, None, 0),
        ("inner", 1, 0, 1),
    ]
    assert [(n.kind, n.count) for n in notes] == [("no-launch", 1)]


def test_correlations_are_kept_apart_by_process(staging: Staging) -> None:
    sink = Sink(staging)
    sink.write(
        "kernel",
        {
            **KERNEL,
            "process": [2, 1],
            "start_ns": [9, 9],
            "end_ns": [10, 10],
            "name": ["of 2", "of 1"],
            "correlation": [5, 5],
        },
    )
    sink.write(
        "api", {**CALL, "process": [1, 2], "thread": 1, "start_ns": [3, 4], "end_ns": [5, 5], "correlation": [5, 5]}
    )
    sink.finish()
    staging.finish()
    assert [(k["name"], k["launch"], k["launch_ns"]) for k in _read(staging, "kernel")] == [
        ("of 1", 0, 3),
        ("of 2", 0, 4),
    ]


def test_of_several_calls_with_one_correlation_the_outermost_counts(staging: Staging) -> None:
    sink = Sink(staging)
    sink.write("kernel", {**KERNEL, "start_ns": [50], "end_ns": [60], "name": ["k"], "correlation": [1]})
    sink.write("api", {**CALL, "thread": 1, "start_ns": [12, 10, 10], "end_ns": [13, 14, 20], "correlation": [1, 1, 1]})
    sink.finish()
    staging.finish()
    (kernel,) = _read(staging, "kernel")
    assert (kernel["launch"], kernel["launch_ns"]) == (0, 10)


def test_kernels_are_stored_by_device_stream_and_start(staging: Staging) -> None:
    sink = Sink(staging)
    columns = {
        "process": 1,
        "device": [1, 0, 0, 0],
        "stream": [7, 9, 7, 7],
        "start_ns": [1, 2, 9, 3],
        "end_ns": [2, 3, 10, 4],
    }
    sink.write("kernel", {**columns, "name": "k"})
    sink.finish()
    staging.finish()
    assert [(k["device"], k["stream"], k["start_ns"]) for k in _read(staging, "kernel")] == [
        (0, 7, 3),
        (0, 7, 9),
        (0, 9, 2),
        (1, 7, 1),
    ]


def test_repeated_texts_may_come_as_a_dictionary_in_some_pieces(staging: Staging) -> None:
    sink = Sink(staging)
    repeated = pa.array(["b", None, "b"]).dictionary_encode()
    sink.write(
        "kernel", {**KERNEL, "start_ns": [3, 4, 2], "end_ns": [3, 4, 2], "name": ["x", "y", "x"], "args": repeated}
    )
    sink.write("kernel", {**KERNEL, "start_ns": [1], "end_ns": [1], "name": pa.array(["z"]).dictionary_encode()})
    sink.write("track", {"process": [1, 1], "kind": "thread", "name": pa.array(["t", "t"]).dictionary_encode()})
    sink.finish()
    staging.finish()
    rows = [(row["start_ns"], row["name"], row["args"]) for row in _read(staging, "kernel")]
    assert rows == [(1, "z", None), (2, "x", "b"), (3, "x", "b"), (4, "y", None)]
    assert [row["name"] for row in _read(staging, "track")] == ["t", "t"]


def test_migrations_of_managed_pages_need_no_call(staging: Staging) -> None:
    sink = Sink(staging)
    columns = {
        "process": 1,
        "device": 0,
        "stream": 7,
        "start_ns": [1, 5],
        "end_ns": [2, 6],
        "kind": ["UVM_HtoD", "HtoD"],
    }
    sink.write("copy", columns)
    sink.write("api", {**CALL, "thread": 1, "start_ns": [0], "end_ns": [1], "correlation": [1]})
    assert [(note.kind, note.count) for note in sink.finish()] == [("no-launch", 1)]


def test_a_place_for_calls_without_a_call_links_nothing(staging: Staging) -> None:
    sink = Sink(staging)
    assert len(sink.spool("api")) == 0
    sink.write("kernel", {**KERNEL, "start_ns": [5], "end_ns": [9], "name": ["k"], "correlation": [1]})
    notes = sink.finish()
    staging.finish()
    assert [(row["name"], row["launch"]) for row in _read(staging, "kernel")] == [("k", None)]
    assert [note.kind for note in notes] == ["no-launch"]


def test_kernels_with_the_correlation_0_of_many_have_no_launch_and_keep_their_own_operator(staging: Staging) -> None:
    sink = Sink(staging)
    times = {"start_ns": [10, 20, 30], "end_ns": [11, 21, 31]}
    sink.write(
        "kernel", {**KERNEL, **times, "name": ["a", "b", "c"], "correlation": [0, 0, 7], "external": [77, 77, 77]}
    )
    sink.write("api", {**CALL, "thread": 5, "start_ns": [1, 5], "end_ns": [2, 6], "correlation": [0, 7]})
    op = {"process": 1, "thread": 5, "name": ["op"], "start_ns": [0], "end_ns": [9], "external": [77]}
    sink.write("op", op)
    notes = {note.kind: (note.count, note.example) for note in sink.finish()}
    staging.finish()
    assert [(k["name"], k["launch"], k["op"], k["external"]) for k in _read(staging, "kernel")] == [
        ("a", None, None, 77),
        ("b", None, None, 77),
        ("c", 0, 0, None),
    ]
    assert notes["zero-correlation"] == (2, "kernel a at 10 ns")
    assert notes["no-launch"] == (2, "2 of 3 rows of kernel")


WORK = st.lists(
    st.tuples(
        st.sampled_from(["kernel", "copy"]),
        st.integers(1, 2),
        st.integers(0, 1),
        st.sampled_from([7, 20]),
        st.integers(0, 40),
        st.integers(1, 9),  # never so long, beside others, as to be marked: that depends on the block
        st.integers(0, 6),
    ),
    min_size=1,
    max_size=40,
)


@settings(deadline=None, max_examples=60)
@given(WORK, st.integers(5, 9))
def test_blocks_change_neither_rows_nor_notes(work: list[tuple[Any, ...]], rows: int) -> None:
    def read(size: int) -> tuple[dict[str, Any], list[Note]]:
        with (
            tempfile.TemporaryDirectory() as folder,
            Archive(folder).stage() as staging,
            pytest.MonkeyPatch.context() as patch,
        ):
            patch.setattr(linking, "BLOCK_ROWS", size)
            sink = Sink(staging)
            for table, process, device, stream, start, length, correlation in work:
                place = {"process": process, "device": device, "stream": stream, "correlation": [correlation]}
                sink.write(table, {**place, "start_ns": [start], "end_ns": [start + length]})
            times = {"start_ns": range(6), "end_ns": range(1, 7), "correlation": range(6)}
            for process in (1, 2):
                sink.write("api", {**CALL, "process": process, "thread": 5, **times})
            notes = sink.finish()
            return {name: _read(staging, name) for name in staging.finish()}, list(notes)

    whole, notes = read(1000)
    parted, told = read(rows)
    assert parted == whole
    assert [(note.kind, note.count, note.example) for note in told] == [(n.kind, n.count, n.example) for n in notes]
