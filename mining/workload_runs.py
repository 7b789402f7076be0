"""Several traces side by side: kernels, time, footprint and working set of each, and the ratio of these two."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..store.query import run
from ..store.trace import Trace
from .evidence_levels import OUTPUTS, outputs_told, told
from .finding import Finding, total
from .memory_sources import asked
from .words import count, duration, plural, size

if TYPE_CHECKING:
    import polars as pl

__all__ = ["runs"]

SQL = """
with {lacking}named(trace_id, place, name) as (values {names}),
launch as ({launches}),
work as ({work}),
curve as ({curves}),
every as (
    select
        *,
        case
            when coalesce(tensor_peak_bytes, tensor_footprint_bytes) is not null then 'tensor'
            when coalesce(object_peak_bytes, object_footprint_bytes) is not null then 'object'
        end as granularity,
        case when tensor_bytes is not null then 'tensor' when object_bytes is not null then 'object' end as set_of
    from named
    left join launch using (trace_id)
    left join work using (trace_id)
    left join curve using (trace_id)
)
select
    name,
    kernels,
    work_ns,
    granularity,
    if(granularity = 'tensor', tensor_peak_bytes, object_peak_bytes) as peak_bytes,
    if(granularity = 'tensor', tensor_footprint_bytes, object_footprint_bytes) as footprint_bytes,
    if(granularity = 'tensor', tensor_footprints, object_footprints) as footprints,
    set_of,
    if(set_of = 'tensor', tensor_bytes, object_bytes) as working_set_bytes,
    if(set_of = 'tensor', tensor_min_bytes, object_min_bytes) as min_bytes,
    if(set_of = 'tensor', tensor_mean_bytes, object_mean_bytes) as mean_bytes,
    if(set_of = 'tensor', tensor_median_bytes, object_median_bytes) as median_bytes,
    if(set_of = 'tensor', tensor_p90_bytes, object_p90_bytes) as p90_bytes,
    if(granularity = set_of, footprint_bytes / nullif(working_set_bytes, 0), null) as ratio,
    object_peak_bytes,
    object_footprint_bytes,
    object_footprint_bytes / nullif(working_set_bytes, 0) as object_ratio,
    evidence,
    operators,
    inputs_only,
    outputs_in_part,
    source,
    trace_id
from every
order by place
"""
OF_KIND = """
        avg({kind}_footprint_bytes) as {kind}_footprint_bytes,
        count({kind}_footprint_bytes) as {kind}_footprints,
        max({kind}_bytes) as {kind}_bytes,
        min({kind}_bytes) as {kind}_min_bytes,
        avg({kind}_bytes) as {kind}_mean_bytes,
        quantile_cont({kind}_bytes, 0.5) as {kind}_median_bytes,
        quantile_cont({kind}_bytes, 0.9) as {kind}_p90_bytes,"""
LAUNCHES = f"""
    select
        trace_id,
        count(*) as kernels,{OF_KIND.format(kind="object")}{OF_KIND.format(kind="tensor")}
        {OUTPUTS},
        min(evidence) filter (tensor_bytes is not null or object_bytes is not null) as evidence
    from working_set
    group by trace_id
"""
WORK = """
    select trace_id, sum(work_ns)::bigint as work_ns from attribution where kind = 'kernel' group by trace_id
"""
CURVES = """
    select
        trace_id,
        max(bytes) filter (granularity = 'object') as object_peak_bytes,
        max(bytes) filter (granularity = 'tensor') as tensor_peak_bytes,
        string_agg(distinct source, ', ' order by source) as source
    from memory_curve
    group by trace_id
"""
READ = {
    "working_set": {"evidence": "varchar", "outputs": "varchar"}
    | {f"{kind}_{of}": "bigint" for kind in ("object", "tensor") for of in ("bytes", "footprint_bytes")},
    "attribution": {"kind": "varchar", "work_ns": "bigint"},
    "memory_curve": {"granularity": "varchar", "source": "varchar", "bytes": "bigint"},
}
"""The columns that are read of each table: a table that no trace has is one of these without rows."""

SIDES = (
    "Peak and mean footprint are of tensors where a trace tells of them, else of objects (what is reserved of a "
    "device), and so is the working set: the column before them says which. A ratio is of two of a kind; objects "
    "beside tensors have columns of their own."
)
"""Which of the two kinds of memory stands in which column."""


def runs(traces: Sequence[tuple[str, Trace]]) -> Finding:
    """A row for each trace, named; mined already by `attribution` and `memory_use`.

    Peak and footprint (the mean over the `footprints` launches at which it is known) are of tensors where the trace
    tells of their curve, else of objects, as in the report on one trace (`granularity`); so is the working set, the
    largest (`set_of`). `ratio` is null where these are not of one kind; `object_ratio` is the footprint of objects over
    that working set, as in PASTA's Table V. A mean of ratios is not the ratio of the means, so both are said where
    several traces have both. `inputs_only` and `outputs_in_part` are those of `working_sets`, `source` is
    `memory_curve.source`.
    """
    sql = SQL.format(
        lacking="".join(_empty(table) for table in READ if not any(trace.has(table) for _, trace in traces)),
        names=", ".join(f"('{trace.id}', {place}, {_quoted(name)})" for place, (name, trace) in enumerate(traces)),
        launches=LAUNCHES.rstrip() + "\n",
        work=WORK.rstrip() + "\n",
        curves=CURVES.rstrip() + "\n",
    ).strip()
    rows = run({trace.id: trace.files for _, trace in traces}, sql)
    averages = _averages(rows, "footprint_bytes", "ratio")
    sentence = f"{plural(len(rows), 'trace')}: {_spans(rows)}."
    sentence += f" Footprint over working set: {averages}." if averages else ""
    levels = {"C"} if rows["source"].null_count() < len(rows) else set[str]()
    levels |= set(rows["evidence"].drop_nulls())
    if not levels:
        return Finding("workload_runs", sentence, rows, sql)
    notes = [told(levels), SIDES, *asked(*(trace for _, trace in traces))]
    if of_objects := _averages(rows.filter(rows["set_of"] == "tensor"), "object_footprint_bytes", "object_ratio"):
        notes.append(f"Footprint of objects over working set of tensors, as in PASTA's Table V: {of_objects}.")
    lacking = outputs_told(*(total(rows, name) for name in ("operators", "inputs_only", "outputs_in_part")))
    return Finding("workload_runs", sentence, rows, sql, (*notes, *lacking))


def _spans(rows: "pl.DataFrame") -> str:
    """Least and most of kernels, their time and peaks; in how many traces, where it is not in all."""
    noun = "kernel" if rows["kernels"].max() == 1 else "kernels"
    said = [_span(rows, "kernels", count, f"{{}} {noun}"), _span(rows, "work_ns", duration, "{} of kernel time")]
    for kind, why in (("tensor", ""), ("object", ", for want of tensors")):
        own = rows.filter(rows["granularity"] == kind)
        said.append(_span(own, "peak_bytes", size, f"peaks of {{}} of {kind}s", why, of=len(rows)))
    return ", ".join(one for one in said if one) or "neither kernels nor memory were collected"


def _span(
    rows: "pl.DataFrame", column: str, shown: Callable[[int], str], words: str, why: str = "", *, of: int | None = None
) -> str:
    values = rows[column].drop_nulls().to_list()
    if not values:
        return ""
    least, most = shown(min(values)), shown(max(values))
    among = "" if len(values) == (of or len(rows)) else f" (in {count(len(values))} of them{why})"
    return words.format(least if least == most else f"{least} to {most}") + among


def _averages(rows: "pl.DataFrame", footprint: str, ratio: str) -> str:
    """Both ways to average a ratio to the working set; nothing where less than two traces have one."""
    both = rows.filter(rows[ratio].is_not_null())
    if len(both) < 2:
        return ""
    of_means = float(both[footprint].sum()) / float(both["working_set_bytes"].sum())
    mean = float(both[ratio].sum()) / len(both)
    return f"{of_means:.2f} as the ratio of the means, {mean:.2f} as the mean of the ratios"


def _empty(table: str) -> str:
    """SQL: a table that none of the traces has, of no rows."""
    columns = ("trace_id", "varchar"), *READ[table].items()
    return f"{table} as (select {', '.join(f'null::{kind} as {name}' for name, kind in columns)} where false),\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
