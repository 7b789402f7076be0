"""Which 2 MiB of memory are accessed when: hot throughout, in one burst, or hardly at all?"""

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..finding import Finding, total
from ..managed_pages import BLOCK_BYTES
from ..managed_vendors import accesses_hint
from ..words import count, percent, plural

NEEDS = ("block_hotness",)

BANDS, BINS = 30, 60

SQL = f"""
with ranked as (
    select
        *,
        dense_rank() over (partition by process, clock order by block nulls last) - 1 as rank,
        "window" - min("window") over (partition by process, clock) as since_first
    from hotness
),
sized as (
    select process, clock, max(rank) + 1 as ranks, max(since_first) + 1 as windows
    from ranked
    group by process, clock
),
placed as (
    select
        process,
        clock,
        length,
        if(block is null, null, rank * least({BANDS}, ranks) // ranks) as band,
        since_first * least({BINS}, windows) // windows as bin,
        block,
        "window",
        accesses
    from ranked
    join sized using (process, clock)
),
wide as (
    select
        process,
        clock,
        band,
        min(block) * {BLOCK_BYTES} as first_address,
        (max(block) + 1) * {BLOCK_BYTES} - 1 as last_address
    from placed
    where band is not null
    group by process, clock, band
)
select
    process,
    clock,
    any_value(length) as length,
    band,
    any_value(first_address) as first_address,
    any_value(last_address) as last_address,
    bin,
    min("window") as first_window,
    max("window") as last_window,
    count(distinct block) as blocks,
    sum(accesses)::bigint as accesses
from placed
left join wide using (process, clock, band)
group by process, clock, band, bin
order by process, clock, band nulls last, bin
"""


def find(trace: Trace) -> Finding:
    """Accesses by bands of 2 MiB blocks and bins of windows, on each clock: they add up to all accesses there are.

    Blocks without any access have no rows. Accesses that the source charges to no block stand without a band. A clock
    counts accesses (windows of a million), launches, or time.
    """
    if not trace.has("hotness"):
        raise NotCollected("accesses to blocks of memory", accesses_hint(trace))
    rows = trace.sql(SQL)
    clock = "accesses" if "accesses" in rows["clock"].to_list() else str(rows["clock"][0])
    part = rows.filter(rows["clock"] == clock)
    every, lost = total(part, "accesses"), int(part.filter(part["band"].is_null())["accesses"].sum())
    hot, windows = trace.sql(
        f"""select count(distinct (process, block)), count(distinct "window") from hotness where clock = '{clock}'"""
    ).row(0)
    sentence = f"{count(every)} accesses fall on {plural(hot, 'block')} of 2 MiB in {plural(windows, 'window')}"
    sentence += f"; {percent(lost, every)} of them the source charges to no block." if lost else "."
    notes = ("Evidence A: measured accesses. The last window is kept however short it is.",)
    return Finding("hotness", sentence, rows, SQL.strip(), notes)
