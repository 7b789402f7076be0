from dataclasses import replace
from pathlib import Path

import pytest

from tests.building import build
from tracelode.store import TABLES, Note, Trace
from tracelode.store.health import COVERED, CUT, LOSES, UNRELIABLE, Coverage, Flawed, Missing, health

KERNELS = [
    {"start_ns": 10, "end_ns": 20, "name": "a", "correlation": 1},
    {"start_ns": 30, "end_ns": 25, "name": "a", "correlation": 2},
    {"start_ns": 40, "end_ns": 40 + (31 * 86_400 * 10**9), "name": None},
]


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    return build(tmp_path, kernel=KERNELS, api=[{"start_ns": 5, "end_ns": 6, "correlation": 1}])[0]


def test_coverage_counts_against_all_rows_of_the_table(trace: Trace) -> None:
    assert health(trace).coverage == (
        Coverage("kernel", "trusted times", 1, 3),
        Coverage("kernel", "name", 2, 3),
        Coverage("kernel", "launching call", 1, 3),
    )


def test_what_no_table_could_say_is_not_counted_as_unknown(tmp_path: Path) -> None:
    alone, _ = build(tmp_path, kernel=[KERNELS[0]])
    assert [one.what for one in health(alone).coverage] == ["trusted times", "name"]


def test_flawed_rows_are_counted_with_the_time_they_claim(trace: Trace) -> None:
    assert health(trace).flawed == (
        Flawed("kernel", "negative duration", 1, None),
        Flawed("kernel", "timestamp overflow", 1, 31 * 86_400 * 10**9),
    )


def test_no_sum_uses_a_flawed_row(trace: Trace) -> None:
    assert trace.sql("select count(*), sum(duration_ns), avg(duration_ns), max(duration_ns) from kernel").row(0) == (
        3,
        10,
        10.0,
        10,
    )


def test_what_was_not_collected_is_named_with_how_to_record_it(trace: Trace) -> None:
    found = health(trace, {"api": "record calls", "allocation": "profile_memory=True", "sync": "record waits"})
    assert found.collected == ("kernel", "api")
    missing = {one.table: one for one in found.missing}
    assert set(missing) == {"copy", "op", "range", "allocation", "sync"}
    assert missing["op"] == Missing("op", "which operator launched a kernel", None)
    assert missing["allocation"] == Missing("allocation", "memory in use", "profile_memory=True")


def test_memory_events_without_addresses_are_said_and_not_asked_for_again(tmp_path: Path) -> None:
    change = {"process": 1, "device": 0, "name": "memory change", "time_ns": 5, "value": 512.0, "unit": "bytes"}
    older, _ = build(tmp_path, kernel=[KERNELS[0]], counter=[change])
    missing = {one.table: one for one in health(older, {"allocation": "profile_memory=True"}).missing}
    why = "its memory events have no addresses, as an older PyTorch writes them: only what they add up to is known"
    assert missing["allocation"] == Missing("allocation", "what holds memory, and how long", None, why)


def test_a_table_that_a_cut_file_lacks_has_a_doubt_and_no_hint(trace: Trace) -> None:
    cut = replace(trace, notes=(Note("truncated", 1, "the file ends early"),))
    missing = {one.table: one for one in health(cut, {"api": "record calls", "copy": "record copies"}).missing}
    lost = "may have been in the part of the recording that is missing or damaged"
    assert missing["copy"] == Missing("copy", "memory copies", None, lost)
    assert missing["op"] == Missing("op", "which operator launched a kernel", None)


def test_kernels_that_copy_or_fill_are_counted_by_their_names(trace: Trace, tmp_path: Path) -> None:
    names = ("__amd_rocclr_copyBuffer", "__amd_rocclr_fillBufferAligned", "Memset (Device)", "copy_kernel", None)
    (tmp_path / "other").mkdir()
    other, _ = build(tmp_path / "other", kernel=[{"start_ns": 0, "end_ns": 1, "name": name} for name in names])
    assert (health(trace).copying_kernels, health(other).copying_kernels) == (0, 3)


def test_quantities_are_unreliable_because_of_notes(trace: Trace) -> None:
    because = {one.quantity: [note.kind for note in one.because] for one in health(trace).unreliable}
    assert because == {
        "busy and idle time": ["negative-duration", "timestamp-overflow"],
        "time of kernels": ["negative-duration", "timestamp-overflow"],
        "launch latency and causes of idle time": ["no-launch"],
        "operators of kernels": ["no-launch"],
    }


def test_a_clean_trace_is_unreliable_in_nothing(tmp_path: Path) -> None:
    clean, _ = build(tmp_path, kernel=[KERNELS[0]], api=[{"start_ns": 5, "end_ns": 6, "correlation": 1}])
    found = health(clean)
    assert (found.unreliable, found.flawed, found.notes) == ((), (), ())


def test_the_words_are_about_tables_there_are() -> None:
    assert UNRELIABLE.keys() >= CUT
    assert LOSES.keys() | COVERED.keys() <= TABLES.keys()
    assert list(UNRELIABLE) == sorted(UNRELIABLE)
