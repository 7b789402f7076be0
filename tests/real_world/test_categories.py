"""Kinds of work by name: communication is communication under every name, and waiting is no work."""

import json
from pathlib import Path

from tests.collect.kineto_traces import duration, read_events, rows_of
from tests.real_world.traces import kernel, launch, launched
from tracelode.collect.ingest import read
from tracelode.mining.mine import find
from tracelode.store import Archive

COMMUNICATION = (
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
    "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)",
    "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "ncclDevKernel_Generic(ncclDevComm*, unsigned long, ncclWork*)",
    "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)",
    "void ncclSymkDevKernel_AllReduce_AGxLL_R(ncclSymkDevWorkArgs)",
    "rccl_main_kernel",
    "mscclKernel_Sum_half_LL",
    "mscclKernelEntry_Sum_half",
    "void vllm::cross_device_reduce_1stage<__half, 4>(vllm::RankData*)",
    "void sglang::cross_device_reduce_2stage<__nv_bfloat16, 8>",
    "void aiter::cross_device_reduce_1stage_naive<opus::bf16_t, 8>",
    "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<8>",
    "void quickreduce::allreduce_prototype_twoshot<int>",
    "multimem_all_reduce_kernel<c10::BFloat16, 16>",
    "void one_shot_all_reduce_kernel<c10::BFloat16, 16, 8>",
    "nvshmemi_transfer_rma_nbi<0>",
    "void deep_ep::internode_ll::dispatch<true, false, 7168>(void*, float*)",
    "void deep_ep::intranode::combine<__nv_bfloat16, 8, 768, 4096>",
    "void mori::moe::EpDispatchIntraNodeKernel<__hip_bfloat16>",
    "userbuffers_fp16_sum_inplace_gpu_rr_rs_oop",
    "void rocshmem::rocshmem_put_wg",
    "oneccl_allreduce_small",
)
COMPUTATION = (
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>",
    "void at::native::index_elementwise_kernel<128, 4, gather>",
    "void splitKreduce_kernel<32, 16, int, float>",
    "ampere_sgemm_128x64_tn",
    "void dispatch_moe_gemm",
    "triton_poi_fused_add_barrier_0",
)


def _categories(folder: Path, names: tuple[str, ...]) -> dict[str, str]:
    """The category of each kernel name."""
    trace = read_events(
        folder, *(event for at, name in enumerate(names) for event in launched(name, 100 * at, 5, at + 1))
    )
    return dict(trace.sql("select name, category from kernel").rows())


def test_communication_is_known_under_all_its_names(tmp_path: Path) -> None:
    """HTA#122, #208, #247, #360, #109, roctracer#101: renamed kernels counted as computation, or not at all."""
    assert _categories(tmp_path, COMMUNICATION) == dict.fromkeys(COMMUNICATION, "communication")


def test_computation_is_not_taken_for_communication(tmp_path: Path) -> None:
    """HTA#241: a share of communication that is wrong by a factor helps nobody, in either direction."""
    found = _categories(tmp_path, COMPUTATION)
    assert len(found) == len(COMPUTATION)
    assert "communication" not in found.values()


def test_the_share_of_communication_is_what_is_not_hidden(tmp_path: Path) -> None:
    """HTA#241, #360: 0.2 % was reported where it was about 10 %."""
    path, archive = tmp_path / "trace.json", Archive(tmp_path / "archive")
    events = [*launched("gemm", 100, 90, 1), *launched("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 190, 10, 2)]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    trace, _ = read(path, archive)
    shares = dict(find(trace, archive, "states").rows.select("state", "share").rows())
    assert shares == {"compute": 0.9, "communication": 0.1}


def test_waits_are_no_work_of_the_device(tmp_path: Path) -> None:
    """HTA#162, kineto h100 traces: synchronisation events counted as computation inflated the overlap."""
    path, archive = tmp_path / "trace.json", Archive(tmp_path / "archive")
    wait = duration("cuda_sync", "Context Sync", 0, 7, 105, 895, device=0, stream=7, correlation=9)
    events = [*launched("gemm", 100, 5, 1), wait, *launched("gemm", 1000, 5, 2)]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    trace, _ = read(path, archive)
    assert [row["kind"] for row in rows_of(trace, "sync")] == ["context"]
    states = dict(find(trace, archive, "states").rows.select("state", "time_ns").rows())
    assert states == {"compute": 10_000, "idle": 895_000}


def test_shares_of_a_devices_time_add_up_to_one(tmp_path: Path) -> None:
    """nsys-ai's known limits: a ratio of 271.6 %, since what was divided overlapped."""
    path, archive = tmp_path / "trace.json", Archive(tmp_path / "archive")
    reduce = kernel("ncclDevKernel_AllReduce", 120, 200, 2, stream=9)
    work = [kernel("gemm", 100, 100, 1), reduce, kernel("gemm", 150, 90, 3, stream=11), kernel("gemm", 400, 10, 4)]
    events = [*(launch(10 * c, c) for c in range(1, 5)), *work]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    trace, _ = read(path, archive)
    rows = find(trace, archive, "states").rows
    assert dict(rows.select("state", "time_ns").rows()) == {"compute": 150_000, "communication": 80_000, "idle": 80_000}
    assert round(sum(rows["share"]), 9) == 1.0


def test_kernels_of_one_generic_name_are_told_apart_by_what_the_record_says(tmp_path: Path) -> None:
    """ROCm/roctracer#101: all RCCL kernels share one name; the collective is in the arguments, where there are any."""
    generic = kernel("ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", 100, 5, 1)
    generic["args"] |= {"Collective name": "allgather", "In msg nelems": 64, "Out msg nelems": 512, "Group size": 8}
    trace = read_events(tmp_path, launch(90, 1), generic)
    (row,) = rows_of(trace, "collective")
    assert (row["kind"], row["input_elements"], row["output_elements"], row["group_size"]) == ("allgather", 64, 512, 8)
