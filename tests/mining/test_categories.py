from pathlib import Path

from tests.building import build
from tracelode.mining.categories import kernel_categories


def test_each_name_of_a_kernel_is_judged_and_so_is_none(tmp_path: Path) -> None:
    names = ["ampere_sgemm_128x64_nn", "ncclDevKernel_AllReduce", None, "ampere_sgemm_128x64_nn"]
    kernels = [{"start_ns": at, "end_ns": at + 1, "name": name} for at, name in enumerate(names)]
    assert kernel_categories(build(tmp_path / "some", kernel=kernels)[0]) == {
        "ampere_sgemm_128x64_nn": "gemm",
        "ncclDevKernel_AllReduce": "communication",
        None: "other",
    }
    assert kernel_categories(build(tmp_path / "none", copy=[{"start_ns": 0, "end_ns": 1}])[0]) == {}
