from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tests.building import build
from tracelode.mining.finding import Finding
from tracelode.reports.overlays import MOST_SAMPLES, curves, gathered, overlays
from tracelode.reports.report import Overlay

KERNEL = {"start_ns": 0, "end_ns": 1000, "name": "a"}


def ask(name: str) -> Finding:
    """Nothing was mined."""
    columns = {"pattern": pl.Int32, "process": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64}
    return Finding(name, "", pl.DataFrame(schema=columns), "")


def shown(folder: Path, **tables: list[dict[str, Any]]) -> list[Overlay]:
    return list(overlays(build(folder, kernel=[KERNEL], **tables)[0], ask, 0, 1000))


def test_a_trace_that_says_nothing_else_has_no_other_rows(tmp_path: Path) -> None:
    assert shown(tmp_path) == []


def test_annotations_and_nvtx_ranges_have_rows_of_their_own_without_what_lies_in_others(tmp_path: Path) -> None:
    ranges = [
        {"start_ns": 0, "end_ns": 100, "name": "step"},
        {"start_ns": 10, "end_ns": 50, "name": "inside"},
        {"start_ns": 100, "end_ns": 200, "name": "step"},
        {"start_ns": 900, "end_ns": 5000, "name": "cut"},
        {"start_ns": 0, "end_ns": 40, "name": None, "kind": "nvtx"},
        {"start_ns": 0, "end_ns": 40, "name": "frame", "kind": "python"},
        {"start_ns": 2000, "end_ns": 3000, "name": "outside"},
    ]
    assert shown(tmp_path, range=ranges) == [
        Overlay(
            "annotations of process 1",
            [(0, 100, "step"), (100, 200, "step"), (900, 1000, "cut")],
            "annotations",
        ),
        Overlay("NVTX ranges of process 1", [(0, 40, "(no name)")], "NVTX ranges"),
    ]


def test_copies_have_a_row_for_each_direction_and_say_their_size(tmp_path: Path) -> None:
    copies = [
        {"start_ns": 5, "end_ns": 9, "bytes": 4_000_000},
        {"start_ns": 20, "end_ns": 30, "bytes": 12, "kind": "DtoH"},
        {"start_ns": 40, "end_ns": 41, "kind": None},
        {"start_ns": 0, "end_ns": 0, "bytes": 3, "flaw": "no start"},
    ]
    assert shown(tmp_path, copy=copies) == [
        Overlay("copies DtoH", [(20, 30, "DtoH 12\u202fB")], "copies"),
        Overlay("copies HtoD", [(5, 9, "HtoD 3.81\u202fMiB")], "copies"),
        Overlay("copies of unknown direction", [(40, 41, "of unknown direction")], "copies"),
    ]


def test_faults_and_migrations_of_managed_memory_have_rows(tmp_path: Path) -> None:
    faults = [{"process": 1, "processor": "gpu", "start_ns": 7, "end_ns": None, "pages": 3, "kind": "read"}]
    migrations = [{"process": 1, "start_ns": 9, "end_ns": 12, "bytes": 65536, "kind": "thrash"}]
    assert shown(tmp_path, fault=faults, migration=migrations) == [
        Overlay("page faults read", [(7, 7, "page faults read 3 faults")], "page faults"),
        Overlay("migrations thrash", [(9, 12, "thrash 64.0\u202fKiB")], "migrations"),
    ]


SAMPLE = {"process": 1, "name": "memory", "unit": "bytes"}


def test_counters_are_curves_those_that_never_change_are_not(tmp_path: Path) -> None:
    samples = [SAMPLE | {"time_ns": 10 * at, "value": at % 3, "device": 0} for at in range(5)]
    samples += [SAMPLE | {"time_ns": 10 * at, "value": 4, "name": "still"} for at in range(9)]
    trace, _ = build(tmp_path, kernel=[KERNEL], counter=samples)
    (curve,) = curves(trace, 0, 30)
    assert (curve.label, curve.unit) == ("memory of device 0", "bytes")
    assert (curve.time_ns.tolist(), curve.value.tolist()) == ([0, 10, 20, 30], [0, 1, 2, 0])


def test_of_very_many_samples_the_peaks_stay(tmp_path: Path) -> None:
    values = [5.0] * 30_000
    values[12_345], values[20_001] = 99.0, -7.0
    samples = [SAMPLE | {"time_ns": at, "value": value} for at, value in enumerate(values)]
    trace, _ = build(tmp_path, kernel=[KERNEL], counter=samples)
    (curve,) = curves(trace, 0, 30_000)
    assert len(curve.value) <= MOST_SAMPLES + 2
    found = dict(zip(curve.time_ns.tolist(), curve.value.tolist(), strict=True))
    assert (found[12_345], found[20_001], found[0], found[29_999]) == (99.0, -7.0, 5.0, 5.0)


SPANS = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 9)), max_size=40).map(
    lambda pairs: [(start, start + length, str(start)) for start, length in sorted(pairs)]
)


@given(SPANS, st.integers(1, 12))
def test_gathered_spans_are_few_and_cover_all(spans: list[tuple[int, int, str]], most: int) -> None:
    found = gathered(spans, "things", most)
    assert len(found) <= most
    assert all(any(a <= start and end <= b for a, b, _ in found) for start, end, _ in spans)
    if len(spans) <= most:
        assert found == spans
