"""Which repeated blocks and operations does time belong to, by the mined structure alone?"""

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..finding import Finding, total
from ..words import duration, percent, plural

NEEDS = ("performance_graph",)

SQL = """
with recursive reached as (
    select node, kind from performance_node where parent is null
    union all
    select inner_.node, inner_.kind
    from reached
    join performance_node as inner_ on inner_.parent = reached.node
    where reached.kind != 'loop'
),
part as (
    select performance_node.*
    from performance_node
    join reached using (node)
    where reached.kind = 'loop' or node not in (select parent from performance_node where parent is not null)
)
select
    name as part,
    if(kind = 'loop', 'repeated block', 'operation') as kind,
    count(*) as places,
    sum("count")::bigint as passes,
    sum(time_ns)::bigint as time_ns,
    sum(time_ns) / nullif(sum(sum(time_ns)) over (), 0) as share
from part
group by all
order by time_ns desc, part, kind
"""


def find(trace: Trace) -> Finding:
    """The outermost repeated blocks and what is in none: their times add up to the busy time of the devices.

    Needs neither operators nor annotations: it tells what belongs together, not what it is for.
    """
    if not trace.has("performance_node"):
        raise NotCollected("work of a device", "record kernels, copies or fills")
    rows = trace.sql(SQL.strip())
    whole, blocks = total(rows, "time_ns"), rows.filter(rows["kind"] == "repeated block")
    sentence = (
        f"{percent(total(blocks, 'time_ns'), whole)} of {duration(whole)} of busy time is in "
        f"{plural(len(blocks), 'repeated block')} found by mining."
        if len(blocks)
        else f"No repeated block was found by mining in {duration(whole)} of busy time."
    )
    return Finding("by_structure", sentence, rows, SQL.strip())
