"""Which iterations stand out, in time or in content, and what accounts for it?"""

from typing import TYPE_CHECKING

from ...store.trace import Trace
from ..finding import Finding
from ..naming import short
from ..slow import DEVIATIONS, JUDGED, ROBUST
from ..variants import LEAST_RECURRING, RECURS
from ..words import duration, plural

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("edits",)

LISTED = 4

SQL = f"""
with {JUDGED.strip()},
compared as (
    select
        *,
        count(*) over (partition by level, type) as alike,
        count(*) over (partition by level) as iterations,
        median(distance) filter (usual) over (partition by level, type) as usual_distance
    from judged
),
scattered as (
    select
        *,
        max(alike) over (partition by level) as most_alike,
        median(abs(distance - usual_distance)) filter (usual) over (partition by level, type) as mad_distance
    from compared
),
difference as (
    select
        level,
        iteration,
        count(*) filter (kind = 'substitution') as substitutions,
        count(*) filter (kind = 'insertion') as insertions,
        count(*) filter (kind = 'deletion') as deletions,
        count(*) filter (kind = 'slow') as slow_operations,
        arg_max(coalesce(label, expected), dt_ns * way order by number) filter (kind <> 'rest') as most_of,
        arg_max(dt_ns, dt_ns * way order by number) filter (kind <> 'rest') as most_ns
    from (select *, sign(sum(dt_ns) over (partition by unit)) as way from edit)
    group by level, iteration
),
told as (
    select
        scattered.*,
        difference.* exclude (level, iteration),
        slow_operations > 0 and time_ns > median_ns as stalled,
        distance > 0 and distance - usual_distance > {DEVIATIONS} * {ROBUST} * mad_distance
            or alike < least(most_alike, greatest({LEAST_RECURRING}, ceil({RECURS} * iterations))) as unlike
    from scattered
    left join difference on difference.level = scattered.level and difference.iteration = scattered.iteration
)
select
    process,
    level,
    iteration,
    type,
    case when iteration < first_usual then 'warm-up' else phase end as phase,
    concat_ws(
        ', ',
        case when slow then 'slow' end,
        case when stalled then 'slow operation' end,
        case when unlike then 'content' end
    ) as why,
    operations,
    time_ns as duration_ns,
    (time_ns - median_ns)::bigint as more_ns,
    distance,
    usual_distance,
    substitutions,
    insertions,
    deletions,
    slow_operations,
    most_of,
    most_ns
from told
where slow or stalled or unlike
order by process, iteration
"""


def find(trace: Trace) -> Finding:
    """The iterations of the main level that stand out among those of their type of content (table `unit`).

    `why`: 'slow' by the rule of `iteration_times`; 'slow operation' in a longer one where an operation takes at least 5
    times the median of its place, by 10 robust standard deviations of that place, and adds 5 of those of the
    iterations' time, or 2 % of it; 'content' where the operations differ from what the type agrees on by more edits
    than is usual (5 robust standard deviations above the median, so by any where most are equal), or where hardly any
    other iteration has similar content.
    `more_ns` is the time by which it is longer than the median of its type (of all, where its type has too few),
    `most_of` the operation that differs most in that direction, by `most_ns`; the table `edit` has all of them.
    """
    rows = trace.sql(SQL)
    if not len(rows):
        return Finding("outliers", "No iteration stands out in time or in content.", rows, SQL.strip())
    slow = rows.filter(rows["why"].str.contains("slow"))
    unlike = rows.filter(rows["why"].str.contains("content"))
    stand = "stands" if len(rows) == 1 else "stand"
    sentence = f"{plural(len(rows), 'iteration')} {stand} out: {_timed(slow)}; {_edited(unlike)}."
    return Finding("outliers", sentence, rows, SQL.strip())


def _timed(rows: "pl.DataFrame") -> str:
    """Those that stand out in time: by how much, and which operation."""
    if not len(rows):
        return "none in time"
    told = [
        f"{number} ({'+' if more > 0 else ''}{duration(more)}{f', {short(most)}' if most else ''})"
        for number, more, most in rows.select(_named(rows), "more_ns", "most_of").head(LISTED).rows()
    ]
    return f"{len(rows)} in time: {', '.join(told)}{', …' if len(rows) > LISTED else ''}"


def _edited(rows: "pl.DataFrame") -> str:
    """Those that stand out in content: by how many operations."""
    if not len(rows):
        return "none in content"
    told = [
        f"{number} ({plural(edits, 'edit') if edits else 'unlike all others'})"
        for number, edits in rows.select(_named(rows), "distance").head(LISTED).rows()
    ]
    return f"{len(rows)} in content: {', '.join(told)}{', …' if len(rows) > LISTED else ''}"


def _named(rows: "pl.DataFrame") -> "pl.Series":
    """The iterations' numbers, after those of their processes where there are several."""
    number = rows["iteration"].cast(str)
    return number if rows["process"].n_unique() == 1 else rows["process"].cast(str) + "/" + number
