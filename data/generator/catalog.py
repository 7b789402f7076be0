"""The kernels, copies and operators of the generated model: names in the style of real ones, all made up."""

from dataclasses import dataclass, replace

from .records import Copy, Fill, Kernel, Operator

__all__ = [
    "BACKWARD_HEAD", "BACKWARD_LAYER", "CANDIDATES", "CHECK", "CHECKPOINT", "EMBEDDING", "EMBEDDING_BACKWARD",
    "FORWARD_HEAD", "FORWARD_LAYER", "INPUTS", "INSERTED", "LATE_INPUT", "LOSS_VALUE", "OPTIMIZER", "REDUCE",
    "REDUCE_OPERATORS", "REPLACEMENT", "SLOW_ATTENTION", "Step",
]  # fmt: skip

BF16 = "c10::BFloat16"
BATCH, LENGTH, HIDDEN, HEADS, INNER, WORDS = 4, 512, 1024, 16, 4096, 32000
TOKENS = BATCH * LENGTH
ACTIVATION = TOKENS * HIDDEN * 2
LAYER_PARAMETERS = 4 * HIDDEN * HIDDEN + 2 * HIDDEN * INNER


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a pass: outer operators, and in the innermost of them operators with their device work.

    A backward step has the key of the forward step that it answers.
    """

    key: str
    outer: tuple[Operator, ...]
    inner: tuple[tuple[Operator, tuple[Kernel | Fill, ...]], ...]
    output_bytes: int


def _gemm(layout: str, tile: str, grid: tuple[int, int, int], duration_ns: int) -> Kernel:
    name = (
        f"sm90_xmma_gemm_bf16bf16_bf16f32_f32_{layout}_n_tilesize{tile}"
        "_warpgroupsize2x1x1_execute_segment_k_off_kernel__5x_cublas"
    )
    return Kernel(
        name=name, duration_ns=duration_ns, grid=grid, block=(384, 1, 1), registers=168,
        static_shared=1024, dynamic_shared=205824, call="cudaLaunchKernelExC",
    )  # fmt: skip


def _elementwise(functor: str, arrays: int, blocks: int, duration_ns: int) -> Kernel:
    types = f"at::native::{functor}<{BF16}>, std::array<char*, {arrays}ul>"
    name = f"void at::native::vectorized_elementwise_kernel<8, {types} >(int, {types})"
    return Kernel(name=name, duration_ns=duration_ns, grid=(blocks, 1, 1), registers=28)


def _triton(name: str, blocks: int, registers: int, duration_ns: int) -> Kernel:
    return Kernel(name=name, duration_ns=duration_ns, grid=(blocks, 1, 1), registers=registers, call="cuLaunchKernel")


def _tensors(name: str, *dims: tuple[int, ...], scalars: tuple[str, ...] = (), backward: bool = False) -> Operator:
    return Operator(
        name=name,
        dims=(*dims, *((),) * len(scalars)),
        types=(*(BF16,) * len(dims), *("Scalar",) * len(scalars)),
        concrete=(*("",) * len(dims), *scalars),
        backward=backward,
    )


def _node(name: str) -> tuple[Operator, Operator]:
    wrapped = f"autograd::engine::evaluate_function: {name}"
    return Operator(name=wrapped, backward=True), Operator(name=name, backward=True)


def _linear(key: str, rows: int, columns: int, layout: str, duration_ns: int) -> tuple[Step, Step]:
    """Returns a linear map's forward step (one product) and backward step (two products and the bias's sum)."""
    tiles = (columns // 128, TOKENS // 128, 1)
    into, weight, out = (TOKENS, rows), (columns, rows), (TOKENS, columns)
    forward = Step(
        key,
        (_tensors("aten::linear", into, weight, (columns,)),),
        ((_tensors("aten::addmm", (columns,), into, (rows, columns), scalars=("1", "1")),
          (_gemm(layout, "128x128x64", tiles, duration_ns),)),),
        TOKENS * columns * 2,
    )  # fmt: skip
    total = Kernel(
        name=f"void at::native::reduce_kernel<128, 4, at::native::ReduceOp<{BF16}, at::native::SumFunctor<float>, "
        f"unsigned int, {BF16}, 4> >(at::native::ReduceOp<{BF16}, at::native::SumFunctor<float>, unsigned int, "
        f"{BF16}, 4>)",
        duration_ns=7200, grid=(columns // 128, 4, 1), block=(32, 16, 1), registers=40, dynamic_shared=16,
    )  # fmt: skip
    backward = Step(
        key,
        _node("AddmmBackward0"),
        (
            (_tensors("aten::mm", out, weight, backward=True),
             (_gemm("nn", "128x256x64", (rows // 128, TOKENS // 256, 1), duration_ns * 21 // 20),)),
            (_tensors("aten::mm", (columns, TOKENS), into, backward=True),
             (_gemm("nt", "256x128x64", (columns // 256, rows // 128, 1), duration_ns * 11 // 10),)),
            (_tensors("aten::sum", out, scalars=("[0]", "True", ""), backward=True), (total,)),
        ),
        TOKENS * rows * 2,
    )  # fmt: skip
    return forward, backward


def _norm(key: str) -> tuple[Step, Step]:
    shape = (BATCH, LENGTH, HIDDEN)
    forward = Step(
        key,
        (_tensors("aten::layer_norm", shape, scalars=(f"[{HIDDEN}]",)),),
        ((_tensors("aten::native_layer_norm", shape, (HIDDEN,), (HIDDEN,), scalars=("1e-05",)), (Kernel(
            name=f"void at::native::(anonymous namespace)::rowwise_layer_norm_kernel<{BF16}, float, 8>(int, float, "
            f"{BF16} const*, {BF16} const*, {BF16} const*, float*, float*, {BF16}*)",
            duration_ns=5600, grid=(TOKENS, 1, 1), registers=34, dynamic_shared=24),)),),
        ACTIVATION,
    )  # fmt: skip
    kernels = tuple(
        Kernel(
            name=f"void at::native::(anonymous namespace)::layer_norm_{part}_kernel<{BF16}, float>({BF16} const*, "
            f"{BF16} const*, float const*, float const*, {BF16}*)",
            duration_ns=duration, grid=grid, block=block, registers=46, dynamic_shared=dynamic,
        )
        for part, duration, grid, block, dynamic in (
            ("input_gradient", 8300, (TOKENS, 1, 1), (128, 1, 1), 16),
            ("weight_gradient", 11900, (HIDDEN // 32, 1, 1), (32, 32, 1), 8448),
        )
    )  # fmt: skip
    inner = _tensors("aten::native_layer_norm_backward", shape, shape, backward=True)
    return forward, Step(key, _node("NativeLayerNormBackward0"), ((inner, kernels),), ACTIVATION)


def _pointwise(key: str, operator: str, node: str, functor: str, width: int, duration_ns: int) -> tuple[Step, Step]:
    shape, blocks = (BATCH, LENGTH, width), TOKENS * width // 1024
    arrays = 3 if operator == "aten::add" else 2
    forward = _elementwise(functor, arrays, blocks, duration_ns)
    backward = _elementwise(f"{functor}Backward", arrays + 1, blocks, duration_ns * 5 // 4)
    inputs = (shape,) * (arrays - 1)
    return (
        Step(key, (), ((_tensors(operator, *inputs), (forward,)),), TOKENS * width * 2),
        Step(key, _node(node), ((_tensors(f"{operator}_backward", shape, shape, backward=True), (backward,)),),
             TOKENS * width * 2),
    )  # fmt: skip


_QKV = (BATCH, HEADS, LENGTH, HIDDEN // HEADS)
_ATTENTION = Kernel(
    name="void flash::attention_forward_kernel<flash::ForwardTraits<64, 128, 128, 4, cutlass::bfloat16_t>, true, "
    "false>(flash::ForwardParams)",
    duration_ns=61000, grid=(LENGTH // 128, BATCH, HEADS), registers=242, dynamic_shared=81920,
)  # fmt: skip
SLOW_ATTENTION = replace(_ATTENTION, duration_ns=_ATTENTION.duration_ns * 40)
_ROTATE = _triton("triton_poi_fused_add_cat_mul_neg_3", 1024, 24, 7900)
_ROTATE_BACK = _triton("triton_poi_fused_add_cat_mul_neg_slice_backward_11", 1024, 30, 9400)
_attention = Step(
    "attention",
    (_tensors("aten::scaled_dot_product_attention", _QKV, _QKV, _QKV, scalars=("0.", "True")),),
    ((_tensors("aten::_flash_attention_forward", _QKV, _QKV, _QKV, scalars=("0.", "True")), (_ATTENTION,)),),
    ACTIVATION,
)
_attention_back = Step(
    "attention",
    _node("FlashAttentionBackward0"),
    ((_tensors("aten::_flash_attention_backward", _QKV, _QKV, _QKV, _QKV, backward=True), (
        Fill(bytes=ACTIVATION * 2, duration_ns=3100),
        Kernel(name="void flash::attention_backward_dot_kernel<flash::BackwardTraits<64, 64, 128, 8, "
               "cutlass::bfloat16_t> >(flash::BackwardParams)",
               duration_ns=9100, grid=(LENGTH // 64, BATCH, HEADS), block=(256, 1, 1), registers=56),
        Kernel(name="void flash::attention_backward_kernel<flash::BackwardTraits<64, 64, 128, 8, "
               "cutlass::bfloat16_t>, true, false>(flash::BackwardParams)",
               duration_ns=148000, grid=(LENGTH // 128, BATCH, HEADS), block=(256, 1, 1), registers=255,
               dynamic_shared=147456),
        Kernel(name="void flash::attention_backward_convert_kernel<flash::BackwardTraits<64, 64, 128, 8, "
               "cutlass::bfloat16_t> >(flash::BackwardParams, int)",
               duration_ns=5200, grid=(LENGTH // 64, BATCH, HEADS), block=(256, 1, 1), registers=40,
               dynamic_shared=16384))),),
    3 * ACTIVATION,
)  # fmt: skip
_rotate = Step("rotate", (), ((_tensors(_ROTATE.name, _QKV, _QKV), (_ROTATE,)),), 2 * ACTIVATION)
_rotate_back = Step(
    "rotate",
    _node("CompiledFunctionBackward"),
    ((_tensors(_ROTATE_BACK.name, _QKV, backward=True), (_ROTATE_BACK,)),),
    2 * ACTIVATION,
)

_LAYER = (
    _norm("norm1"),
    _linear("qkv", HIDDEN, 3 * HIDDEN, "tn", 42000),
    (_rotate, _rotate_back),
    (_attention, _attention_back),
    _linear("project", HIDDEN, HIDDEN, "tn", 17500),
    _pointwise("add1", "aten::add", "AddBackward0", "AddFunctor", HIDDEN, 6100),
    _norm("norm2"),
    _linear("up", HIDDEN, INNER, "tn", 55000),
    _pointwise("gelu", "aten::gelu", "GeluBackward0", "GeluFunctor", INNER, 13800),
    _linear("down", INNER, HIDDEN, "tn", 57000),
    _pointwise("add2", "aten::add", "AddBackward0", "AddFunctor", HIDDEN, 6100),
)
FORWARD_LAYER = tuple(step for step, _ in _LAYER)
BACKWARD_LAYER = tuple(step for _, step in reversed(_LAYER))


def _softmax(key: str, operator: str, node: str, kernel: str, duration_ns: int) -> tuple[Step, Step]:
    def one(part: str, nanoseconds: int) -> Kernel:
        return Kernel(
            name=f"void at::native::(anonymous namespace)::{kernel}_{part}_kernel<{BF16}, float, 8>({BF16}*, "
            f"{BF16} const*, int)",
            duration_ns=nanoseconds, grid=(TOKENS, 1, 1), block=(1024, 1, 1), registers=36, dynamic_shared=128,
        )  # fmt: skip

    shape = (TOKENS, WORDS)
    back = _tensors(f"{operator}_backward_data", shape, shape, backward=True)
    return (
        Step(key, (_tensors(operator, shape, scalars=("1", "")),),
             ((_tensors(operator.replace("::", "::_"), shape, scalars=("1", "False")),
               (one("forward", duration_ns),)),), TOKENS * WORDS * 2),
        Step(key, _node(node), ((back, (one("backward", duration_ns * 6 // 5),)),), TOKENS * WORDS * 2),
    )  # fmt: skip


_HEAD = (
    _norm("norm"),
    _linear("vocabulary", HIDDEN, WORDS, "tn", 395000),
    _softmax("softmax", "aten::log_softmax", "LogSoftmaxBackward0", "log_softmax", 96000),
    _softmax("loss", "aten::nll_loss", "NllLossBackward0", "nll_loss", 4300),
)
FORWARD_HEAD = tuple(step for step, _ in _HEAD)
BACKWARD_HEAD = tuple(step for _, step in reversed(_HEAD))

EMBEDDING = Step(
    "embedding",
    (_tensors("aten::embedding", (WORDS, HIDDEN), (BATCH, LENGTH), scalars=("-1", "False", "False")),),
    ((_tensors("aten::index_select", (WORDS, HIDDEN), (TOKENS,), scalars=("0",)), (Kernel(
        name=f"void at::native::(anonymous namespace)::index_rows_kernel<{BF16}, long, unsigned int, 2>({BF16}*, "
        f"{BF16} const*, long const*, long)",
        duration_ns=9800, grid=(TOKENS, 1, 1), block=(256, 1, 1), registers=24),)),),
    ACTIVATION,
)  # fmt: skip
EMBEDDING_BACKWARD = Step(
    "embedding",
    _node("EmbeddingBackward0"),
    ((_tensors("aten::embedding_dense_backward", (BATCH, LENGTH, HIDDEN), (BATCH, LENGTH), backward=True), (
        Fill(bytes=WORDS * HIDDEN * 2, duration_ns=24500),
        Kernel(name=f"void at::native::(anonymous namespace)::embedding_scatter_kernel<{BF16}, float, long>(long "
               f"const*, {BF16} const*, {BF16}*, int, int)",
               duration_ns=31000, grid=(HIDDEN // 32, 1, 1), block=(32, 32, 1), registers=40,
               dynamic_shared=12544))),),
    WORDS * HIDDEN * 2,
)  # fmt: skip


def _foreach(operator: str, functor: str, lists: int, launches: int, duration_ns: int) -> Step:
    name = (
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
        f"namespace)::TensorListMetadata<{lists}>, at::native::(anonymous namespace)::{functor}<float, {lists}> "
        f">(at::native::(anonymous namespace)::TensorListMetadata<{lists}>, at::native::(anonymous namespace)::"
        f"{functor}<float, {lists}>)"
    )
    kernel = Kernel(name=name, duration_ns=duration_ns, grid=(320, 1, 1), block=(512, 1, 1), registers=42)
    return Step(operator, (), ((_tensors(operator), (kernel,) * launches),), 0)


OPTIMIZER = (
    _foreach("aten::_foreach_norm", "NormFunctor", 1, 2, 6800),
    _foreach("aten::_foreach_mul_", "MultiplyFunctor", 1, 2, 7100),
    _foreach("aten::_foreach_add_", "AddScalarFunctor", 1, 1, 2300),
    _foreach("aten::_foreach_lerp_", "LerpFunctor", 2, 3, 10400),
    _foreach("aten::_foreach_mul_", "MultiplyFunctor", 1, 2, 7100),
    _foreach("aten::_foreach_addcmul_", "MultiplyAddFunctor", 3, 3, 12300),
    _foreach("aten::_foreach_sqrt", "RootFunctor", 2, 2, 8200),
    _foreach("aten::_foreach_div_", "DivideFunctor", 2, 2, 8600),
    _foreach("aten::_foreach_addcdiv_", "DivideAddFunctor", 3, 3, 13100),
)

REDUCE = Kernel(
    name="ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    duration_ns=142000, grid=(24, 1, 1), block=(544, 1, 1), registers=96, dynamic_shared=82240,
    call="cudaLaunchKernelExC", reduces=LAYER_PARAMETERS * 2,
)  # fmt: skip
REDUCE_OPERATORS = (
    _tensors("c10d::allreduce_", (LAYER_PARAMETERS,)),
    _tensors("record_param_comms", (LAYER_PARAMETERS,)),
    Operator(name="nccl:all_reduce", category="user_annotation"),
)

INPUTS = (
    Copy(direction="HtoD", source="Pinned", target="Device", bytes=TOKENS * 8, speed=24000),
    Copy(direction="HtoD", source="Pinned", target="Device", bytes=TOKENS * 8, speed=24000),
)
LATE_INPUT = Copy(
    direction="HtoD", source="Pageable", target="Device", bytes=96 * 1024 * 1024, speed=6200, blocking=True
)
LOSS_VALUE = Copy(direction="DtoH", source="Device", target="Pageable", bytes=4, speed=12000)
CHECKPOINT = Copy(
    direction="DtoH", source="Device", target="Pageable", bytes=LAYER_PARAMETERS * 2, speed=9000, blocking=True
)

CANDIDATES = tuple(
    _triton(f"triton_tem_fused_addmm_candidate_{number}", 192 + 64 * number, 96 + 32 * number, 60000 + 9000 * number)
    for number in range(4)
)
CHECK = _elementwise("NonFiniteCheckFunctor", 2, 4096, 15000)
INSERTED = _elementwise("CopyFunctor", 2, 512, 4400)
REPLACEMENT = _elementwise("ClampFunctor", 2, 1024, 8800)
