"""What does an iteration consist of?"""

from ...store.trace import Trace
from ..finding import Finding
from ..levels import MAIN
from ..words import percent, plural

NEEDS = ("hierarchy",)

SQL = f"""
with main as ({MAIN}),
chosen as (
    select tree.process, min(type) as type
    from tree
    join main on main.process = tree.process and main.level = tree.level
    group by tree.process
),
node as (
    select
        tree.*,
        first_value(time_ns) over (partition by tree.type order by node) as whole_ns,
        first_value(length) over (partition by tree.type order by node) as operations,
        count(*) filter (tree.kind = 'symbol') over (partition by tree.type) as positions,
        (select count(*) from unit where unit.type = tree.type) as iterations
    from tree
    join chosen on chosen.process = tree.process and chosen.type = tree.type
)
select
    process,
    level,
    type,
    node,
    parent,
    depth,
    kind,
    name,
    named_by,
    agreement,
    repeat,
    period,
    length,
    "offset",
    time_ns / nullif(whole_ns, 0) as share,
    wait_ns / nullif(time_ns + wait_ns, 0) as wait_share,
    mean_ns,
    std_ns,
    min_ns,
    max_ns,
    iterations,
    operations,
    positions
from node
where kind <> 'symbol'
order by node
"""


def find(trace: Trace) -> Finding:
    """The loops of the most frequent type of iteration of each process, as a tree.

    `share` is of the device time of the iteration, `wait_share` the part of a loop's time in which the iteration waits
    for one of its operations to start. Times are of one pass. `positions` is the number of operations that are left of
    those of the iteration when each loop is written once. The sentence is about the first process.
    """
    rows = trace.sql(SQL)
    if not len(rows):
        return Finding("loops", "No iterations were found in this trace.", rows, SQL.strip())
    first = rows.row(0, named=True)
    loops = rows.filter((rows["kind"] == "loop") & (rows["process"] == first["process"]))
    size = plural(first["operations"], "operation")
    size += f" (process {first['process']})" if rows["process"].n_unique() > 1 else ""
    if not len(loops):
        return Finding("loops", f"An iteration of {size} holds no repetition.", rows, SQL.strip())
    most = loops.sort("share", descending=True, maintain_order=True, nulls_last=True).row(0, named=True)
    sentence = (
        f"An iteration of {size} folds into {plural(first['positions'], 'position')}; its costliest loop is "
        f"{most['repeat']} × {plural(most['period'], 'operation')} ({most['name']}), "
        f"{percent(most['share'] or 0, 1)} of its device time."
    )
    return Finding("loops", sentence, rows, SQL.strip())
