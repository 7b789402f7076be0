from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.building import build
from tests.mining.programs import ITERATION, LEVEL, STEP, train
from tracelode.mining.analyses import leftovers, remainder
from tracelode.mining.mine import find
from tracelode.store import TABLES, Trace
from tracelode.store.errors import NotCollected

Range = tuple[int, int]


def _explained(folder: Path, times: list[int], steps: list[Range], repeats: list[Range], **tables: Any) -> Trace:
    """A trace of kernels of those times, each with a name of its own, as if these ranges of them had been mined."""
    kernels = [
        {"start_ns": 1000 * at, "end_ns": 1000 * at + time, "name": f"k{at}", "correlation": at + 1}
        for at, time in enumerate(times)
    ]
    calls = [
        {"start_ns": 1000 * at - 500, "end_ns": 1000 * at - 400, "correlation": at + 1} for at in range(len(times))
    ]
    trace, archive = build(folder, kernel=kernels, api=calls, **tables)
    level = [LEVEL | {"process": 1, "level": 0, "count": len(steps)}] if steps else []
    rows = {
        "level": level,
        "iteration": [
            ITERATION | {"process": 1, "level": 0, "iteration": at, "first": first, "last": last, "end_ns": 1}
            | {"phase": "steady"}
            for at, (first, last) in enumerate(steps)
        ],
        "occurrence": [
            {"pattern": 0, "sequence": 0, "first": first, "last": last, "start_ns": 0, "end_ns": 1, "time_ns": 1}
            for first, last in repeats
        ],
    }  # fmt: skip
    mined = {name: pa.Table.from_pylist(part, schema=TABLES[name].schema) for name, part in rows.items()}
    trace = archive.put_derived(trace, "made", 1, mined)
    return archive.put_derived(trace, "made_too", 1, leftovers.mine(trace))


def test_what_lies_outside_iterations_and_patterns_is_told_by_place_and_name(tmp_path: Path) -> None:
    trace = _explained(tmp_path, [1, 2, 4, 8, 16, 32, 64, 128], steps=[(1, 1), (3, 3)], repeats=[(3, 4), (6, 6)])
    found = remainder.find(trace)
    assert found.rows.select("part", "kind", "name", "operations", "time_ns").rows() == [
        ("after", "kernel", "k7", 1, 128),
        ("after", "kernel", "k5", 1, 32),
        ("between", "kernel", "k2", 1, 4),
        ("before", "kernel", "k0", 1, 1),
    ]
    assert found.rows["share"].to_list() == [128 / 255, 32 / 255, 4 / 255, 1 / 255]
    assert found.rows["share_of_remainder"].sum() == pytest.approx(1)
    assert found.sentence == (
        "64.7 % (165 ns, 4 operations) is unexplained, 62.7 % after the last iteration, 1.6 % between iterations, "
        "0.4 % before the first iteration; 3.9 % of the summed device time lies in iterations, 31.4 % outside these in "
        "repeated patterns."
    )


def test_without_iterations_patterns_explain_what_they_can(tmp_path: Path) -> None:
    trace = _explained(tmp_path, [10, 10, 10], steps=[], repeats=[(0, 1)], copy=[{"start_ns": 9000, "end_ns": 9005}])
    found = remainder.find(trace)
    assert found.rows.select("part", "name", "time_ns").rows() == [
        ("no iterations", "k2", 10),
        ("not ordered", "copy HtoD", 5),
    ]


def test_a_program_that_repeats_is_explained(tmp_path: Path) -> None:
    trace, archive = train(tmp_path, ["only_once"], *[STEP] * 8)
    found = find(trace, archive, "remainder")
    assert found.rows.select("part", "name", "operations").rows() == [("before", "only_once", 1)]
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)
    whole, archive = train(tmp_path / "whole", *[STEP] * 8)
    assert find(whole, archive, "remainder").sentence.startswith("Every operation is explained: 100.0 % of the summed")


def test_without_device_work_it_is_not_collected(tmp_path: Path) -> None:
    with pytest.raises(NotCollected, match="no device work"):
        find(*build(tmp_path, api=[{"start_ns": 0, "end_ns": 1}]), "remainder")


@st.composite
def _ranges(draw: st.DrawFn) -> list[Range]:
    pairs = draw(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 4)), max_size=4))
    return sorted((first, min(first + more, 11)) for first, more in pairs)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(_ranges(), _ranges())
def test_every_operation_is_in_exactly_one_part(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Range], repeats: list[Range]
) -> None:
    times = [1 << at for at in range(10)] + [3, 5]
    trace = _explained(tmp_path_factory.mktemp("trace"), times, steps, repeats)
    told = dict(trace.sql("select part, sum(time_ns)::bigint from remainder group by part").rows())
    wanted: dict[str, int] = {}
    for at, time in enumerate(times):
        if any(first <= at <= last for first, last in steps):
            part = "iteration"
        elif any(first <= at <= last for first, last in repeats):
            part = "pattern"
        elif not steps:
            part = "no iterations"
        elif at < steps[0][0]:
            part = "before"
        else:
            part = "between" if at < max(last for _, last in steps) else "after"
        wanted[part] = wanted.get(part, 0) + time
    assert told == wanted
    assert sum(told.values()) == np.sum(times)
