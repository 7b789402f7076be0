"""The operators, modules and annotations around the launches of operations."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..store.trace import Trace
from .sorting import Ints

__all__ = ["NAMED", "Spans", "spans"]

KEYS = ("process", "device", "stream", "start_ns", "end_ns")
WORK = ("kernel", "copy", "fill")

PICKED = """
picked(first, stop, sequence, base) as (values {values}),
wanted as (select sequence, base - first as moved, unnest(range(first, stop)) as ordinal from picked),
chosen as (
    select moved + member.ordinal as operation, member.*
    from member
    join wanted on wanted.sequence = member.sequence and wanted.ordinal = member.ordinal
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
moment as (
    select
        process,
        launch_thread as thread,
        launch_ns,
        row_number() over (order by process, launch_thread, launch_ns) as moment
    from linked
    group by process, launch_thread, launch_ns
),
around as (
    select range.*, opens.moment as first, closes.moment as last
    from range
    asof join moment as opens
        on opens.process = range.process and opens.thread = range.thread and opens.launch_ns >= range.start_ns
    asof join moment as closes
        on closes.process = range.process and closes.thread = range.thread and closes.launch_ns < range.end_ns
    where range.kind in ('annotation', 'nvtx') or (range.kind = 'python' and range.name like 'nn.Module: %')
),
ranges as (
    select
        operation,
        case when around.kind = 'python' then 'module' else 'annotation' end as kind,
        {NAMED.format(name="regexp_replace(around.name, '^nn.Module: ', '')")} as name,
        (hash(around.process, around.thread, around.start_ns, around.end_ns, around.name) >> 2)::bigint as span,
        null::integer as height
    from (select *, unnest(range(first, last + 1)) as moment from around) as around
    join moment on moment.moment = around.moment
    join linked
        on linked.process = moment.process
        and linked.launch_thread = moment.thread
        and linked.launch_ns = moment.launch_ns
)
"""
"""SQL: the ranges around launches. A join by times would compare all launches of a thread with all its ranges, so the
moments of launches are numbered, and each range has those from the first in it to the last."""


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
