"""How often kernels are launched by name, as SQL: names without template arguments, as PASTA counts them."""

from ..store.errors import NotCollected
from ..store.trace import Trace

__all__ = ["NORMALISED", "TOP", "calls_of", "frequency", "ranks"]

TOP = 20
"""Names that stand by themselves; the others are one row."""

NORMALISED = r"coalesce(nullif(trim(split_part(regexp_replace(name, '^void\s+', ''), '<', 1)), ''), name)"
"""SQL: a kernel's name cut at the first `<`, without `void ` before it; a name that begins with `<` stays whole."""

NAMED = """
    select coalesce({name}, '(no name)') as name, {time} as work_ns from {table}
"""
RANKED = f"""
called as ({{calls}}),
named as (
    select {NORMALISED} as short, name, count(*) as calls, sum(work_ns)::bigint as work_ns from called group by all
),
ranked as (
    select
        row_number() over (order by sum(calls) desc, short) as rank,
        short as name,
        sum(calls)::bigint as calls,
        sum(calls) / sum(sum(calls)) over () as share,
        sum(sum(calls)) over (order by sum(calls) desc, short) / sum(sum(calls)) over () as cumulative_share,
        sum(work_ns)::bigint as work_ns,
        sum(work_ns) / nullif(sum(sum(work_ns)) over (), 0) as work_share,
        count(*) as full_names,
        first(name order by calls desc, name) as full_name
    from named
    group by short
)
"""
RANKS = "with {ranked} select * from ranked order by rank"
FREQUENCY = f"""
with {{ranked}}
select
    if(rank <= {TOP}, rank, null) as rank,
    if(rank <= {TOP}, name, '(all others)') as name,
    count(*) as names,
    sum(calls)::bigint as calls,
    sum(calls) / sum(sum(calls)) over () as share,
    max(cumulative_share) as cumulative_share,
    sum(work_ns)::bigint as work_ns,
    sum(work_ns) / nullif(sum(sum(work_ns)) over (), 0) as work_share,
    sum(full_names)::bigint as full_names,
    if(any_value(rank) <= {TOP}, any_value(full_name), null) as full_name
from ranked
group by if(rank <= {TOP}, rank, null), if(rank <= {TOP}, name, '(all others)')
order by rank nulls last
"""


def calls_of(trace: Trace) -> str:
    """A query of all kernel launches, `name` and `work_ns`; of a log without times from its launches."""
    if trace.has("kernel"):
        return NAMED.format(name="name", time="coalesce(duration_ns, 0)", table="kernel")
    if trace.has("launch_memory"):
        return NAMED.format(name="kernel", time="null::bigint", table="launch_memory")
    raise NotCollected(f"{trace.source}: table kernel was not collected", "record kernels")


def ranks(calls: str) -> str:
    """Every name with its launches and shares."""
    return RANKS.format(ranked=RANKED.format(calls=calls).strip())


def frequency(calls: str) -> str:
    """The first names and the rest."""
    return FREQUENCY.format(ranked=RANKED.format(calls=calls).strip()).strip()
