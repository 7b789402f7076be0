"""The kind of work a kernel does, by its name: an ordered list of patterns, the first that matches decides.

Names vary by vendor, library and version (`ncclKernel_`, `ncclDevKernel_`, `rccl...`, Triton's generated names), so
the patterns are case-insensitive and looked for anywhere in the name. A kernel that matches none is `other`.
"""

__all__ = ["CATEGORIES", "category_sql"]

CATEGORIES: tuple[tuple[str, str], ...] = (
    (
        "communication",
        r"nccl|rccl|oneccl|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|multimem|nvshmem|deep_?ep|cross_device_reduce",
    ),
    ("copy", r"copybuffer|memcpy|fillbuffer|memset"),
    ("attention", r"flash|fmha|attention|attn|mha_|paged_kv"),
    ("convolution", r"conv([^e]|$)|winograd|wgrad|dgrad|implicit_gemm|im2col|miopen"),
    ("gemm", r"gemm|gemv|cutlass|cublas|matmul|tensile|cijk_|wmma|xmma|nvjet|_mm_|split_?k"),
    ("normalization", r"norm"),
    ("optimizer", r"adam|sgd|lamb|multi_tensor_apply|optimizer"),
    ("embedding", r"embedding|gather|scatter|index"),
    ("reduction", r"reduce|softmax|argmax|cumsum|scan|sort|topk|loss"),
    (
        "elementwise",
        r"elementwise|pointwise|vectorized|fused|triton_poi|copy_kernel|activation|dropout|cat_?array|transpose",
    ),
)
"""(category, regular expression), tried in order."""


def category_sql(column: str) -> str:
    """A SQL expression that gives the category of the kernel name in that column."""
    cases = " ".join(f"when regexp_matches({column}, '{pattern}', 'i') then '{name}'" for name, pattern in CATEGORIES)
    return f"case {cases} else 'other' end"
