"""What the miner derives about the work that operators of the framework do on a device."""

from .columns import I32, I64, PROCESS, TEXT, Column, Kind, Table

__all__ = ["WORKLOAD"]

WORKLOAD = (
    Table(
        "operator_work",
        Kind.MINED,
        "framework operator that launched kernels itself, with what it computes and moves",
        (
            Column("op", I64, "`op.id`", required=True),
            PROCESS,
            Column("device", I32, "device of its kernels; null where there are several"),
            Column("stream", I64, "stream of its kernels; null where there are several"),
            Column("name", TEXT, "name of the operator"),
            Column("family", TEXT, "family of its formula: gemm, convolution, ...; other without one", required=True),
            Column("kind", TEXT, "kind of operator that one formula counts; other without one", required=True),
            Column("type", TEXT, "type of its operands: fp32, bf16, int64, ...; null where not recorded"),
            Column(
                "arithmetic",
                TEXT,
                "type of the arithmetic, whose peak bounds it: as `type` for products of matrices, or tf32 where names "
                "of its kernels tell so; vector fp64 or vector fp32 for all else",
            ),
            Column(
                "flops",
                I64,
                "FLOPs by the formula of its kind, from its shapes; a multiply-add is 2; 0 where another operator "
                "within it is charged",
                "FLOP",
            ),
            Column("missing", TEXT, "why there are no `flops`"),
            Column(
                "bytes",
                I64,
                "sizes of its operands, each read or written once: an upper bound on cold traffic",
                "bytes",
            ),
            Column("bytes_missing", TEXT, "why there are no `bytes`"),
            Column("result_bytes", I64, "size of the tensor it writes, where there is one alone", "bytes"),
            Column(
                "passed_bytes",
                I64,
                "`result_bytes` of the operator right before it on its stream, with no other work between them, where "
                "one of its own operands has that shape and type",
                "bytes",
            ),
            Column("kernels", I64, "kernels that it launched itself", required=True),
            Column("start_ns", I64, "start of the first of them", "ns", required=True),
            Column("time_ns", I64, "their durations in sum; null where none is to be trusted", "ns"),
            Column("layer", TEXT, "innermost module of the model around it, or around its forward operator"),
            Column("detail", TEXT, "what to know of its numbers: causal, whole numbers, ..."),
        ),
        sort=("process", "device", "stream", "start_ns"),
    ),
)
