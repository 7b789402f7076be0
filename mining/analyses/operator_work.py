"""Counts the FLOPs and bytes of every operator that launched kernels, by the formula of its kind."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...store.tables import TABLES
from ...store.trace import Trace
from ..nested import NONE
from ..operator_work import LARGEST, MATRIX, OTHER, Work, kind_of, work
from ..operators.call import SIZES, Call, Tensor, read_call
from ..sites import sites

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

VERSION = 2
NEEDS = ()

WORK = ("kernel", "copy", "fill")

TF32 = r"tf32|s1688|s16816(gemm|fprop|dgrad|wgrad)|tensorop_s(16)?1688"
"""What names of kernels have in them that take 32-bit numbers as TF32, in cuBLAS, cuDNN and CUTLASS."""

SQL = f"""
with placed as (
    select *, row_number() over (partition by process, device, stream order by start_ns, end_ns, kind) as place
    from ({{work}})
),
launched as (
    select
        op,
        if(min(device) = max(device), min(device), null) as device,
        if(min(device) = max(device) and min(stream) = max(stream), min(stream), null) as stream,
        count(*) as kernels,
        min(start_ns) as first_ns,
        sum(duration_ns)::bigint as time_ns,
        min(place) as first_place,
        max(place) as last_place,
        bool_or(regexp_matches(coalesce(kernel, ''), '{TF32}', 'i')) as tf32
    from placed
    where op is not null and kind = 'kernel'
    group by op
)
select
    op.id, op.process, op.thread, op.start_ns, op.name, op.parent, op.shapes, op.types, op.args,
    above.name as above_name, above.shapes as above_shapes, above.types as above_types, above.args as above_args,
    launched.* exclude (op)
from launched
join op on op.id = launched.op
left join op as above on above.id = op.parent and ends_with(above.name, '_convolution_backward')
order by op.process, launched.device, launched.stream, first_ns, op.id
"""

PARTS = {
    "kernel": "select process, device, stream, start_ns, end_ns, duration_ns, 'kernel' as kind, op, name as kernel "
    "from kernel",
    "copy": "select process, device, stream, start_ns, end_ns, null, 'copy', null, null from copy",
    "fill": "select process, device, stream, start_ns, end_ns, null, 'fill', null, null from fill",
}

PLACE = ("process", "thread", "start_ns", "id")
RECORDED = ("name", "shapes", "types", "args", "above_name", "above_shapes", "above_types", "above_args")
"""The columns of the query that formulas are given."""

DEEPEST = 1000
"""More operators are not within each other: parents that go round in a circle end there."""
WITHIN = "counted in the operator within it"


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `operator_work`; nothing where no kernel is known to be launched by an operator.

    Work is counted for an operator that launched kernels itself. One around another of the same family that did so too
    is not charged again: `aten::linear` around `aten::addmm`.
    """
    import pyarrow as pa

    if not (trace.has("kernel") and trace.has("op")):
        return {}
    found = trace.sql(SQL.format(work=" union all ".join(PARTS[name] for name in WORK if trace.has(name))))
    if not len(found):
        return {}
    rows = found.to_dicts()
    around = _around(trace, rows)
    modules = _modules(trace, found)
    table: list[dict[str, Any]] = []
    before: tuple[dict[str, Any], Work] | None = None
    for row, module in zip(rows, modules, strict=True):  # the formulas are code: there is no column operation for them
        call, done = _counted(*(row[name] for name in RECORDED))
        if row["id"] in around:
            done = Work(done.family, done.kind, done.type, 0, None, None, WITHIN, None, WITHIN)
        table.append(_row(row, done, module, _passed(before, row, call)))
        before = (row, done)
    return {"operator_work": pa.Table.from_pylist(table, schema=TABLES["operator_work"].schema)}


@lru_cache(maxsize=4096)  # the calls of an iteration come again in the next
def _counted(
    name: str | None,
    shapes: str | None,
    types: str | None,
    args: str | None,
    above: str | None,
    above_shapes: str | None,
    above_types: str | None,
    above_args: str | None,
) -> tuple[Call | None, Work]:
    """The call that columns of an operator, and of the one around it, describe, and what it comes to."""
    around = read_call(above, above_shapes, above_types, above_args) if above else None
    call = read_call(name or "", shapes, types, args, around)
    return call, work(name or "", call)


def _modules(trace: Trace, found: "pl.DataFrame") -> list[str | None]:
    """The innermost module around each operator, or around its forward operator; annotations are none."""
    site = sites(trace)
    if site is None:
        return [None] * len(found)
    process, thread, start, op = (found[name].fill_null(NONE).to_numpy() for name in PLACE)
    asked = site.asked(process, thread, start, op)
    return list(asked.module) if "module" in set(asked.module_from) else [None] * len(found)


def _around(trace: Trace, rows: list[dict[str, Any]]) -> set[int]:
    """The operators among these that have another of the same family within them, at any depth."""
    ids, parents = (trace.arrow("op", [name])[name].fill_null(NONE).to_numpy() for name in ("id", "parent"))
    parent = np.full(int(ids.max(initial=NONE)) + 1, NONE)
    parent[ids] = parents
    family = {row["id"]: kind_of(row["name"] or "")[0] for row in rows}
    found: set[int] = set()
    for id, own in family.items():  # up the tree of operators, a few steps each
        above, steps = int(parent[id]), 0
        while above != NONE and own != OTHER and steps < DEEPEST:
            if family.get(above) == own:
                found.add(above)
            above, steps = int(parent[above]), steps + 1
    return found


def _row(row: Mapping[str, Any], done: Work, layer: str | None, passed: int | None) -> dict[str, Any]:
    return {
        "op": row["id"],
        "process": row["process"],
        "device": row["device"],
        "stream": row["stream"],
        "name": row["name"],
        "family": done.family,
        "kind": done.kind,
        "type": done.type,
        "arithmetic": _arithmetic(done, tf32=bool(row["tf32"])),
        "flops": done.flops,
        "missing": done.missing,
        "bytes": done.bytes,
        "bytes_missing": done.bytes_missing,
        "result_bytes": _size(done.result),
        "passed_bytes": passed,
        "kernels": row["kernels"],
        "start_ns": row["first_ns"],
        "time_ns": row["time_ns"],
        "layer": layer,
        "detail": done.detail,
    }


def _arithmetic(done: Work, *, tf32: bool) -> str | None:
    if done.type is None:
        return None
    if done.family in MATRIX:
        return "tf32" if tf32 and done.type == "fp32" else done.type
    return "vector fp64" if done.type in ("fp64", "complex128") else "vector fp32"


def _size(one: Tensor | None) -> int | None:
    """The bytes of a tensor; None where its type is not known, or where no memory holds it."""
    if one is None or one.type is None:
        return None
    size = one.elements * SIZES[one.type]
    return size if 0 <= size <= LARGEST else None


def _passed(before: tuple[Mapping[str, Any], Work] | None, row: Mapping[str, Any], call: Call | None) -> int | None:
    """The size of what the operator before wrote, if this one follows at once and has an operand like it."""
    if before is None or call is None:
        return None
    last, done = before
    same = all(last[key] is not None and last[key] == row[key] for key in ("process", "device", "stream"))
    result = done.result
    if not same or last["last_place"] + 1 != row["first_place"] or result is None:
        return None
    like = any(one.shape == result.shape and one.type == result.type for one in call.all())
    return _size(result) if like else None
