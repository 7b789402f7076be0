"""Do launches fill the device to the end of their last wave of blocks?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..occupancy import BOUND, TIMES, answered, held
from ..words import duration, percent

NEEDS = ()

TAIL = (
    "The tail is the time in which places of the last wave are empty, if all blocks take equally long: an estimate. "
    "Kernels that run beside each other make it less, blocks of unequal length more or less."
)
SQL = f"""
, counted as (
    select
        launches,
        time_ns,
        tail_ns,
        case when started <= 2 then started - 1 when started <= 4 then 2 when started <= 8 then 4 else 8 end::bigint
            as above_waves,
        least(last_blocks * 10 // wave, 9) / 10 as fill_from
    from held
    where wave is not null
)
select
    above_waves,
    case above_waves
        when 0 then 'up to 1 wave'
        when 1 then '1 to 2 waves'
        when 2 then '2 to 4 waves'
        when 4 then '4 to 8 waves'
        else 'above 8 waves'
    end as waves,
    fill_from,
    {TIMES},
    sum(tail_ns)::bigint as tail_ns
from counted
group by above_waves, fill_from
order by above_waves, fill_from
"""


def find(trace: Trace) -> Finding:
    """Launches and kernel time by waves of blocks and by the tenth to which the last wave fills the device.

    See `mining.occupancy`. Without what tells how many blocks run at once, `NotCollected`.
    """
    query = f"{held(trace)}{SQL.rstrip()}"
    rows = answered(trace, query, "tail_ns")
    by = "time_ns" if total(rows, "time_ns") else "launches"
    less = rows.filter((rows["above_waves"] == 0) & (rows["fill_from"] < 0.9))
    whole = total(rows, by)
    of = "of the kernel time is in launches" if by == "time_ns" else "of the launches are some"
    sentence = f"{percent(total(less, by), whole)} {of} that fill less than 90 % of the device with blocks"
    if by == "time_ns":
        tail = total(rows, "tail_ns")
        sentence += f"; empty places of last waves come to about {duration(tail)} ({percent(tail, whole)})"
    return Finding("launch_waves", f"{sentence}.", rows, query, (TAIL, BOUND))
