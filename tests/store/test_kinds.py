import re
from pathlib import Path

import pytest

from tests.building import build
from tracelode.mining.mine import find
from tracelode.store.errors import Error
from tracelode.store.kinds import VARIABLE, category_sql, rules_mark, user_rules
from tracelode.store.query import run

JUDGED = {
    "communication": (
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
        "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)",
        "rcclGenericKernel(ncclDevComm*)",
        "ncclSymkDevKernel_AllGather_LL(ncclSymkDevWorkArgs)",
        "mscclKernel_Sum_half_LL",
        "hcclDevKernel",
        "void ccl::reduce_kernel<float>",
        "void two_shot_all_reduce_kernel<c10::BFloat16, 16, 8>",
        "void tensorrt_llm::customAllReduce<half>",
        "moe_all2all_dispatch",
        "nvshmemi_transfer_rma_nbi<0>",
    ),
    "copy": ("__amd_rocclr_copyBuffer.kd", "__amd_rocclr_copyImage"),
    "fill": ("__amd_rocclr_fillBufferAligned",),
    "attention": ("attn_fwd", "sage_fwd", "void flash_attn_combine_results<256>(float const*)"),
    "normalization": (
        "kernel_cutlass_kernel_flashinfernormkernelsrmsnormRMSNormKernel_object_at_",
        "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel<float, float>(long)",
        "void l2_norm_f32<32>(float const*)",
        "triton_red_fused_add_addmm_mul_native_layer_norm_split_unsqueeze_view_16",
        "void cudnn::bn_bw_1C11_kernel_new<float>",
    ),
    "convolution": (
        "igemm_fwd_gtcx3_nhwc_fp16_bx0_ex0_bt128x128x32",
        "Im2d2Col_v2",
        "void fft2d_r2c_32x32<float, false, 0u, false>(float2*, cudnn::reduced_divisor)",
        "cask_cudnn::computeOffsetsKernel(cask_cudnn::ComputeOffsetsParams)",
    ),
    "gemm": (
        "bmm_MxE4m3_MxE2m1MxE4m3_Fp32_rM_TN_biasM_bN_tmaOpt",
        "void mul_mat_q<(ggml_type)12, 128, false>(char const*)",
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16>(T1::Params)",
        "matrix_multiply_kernel",
    ),
    "pooling": ("void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>(int)",),
    "optimizer": (
        "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>>",
        "void multi_tensor_apply_kernel<TensorListMetadata<4>, LAMBStage1Functor<float>>",
        "void at::native::multi_tensor_apply_kernel<TensorListMetadata<2>, FusedSgdMathFunctor<float, 2>>",
        "void at::native::multi_tensor_apply_kernel<TensorListMetadata<1>, UnaryOpFunctor<float>, "
        "at::native::_amp_foreach_non_finite_check_and_unscale_cuda_(at::Tensor&)::{lambda()#1}>",
        "void at::native::multi_tensor_apply_kernel<TensorListScalarListMetadata<float, 3>, "
        "PointwiseOpScalarListFunctor<float, 3, 3, 0>, std::divides<float>>",
        "multi_tensor_apply_kernel",
    ),
    "embedding": (
        "void bounds_check_indices_kernel<long>(fbgemm_gpu::FixedDivisor)",
        "void at::native::index_elementwise_kernel<128, 4, gather>",
    ),
    "reduction": (
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>",
        "small_reduce_kernel",
        "void nrm2_kernel<double, double, double, (int)0, (int)0, (int)128>(cublasNrm2Params<int, T1, T3>)",
        "void dot_kernel<float, 128, 0, cublasDotParams<cublasGemvTensorStridedBatched<float const>>>",
        "_Z11nrm2_kernelIdddLi0ELi0ELi128EEv16cublasNrm2ParamsIiT_T1_E",
        "void at::native::multi_tensor_apply_kernel<TensorListMetadata<1>, at::native::LpNormFunctor<float>>",
        "triton_per_fused__to_copy_addmm_mean_pow_view_7",
    ),
    "elementwise": (
        "triton_poi_fused__scaled_dot_product_flash_attention_cat_transpose_view_10",
        "triton_poi_fused__to_copy_all_reduce_wait_tensor_3",
        "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)",
        "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>(__nv_bfloat16 const*)",
        "void (anonymous namespace)::elementwise_kernel_with_index<int, at::native::arange_cuda_out>",
        "void cudnn::ops::nchwToNhwcKernel<float, float, float>(cudnn::ops::nchw2nhwc_params_t<float>)",
        "void scal_kernel_val<double, double>(cublasScalParamsVal<T1, T2>)",
        "void at::native::multi_tensor_apply_kernel<TensorListMetadata<2>, UnaryOpFunctor<long, 2, 1, 1>, "
        "at::native::Copy<long, long>>",
        "void unary_op_kernel<&(op_sigmoid(float)), float>(float const*)",
    ),
    "other": ("laplacian_kernel", ""),
}
"""What kernels do that were found under such names in public traces, or are in the libraries' sources."""


def _category(name: str) -> str:
    quoted = name.replace("'", "''")
    return run({}, f"select {category_sql('name')} as category from (select '{quoted}' as name)").item()


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "rules.toml"
    monkeypatch.setenv(VARIABLE, str(path))
    return path


def test_kernels_are_judged_by_what_their_names_say() -> None:
    names = [(name, category) for category, names in JUDGED.items() for name in names]
    values = ", ".join("('" + name.replace("'", "''") + "')" for name, _ in names)
    rows = run({}, f"select name, {category_sql('name')} as category from (values {values}) as t(name)").rows()
    assert dict(rows) == dict(names)


def test_a_kernel_without_a_name_is_of_the_other_kind() -> None:
    assert run({}, f"select {category_sql('name')} as category from (select null::varchar as name)").item() == "other"


def test_rules_of_a_user_come_before_all_others_and_see_the_whole_name(rules: Path) -> None:
    rules.write_text(
        """
        [[rule]]
        category = "moe"
        patterns = ['ExpertChoice', "it's"]
        [[rule]]
        category = "communication"
        patterns = ['(?-i)Ring', 'mesh_exchange']
        """
    )
    assert _category("void cutlass::Kernel2<gemm_expertchoice_64>(Params)") == "moe"
    assert _category("void it's(float)") == "moe"
    assert _category("RingPass") == "communication"
    assert _category("MESH_EXCHANGE<ring>") == "communication"
    assert _category("string_gemm") == "gemm"
    assert _category("ncclKernel_Broadcast") == "communication"


def test_without_rules_of_a_user_results_have_no_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert (user_rules(), rules_mark()) == ((), "")
    monkeypatch.setenv(VARIABLE, "")
    assert (user_rules(), rules_mark()) == ((), "")


def test_the_mark_tells_rules_apart_and_not_the_files_that_hold_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks: list[str] = []
    for number, patterns in enumerate(("['a']", "[ 'a' ] # the same", "['a', 'b']")):
        path = tmp_path / f"{number}.toml"
        path.write_text(f'[[rule]]\ncategory = "moe"\npatterns = {patterns}\n')
        monkeypatch.setenv(VARIABLE, str(path))
        marks.append(rules_mark())
    assert marks[0] == marks[1] != marks[2]
    assert all(re.fullmatch(r"\+[0-9a-f]{12}", mark) for mark in marks)


def test_what_was_mined_under_other_rules_is_mined_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = [
        {"start_ns": 0, "end_ns": 30, "name": "gemm"},
        {"start_ns": 30, "end_ns": 40, "name": "mesh_exchange"},
    ]
    trace, archive = build(tmp_path, kernel=kernels)

    def states() -> dict[str, int]:
        return dict(find(trace, archive, "states").rows.select("state", "time_ns").rows())

    assert states() == {"compute": 40}
    path = tmp_path / "rules.toml"
    path.write_text('[[rule]]\ncategory = "communication"\npatterns = ["mesh_exchange"]\n')
    monkeypatch.setenv(VARIABLE, str(path))
    assert not archive.open(trace.id).has("segment")
    assert states() == {"compute": 30, "communication": 10}
    assert dict(archive.sql("select name, category from kernel").rows())["mesh_exchange"] == "communication"
    monkeypatch.delenv(VARIABLE)
    assert archive.open(trace.id).has("segment")
    assert states() == {"compute": 40}
    assert list(archive.fsck()) == []


WRONG = {
    "": "holds nothing, not a list of [[rule]]",
    "[[rule": "is not TOML: ",
    "a = 1": "holds a, not a list of [[rule]]",
    "rule = 1": "holds rule, not a list of [[rule]]",
    "rule = [1]": "rule 1: has 1, not category and patterns",
    '[[rule]]\ncategory = "a"': "rule 1: has category, not category and patterns",
    '[[rule]]\ncategory = "a"\npatterns = ["x"]\nextra = 1': "rule 1: has category, patterns, extra, not",
    '[[rule]]\ncategory = "Two words"\npatterns = ["x"]': "rule 1: category 'Two words' is not a short word",
    '[[rule]]\ncategory = "idle"\npatterns = ["x"]': "rule 1: category 'idle' is not a short word",
    '[[rule]]\ncategory = 1\npatterns = ["x"]': "rule 1: category 1 is not a short word",
    '[[rule]]\ncategory = "a"\npatterns = []': "rule 1 (a): patterns is not a list of strings",
    '[[rule]]\ncategory = "a"\npatterns = "x"': "rule 1 (a): patterns is not a list of strings",
    '[[rule]]\ncategory = "a"\npatterns = ["x"]\n[[rule]]\ncategory = "b"\npatterns = ["y", "(?=z)"]': (
        "rule 2 (b): pattern '(?=z)': invalid perl operator: (?="
    ),
    '[[rule]]\ncategory = "a"\npatterns = ["(x"]': "rule 1 (a): pattern '(x': missing ): (x",
    '[[rule]]\ncategory = "a"\npatterns = ["x|"]': "rule 1 (a): pattern 'x|': matches every name",
}


@pytest.mark.parametrize("text", WRONG)
def test_an_entry_that_is_no_rule_is_named_with_its_file_and_the_reason(rules: Path, text: str) -> None:
    rules.write_text(text)
    with pytest.raises(Error) as refused:
        category_sql("name")
    assert refused.value.message.startswith(f"{rules}: {WRONG[text]}")
    assert "\n" not in refused.value.message + refused.value.hint
    assert refused.value.hint


def test_a_file_that_cannot_be_read_is_named(rules: Path) -> None:
    with pytest.raises(Error, match=r"rules\.toml: No such file or directory"):
        user_rules()
    rules.write_bytes(b"\xff")
    with pytest.raises(Error, match=r"rules\.toml: is not TOML"):
        user_rules()


def test_a_query_that_names_the_category_judges_as_one_that_takes_all_columns(tmp_path: Path) -> None:
    names = ["sgemm", None, "sgemm", "ncclKernel_AllReduce", "laplacian"]
    trace, _ = build(
        tmp_path, kernel=[{"start_ns": at, "end_ns": at + 1, "name": name} for at, name in enumerate(names)]
    )
    told = trace.sql("select start_ns, name, category from kernel order by start_ns")
    assert told["category"].to_list() == ["gemm", "other", "gemm", "communication", "other"]
    whole = trace.sql("select * from kernel order by start_ns")
    assert whole.select("start_ns", "name", "category").equals(told)
