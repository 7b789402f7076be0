from pathlib import Path
from typing import Any

import pytest

from tests.building import build
from tracelode.mining.mine import find
from tracelode.store import NotCollected

NCCL = "ncclDevKernel_AllReduce_Sum_f16_RING_LL"


def _kernel(start: int, end: int, name: str = "gemm", **more: Any) -> dict[str, Any]:
    return {"start_ns": start, "end_ns": end, "name": name, **more}


def test_work_is_hidden_exposed_or_beside_communication_and_the_sums_are_exact(tmp_path: Path) -> None:
    kernels = [_kernel(0, 50), _kernel(40, 80, NCCL, stream=20), _kernel(60, 75, NCCL, stream=21)]
    copies = [{"start_ns": 45, "end_ns": 70, "stream": 9}, {"start_ns": 90, "end_ns": 100, "stream": 9}]
    trace, archive = build(tmp_path, kernel=kernels, copy=copies)
    found = find(trace, archive, "overlap")
    assert found.rows.drop("process", "device").rows() == [
        ("compute", 50, None, None, 50, None, 0.5, 100),
        ("communication", 40, 10, None, 30, 0.25, 0.3, 100),
        ("copy", 35, 5, 20, 10, 5 / 35, 0.1, 100),
    ]
    assert found.sentence == (
        "25.0 % of 40 ns of communication has compute beside it, 30 ns is exposed; "
        "14.3 % of 35 ns of copying has compute beside it, 10 ns is exposed."
    )
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)


def test_what_is_hidden_altogether_is_not_exposed(tmp_path: Path) -> None:
    found = find(*build(tmp_path, kernel=[_kernel(0, 50), _kernel(10, 20, NCCL, stream=20)]), "overlap")
    assert found.sentence == "100.0 % of 10 ns of communication has compute beside it."
    assert found.rows.filter(found.rows["work"] == "communication")["exposed_ns"].to_list() == [0]


def test_compute_alone_has_nothing_to_hide(tmp_path: Path) -> None:
    found = find(*build(tmp_path, kernel=[_kernel(0, 50)]), "overlap")
    assert found.sentence == "Nothing but compute runs: there is no communication or copy to hide."


def test_a_trace_without_device_work_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotCollected):
        find(*build(tmp_path, op=[{"start_ns": 0, "end_ns": 1}]), "overlap")
