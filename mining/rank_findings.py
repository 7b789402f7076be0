"""What there is to say of the ranks of a run: findings over the tables that `rank_run` keeps with their traces."""

from typing import TYPE_CHECKING, Any

from .finding import Finding
from .rank_run import RankRun
from .ranks import DEVIATIONS, SLOWER
from .slow import ROBUST
from .words import duration, percent, plural

if TYPE_CHECKING:
    import polars as pl

__all__ = ["boxes", "clocks", "collectives", "late_iterations", "lateness", "ranks", "stragglers"]

RANKS = """
select
    run_rank.place,
    run_rank.label,
    run_rank.trace_id,
    run_rank.process,
    count(iteration) as iterations,
    median(time_ns)::bigint as p50_ns,
    quantile_disc(time_ns, 0.95) as p95_ns,
    any_value(run_rank.span_ns) as span_ns,
    any_value(run_rank.compute_ns) as compute_ns,
    any_value(run_rank.communication_ns) as communication_ns,
    any_value(run_rank.copy_ns) as copy_ns,
    any_value(run_rank.idle_ns) as idle_ns,
    any_value(run_rank.compute_ns / run_rank.span_ns) as compute_share,
    any_value(run_rank.communication_ns / run_rank.span_ns) as communication_share,
    any_value(run_rank.copy_ns / run_rank.span_ns) as copy_share,
    any_value(run_rank.idle_ns / run_rank.span_ns) as idle_share,
    any_value(wait_ns) as wait_ns,
    any_value(wait_ns / run_rank.span_ns) as wait_share
from run_rank
left join run_iteration on run_iteration.run = run_rank.run and run_iteration.place = run_rank.place
where run_rank.run = '{run}'
group by run_rank.place, run_rank.label, run_rank.trace_id, run_rank.process
order by run_rank.place
"""

BOXES = """
select
    place,
    label,
    count(*) as iterations,
    min(time_ns) as least_ns,
    quantile_disc(time_ns, 0.25) as p25_ns,
    quantile_disc(time_ns, 0.5) as p50_ns,
    quantile_disc(time_ns, 0.75) as p75_ns,
    max(time_ns) as most_ns
from run_iteration
where run = '{run}'
group by place, label
order by place
"""

STRAGGLERS = f"""
with each as (
    select *, median(late_ns) over (partition by place) as middle_ns
    from run_iteration
    where run = '{{run}}' and late_ns is not null
),
usual as (
    select
        place,
        label,
        count(*) as steps,
        count(mark) as late_steps,
        median(late_ns) as late_ns,
        median(others_ns) as others_ns,
        {ROBUST} * median(abs(late_ns - middle_ns)) as spread_ns,
        coalesce(sum(late_ns) filter (late_ns > 0), 0)::bigint as lost_ns,
        max(late_ns) as most_ns,
        arg_max(step, (late_ns, -step)) as most_step
    from each
    group by place, label
)
select
    usual.place,
    usual.label,
    steps,
    late_steps,
    round(late_ns)::bigint as late_ns,
    round(others_ns)::bigint as others_ns,
    late_ns / others_ns as share,
    late_ns > greatest({SLOWER} * others_ns, {DEVIATIONS} * usual.spread_ns / sqrt(steps)) as straggler,
    lost_ns,
    most_ns,
    most_step,
    wait_ns
from usual
join run_rank on run_rank.run = '{{run}}' and run_rank.place = usual.place
order by late_ns desc, usual.place
"""

LATENESS = """
select place, label, step, iteration, late_ns, others_ns, late_ns / others_ns as share, mark
from run_iteration
where run = '{run}' and late_ns is not null
order by place, step
"""

LATE = """
select place, label, step, iteration, late_ns, others_ns, late_ns / others_ns as share
from run_iteration
where run = '{run}' and mark = 'late'
order by late_ns desc, place, step
"""

COLLECTIVES = """
with met as (
    select
        meeting,
        any_value(kind) as kind,
        any_value("group") as "group",
        count(*) as ranks,
        max(late_ns) as skew_ns,
        max(wait_ns) as longest_ns,
        sum(wait_ns) as wait_ns,
        min(end_ns - start_ns) as shortest_ns,
        arg_max(label, (late_ns, -place)) as last
    from run_collective
    where run = '{run}'
    group by meeting
),
lasts as (
    select kind, "group", last, count(*) as times
    from met
    group by kind, "group", last
    qualify row_number() over (partition by kind, "group" order by count(*) desc, last) = 1
)
select
    met.kind,
    met."group",
    count(*) as collectives,
    max(ranks) as ranks,
    median(skew_ns)::bigint as skew_ns,
    quantile_disc(skew_ns, 0.95) as p95_skew_ns,
    max(skew_ns) as most_skew_ns,
    median(shortest_ns)::bigint as shortest_ns,
    sum(wait_ns)::bigint as wait_ns,
    any_value(lasts.last) as last,
    any_value(times) / count(*) as last_share
from met
join lasts on lasts.kind = met.kind and lasts."group" is not distinct from met."group"
group by met.kind, met."group"
order by wait_ns desc, met.kind, met."group"
"""

CLOCKS = """
select place, label, clock, clock_to, offset_ns, uncertainty_ns, spread_ns, drift_ppm, collectives, matched, together
from run_rank
where run = '{run}'
order by place
"""

SHOWN = 3
"""Ranks that a sentence names; it counts the others."""


def ranks(run: RankRun) -> Finding:
    """Each rank: its iterations, its time by state as shares that add up to its span, its waits in collectives."""
    rows, sql = _rows(run, RANKS)
    told = rows.filter(rows["iterations"] > 0)
    parts = [f"{plural(len(rows), 'rank')}"]
    if len(told):
        least, most = (told.sort(["p50_ns", "place"]).row(at, named=True) for at in (0, -1))
        times = [duration(row["p50_ns"]) for row in (least, most)]
        apart = f"{times[0]} (rank {least['label']}) to {times[1]} (rank {most['label']})"
        parts.append(f"iterations of {times[0] if times[0] == times[1] else apart} in the median")
    sentence = ", ".join(parts) + "."
    span, wait = _sum(rows, "span_ns"), _sum(rows, "wait_ns")
    if wait:
        sentence += f" In collectives they wait {percent(wait, span)} of the time for each other."
    without = rows.filter(rows["iterations"] == 0)["label"].to_list()
    which = _named(without) if len(told) else "any rank"
    notes = (f"No iterations were found on {which}.",) * bool(without)
    if rows["iterations"].n_unique() > 1 and len(told) > 1:
        notes += ("The ranks have different numbers of iterations: those they share are compared.",)
    return Finding("ranks", sentence, rows, sql, notes)


def boxes(run: RankRun) -> Finding:
    """The spread of the iteration times of each rank that has iterations: least, quartiles, most."""
    rows, sql = _rows(run, BOXES)
    return Finding("boxes", f"{plural(len(rows), 'rank')} with iterations.", rows, sql)


def stragglers(run: RankRun) -> Finding:
    """The ranks that the others wait for, by the time they take of their own: outside communication.

    `late_ns` is the median, over the steps, of that time less the median of the other ranks'; a straggler has more than
    3 % of the others' time, and more than chance. `late_steps` counts those in which a rank stands out, `lost_ns` sums
    up its lateness: no more than that can be gained by making it as quick as the others.
    """
    rows, sql = _rows(run, STRAGGLERS)
    if not len(rows):
        return Finding("stragglers", "No iterations were found that ranks went through together.", rows, sql)
    steps = int(rows["steps"].max() or 0)  # pyright: ignore[reportArgumentType] - a count
    late = rows.filter(rows["straggler"])
    sentence = f"No straggler among {plural(len(rows), 'rank')} over {plural(steps, 'step')}."
    if len(late):
        some = [_straggler(row) for row in late.head(SHOWN).rows(named=True)]
        more = f", and {plural(len(late) - SHOWN, 'more')[:-1]}" if len(late) > SHOWN else ""
        sentence = f"{plural(len(late), 'straggler')} among {plural(len(rows), 'rank')}: {'; '.join(some)}{more}."
    single = rows.filter(~rows["straggler"] & (rows["late_steps"] > 0))
    if len(single):
        first = single.sort(["most_ns", "place"], descending=[True, False]).row(0, named=True)
        sentence += (
            f" Late now and then: {_named(single['label'].to_list())}, most in step {first['most_step']} "
            f"(rank {first['label']}, {duration(first['most_ns'])})."
        )
    notes = ()
    if not _sum(rows, "wait_ns"):
        notes = ("No collective was seen in which ranks wait for each other: they may have nothing to do together.",)
    return Finding("stragglers", sentence, rows, sql, notes)


def lateness(run: RankRun) -> Finding:
    """Each iteration of each rank beside the others' in the same step: the straggler matrix."""
    rows, sql = _rows(run, LATENESS)
    return Finding("lateness", f"{plural(len(rows), 'iteration')} beside those of other ranks.", rows, sql)


def late_iterations(run: RankRun) -> Finding:
    """The iterations of ranks that stand out by their lateness, the latest first."""
    rows, sql = _rows(run, LATE)
    return Finding("late_iterations", f"{plural(len(rows), 'iteration')} of a rank stand out.", rows, sql)


def collectives(run: RankRun) -> Finding:
    """How far apart the ranks come to their collectives, by kind and group: from first to last, on aligned clocks."""
    rows, sql = _rows(run, COLLECTIVES)
    if not len(rows):
        return Finding("collectives", "No collective of several ranks was matched.", rows, sql)
    first = rows.row(0, named=True)
    sentence = (
        f"{plural(_sum(rows, 'collectives'), 'collective')} matched. Most is waited in {first['kind']}: ranks come to "
        f"it {duration(first['skew_ns'])} apart in the median, and rank {first['last']} is last in "
        f"{percent(first['last_share'], 1)} of them."
    )
    return Finding("collectives", sentence, rows, sql)


def clocks(run: RankRun) -> Finding:
    """The clock of each rank beside the reference's, from the ends of collectives, and whether it was corrected."""
    rows, sql = _rows(run, CLOCKS)
    aligned = rows.filter(rows["clock"] == "aligned")
    unknown = rows.filter(rows["clock"].is_null())["label"].to_list()
    notes = (f"The clocks of {_named(unknown)} are not known: too few collectives agree.",) * bool(unknown)
    if len(unknown) == len(rows):
        return Finding("clocks", "No clock could be compared: no collectives of several ranks agree.", rows, sql)
    if not len(aligned):
        sentence = "The clocks agree within what the ends of collectives tell: all times are as recorded."
        return Finding("clocks", sentence, rows, sql, notes)
    far = aligned.sort([aligned["offset_ns"].abs(), aligned["place"]], descending=[True, False]).row(0, named=True)
    sentence = (
        f"{plural(len(aligned), 'clock')} of {len(rows)} aligned on the ends of collectives, most that of rank "
        f"{far['label']}, {duration(abs(far['offset_ns']))} {'ahead' if far['offset_ns'] > 0 else 'behind'} "
        f"(±{duration(far['uncertainty_ns'])})."
    )
    notes += (
        "Aligned clocks are used for arrivals at collectives alone. Iterations, lateness and waits are durations on "
        "each rank's own clock.",
    )
    return Finding("clocks", sentence, rows, sql, notes)


def _straggler(row: dict[str, Any]) -> str:
    waits = "" if row["wait_ns"] is None else f", itself waits {duration(row['wait_ns'])} in all"
    return (
        f"rank {row['label']} takes {duration(row['late_ns'])} ({percent(row['late_ns'], row['others_ns'])}) more of "
        f"its own time than the others in the median of {plural(row['steps'], 'step')}, is late in "
        f"{row['late_steps']}{waits}"
    )


def _rows(run: RankRun, query: str) -> "tuple[pl.DataFrame, str]":
    sql = query.format(run=run.key).strip()
    return run.sql(sql), sql


def _sum(rows: "pl.DataFrame", column: str) -> int:
    return int(rows[column].sum() or 0)


def _named(labels: list[str]) -> str:
    listed = ", ".join(labels[:8]) + (f" and {len(labels) - 8} more" if len(labels) > 8 else "")
    return f"rank{'s' * (len(labels) > 1)} {listed}"
