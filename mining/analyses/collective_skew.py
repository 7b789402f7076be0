"""How far apart do the ranks of a trace start the same collective, and who comes last?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..words import duration, percent, plural

NEEDS = ()

MUCH = 0.5
"""Where ends lie further apart than this share of the starts, the clocks may be what sets both apart."""

SQL = """
with call as (
    select
        *,
        row_number() over (partition by process, "group", ranks, sequence order by start_ns, end_ns) as number
    from collective
),
same as (
    select
        "group",
        ranks,
        sequence,
        number,
        any_value(kind) as kind,
        count(*) as processes,
        count(distinct kind) > 1 or count(distinct input_elements) > 1 as unlike,
        max(start_ns) - min(start_ns) as spread_ns,
        max(end_ns) - min(end_ns) as end_spread_ns,
        arg_max(process, (start_ns, -process)) as late
    from call
    group by "group", ranks, sequence, number
),
matched as (
    select *, count(*) over (partition by "group", ranks, kind, late) as often
    from same
    window of_group as (partition by "group", ranks)
    qualify processes > 1
        and processes = max(processes) over of_group
        and (sequence is not null or min(processes) over of_group = max(processes) over of_group)
        and not bool_or(unlike) over of_group
),
skew as (
    select
        "group",
        ranks,
        kind,
        any_value(processes) as processes,
        count(*) as collectives,
        quantile_disc(spread_ns, 0.5) as p50_spread_ns,
        max(spread_ns) as longest_spread_ns,
        sum(spread_ns)::bigint as spread_ns,
        quantile_disc(end_spread_ns, 0.5) as p50_end_spread_ns,
        arg_max(late, (often, -late)) as late_process,
        max(often) / count(*) as late_share
    from matched
    group by "group", ranks, kind
)
select skew.*, process.rank as late_rank
from skew
left join process on process.process = late_process
order by spread_ns desc, "group", ranks, kind
"""


def find(trace: Trace) -> Finding:
    """By process group and kind: the time from the first to the last start of the same collective on its ranks.

    Collectives of a group are the same where their sequence numbers are, and without these where they come in the same
    order: only if all processes have equally many, with equal kinds and sizes. Ranks leave a collective nearly
    together, so ends that lie apart show clocks that disagree by as much, and then starts cannot be compared.
    Recordings of one process each are compared by `ranks`.
    """
    rows = trace.sql(SQL)
    sql = SQL.strip()
    if not len(rows):
        return Finding("collective_skew", "No collective is recorded on more than one process.", rows, sql)
    first = rows.row(0, named=True)
    who = f"process {first['late_process']}" if first["late_rank"] is None else f"rank {first['late_rank']}"
    sentence = (
        f"{plural(total(rows, 'collectives'), 'collective')} on several processes; those that lose most "
        f"({first['kind'] or 'kind not recorded'}) start {duration(first['p50_spread_ns'])} apart in the median, "
        f"{who} last in {percent(first['late_share'], 1)} of them."
    )
    closest = rows.row(rows["p50_end_spread_ns"].arg_min() or 0, named=True)
    if closest["p50_end_spread_ns"] <= MUCH * closest["p50_spread_ns"]:
        return Finding("collective_skew", sentence, rows, sql)
    apart = duration(closest["p50_end_spread_ns"])
    note = f"The clocks may disagree: the ends of the same collective lie {apart} apart in the median at best."
    return Finding("collective_skew", sentence, rows, sql, (note,))
