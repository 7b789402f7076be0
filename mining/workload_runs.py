"""Several traces side by side: kernels, time, footprint and working set of each, and the ratio of these two."""

from collections.abc import Sequence

from ..store.query import run
from ..store.trace import Trace
from .evidence_levels import OUTPUTS, outputs_told, told
from .finding import Finding, total
from .words import plural

__all__ = ["runs"]

SQL = """
with named(trace_id, place, name) as (values {names}),
launch as ({launches}),
work as ({work}),
curve as ({curves})
select
    named.name,
    kernels,
    work_ns,
    peak_bytes,
    footprint_bytes,
    working_set_bytes,
    min_bytes,
    mean_bytes,
    median_bytes,
    p90_bytes,
    footprint_bytes / nullif(working_set_bytes, 0) as ratio,
    evidence,
    operators,
    inputs_only,
    outputs_in_part,
    source,
    named.trace_id
from named
left join launch using (trace_id)
left join work using (trace_id)
left join curve using (trace_id)
order by place
"""
LAUNCHES = f"""
    select
        trace_id,
        count(*) as kernels,
        coalesce(avg(object_footprint_bytes), avg(tensor_footprint_bytes)) as footprint_bytes,
        coalesce(max(tensor_bytes), max(object_bytes)) as working_set_bytes,
        coalesce(min(tensor_bytes), min(object_bytes)) as min_bytes,
        coalesce(avg(tensor_bytes), avg(object_bytes)) as mean_bytes,
        coalesce(quantile_cont(tensor_bytes, 0.5), quantile_cont(object_bytes, 0.5)) as median_bytes,
        coalesce(quantile_cont(tensor_bytes, 0.9), quantile_cont(object_bytes, 0.9)) as p90_bytes,
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
        coalesce(max(bytes) filter (granularity = 'object'), max(bytes)) as peak_bytes,
        string_agg(distinct source, ', ' order by source) as source
    from memory_curve
    group by trace_id
"""
NONE = {
    "working_set": """
    select
        null::varchar as trace_id, null::bigint as kernels, null::double as footprint_bytes,
        null::bigint as working_set_bytes, null::bigint as min_bytes, null::double as mean_bytes,
        null::double as median_bytes, null::double as p90_bytes, null::varchar as evidence,
        null::bigint as operators, null::bigint as inputs_only, null::bigint as outputs_in_part
    where false
""",
    "attribution": "select null::varchar as trace_id, null::bigint as work_ns where false\n",
    "memory_curve": """
    select null::varchar as trace_id, null::bigint as peak_bytes, null::varchar as source where false
""",
}

SIDES = (
    "As in PASTA's Table V, peak and footprint are of objects (what is reserved of a device) and the working set is of "
    "tensors; of either kind where the other was not recorded. The report on one trace sets tensors against tensors."
)
"""Which of the two kinds of memory stands in which column."""


def runs(traces: Sequence[tuple[str, Trace]]) -> Finding:
    """A row for each trace, named; mined already by `attribution` and `memory_use`.

    The footprint is the mean over launches of what objects, or else tensors, are allocated, the working set the
    largest of tensors, or else of objects, as in PASTA's Table V. A mean of ratios is not the ratio of the means, so
    both are said where several traces have both. `inputs_only` and `outputs_in_part` are those of `working_sets`,
    `source` is `memory_curve.source`.
    """
    there = {
        table: query if any(trace.has(table) for _, trace in traces) else NONE[table]
        for table, query in (("working_set", LAUNCHES), ("attribution", WORK), ("memory_curve", CURVES))
    }
    names = ", ".join(f"('{trace.id}', {place}, {_quoted(name)})" for place, (name, trace) in enumerate(traces))
    sql = SQL.format(
        names=names,
        launches=there["working_set"].rstrip() + "\n",
        work=there["attribution"].rstrip() + "\n",
        curves=there["memory_curve"].rstrip() + "\n",
    ).strip()
    rows = run({trace.id: trace.files for _, trace in traces}, sql)
    both = rows.filter(rows["ratio"].is_not_null())
    sentence = f"{plural(len(rows), 'trace')}."
    if len(both) > 1:
        footprint, working_set = (float(both[name].sum()) for name in ("footprint_bytes", "working_set_bytes"))
        mean = float(both["ratio"].sum()) / len(both)
        sentence = (
            f"{plural(len(rows), 'trace')}. Footprint over working set: {footprint / working_set:.2f} as the ratio of "
            f"the means, {mean:.2f} as the mean of the ratios."
        )
    levels = {"C"} if rows["peak_bytes"].null_count() < len(rows) else set[str]()
    levels |= set(rows["evidence"].drop_nulls())
    lacking = outputs_told(*(total(rows, name) for name in ("operators", "inputs_only", "outputs_in_part")))
    return Finding("workload_runs", sentence, rows, sql, (told(levels), SIDES, *lacking) if levels else ())


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
