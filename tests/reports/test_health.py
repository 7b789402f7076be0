from pathlib import Path

from tests.building import build
from tracelode.collect.gives import GIVES
from tracelode.reports.health import health_of, remarks
from tracelode.store import TABLES


def test_what_is_unreliable_stands_first_and_every_share_has_its_denominator(tmp_path: Path) -> None:
    kernels = [
        {"start_ns": 10, "end_ns": 20, "name": "a", "correlation": 1},
        {"start_ns": 30, "end_ns": 25, "name": "a", "correlation": 2},
    ]
    calls = [{"start_ns": 5, "end_ns": 6, "correlation": 1}, {"start_ns": 7, "end_ns": 8, "correlation": 2}]
    trace, _ = build(tmp_path, kernel=kernels, api=calls)
    assert remarks(health_of(trace)) == (
        ("unreliable", "busy and idle time, because of negative-duration (1)"),
        ("unreliable", "time of kernels, because of negative-duration (1)"),
        ("in no sum", "1 kernel: negative duration"),
        (
            "none recorded",
            "copy (memory copies); to record it: activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]",
        ),
        (
            "none recorded",
            "op (which operator launched a kernel); to record it: activities=[ProfilerActivity.CPU, ...]",
        ),
        (
            "none recorded",
            "range (annotations, to check iterations against); to record it: record_function(...), or a schedule with "
            "profiler.step()",
        ),
        ("none recorded", "allocation (memory in use); to record it: profile_memory=True"),
        ("partly known", "trusted times of 1 of 2 kernels (50.0\u202f%)"),
        ("known", "name, launching call of all 2 kernels"),
        (
            "note",
            "negative-duration: 1 × events that end before they start: kept without a duration, in no sum; `args` has "
            "the recorded end (first: kernel a at 30 ns, -5 ns long)",
        ),
    )


def test_a_clean_trace_says_that_it_is(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, op=[{"start_ns": 0, "end_ns": 1, "name": "aten::add"}])
    said = remarks(health_of(trace))
    assert said[0] == ("unreliable", "nothing that is known of")
    assert said[-1] == ("note", "none: nothing was repaired, nothing was left out")


def test_hints_are_about_tables_there_are() -> None:
    assert all(tables.keys() <= TABLES.keys() for tables in GIVES.values())
