"""Which iterations, repeated blocks and operations take the device's time, and how much do they vary?"""

from typing import TYPE_CHECKING, Any

from ...store.trace import Trace
from ..finding import Finding
from ..words import duration, percent, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

NEEDS = ("performance_graph",)

LEAST_SHARE = 0.002
"""Nodes that take less of the busy time than this are left to what is around them: a picture cannot show them."""
MOST_DEVICES = 8
"""Devices told of, at most: those that are busy longest."""

SQL = f"""
with placed as (
    select
        *,
        (select around.name from performance_node as around where around.node = node.parent) as within,
        count(*) over (partition by parent) as siblings,
        sum(time_ns) over (partition by process, device, parent order by node) - time_ns as before_ns
    from performance_node as node
),
chosen as (
    select process, device
    from performance_node
    where kind = 'device'
    order by time_ns desc, process, device
    limit {MOST_DEVICES}
)
select
    process,
    device,
    node,
    parent,
    depth,
    kind,
    name,
    within,
    label,
    state,
    repeat,
    units,
    count,
    count / units as count_per_unit,
    time_ns,
    time_ns / units as time_per_unit_ns,
    work_ns,
    share,
    busy_ns,
    mean_ns,
    p50_ns,
    p95_ns,
    variation,
    before_ns::bigint as before_ns,
    siblings
from placed
join chosen using (process, device)
where share >= {LEAST_SHARE} or kind in ('device', 'iterations', 'outside')
order by process, device, time_ns desc, node
"""


def find(trace: Trace) -> Finding:
    """The nodes of the performance graph that take at least 0.2 % of their device's busy time.

    `share` is of that busy time (`performance_node.busy_ns`). Times of nodes in a node add up to its own; `work_ns` is
    more where operations run at the same time. Mean, median, 95th percentile and variation are of one pass, `_per_unit`
    is per iteration (or stretch). `before_ns` is the time of the nodes before it in the same one. Of more than eight
    devices those that are busy longest are told of; the sentence is about the first row.
    """
    rows = trace.sql(SQL)
    if not len(rows) or not rows["time_ns"].max():
        return Finding("graph", "No device work takes any time in this trace.", rows.head(0), SQL.strip())
    first = rows.row(0, named=True)
    own = rows.filter((rows["process"] == first["process"]) & (rows["device"] == first["device"]))
    told = own.to_dicts()
    return Finding("graph", f"{_stages(first, told)}; {_hottest(told)}.", rows, SQL.strip())


def _stages(device: "Mapping[str, Any]", rows: "list[dict[str, Any]]") -> str:
    """How much of a device's busy time is in iterations."""
    whole = device["time_ns"]
    phases = [row for row in rows if row["kind"] == "iterations"]
    if not phases:
        return f"Device {device['device']} is busy for {duration(whole)}, without iterations"
    most = phases[0]
    inside = sum(row["time_ns"] for row in phases)
    return (
        f"{percent(inside, whole)} of the {duration(whole)} that device {device['device']} is busy are in iterations "
        f"({plural(most['count'], 'iteration')}, busy for {duration(most['p50_ns'])} in the median)"
    )


def _hottest(rows: "list[dict[str, Any]]") -> str:
    """The loop, if there is one, and the operation that take most time."""
    parts: list[str] = []
    loops = [row for row in rows if row["kind"] == "loop"]
    if loops:
        top = loops[0]
        parts.append(f"the costliest repeated block is {top['name']} × {top['repeat']} ({percent(top['share'], 1)})")
    operations = [row for row in rows if row["kind"] == "operation"]
    if operations:
        top = operations[0]
        varies = "" if top["variation"] is None else f", which varies by {percent(top['variation'], 1)}"
        parts.append(f"the costliest operation {top['name']} ({percent(top['share'], 1)}{varies})")
    return ", ".join(parts) or "no node takes a visible part of it"
