"""How many kernels are launched, by process, device and phase, and in an iteration?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..levels import MAIN
from ..words import count, plural

NEEDS = ("attribution", "iterations")

SQL = """
with step as ({steps})
select
    process,
    device,
    coalesce(phase, '(unattributed)') as phase,
    count(*) as launches,
    any_value(steps) as iterations,
    count(*) / nullif(any_value(steps), 0) as launches_per_iteration
from attribution
left join step using (process)
where kind = 'kernel'
group by process, device, phase
order by process, device, launches desc, phase
"""
STEPS = (
    f"select process, count(*) as steps from iteration join ({MAIN}) as main using (process, level) group by process"
)
NO_STEPS = "select null::bigint as process, null::bigint as steps where false"
LOGGED = """
select process, null::integer as device, '(unattributed)' as phase, count(*) as launches, null::bigint as iterations,
    null::double as launches_per_iteration
from launch_memory
group by process
order by process
"""


def find(trace: Trace) -> Finding:
    """Kernel launches; `launches_per_iteration` is their number over that of the main iterations, null without any."""
    if not trace.has("kernel") and trace.has("launch_memory"):
        sql = LOGGED.strip()
    else:
        sql = SQL.format(steps=STEPS if trace.has("iteration") else NO_STEPS).strip()
        trace.kernel  # noqa: B018 - NotCollected where there are none
    rows = trace.sql(sql)
    whole = total(rows, "launches")
    sentence = f"{plural(whole, 'kernel')} on {plural(rows.select('process', 'device').n_unique(), 'device')}."
    steps = rows["iterations"].drop_nulls()
    if len(steps):
        each = total(rows, "launches") / max(1, int(rows.unique("process")["iterations"].fill_null(0).sum()))
        sentence = f"{sentence[:-1]}, about {count(round(each))} an iteration."
    return Finding("kernel_counts", sentence, rows, sql)
