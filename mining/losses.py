"""From lost stretches of time to a diagnosis: the SQL and the judging that all diagnoses have in common."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..store.health import BUSY, KERNEL_TIME, LAUNCHES, ORDER, UNRELIABLE
from ..store.query import run
from ..store.trace import Trace
from .columns import state_of
from .diagnosis import Diagnosis, Place
from .early import early
from .levels import STEP
from .thresholds import thresholds
from .words import count

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

__all__ = ["BUSY", "KERNEL_TIME", "KINDS", "LAUNCHES", "ORDER", "judged", "new_ns"]

KINDS = "kind as (select distinct name, category from kernel)"
"""SQL: the category of each kernel name, as `kind`."""

EVIDENCE = """
with {step},
steady as ({steady}),
warm as ({warm}),
steps as (
    select process, count(*) as steps from step join steady using (process) where iteration >= first group by process
),
{losses},
late as (
    select loss.*
    from loss
    left join warm on warm.process = loss.process and warm.device = loss.device
    where coalesce(start_ns < from_ns or start_ns >= until_ns, true)
),
placed as (
    select late.*, step.end_ns > late.start_ns and step.iteration >= steady.first as inside
    from late
    asof left join step on step.process = late.process and step.from_ns <= late.start_ns
    left join steady on steady.process = late.process
)
select
    process,
    device,
    what,
    detail,
    count(*) as count,
    sum(time_ns)::bigint as time_ns,
    sum(saves_ns)::bigint as saves_ns,
    (coalesce(sum(saves_ns) filter (inside), 0) / any_value(steps))::bigint as saves_per_iteration_ns,
    arg_max(start_ns, saves_ns order by start_ns) as at_ns
from placed
left join steps using (process)
group by process, device, what, detail
order by saves_ns desc, process, device, what, detail
"""

SPANS = "select process, device, sum(duration_ns)::bigint as span_ns from segment group by process, device"

ENOUGH = """
select process, device
from segment
group by process, device
having sum(duration_ns) filter ({among}) >= {least} * sum(duration_ns)
limit 1
"""
"""SQL: whether a device spends so much time in such segments at all."""

SUMS = """
select process, device, state, cause, sum(duration_ns)::bigint as duration_ns
from segment
group by process, device, state, cause
"""


def new_ns(order: str) -> str:
    """SQL: the part of an interval that none before it on the same device covers; they sum to the union's length."""
    rows = "rows between unbounded preceding and 1 preceding"
    before = f"max(end_ns) over (partition by process, device order by {order} {rows})"
    return f"greatest(0, end_ns - greatest(start_ns, coalesce({before}, start_ns)))"


def _sums(trace: Trace) -> "pa.Table":
    """The segments added up by what conditions on them look at."""
    file = trace.files["segment"]
    return _added(trace.id, file, state_of(file))


@lru_cache(maxsize=1)  # one diagnosis after the other asks for those of the same trace
def _added(trace_id: str, file: Path, state: tuple[int, ...]) -> "pa.Table":
    return run({trace_id: {"segment": file}}, SUMS).to_arrow()


def judged(
    trace: Trace,
    name: str,
    losses: str,
    say: "Callable[[Place, pl.DataFrame], str]",
    *,
    bound: str,
    advice: str,
    relies: tuple[str, ...],
    among: str = "true",
    warm: bool = False,
) -> tuple[Diagnosis, ...]:
    """The diagnosis, if a device loses at least the share `least_share` of its span; else none.

    `losses` are table expressions of SQL, the last of them `loss` with the columns `process`, `device`, `start_ns`,
    `what`, `detail`, `time_ns` and `saves_ns`, one row for each stretch lost; they may use those of `STEP`. `say` makes
    the sentence from the device that loses most and its rows. `among` is a condition on segments: all losses are in
    such ones, so that nothing is looked at closely where these are few. `relies` are quantities (`store.health`): where
    notes of the trace make one unreliable, the sentence says so. What is told as warm-up is counted by others only if
    they count that too (`warm`); an iteration's part of a saving is that in steady iterations, for each of these.
    """
    import polars as pl

    least = thresholds(name)["least_share"]
    if not len(run({}, ENOUGH.format(among=among, least=least), beside={"segment": _sums(trace)})):
        return ()
    before = early(trace, warm=not warm)
    tables = {"step": STEP.strip(), "steady": before.steady.strip(), "warm": before.warm, "losses": losses.strip()}
    sql = EVIDENCE.format(**tables).strip()
    rows = trace.sql(sql)
    sums = rows.group_by("process", "device").agg(pl.col("saves_ns", "saves_per_iteration_ns", "count").sum())
    found = sums.join(trace.sql(SPANS), on=["process", "device"])
    found = found.filter(pl.col("saves_ns") >= least * pl.col("span_ns"))
    found = found.filter(pl.col("saves_ns") > 0).sort("saves_ns", "process", "device", descending=[True, False, False])
    if not len(found):
        return ()
    worst = found.row(0, named=True)
    own = rows.filter((pl.col("process") == worst["process"]) & (pl.col("device") == worst["device"]))
    iterated = own["saves_per_iteration_ns"].null_count() == 0
    devices = trace.sql("select count(distinct (process, device)) from segment").item()
    place = Place(
        process=worst["process"],
        device=worst["device"],
        saves_ns=worst["saves_ns"],
        saves_per_iteration_ns=worst["saves_per_iteration_ns"] if iterated else None,
        span_ns=worst["span_ns"],
        count=worst["count"],
        many=devices > 1,
        others=len(found) - 1,
    )
    sentence = " ".join(filter(None, (say(place, own), place.saved, _doubt(trace, relies))))
    told = Diagnosis(
        name=name,
        sentence=sentence,
        process=place.process,
        device=place.device,
        saves_ns=place.saves_ns,
        saves_per_iteration_ns=place.saves_per_iteration_ns,
        span_ns=place.span_ns,
        bound=bound,
        advice=advice,
        rows=rows,
        sql=sql,
    )
    return (told,)


def _doubt(trace: Trace, relies: tuple[str, ...]) -> str:
    """What makes a finding uncertain, as a sentence; empty where nothing does."""
    because = {note.kind: note.count for note in trace.notes if set(UNRELIABLE.get(note.kind, ())) & set(relies)}
    if not because:
        return ""
    unsure = [quantity for quantity in relies if any(quantity in UNRELIABLE[kind] for kind in because)]
    told = ", ".join(f"{kind}: {count(number)}" for kind, number in because.items())
    return f"This is uncertain: {' and '.join(unsure)} cannot be relied on in this recording ({told})."
