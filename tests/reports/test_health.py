from dataclasses import replace
from pathlib import Path

import pytest

from tests.building import build
from tracelode.collect.gives import GIVES
from tracelode.reports.health import health_of, remarks
from tracelode.store import TABLES, Facts, Note


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
            "op (which operator launched a kernel); to record it: activities=[ProfilerActivity.CPU, ...]",
        ),
        (
            "none recorded",
            "range (annotations, to check iterations against); to record it: record_function(...), or a schedule with "
            "profiler.step()",
        ),
        ("none recorded", "allocation (memory in use); to record it: profile_memory=True"),
        ("none found", "copy (memory copies): none happened, or none was recorded"),
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


def test_what_a_cut_file_lacks_may_have_been_in_the_part_that_is_missing(tmp_path: Path) -> None:
    whole, _ = build(tmp_path, op=[{"start_ns": 0, "end_ns": 1, "name": "aten::add"}])
    cut = replace(whole, notes=(Note("truncated", 1, "the file ends early"),))
    assert [text for label, text in remarks(health_of(cut)) if label.startswith("none")] == [
        "kernel (what the device computes), copy (memory copies), api (launch latency, causes of idle time, host "
        "calls), range (annotations, to check iterations against), allocation (memory in use): may have been in the "
        "part of the recording that is missing or damaged"
    ]
    assert [one.doubt for one in health_of(whole).missing] == [None] * 5


def test_a_cut_file_of_a_format_that_has_no_operators_still_says_so(tmp_path: Path) -> None:
    whole, _ = build(tmp_path, kernel=[{"start_ns": 0, "end_ns": 1, "name": "k"}])
    cut = replace(whole, notes=(Note("truncated", 1, "the file ends early"),), facts=Facts("nsys"))
    assert [text for label, text in remarks(health_of(cut)) if label == "none recorded"] == [
        "op (which operator launched a kernel)"
    ]


def test_an_option_that_gave_kernels_is_not_named_to_record_copies(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, kernel=[{"start_ns": 0, "end_ns": 1, "name": "k"}])
    said = remarks(health_of(replace(trace, facts=Facts("nsys"))))
    doubted = "copy (memory copies), api (launch latency, causes of idle time, host calls)"
    assert ("none found", f"{doubted}: none happened, or none was recorded") in said
    assert not any("--trace=cuda" in text for _, text in said)


def test_an_option_that_gave_calls_is_not_named_to_record_kernels(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, api=[{"start_ns": 5, "end_ns": 6, "correlation": 1}])
    said = remarks(health_of(trace))
    doubted = "kernel (what the device computes), copy (memory copies)"
    assert ("none found", f"{doubted}: none happened, or none was recorded") in said


@pytest.mark.parametrize(("vendor", "named"), [("meta", False), ("intel", False), ("amd", True), (None, True)])
def test_cuda_is_named_only_for_devices_that_pytorch_records_as_such(
    vendor: str | None, named: bool, tmp_path: Path
) -> None:
    trace, _ = build(tmp_path, device=[{"process": 1, "device": 0, "vendor": vendor}])
    said = remarks(health_of(trace))
    assert any("ProfilerActivity.CUDA" in text for _, text in said) is named
    assert any(label == "none recorded" and "kernel (what" in text for label, text in said)


def test_what_no_row_tells_is_unknown_in_one_line(tmp_path: Path) -> None:
    trace, _ = build(
        tmp_path,
        kernel=[{"start_ns": 0, "end_ns": 1, "name": name} for name in (None, None, "k")],
        copy=[{"start_ns": 0, "end_ns": 1, "kind": "HtoD"}],
        device=[{"process": 1, "device": 0}],
        process=[{"process": 1}],
    )
    said = [(label, text) for label, text in remarks(health_of(trace)) if "known" in label]
    assert said == [
        ("partly known", "name of 1 of 3 kernels (33.3\u202f%)"),
        ("unknown", "copy size, device name, rank"),
        ("known", "trusted times of all 3 kernels; trusted times, direction of the copy"),
    ]


def test_copies_and_fills_that_are_kernels_are_told(tmp_path: Path) -> None:
    names = ("__amd_rocclr_fillBufferAligned", "__amd_rocclr_fillBufferAligned", "__amd_rocclr_copyBuffer", "gemm")
    trace, _ = build(tmp_path, kernel=[{"start_ns": 0, "end_ns": 1, "name": name} for name in names])
    assert ("recorded as kernels", "copies and fills of memory, by their names: 3") in remarks(health_of(trace))


def test_hints_are_about_tables_there_are() -> None:
    assert all(tables.keys() <= TABLES.keys() for tables in GIVES.values())
