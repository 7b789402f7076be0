"""The operators, modules and annotations around the launches of operations."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..store.trace import Trace
from .sorting import Ints

__all__ = ["Spans", "spans"]

KEYS = ("process", "device", "stream", "start_ns", "end_ns")
WORK = ("kernel", "copy", "fill")

PICKED = """
picked(first, stop, sequence, base) as (values {values}),
chosen as (
    select base + ordinal - first as operation, member.*
    from member
    join picked on picked.sequence = member.sequence and ordinal >= first and ordinal < stop
),
linked as materialized (
    select operation, chosen.process, op, launch_ns, launch_thread
    from chosen
    join ({work}) as work on chosen.kind = work.kind and {match}
    qualify row_number() over (partition by operation order by op) = 1
)
"""

NAMED = r"regexp_replace({name}, '([._: #\[-])\d+', '\1*', 'g')"
"""SQL: a name without the numbers that tell spans of the same kind apart."""

OPERATORS = f"""
up as (
    select operation, op, 0 as height from linked where op is not null
    union all
    select operation, parent, height + 1 from up join op on op.id = up.op where parent is not null
),
operators as (
    select operation, 'operator' as kind, {NAMED.format(name="name")} as name, op as span, height
    from up
    join op on op.id = up.op
)
"""

RANGES = f"""
ranges as (
    select
        operation,
        case when range.kind = 'python' then 'module' else 'annotation' end as kind,
        {NAMED.format(name="regexp_replace(name, '^nn.Module: ', '')")} as name,
        (hash(range.process, range.thread, range.start_ns, range.end_ns, range.name) >> 2)::bigint as span,
        null::integer as height
    from linked
    join range
        on range.process = linked.process
        and range.thread = linked.launch_thread
        and range.start_ns <= linked.launch_ns
        and range.end_ns > linked.launch_ns
    where range.kind in ('annotation', 'nvtx') or (range.kind = 'python' and name like 'nn.Module: %')
)
"""


@dataclass(frozen=True, eq=False)
class Spans:
    """Which named spans operations were launched in: one entry per operation and span, by operation.

    `name` is an index of `names`, pairs of kind (module, annotation, operator) and text; `span` numbers the spans.
    `operator` has for each operation the name of the innermost operator around its launch, -1 for none.
    """

    operation: Ints
    name: Ints
    span: Ints
    names: list[tuple[str, str]]
    operator: Ints

    def part(self, begin: int, stop: int) -> "Spans":
        """Those of the operations from one to another."""
        low, high = np.searchsorted(self.operation, [begin, stop])
        kept = slice(low, high)
        return Spans(
            self.operation[kept] - begin, self.name[kept], self.span[kept], self.names, self.operator[begin:stop]
        )


def spans(trace: Trace, ranges: Sequence[tuple[int, int, int]]) -> Spans | None:
    """The spans around the operations of some ranges (sequence, first, stop), numbered from 0 through all of these.

    Numbers in the names of spans are left out. None where the trace has neither operators nor ranges, or no launches.
    """
    there = [name for name in WORK if trace.has(name)]
    found = [name for name, table in (("operators", "op"), ("ranges", "range")) if trace.has(table)]
    if not (there and found and ranges):
        return None
    base = np.cumsum([0, *(stop - first for _, first, stop in ranges)])
    values = ", ".join(f"({first}, {stop}, {seq}, {at})" for (seq, first, stop), at in zip(ranges, base, strict=False))
    work = " union all ".join(
        f"select '{name}' as kind, {', '.join(KEYS)}, op, launch_ns, launch_thread from {name}" for name in there
    )
    match = " and ".join(f"chosen.{key} = work.{key}" for key in KEYS)
    parts = [PICKED.format(values=values, work=work, match=match)]
    parts += [text for name, text in (("operators", OPERATORS), ("ranges", RANGES)) if name in found]
    every = " union all ".join(f"select * from {name}" for name in found)
    rows = trace.sql(f"with recursive {','.join(parts)} {every} order by operation, kind, name, span")
    names = rows.select("kind", "name").unique().sort("kind", "name").rows()
    index = {name: at for at, name in enumerate(names)}
    name = np.array([index[pair] for pair in zip(rows["kind"], rows["name"], strict=True)], np.int64)
    operation = rows["operation"].to_numpy()
    operator = np.full(int(base[-1]), -1, np.int64)
    innermost = (rows["height"] == 0).fill_null(False).to_numpy()
    operator[operation[innermost]] = name[innermost]
    span = np.unique(rows["span"].to_numpy(), return_inverse=True)[1]
    return Spans(operation, name, span.astype(np.int64), names, operator)
