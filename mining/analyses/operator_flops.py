"""How many FLOPs do the operators of the framework compute, and for how much of the time is that known?"""

from typing import TYPE_CHECKING

from ...store.trace import Trace
from ..finding import Finding, total
from ..roofs import OPERANDS, needed
from ..words import count, duration, percent, plural

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("operator_work",)

SQL = """
with part as (
    select family, kind, missing, flops, bytes, kernels, time_ns, 1 as call from operator_work
    union all
    select 'no operator', 'no operator', 'no operator around the launch', null, null, 1, duration_ns, 0
    from kernel
    where op is null or op not in (select op from operator_work)
)
select
    family,
    kind,
    sum(call)::bigint as calls,
    sum(kernels)::bigint as kernels,
    coalesce(sum(time_ns), 0)::bigint as time_ns,
    sum(time_ns) / nullif(sum(sum(time_ns)) over (), 0) as share,
    sum(flops)::bigint as flops,
    sum(flops) / 1e9 as gflop,
    sum(flops) / nullif(sum(sum(flops)) over (), 0) as flops_share,
    sum(flops) * 1e-3 / nullif(sum(time_ns) filter (flops is not null), 0) as tflops_per_s,
    sum(bytes)::bigint as bytes,
    count(*) filter (flops is null) as without_flops,
    coalesce(sum(time_ns) filter (flops is null), 0)::bigint as without_flops_ns,
    mode(missing order by missing) as missing
from part
group by family, kind
order by flops desc nulls last, time_ns desc, family, kind
"""


def find(trace: Trace) -> Finding:
    """FLOPs by kind of operator, from recorded shapes; those that cannot be counted are counted, not taken as 0.

    A multiply-add is 2 FLOPs. Each operator that launched kernels itself is charged, the innermost of nested ones. The
    last rows are kernels that no operator launched, as far as the trace tells, one call of none each.
    """
    needed(trace)
    query = SQL.strip()
    rows = trace.sql(query)
    told = rows.filter(rows["flops"].is_not_null())
    whole, time, lost = total(rows, "flops"), total(rows, "time_ns"), total(rows, "without_flops_ns")
    if not len(told):
        sentence = f"FLOPs are not available: {rows['missing'].drop_nulls().mode().sort()[0]}."
        return Finding("operator_flops", sentence, rows, query, _notes(rows))
    first = rows.row(0, named=True)
    sentence = (
        f"{_flop(whole)} in operators that hold {percent(time - lost, time)} of the kernel time "
        f"({duration(time)}); {percent(first['flops'], whole)} of them in {plural(first['calls'], 'call')} of "
        f"{first['kind'].replace('_', ' ')}."
    )
    sentence += f" For {percent(lost, time)} of the kernel time FLOPs are not available." if lost else ""
    return Finding("operator_flops", sentence, rows, query, _notes(rows))


def _notes(rows: "pl.DataFrame") -> tuple[str, ...]:
    lost = rows.filter(rows["without_flops"] > 0).sort("without_flops_ns", "kind", descending=[True, False]).head(3)
    worst = "; ".join(
        f"{row['kind'].replace('_', ' ')} ({duration(row['without_flops_ns'])}: {row['missing']})"
        for row in lost.iter_rows(named=True)
    )
    found = ["FLOPs are those of formulas over recorded shapes, not counters of the device: docs/flops.md lists them."]
    if worst:
        without = count(total(rows, "without_flops"))
        found.append(f"Without FLOPs: {without} operators and kernels outside any, most time in {worst}.")
    if rows["bytes"].null_count() < len(rows):
        found.append(OPERANDS)
    return tuple(found)


def _flop(number: int) -> str:
    for size, unit in ((10**15, "PFLOP"), (10**12, "TFLOP"), (10**9, "GFLOP"), (10**6, "MFLOP")):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{count(number)} FLOP"
