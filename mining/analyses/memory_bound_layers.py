"""Which operators in a row are bound by memory, and what would merging them save at most?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..roofs import OPERANDS, needed, roofs
from ..words import duration, percent, plural
from .by_module import NUMBER

NEEDS = ("operator_work",)

MERGED = ("elementwise", "normalization", "softmax", "reduction", "copy", "random")
"""Families with a handful of FLOPs for each byte at most, far below the ridge of any device: kernels that do one after
the other can be merged into one."""

BOUND = "bound by memory"

SQL = f"""
{{work}},
marked as (
    select
        *,
        sum(if(passed_bytes is null or not merged or not coalesce(before, false), 1, 0)) over timeline as chain
    from (
        select *, family in {MERGED} as merged, lag(family in {MERGED}) over timeline as before
        from work
        where stream is not null
        window timeline as (partition by process, device, stream order by start_ns, op)
    )
    window timeline as (partition by process, device, stream order by start_ns, op)
),
linked as (
    select
        *,
        row_number() over (partition by process, device, stream, chain order by start_ns, op) as place
    from marked
    where merged
),
one as (
    select
        string_agg(regexp_replace(coalesce(name, '?'), '^aten::', ''), ' → ' order by place) as operators,
        min_by(regexp_replace(layer, '{NUMBER}', ''), place) as module,
        count(*) as length,
        sum(time_ns)::bigint as time_ns,
        sum(bytes)::bigint as bytes,
        sum(flops) filter (bytes is not null) as its_flops,
        sum(bytes) filter (flops is not null) as its_bytes,
        coalesce(2 * sum(passed_bytes) filter (place > 1), 0)::bigint as merged_bytes,
        greatest(sum(time_ns) - max(time_ns), 0)::bigint as rest_ns,
        any_value(bandwidth) as bandwidth
    from linked
    group by process, device, stream, chain
    having count(*) > 1
)
select
    operators,
    module,
    any_value(length) as length,
    count(*) as chains,
    coalesce(sum(time_ns), 0)::bigint as time_ns,
    sum(time_ns) / nullif((select sum(time_ns) from work), 0) as share,
    sum(bytes)::bigint as bytes,
    sum(merged_bytes)::bigint as merged_bytes,
    sum(if(bandwidth is null, null, least(merged_bytes / bandwidth * 1e9, rest_ns)))::bigint as saving_ns,
    sum(rest_ns)::bigint as most_ns,
    sum(its_flops) / nullif(sum(its_bytes), 0) as intensity,
    '{{bound}}' as bound
from one
group by operators, module
order by saving_ns desc nulls last, most_ns desc, operators, module
"""


def find(trace: Trace) -> Finding:
    """Chains of operators bound by memory that hand a tensor on, each right after the other on its stream.

    An operator belongs to a chain where one of its operands has the shape and type of what the one right before it
    wrote, and nothing ran on the stream between them. Merged into one kernel, that tensor is neither written nor read
    again: `merged_bytes` is twice its size, and `saving_ns` what these take at the bandwidth of the device. `most_ns`,
    the time of the chain without its longest operator, is what no merging exceeds: between the two lies what latency
    and slow kernels add. A tensor that something else reads must be written all the same. `module` is the kind of
    module that the first operator belongs to. `saving_ns` is null where the bandwidth is not known. `bound` is `not
    known` where no device of the trace has a peak and a bandwidth that are known: `intensity`, FLOPs a byte, is told.
    """
    needed(trace)
    found = roofs(trace)
    query = SQL.format(work=found.work, bound="not known" if found.roofless else "memory").strip()
    rows = trace.sql(query)
    if not len(rows):
        which = _which(None) if found.roofless else BOUND
        sentence = f"No operators {which} hand a tensor on to the next, as far as shapes tell."
        return Finding("memory_bound_layers", sentence, rows, query, found.notes)
    whole = int(trace.sql("select coalesce(sum(time_ns), 0)::bigint from operator_work").item())
    first = rows.row(0, named=True)
    chains = total(rows, "chains")
    intensities = rows["intensity"].drop_nulls()
    which = _which(float(intensities.sort()[-1]) if len(intensities) else None) if found.roofless else BOUND
    take, each = ("takes", "it") if chains == 1 else ("take", "each")
    sentence = (
        f"{plural(chains, 'chain')} of operators {which} {take} {percent(total(rows, 'time_ns'), whole)} of the "
        f"kernel time of operators; merging {each} into one kernel saves at most {duration(total(rows, 'most_ns'))}"
    )
    if rows["saving_ns"].null_count() < len(rows):
        saving = total(rows, "saving_ns")
        sentence += f", {duration(saving)} ({percent(saving, whole)}) of it the traffic of what they hand on"
    place = f" in {first['module']}" if first["module"] else ""
    sentence += f"; most in {_short(first['operators'])}{place}."
    return Finding("memory_bound_layers", sentence, rows, query, (*found.notes, OPERANDS))


def _which(most: float | None) -> str:
    """What is known of operators of `MERGED` where what bounds them is not."""
    return "with little arithmetic" if most is None else f"with at most {most:.3g} FLOPs a byte of their operands"


def _short(operators: str, most: int = 4) -> str:
    parts = operators.split(" → ")
    return " → ".join(parts[:most]) + (f" → {len(parts) - most} more" if len(parts) > most else "")
