from pathlib import Path
from typing import Any

from tests.building import build
from tracelode.mining.mine import find

NCCL = "ncclDevKernel_AllReduce_Sum_f16_RING_LL"


def _kernel(start: int, end: int, name: str = "gemm", **more: Any) -> dict[str, Any]:
    return {"start_ns": start, "end_ns": end, "name": name, **more}


def test_each_moment_is_in_the_row_of_what_runs_then(tmp_path: Path) -> None:
    kernels = [_kernel(0, 50), _kernel(5, 45, stream=8), _kernel(40, 80, NCCL, stream=20)]
    copies = [{"start_ns": 45, "end_ns": 70, "stream": 9}, {"start_ns": 90, "end_ns": 100, "stream": 9}]
    trace, archive = build(tmp_path, kernel=kernels, copy=copies)
    found = find(trace, archive, "combinations")
    assert found.rows.drop("process", "device").rows() == [
        ("compute", 40, 0.4),
        ("communication + copy", 20, 0.2),
        ("communication", 10, 0.1),
        ("copy", 10, 0.1),
        ("idle", 10, 0.1),
        ("compute + communication", 5, 0.05),
        ("compute + communication + copy", 5, 0.05),
    ]
    assert found.sentence == "Work of different kinds runs at once for 30.0 % of the time."
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)


def test_kinds_one_after_the_other_are_never_at_once(tmp_path: Path) -> None:
    found = find(*build(tmp_path, kernel=[_kernel(0, 5), _kernel(5, 9, NCCL)]), "combinations")
    assert found.sentence == "Work of different kinds never runs at once."
