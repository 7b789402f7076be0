"""What was allocated in the recording and never released, and does it grow with the iterations?"""

from ...store.trace import Trace
from ..call_site import WHO
from ..evidence_levels import memory_missing, told
from ..finding import Finding, total
from ..levels import MAIN
from ..words import plural, size

NEEDS = ("memory_use",)

LEAST = 3
"""Iterations that must each leave something behind before it is said to grow."""
MOST_OF = 0.8
"""Share of all iterations that must."""

SQL = """
with steps as ({steps}),
alive as (
    select
        granularity,
        {who},
        bytes as each_bytes,
        count(*) as allocations,
        sum(bytes)::bigint as bytes,
        min(birth_ns) as first_birth_ns,
        max(birth_ns) as last_birth_ns,
        count(distinct (process, birth_iteration)) filter (birth_iteration is not null) as iterations
    from memory_life
    where fate = 'alive at the end'
    group by granularity, phase, module, operator, owner, site, bytes
)
select
    alive.*,
    steps as all_iterations,
    if(iterations >= {least} and iterations >= {most_of} * steps, 'grows with the iterations', 'alive at the end')
        as verdict
from alive, steps
order by granularity desc, verdict desc, bytes desc, each_bytes desc, phase, module, operator, owner, stack
"""
STEPS = f"select count(*) as steps from iteration join ({MAIN}) as main using (process, level)"
NO_STEPS = "select 0 as steps"


def find(trace: Trace) -> Finding:
    """Allocations born in the recording and alive at its end, by who asked for them and their size.

    They are said to grow only where at least 3 iterations, and 80 % of all, each left some of equal origin and size
    behind; else being alive at the end says nothing wrong of them: the recording ends before the program does.
    """
    if not trace.has("memory_life"):
        raise memory_missing(trace, "allocations of device memory")
    steps = STEPS if trace.has("iteration") else NO_STEPS
    sql = SQL.format(who=WHO, steps=steps, least=LEAST, most_of=MOST_OF).strip()
    rows = trace.sql(sql)
    if not len(rows):
        if not trace.sql("select count(*) from memory_life where fate = 'released'").item():
            raise memory_missing(trace, "what of the allocations was released, and when")
        sentence = "All that was allocated in the recording was released in it."
        return Finding("memory_alive", sentence, rows, sql, (told("C"),))
    own = rows.filter(rows["granularity"] == rows["granularity"][0])
    grows = own.filter(own["verdict"] != "alive at the end")
    sentence = (
        f"{plural(total(own, 'allocations'), own['granularity'][0])} allocated in the recording, "
        f"{size(total(own, 'bytes'))}, are alive at the end"
    )
    if len(grows):
        sentence += f"; {size(total(grows, 'bytes'))} of these grow with the iterations: a leak is likely"
    return Finding("memory_alive", f"{sentence}.", rows, sql, (told("C"),))
