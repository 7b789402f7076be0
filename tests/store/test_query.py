from pathlib import Path

import pytest

from tracelode.store import Archive, Error, NotCollected

from .rows import add, kernel

A, B = "a" * 64, "b" * 64


def test_a_view_gives_the_trace_id_and_the_duration(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    add(archive, A, kernel("x", 5, 9))
    add(archive, B, kernel("x", 5, 6))
    rows = archive.sql("select trace_id, duration_ns from kernel order by 1").rows()
    assert rows == [(A, 4), (B, 1)]


def test_a_trace_sees_only_itself(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    add(archive, A, kernel("x", 5, 9))
    trace = add(archive, B, kernel("x", 5, 6))
    assert trace.sql("select count(*) from kernel").rows() == [(1,)]


def test_a_table_no_trace_has_is_not_collected_rather_than_empty(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    trace = add(archive, A, kernel("x", 5, 9))
    with pytest.raises(NotCollected, match="table fault was not collected") as caught:
        archive.sql("select count(*) from fault")
    assert caught.value.hint == "there are: kernel"
    with pytest.raises(NotCollected, match="fault"):
        trace.fault  # noqa: B018 - the look-up is what is tested


def test_bad_sql_is_the_users_error(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    add(archive, A, kernel("x", 5, 9))
    for query in ("selec", "select nothing from kernel", "select 1 from nowhere", ""):
        if query:
            with pytest.raises(Error, match="sql: "):
                archive.sql(query)


def test_odd_folder_names_do_not_break_out_of_the_statement(tmp_path: Path) -> None:
    archive = Archive(tmp_path / 'it\'s "odd" [*] archive')
    add(archive, A, kernel("x", 5, 9))
    assert archive.sql("select trace_id from kernel").rows() == [(A,)]


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("ncclKernel_AllReduce_RING_LL_Sum_float", "communication"),
        ("ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)", "communication"),
        ("void vllm::cross_device_reduce_2stage<__hip_bfloat16, 8>", "communication"),
        ("__amd_rocclr_copyBuffer", "copy"),
        ("flash_fwd_kernel", "attention"),
        ("implicit_convolve_sgemm", "convolution"),
        ("Cijk_Alik_Bljk_SB_MT64x16x32", "gemm"),
        ("nvjet_sm103_tst_128x16", "gemm"),
        ("void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>", "elementwise"),
        ("convert_to_half", "other"),
        ("void clover::par_ranged2d_kernel<PdV_kernel(bool, int)::[lambda(int, int) (instance 2)]>(T1)", "other"),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl::{lambda()#1}>",
            "elementwise",
        ),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, NormTwoOps<float>>>", "reduction"),
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128>(Params)", "gemm"),
        ("void (anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor>", "optimizer"),
        ("lamb_stage_1_kernel", "other"),
        ("apex::lamb_stage_1", "optimizer"),
        ("_combined_routing_memset", "other"),
        ("Memset (Device)", "copy"),
        ("volta_scudnn_128x64_relu_interior_nn_v1", "convolution"),
        ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>", "normalization"),
        ("at::native::normal_kernel", "other"),
        ("triton_tem_fused_addmm_3", "gemm"),
        ("saxpy(double *)", "other"),
    ],
)
def test_a_kernels_name_tells_its_category(tmp_path: Path, name: str, category: str) -> None:
    archive = Archive(tmp_path)
    add(archive, A, kernel(name, 0, 1))
    assert archive.sql("select category from kernel").rows() == [(category,)]
