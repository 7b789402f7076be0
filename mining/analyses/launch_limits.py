"""How many threads of a kernel fit on a multiprocessor, and what limits them?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..occupancy import BOUND, TIMES, answered, held
from ..words import count, percent

NEEDS = ()

WORDS = {
    "registers": "registers limit",
    "shared memory": "shared memory limits",
    "number of blocks": "the number of blocks limits",
    "block size": "the size of blocks limits",
}

SQL = f"""
select
    limited_by,
    count(distinct name) as kernels,
    {TIMES},
    coalesce(
        sum(occupancy * time_ns) / nullif(sum(time_ns) filter (occupancy is not null), 0),
        sum(occupancy * launches) / sum(launches) filter (occupancy is not null)
    ) as occupancy,
    min(occupancy) as least_occupancy
from held
group by limited_by
order by limited_by = 'not known', time_ns desc, launches desc, limited_by
"""


def find(trace: Trace) -> Finding:
    """Launches and kernel time by what limits the threads that a multiprocessor holds at once; see `mining.occupancy`.

    `occupancy` is the mean over the time, of what takes no time over the launches. Where a limit was recorded for no
    kernel, `NotCollected`.
    """
    query = f"{held(trace)}{SQL.rstrip()}"
    rows = answered(trace, query, "occupancy")
    known = rows.filter(rows["limited_by"] != "not known")
    by = "time_ns" if total(known, "time_ns") else "launches"
    mean = sum(share * weight for share, weight in known.select("occupancy", by).rows()) / total(known, by)
    limits = [
        f"{WORDS[limit]} {percent(part, total(rows, by))}"
        for limit, part in known.select("limited_by", by).rows()
        if limit in WORDS
    ]
    said = f": {', '.join(limits)} of the {'kernel time' if by == 'time_ns' else 'launches'}" if limits else ""
    sentence = f"On average at most {percent(mean, 1)} of the threads of a multiprocessor have a place{said}."
    notes = [BOUND]
    if lost := total(rows, "launches") - total(known, "launches"):
        notes.append(f"What limits them was not recorded in full for launches: {count(lost)}.")
    return Finding("launch_limits", sentence, rows, query, tuple(notes))
