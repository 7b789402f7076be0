from pathlib import Path
from typing import Any

import pytest

from tests.building import build
from tracelode.mining.mine import find
from tracelode.store import NotCollected

GENERIC = "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"


def _call(start: int, end: int, kind: str, elements: tuple[int, int], size: int, **more: Any) -> dict[str, Any]:
    place = {"process": 1, "device": 0, "stream": 20, "start_ns": start, "end_ns": end, "name": GENERIC}
    told = {"kind": kind, "input_elements": elements[0], "output_elements": elements[1], "type": "BFloat16"}
    return {**place, **told, "group": "0", "group_size": size, **more}


def _kernel(call: dict[str, Any]) -> dict[str, Any]:
    return {name: call[name] for name in ("process", "device", "stream", "start_ns", "end_ns", "name")}


def _found(folder: Path, calls: list[dict[str, Any]], kernels: list[dict[str, Any]] | None = None) -> Any:
    tables = {"collective": calls} if calls else {}
    return find(*build(folder, kernel=[*map(_kernel, calls), *(kernels or [])], **tables), "collectives")


def test_calls_of_one_kind_and_size_stand_together_with_their_bandwidth(tmp_path: Path) -> None:
    calls = [_call(0, 1000, "allreduce", (4000, 4000), 4), _call(2000, 5000, "allreduce", (4000, 4000), 4)]
    found = _found(tmp_path, calls)
    (row,) = found.rows.to_dicts()
    assert row == {
        "operation": "all-reduce",
        "type": "BFloat16",
        "bytes": 8000,
        "group_size": 4,
        "processes": 1,
        "calls": 2,
        "time_ns": 4000,
        "share": 1.0,
        "p50_ns": 1000,
        "shortest_ns": 1000,
        "algorithm_bytes_per_s": 4e9,
        "bus_bytes_per_s": 6e9,
        "best_bus_bytes_per_s": 12e9,
    }
    assert found.notes == ()
    assert found.sentence == (
        "2 collective calls of 4 µs in sum; 100.0 % of it in 2 calls of one kind and size "
        "(all-reduce, 7.81 KiB), the shortest at 12 GB/s of bus bandwidth."
    )


@pytest.mark.parametrize(
    ("kind", "elements", "operation", "size", "factor"),
    [
        ("_allgather_base", (1000, 8000), "all-gather", 16000, 7 / 8),
        ("reduce_scatter_tensor_coalesced", (8000, 1000), "reduce-scatter", 16000, 7 / 8),
        ("all_to_allv", (4000, 4000), "all-to-all", 8000, 7 / 8),
        ("broadcast", (4000, 4000), "broadcast", 8000, 1),
        ("reduce", (4000, 4000), "reduce", 8000, 1),
        ("send", (4000, 4000), "send and receive", 8000, 1),
        ("gather", (1000, 8000), "gather", 16000, None),
    ],
)
def test_bus_bandwidth_has_the_factor_of_the_collective(
    tmp_path: Path, kind: str, elements: tuple[int, int], operation: str, size: int, factor: float | None
) -> None:
    (row,) = _found(tmp_path, [_call(0, 1000, kind, elements, 8)]).rows.to_dicts()
    assert (row["operation"], row["bytes"], row["algorithm_bytes_per_s"]) == (operation, size, size * 1e6)
    assert row["bus_bytes_per_s"] == (None if factor is None else pytest.approx(size * 1e6 * factor))


def test_what_the_trace_does_not_record_is_null_and_said(tmp_path: Path) -> None:
    kernels = [{"start_ns": 0, "end_ns": 900, "name": "ncclDevKernel_AllGather_RING_LL"}]
    kernels += [{"start_ns": 1000, "end_ns": 1100, "name": GENERIC}, {"start_ns": 2000, "end_ns": 9000, "name": "gemm"}]
    found = _found(tmp_path, [], kernels)
    columns = ["operation", "type", "bytes", "group_size", "calls", "time_ns", "bus_bytes_per_s"]
    assert found.rows.select(columns).rows() == [
        ("all-gather", None, None, None, 1, 900, None),
        (None, None, None, None, 1, 100, None),
    ]
    assert found.notes == ("The size of calls is not recorded, so there is no bandwidth.",)
    assert found.sentence.endswith("in 1 call of one kind and size (all-gather, size not recorded).")


def test_calls_told_by_arguments_and_by_name_alone_are_counted_once(tmp_path: Path) -> None:
    calls = [_call(0, 1000, "allreduce", (4000, 4000), 4)]
    found = _found(tmp_path, calls, [{"start_ns": 2000, "end_ns": 2500, "name": GENERIC, "stream": 20}])
    assert found.rows.select("operation", "calls", "time_ns").rows() == [("all-reduce", 1, 1000), (None, 1, 500)]
    assert found.notes == ("The size of 1 of 2 calls is not recorded: they are without a bandwidth.",)


def test_a_call_with_wrong_times_is_left_out(tmp_path: Path) -> None:
    kernels = [{"start_ns": 100, "end_ns": 50, "name": GENERIC}, {"start_ns": 0, "end_ns": 5, "name": "gemm"}]
    found = _found(tmp_path, [], kernels)
    assert (found.sentence, len(found.rows)) == ("No kernel communicates.", 0)


def test_a_trace_without_kernels_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotCollected):
        find(*build(tmp_path, copy=[{"start_ns": 0, "end_ns": 1}]), "collectives")


def test_the_sql_gives_the_rows(tmp_path: Path) -> None:
    calls = [_call(0, 1000, "allreduce", (4000, 4000), 4), _call(2000, 5000, "broadcast", (8, 8), 4, type="Long")]
    trace, archive = build(tmp_path, kernel=list(map(_kernel, calls)), collective=calls)
    found = find(trace, archive, "collectives")
    assert trace.sql(found.sql).equals(found.rows)


@pytest.mark.parametrize(
    ("kind", "size"),
    [("Float", 4), ("Half", 2), ("Long", 8), ("Byte", 1), ("ComplexDouble", 16), ("Float8_e4m3fn", 1), ("Odd", None)],
)
def test_every_type_has_its_size(tmp_path: Path, kind: str, size: int | None) -> None:
    (row,) = _found(tmp_path, [_call(0, 10, "broadcast", (100, 100), 2, type=kind)]).rows.to_dicts()
    assert row["bytes"] == (None if size is None else 100 * size)
