"""Which modules or layers do time, launches, copies and memory belong to?"""

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..attributed import UNATTRIBUTED, evidence, parts
from ..finding import Finding, total
from ..words import duration, percent, plural

NEEDS = ("attribution", "memory_use")

NUMBER = r"_\d+$"
"""The number that PyTorch's profiler gives each module of a kind, in its name."""

SQL = """
with own as (
{own}
),
step as (
    select string_split(path, '/') as names, work_ns from attribution where path is not null
),
within as (
    select array_to_string(names[1:depth], '/') as path, sum(work_ns)::bigint as inclusive_ns
    from (select names, work_ns, unnest(range(1, len(names) + 1)) as depth from step)
    group by all
)
select
    coalesce(own.part, within.path) as part,
    string_split(coalesce(own.part, within.path), '/')[-1] as module,
    coalesce(launches, 0) as launches,
    coalesce(copies, 0) as copies,
    coalesce(fills, 0) as fills,
    coalesce(work_ns, 0) as work_ns,
    coalesce(share, 0) as share,
    coalesce(inclusive_ns, work_ns, 0) as inclusive_ns,
    coalesce(forward_ns, 0) as forward_ns,
    coalesce(backward_ns, 0) as backward_ns,
    coalesce(optimizer_ns, 0) as optimizer_ns,
    coalesce(other_ns, 0) as other_ns,
    coalesce(copied_bytes, 0) as copied_bytes,
    allocations,
    allocated_bytes,
    peak_bytes,
    told_by
from own
full join within on own.part = within.path
order by work_ns desc, inclusive_ns desc, part
"""


def find(trace: Trace) -> Finding:
    """Modules by their path; annotations where no module was recorded: `told_by` says which.

    A backward operation belongs to the module of its forward operator, by the autograd sequence number. `work_ns` is
    the module's own, these add up; `inclusive_ns` that of modules in it too. The sentence is on kinds of modules, as
    `by_module_kind` has them.
    """
    import polars as pl

    sql = SQL.format(own=parts(trace, "path", "module_from")).strip()
    rows = trace.sql(sql)
    named = rows.filter((rows["part"] != UNATTRIBUTED) & (rows["work_ns"] > 0))
    if not len(named):
        raise NotCollected(
            "modules or annotations around the launches of device work",
            "profile with_stack or with_modules, or annotate the layers",
        )
    whole, held = total(rows, "work_ns"), total(named, "work_ns")
    kinds = named.group_by(pl.col("module").str.replace(NUMBER, "").alias("kind")).agg(pl.col("work_ns").sum())
    first = kinds.sort("work_ns", "kind", descending=[True, False]).row(0, named=True)
    sources = {one for text in named["told_by"].drop_nulls() for one in str(text).split(", ")}
    noun = "module" if "module" in sources else "annotation"
    of = f" of {plural(len(kinds), 'kind')}" if len(kinds) < len(named) else ""
    sentence = (
        f"{percent(held, whole)} of {duration(whole)} of device work is in {plural(len(named), noun)}{of}; "
        f"{first['kind']} has most: {percent(first['work_ns'], whole)}."
    )
    notes = (f"Told by: {', '.join(sorted(sources))}.", *evidence(rows))
    return Finding("by_module", sentence, rows, sql, notes)
