"""How large are the grids and blocks of kernel launches?"""

from typing import TYPE_CHECKING

from ...store.trace import Trace
from ..finding import Finding, total
from ..occupancy import needed, shapes
from ..words import count, percent, plural

if TYPE_CHECKING:
    import polars as pl

NEEDS = ()

SQL = f"""
{shapes()},
sized as (
    select 'blocks' as measure, blocks as size, launches, time_ns from shape
    union all
    select 'threads', threads, launches, time_ns from shape
),
binned as (
    select *, (2::hugeint ** least(floor(log2(size)), 62))::bigint as from_size from sized
),
every as (
    select
        measure,
        from_size,
        min(size) as smallest,
        max(size) as largest,
        sum(launches) as launches,
        sum(time_ns) as time_ns
    from binned
    group by measure, from_size
)
select
    measure,
    from_size,
    least(smallest, {2**63 - 1})::bigint as least_size,
    least(largest, {2**63 - 1})::bigint as most_size,
    launches::bigint as launches,
    launches / sum(launches) over (partition by measure) as launch_share,
    time_ns::bigint as time_ns,
    time_ns / nullif(sum(time_ns) over (partition by measure), 0) as share
from every
order by measure, from_size
""".strip()
WORK_ITEMS = (
    "PyTorch's profiler on AMD devices tells the grid of some launches in threads, such as those of MIOpen: these seem "
    "to have more blocks than they have."
)


def find(trace: Trace) -> Finding:
    """Launches and kernel time by blocks a grid and threads a block (`measure`), in powers of two.

    `least_size` and `most_size` are the smallest and the largest of each. Launches whose grid or block was not recorded
    are in none of them; where it was for no kernel, `NotCollected`.
    """
    needed(trace)
    rows = trace.sql(SQL)
    blocks, threads = (rows.filter(rows["measure"] == name) for name in ("blocks", "threads"))
    of = "kernel time" if total(rows, "time_ns") else "launches"
    sentence = f"Of the {of} the largest part is in grids of {_most(blocks)} and in blocks of {_most(threads)}."
    return Finding("launch_geometry", sentence, rows, SQL, _notes(trace, total(blocks, "launches")))


def _most(rows: "pl.DataFrame") -> str:
    """The sizes that have the most, and their share."""
    by = "time_ns" if total(rows, "time_ns") else "launches"
    top = rows.sort(by, "from_size", descending=[True, False]).row(0, named=True)
    least, most = top["least_size"], top["most_size"]
    sizes = plural(most, top["measure"].removesuffix("s"))
    return f"{'' if least == most else f'{count(least)} to '}{sizes} ({percent(top[by], total(rows, by))})"


def _notes(trace: Trace, told: int) -> tuple[str, ...]:
    notes: list[str] = []
    untold = int(trace.sql("select count(*) from kernel").item()) - told
    if untold:
        notes.append(f"Of {plural(untold, 'kernel')} grid and block were not recorded: these are left out.")
    of_amd = "select count(*) from device where vendor = 'amd'"
    if trace.facts.format == "kineto" and trace.has("device") and trace.sql(of_amd).item():
        notes.append(WORK_ITEMS)
    return tuple(notes)
