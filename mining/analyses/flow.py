"""What follows what within a typical iteration, and where does the device wait in between?"""

from ...store.trace import Trace
from ..finding import Finding
from ..words import duration, percent, plural

NEEDS = ("performance_graph",)

STEPS = 8
"""Nodes of an iteration that are steps of their own, those with most time and idle time; others in a row are one."""

SQL = f"""
with chosen as (
    select process, device, node as root, units, next_node
    from (
        select
            *,
            (
                select min(after.node)
                from performance_node as after
                where after.node > before.node and after.depth <= before.depth
            ) as next_node
        from performance_node as before
        where kind = 'iteration' and type is not null
    )
    qualify row_number() over (partition by process, device order by time_ns desc, node) = 1
),
child as (
    select
        chosen.* exclude (next_node),
        node.node,
        coalesce(lead(node.node) over (partition by root order by node.node), next_node, 1 << 30) as next_node,
        node.kind,
        node.name,
        node.repeat,
        node.count,
        node.time_ns,
        row_number() over (partition by root order by node.node) as place
    from chosen
    join performance_node as node on node.parent = chosen.root
),
waited as (
    select
        child.node,
        sum(edge.idle_ns) filter (edge.parent = root and edge.source is distinct from edge.target) as before_ns,
        sum(edge.idle_ns) filter (edge.parent >= child.node or edge.source = edge.target) as inside_ns,
        arg_max(edge.cause, edge.cause_ns order by edge.cause)
            filter (edge.parent = root and edge.source is distinct from edge.target) as cause
    from child
    join performance_edge as edge
        on edge.parent >= child.node and edge.parent < child.next_node
        or edge.parent = child.root and edge.target = child.node
    group by child.node
),
between_iterations as (
    select target as root, arg_max(cause, cause_ns order by cause) as cause, sum(idle_ns) as idle_ns
    from performance_edge
    where target in (select root from chosen)
    group by target
),
weighed as (
    select
        child.*,
        case when place = 1 then coalesce(between_iterations.idle_ns, 0) else coalesce(before_ns, 0) end as before_ns,
        case when place = 1 then between_iterations.cause else waited.cause end as cause,
        coalesce(inside_ns, 0) as inside_ns,
        -- Idle time before the first operation by another way than from the iteration before it.
        case when place = 1 then coalesce(before_ns, 0) else 0 end as back_ns
    from child
    left join waited using (node)
    left join between_iterations using (root)
),
ranked as (
    select
        *,
        row_number() over (partition by root order by time_ns + before_ns + inside_ns desc, node) <= {STEPS} as alone
    from weighed
),
grouped as (
    select
        *,
        sum(case when alone or last_alone then 1 else 0 end) over (partition by root order by node) as step
    from (select *, coalesce(lag(alone) over (partition by root order by node), true) as last_alone from ranked)
)
select
    process,
    device,
    row_number() over (partition by process, device order by step) as step,
    case
        when count(*) = 1 then any_value(name)
        else concat(count(*), ' others, most in ', arg_max(name, time_ns order by name))
    end as name,
    count(*) as nodes,
    case when count(*) = 1 then any_value(repeat) end as repeat,
    any_value(units) as iterations,
    sum(time_ns)::bigint as total_ns,
    sum(time_ns) / any_value(units) as time_ns,
    arg_min(before_ns, node) / any_value(units) as before_ns,
    case when arg_min(before_ns, node) > 0 then arg_min(cause, node) end as cause,
    (sum(inside_ns) + sum(back_ns) + sum(before_ns) - arg_min(before_ns, node)) / any_value(units) as inside_ns
from grouped
group by process, device, root, step
order by process, device, step
"""


def find(trace: Trace) -> Finding:
    """The steps of an iteration in order, of the type of iteration that takes most time on each device.

    A step is a node of the performance graph right below the iteration, or several less costly ones in a row. Times are
    means per iteration: `time_ns` busy, `inside_ns` idle within the step, `before_ns` idle between the step before it
    and this one, most of it for `cause`; before the first step that is the time since what came before the iteration.
    What is idle belongs to the operation that starts after it.
    """
    rows = trace.sql(SQL)
    if not len(rows):
        return Finding("flow", "No iterations were found, so there is no typical one.", rows, SQL.strip())
    first = rows.row(0, named=True)
    own = rows.filter((rows["process"] == first["process"]) & (rows["device"] == first["device"]))
    busy, idle = (float(own[name].sum()) for name in ("time_ns", "before_ns"))
    idle += float(own["inside_ns"].sum())
    sentence = (
        f"In a typical iteration device {first['device']} is busy for {duration(busy)} and idle for {duration(idle)} "
        f"({plural(first['iterations'], 'iteration')})"
    )
    longest = own.sort("before_ns", descending=True, maintain_order=True).row(0, named=True)
    if longest["before_ns"]:
        part = percent(longest["before_ns"], idle)
        sentence += f"; it waits longest before {longest['name']}: {duration(longest['before_ns'])}, {part} of the idle"
        sentence += f" time (cause: {longest['cause']})"
    return Finding("flow", f"{sentence}.", rows, SQL.strip())
