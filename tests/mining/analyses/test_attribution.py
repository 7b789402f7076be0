"""Which operator, module and phase device work belongs to, on a step made by hand."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.building import build
from tests.mining.programs import STEP, train
from tracelode.mining.analyses.by_operator import unlinked
from tracelode.mining.mine import find, mine
from tracelode.store import Archive, Trace
from tracelode.store.errors import NotCollected

FORWARD, BACKWARD, LOOSE = 1, 2, 3
"""Threads."""


def _op(number: int, name: str, start: int, end: int, **more: Any) -> dict[str, Any]:
    return {"id": number, "name": name, "start_ns": start, "end_ns": end, "thread": FORWARD, **more}


OPS = [
    _op(0, "aten::to", 5, 15, sequence=7),  # needs no gradient: carries the number that the next one takes
    _op(1, "aten::linear", 20, 50, sequence=7),
    _op(2, "aten::addmm", 25, 45, parent=1, sequence=7),
    _op(3, "AddmmBackward0", 100, 150, thread=BACKWARD, sequence=7, forward_thread=FORWARD),
    _op(4, "aten::mm", 110, 140, thread=BACKWARD, parent=3),
    _op(5, "aten::_foreach_add_", 210, 240),
]
RANGES = [
    {"kind": "python", "name": "nn.Module: Net_0", "start_ns": 18, "end_ns": 60},
    {"kind": "python", "name": "nn.Module: Linear_0", "start_ns": 19, "end_ns": 55},
    {"kind": "annotation", "name": "Optimizer.step#SGD.step", "start_ns": 205, "end_ns": 250},
]


def _kernel(name: str, launch: int, length: int) -> dict[str, Any]:
    start = 1000 + 10 * launch
    return {"name": name, "start_ns": start, "end_ns": start + length, "correlation": launch}


def _step(folder: Path, **more: Any) -> tuple[Trace, Archive]:
    """Launches: copy in aten::to (4 ns), gemm in aten::addmm (8), two in aten::mm (16 and 2), one of the optimizer (1),
    one outside every operator (32), and one whose call was not recorded (64): 127 ns."""
    calls = {10: FORWARD, 30: FORWARD, 120: BACKWARD, 130: BACKWARD, 220: FORWARD, 300: LOOSE}
    return build(
        folder,
        op=OPS,
        range=RANGES,
        api=[{"start_ns": at, "end_ns": at + 1, "thread": thread, "correlation": at} for at, thread in calls.items()],
        copy=[{"start_ns": 1100, "end_ns": 1104, "correlation": 10, "bytes": 400}],
        kernel=[
            _kernel("sgemm", 30, 8),
            _kernel("sgemm", 120, 16),
            _kernel("sgemm", 130, 2),
            _kernel("multi_tensor_apply_kernel", 220, 1),
            _kernel("strange", 300, 32),
            _kernel("strange", 400, 64),
        ],
        **more,
    )


def _told(found: pl.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return found.select("part", "launches", "copies", "work_ns", *columns).rows()


def test_operators_are_linked_by_correlation_and_the_rest_is_told(tmp_path: Path) -> None:
    trace, archive = _step(tmp_path)
    found = find(trace, archive, "by_operator")
    assert _told(found.rows, "copied_bytes") == [
        ("(unattributed)", 2, 0, 96, 0),  # not put into the operator before or after
        ("aten::mm", 2, 0, 18, 0),
        ("aten::addmm", 1, 0, 8, 0),
        ("aten::to", 0, 1, 4, 400),
        ("aten::_foreach_add_", 1, 0, 1, 0),
    ]
    assert unlinked(archive.open(trace.id)) == (
        "1 operation without a recorded host call.",
        "1 operation launched outside all operators.",
    )


def test_phases_are_told_by_the_surest_source(tmp_path: Path) -> None:
    trace, archive = _step(tmp_path)
    found = find(trace, archive, "by_phase")
    assert _told(found.rows, "told_by") == [
        ("(unattributed)", 2, 1, 100, None),  # with the copy: its operator only carried the number
        ("backward", 2, 0, 18, "autograd"),
        ("forward", 1, 0, 8, "sequence"),
        ("optimizer", 1, 0, 1, "annotation"),
    ]
    assert found.notes == ("Phases are told by: annotation, autograd, sequence.",)
    assert found.sentence.startswith(
        "Of 127 ns of device work: (unattributed) 78.7 % in 2 kernels and 1 copy, backward "
    )
    assert "forward 6.3 % in 1 kernel, " in found.sentence


def test_backward_work_belongs_to_the_module_of_its_forward_operator(tmp_path: Path) -> None:
    trace, archive = _step(tmp_path)
    rows = find(trace, archive, "by_module").rows
    assert _told(rows, "module", "inclusive_ns", "forward_ns", "backward_ns", "told_by") == [
        ("(unattributed)", 3, 1, 101, "(unattributed)", 101, 0, 0, None),
        ("Net_0/Linear_0", 3, 0, 26, "Linear_0", 26, 8, 18, "module, sequence"),
        ("Net_0", 0, 0, 0, "Net_0", 26, 0, 0, None),
    ]
    kinds = find(trace, archive, "by_module_kind").rows
    assert _told(kinds) == [("(unattributed)", 3, 1, 101), ("Linear", 3, 0, 26)]


@pytest.mark.parametrize(("also", "told"), [(LOOSE, ("backward", "thread")), (BACKWARD, (None, None))])
def test_between_backward_operators_the_engine_adds_gradients_up(
    tmp_path: Path, also: int, told: tuple[str | None, str | None]
) -> None:
    """Not before or after them, and not where a forward operator ran on the thread: it is not the engine's alone."""
    ops = [
        _op(0, "aten::mm", 0, 10, sequence=1),
        _op(1, "aten::relu", 12, 18, thread=also, sequence=2),
        _op(2, "aten::zeros", 20, 30, thread=BACKWARD),
        _op(3, "ReluBackward0", 40, 50, thread=BACKWARD, sequence=2, forward_thread=FORWARD),
        _op(4, "aten::add", 60, 70, thread=BACKWARD),
        _op(5, "MmBackward0", 80, 90, thread=BACKWARD, sequence=1, forward_thread=FORWARD),
        _op(6, "aten::add", 100, 110, thread=BACKWARD),
        _op(7, "aten::add", 62, 68, thread=FORWARD),
    ]
    launches = {25: BACKWARD, 65: BACKWARD, 105: BACKWARD, 66: FORWARD}
    trace, archive = build(
        tmp_path,
        op=ops,
        api=[{"start_ns": at, "end_ns": at + 1, "thread": on, "correlation": at} for at, on in launches.items()],
        kernel=[_kernel("k", at, 1) for at in launches],
    )
    trace = mine(trace, archive, "attribution")
    rows = trace.sql("select operator, phase, phase_from from attribution order by start_ns").rows()
    assert rows == [
        ("aten::zeros", None, None), ("aten::add", *told), ("aten::add", None, None), ("aten::add", None, None)
    ]  # fmt: skip


def test_an_operators_own_phase_and_spans_of_phases_go_before_all_else(tmp_path: Path) -> None:
    ops = [
        _op(0, "mine", 0, 10, phase="backward"),
        _op(1, "aten::mm", 20, 30, thread=BACKWARD, forward_thread=FORWARD, sequence=1),
        _op(2, "aten::mm", 40, 50, thread=FORWARD),
    ]
    phases = [
        {"kind": "phase", "name": "forward", "start_ns": 0, "end_ns": 100, "thread": thread}
        for thread in (FORWARD, BACKWARD)
    ]
    calls = [
        {"start_ns": at, "end_ns": at + 1, "thread": thread, "correlation": at}
        for at, thread in ((5, FORWARD), (25, BACKWARD), (45, FORWARD))
    ]
    kernels = [_kernel("k", at, 1) for at in (5, 25, 45)]
    trace, archive = build(tmp_path, op=ops, range=phases, api=calls, kernel=kernels)
    rows = find(trace, archive, "by_phase").rows
    assert _told(rows, "told_by") == [("forward", 2, 0, 2, "span"), ("backward", 1, 0, 1, "operator")]


def test_without_modules_annotations_stand_for_layers(tmp_path: Path) -> None:
    trace, archive = build(
        tmp_path,
        range=[{"name": "layer 3", "start_ns": 0, "end_ns": 50}, {"name": "layer 4", "start_ns": 60, "end_ns": 90}],
        api=[{"start_ns": at, "end_ns": at + 1, "correlation": at} for at in (10, 70)],
        kernel=[_kernel("k", at, 5) for at in (10, 70)],
    )
    found = find(trace, archive, "by_module")
    assert found.rows.select("part", "launches", "told_by").rows() == [("layer *", 2, "annotation")]
    assert found.sentence == "100.0 % of 10 ns of device work is in 1 annotation; layer * has most: 100.0 %."


def test_the_sentence_on_modules_is_on_their_kinds(tmp_path: Path) -> None:
    # Tanh_0 has most of the single modules (6 of 15 ns), Linear most of the kinds (4 + 5 of 15 ns).
    names = ("Linear_0", "Tanh_0", "Linear_1")
    trace, archive = build(
        tmp_path,
        range=[
            {"kind": "python", "name": f"nn.Module: {name}", "start_ns": 100 * at, "end_ns": 100 * at + 50}
            for at, name in enumerate(names)
        ],
        api=[{"start_ns": 100 * at + 10, "end_ns": 100 * at + 11, "correlation": at} for at in range(3)],
        kernel=[_kernel("k", at, length) for at, length in enumerate((4, 6, 5))],
    )
    found = find(trace, archive, "by_module")
    assert found.rows["module"].to_list() == ["Tanh_0", "Linear_1", "Linear_0"]
    assert found.sentence == ("100.0 % of 15 ns of device work is in 3 modules of 2 kinds; Linear has most: 60.0 %.")


def test_annotations_around_forward_operators_are_no_modules(tmp_path: Path) -> None:
    ops = [
        _op(0, "aten::mm", 12, 40, sequence=7),
        _op(1, "MmBackward0", 100, 150, thread=BACKWARD, sequence=7, forward_thread=FORWARD),
    ]
    trace, archive = build(
        tmp_path,
        op=ops,
        range=[{"kind": "annotation", "name": "layer 1", "start_ns": 10, "end_ns": 60}],
        api=[
            {"start_ns": at, "end_ns": at + 1, "thread": thread, "correlation": at}
            for at, thread in ((20, FORWARD), (120, BACKWARD))
        ],
        kernel=[_kernel("k", at, 5) for at in (20, 120)],
    )
    found = find(trace, archive, "by_module")
    assert found.rows.select("part", "launches", "told_by").rows() == [("layer *", 2, "annotation, sequence")]
    assert found.sentence.startswith("100.0 % of 10 ns of device work is in 1 annotation; layer * has most")


def test_an_operator_that_is_not_in_the_trace_is_no_operator(tmp_path: Path) -> None:
    """Ends without a start, and calls of other threads, leave operators that nothing can be charged to."""
    trace, archive = build(
        tmp_path, op=[_op(0, "late", 900, 910, thread=None)], kernel=[_kernel("k", 1, 5) | {"op": 99}]
    )
    with pytest.raises(NotCollected):
        find(trace, archive, "by_operator")
    rows = archive.open(trace.id).sql("select operator, phase, work_ns from attribution").rows()
    assert rows == [(None, None, 5)]


def test_a_call_of_an_unknown_thread_is_in_no_operator_of_an_unknown_thread(tmp_path: Path) -> None:
    op = _op(0, "aten::mm", 0, 90, thread=None)
    life = {"process": 1, "device": 0, "kind": "tensor", "address": 1, "bytes": 8, "birth_ns": 50, "death_ns": 60}
    trace = mine(*build(tmp_path, op=[op], allocation=[life]), "memory_use")
    assert trace.sql("select operator from memory_life").rows() == [(None,)]


@pytest.mark.parametrize("table", ["op", "range"])
def test_an_empty_table_tells_nothing(tmp_path: Path, table: str) -> None:
    trace = mine(*build(tmp_path, kernel=[_kernel("k", 1, 5)], **{table: []}), "attribution", "memory_use")
    assert trace.sql("select operator, module, phase from attribution").rows() == [(None, None, None)]


def test_operations_without_trusted_times_count_without_time(tmp_path: Path) -> None:
    trace, archive = build(tmp_path, kernel=[{"start_ns": 9, "end_ns": 2, "name": "sgemm"}, _kernel("relu", 1, 5)])
    rows = find(trace, archive, "by_family").rows
    assert _told(rows) == [("elementwise", 1, 0, 5), ("gemm", 1, 0, 0)]


def test_families_have_kernels_copies_and_fills(tmp_path: Path) -> None:
    trace, archive = _step(tmp_path)
    found = find(trace, archive, "by_family")
    assert found.sentence == (
        "Of 127 ns of device work in 6 kernels: gemm 20.5 %, copy HtoD 3.1 %, optimizer 0.8 %, (unattributed) 75.6 %."
    )
    rows = found.rows
    assert _told(rows, "share") == [
        ("(unattributed)", 2, 0, 96, 96 / 127),
        ("gemm", 3, 0, 26, 26 / 127),
        ("copy HtoD", 0, 1, 4, 4 / 127),
        ("optimizer", 1, 0, 1, 1 / 127),
    ]


def test_parts_and_the_unattributed_add_up_and_the_sql_gives_them(tmp_path: Path) -> None:
    trace, archive = _step(tmp_path)
    for name in ("by_operator", "by_phase", "by_module", "by_module_kind", "by_family"):
        found = find(trace, archive, name)
        assert found.rows.select("launches", "copies", "work_ns").sum().row(0) == (6, 1, 127)
        assert found.rows["share"].sum() == pytest.approx(1)
        phases = ("forward_ns", "backward_ns", "optimizer_ns", "other_ns")
        assert sum(int(found.rows[phase].sum()) for phase in phases) == 127
        assert archive.open(trace.id).sql(found.sql).equals(found.rows)


def _life(size: int, birth: int, death: int, thread: int, device: int | None = 0) -> dict[str, Any]:
    life = {"process": 1, "device": device, "kind": "tensor", "address": size, "bytes": size, "thread": thread}
    return life | {"birth_ns": birth, "death_ns": death}


LIVES = [
    _life(64, 30, 130, FORWARD),
    _life(32, 120, 125, BACKWARD),
    _life(16, 400, 410, FORWARD),  # outside all operators
    _life(8, 30, 40, FORWARD, device=None),
]


def test_memory_belongs_to_whom_it_was_allocated_in(tmp_path: Path) -> None:
    trace, archive = build(tmp_path, op=OPS, range=RANGES, allocation=LIVES, kernel=[_kernel("k", 30, 8)])
    trace = mine(trace, archive, "attribution", "memory_use")
    found = trace.sql("select operator, phase, module, bytes, at_peak from memory_life order by birth_ns").rows()
    assert found == [  # the peak of 96 B is from 120 to 125; memory of the host is not the device's
        ("aten::addmm", "forward", "Linear_0", 64, 1),
        ("aten::mm", "backward", "Linear_0", 32, 1),
        (None, None, None, 16, 0),
    ]


def test_memory_of_the_parts_adds_up_and_says_its_evidence(tmp_path: Path) -> None:
    trace, archive = _step(tmp_path, allocation=LIVES)
    for name in ("by_operator", "by_phase", "by_module", "by_module_kind"):
        found = find(trace, archive, name)
        # three of the device, 112 B in sum, 96 B at the peak
        assert found.rows.select("allocations", "allocated_bytes", "peak_bytes").sum().row(0) == (3, 112, 96)
        assert "Memory: evidence C: lifetimes of allocations only." in found.notes


def test_mined_structure_adds_up_to_the_busy_time(tmp_path: Path) -> None:
    trace, archive = train(tmp_path, *[STEP] * 8)
    found = find(trace, archive, "by_structure")
    trace = archive.open(trace.id)
    busy = trace.sql("select sum(busy_ns) from performance_node where kind = 'device'").item()
    assert found.rows["time_ns"].sum() == busy
    assert set(found.rows["kind"]) == {"repeated block", "operation"}
    assert trace.sql(found.sql).equals(found.rows)


def test_work_that_repeats_nothing_is_in_no_repeated_block(tmp_path: Path) -> None:
    trace, archive = build(tmp_path, kernel=[{"start_ns": 0, "end_ns": 2_220, "name": "once"}])
    found = find(trace, archive, "by_structure")
    assert found.sentence == "No repeated block was found by mining in 2.22 µs of busy time."


def test_without_device_work_nothing_is_attributed(tmp_path: Path) -> None:
    trace, archive = build(tmp_path, op=OPS)
    for name in ("by_operator", "by_phase", "by_module", "by_family", "by_structure"):
        with pytest.raises(NotCollected):
            find(trace, archive, name)
