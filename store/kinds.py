r"""The kind of work a kernel does, by its name: an ordered list of patterns, the first that matches decides.

Names vary by vendor, library and version (`ncclKernel_`, `ncclDevKernel_`, `rccl...`, Triton's generated names), so
the patterns are case-insensitive and looked for anywhere in the name: first in the function's name alone, then, if none
matches, in the whole name with its template arguments (`cutlass::Kernel<cutlass_..._gemm_...>`). A kernel that matches
none is `other`.
"""

__all__ = ["CATEGORIES", "category_sql"]

CATEGORIES: tuple[tuple[str, str], ...] = (
    (
        "communication",
        r"nccl|rccl|msccl|oneccl|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|multimem|(nv|roc)shmem|deep_?ep|"
        r"mori::|userbuffers|cross_device_reduce",
    ),
    ("copy", r"rocclr_copybuffer|^memcpy"),
    ("fill", r"rocclr_fillbuffer|^fillbuffer|^memset"),
    ("attention", r"flash|fmha|attention|attn|mha_|paged_kv"),
    ("normalization", r"(layer|batch|group|instance|rms)_?norm|normaliz|[:_]bn_|norm_(fwd|bwd|kernel)"),
    ("convolution", r"convol|conv[_0-9]|winograd|wgrad|dgrad|fprop|implicit_gemm|im2col|scudnn|hcudnn|miopen"),
    ("gemm", r"gemm|gemv|matmul|addmm|[_:]bmm|cutlass|cublas|tensile|cijk_|wmma|xmma|nvjet|_mm_|split_?k"),
    ("optimizer", r"adam|[:_]sgd|[:_]lamb[^d]|multi_tensor_apply|optimizer"),
    ("embedding", r"embedding|gather|scatter|index"),
    ("reduction", r"reduce|softmax|argm(ax|in)|cumsum|scan|sort|topk|loss"),
    (
        "elementwise",
        r"elementwise|pointwise|vectorized|triton_poi|copy_kernel|activation|dropout|cat_?array|transpose|gelu|relu|silu",
    ),
)
"""(category, regular expression of RE2), tried in order."""


def category_sql(column: str) -> str:
    """A SQL expression that gives the category of the kernel name in that column."""
    bare = f"regexp_replace(replace({column}, '(anonymous namespace)', ''), '[<(].*$', '')"
    return f"coalesce({_first_match(bare)}, {_first_match(column)}, 'other')"


def _first_match(text: str) -> str:
    cases = " ".join(f"when regexp_matches({text}, '{pattern}', 'i') then '{name}'" for name, pattern in CATEGORIES)
    return f"case {cases} end"
