"""Where does the busy time differ between two traces: in which iterations, repeated blocks and operations?"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ...store.errors import Error
from ...store.tables import TABLES
from ...store.trace import Trace
from ..finding import Finding
from ..matching import Branch, Pair, matched
from ..words import duration, percent

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1
NEEDS = ("performance_graph",)
TABLE = "performance_diff"

MANY = 10
"""From so many times as long on, that is said in place of a share."""
BY_NAME = ("operation", "loop", "stage", "outside")
"""Kinds of nodes that match by name; others by their place among those of their kind, the most time first."""
LEAST_SHARE = 0.001
"""Differences that are less than this share of the busy time of either trace are left to what is around them."""

NODES = """
select node, parent, process, device, depth, kind, name, repeat, units, count, time_ns, mean_ns
from performance_node
order by node
"""
SQL = f"""
with whole as (
    select greatest(sum(base_time_ns), sum(time_ns)) as busy_ns
    from performance_diff
    where base = '{{base}}' and parent is null
)
select
    node,
    parent,
    depth,
    kind,
    name,
    change,
    base_repeat,
    repeat,
    base_count,
    count,
    base_units,
    units,
    base_time_ns,
    time_ns,
    delta_ns,
    base_time_ns / base_units as base_time_per_unit_ns,
    time_ns / units as time_per_unit_ns,
    base_mean_ns,
    mean_ns,
    base_before_ns,
    before_ns,
    siblings
from (
    select
        *,
        count(*) over (partition by parent) as siblings,
        (sum(base_time_ns) over (partition by parent order by node))::bigint - base_time_ns as base_before_ns,
        (sum(time_ns) over (partition by parent order by node))::bigint - time_ns as before_ns
    from performance_diff
    where base = '{{base}}'
)
where
    depth <= 1
    or abs(delta_ns) >= {LEAST_SHARE} * (select busy_ns from whole)
    or base_time_ns + time_ns >= {4 * LEAST_SHARE} * (select busy_ns from whole)
order by node
"""


OPERATIONS = """
with recursive inside as (
    select node, node as phase from performance_diff where base = '{base}' and depth = 1
    union all
    select under.node, inside.phase
    from performance_diff as under
    join inside on under.parent = inside.node
    where under.base = '{base}'
)
select
    name,
    sum(base_time_ns) / max(base_units) as base_time_per_unit_ns,
    sum(time_ns) / max(units) as time_per_unit_ns
from performance_diff
join inside using (node)
where base = '{base}' and kind = 'operation'
group by phase, name
having coalesce(base_time_per_unit_ns, 0) != coalesce(time_per_unit_ns, 0)
order by
    greatest(max(units), max(base_units))
        * abs(coalesce(time_per_unit_ns, 0) - coalesce(base_time_per_unit_ns, 0)) desc,
    name
limit 1
"""
"""SQL: the operation whose time per iteration (or stretch) differs most, added up over its places in one phase."""
LEFT = (
    "Times are per iteration, of what lies outside iterations per stretch, of a device in all. What differs by less "
    f"than {percent(LEAST_SHARE, 1)} of the busy time and takes hardly any is left out, so what is shown in a node may "
    "add up to less than its own difference."
)
PLACES = (
    "Operations are matched by name and order: where one has several places, a place that another one took over looks "
    "slower or faster, and what was renamed looks as if it had vanished and something else appeared."
)


def compare(base: Trace, trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `performance_diff`: the nodes of both performance graphs, matched. `Error` where one has none."""
    import pyarrow as pa

    sides: list[list[dict[str, Any]]] = []
    for side in (base, trace):
        if not side.has("performance_node"):
            raise Error(f"{side.source}: no kernel, copy or fill to compare", "compare traces with device work")
        sides.append(side.sql(NODES).to_dicts())
    one, other = sides
    pairs = matched(_branches(one), _branches(other))
    rows = [{"base": base.id, "node": at, **row} for at, row in enumerate(_rows(pairs, one, other))]
    return {TABLE: pa.Table.from_pylist(rows, schema=TABLES[TABLE].schema)}


def find(base: Trace, trace: Trace) -> Finding:
    """The matched nodes of the performance graphs of two traces, without those that hardly matter.

    `delta_ns` of the nodes in a node add up to its own, those of the devices to the difference in busy time. Where the
    traces differ in the number of iterations the times per iteration (or stretch), `_per_unit_ns`, say more.
    `before_ns` and `base_before_ns` are the times of the nodes before it in the same one.
    """
    sql = SQL.format(base=base.id).strip()
    rows = trace.sql(sql)
    roots = rows.filter(rows["parent"].is_null())
    before, now = int(roots["base_time_ns"].sum()), int(roots["time_ns"].sum())
    said = f"Devices are busy for {duration(now)} instead of {duration(before)}"
    phases = rows.filter((rows["kind"] == "iterations") & (rows["base_count"] > 0) & (rows["count"] > 0))
    if len(phases):
        row = phases.row(0, named=True)
        said += f"; in an iteration (of {row['count']}, before of {row['base_count']}) for {_per_unit(row)}"
    operations = trace.sql(OPERATIONS.format(base=base.id))
    if len(operations):
        most = operations.row(0, named=True)
        said += f"; the operation that differs most, in all its places, is {most['name']}: {_per_unit(most)}"
        if not most["time_per_unit_ns"]:
            said += ", which vanished or has another name now"
        elif not most["base_time_per_unit_ns"]:
            said += ", which appeared or had another name"
    return Finding("graphs", f"{said}.", rows, sql, (LEFT, PLACES))


def _per_unit(row: Mapping[str, Any]) -> str:
    before, now = row["base_time_per_unit_ns"] or 0, row["time_per_unit_ns"] or 0
    said = f"{duration(now)} instead of {duration(before)}"
    if before and now >= MANY * before:
        said += f", {now / before:.0f} times as long"
    elif before and now and before != now:
        said += f", {percent(abs(now - before), before)} {'more' if now > before else 'less'}"
    return said


def _branches(nodes: list[dict[str, Any]]) -> list[Branch]:
    """The nodes of a trace as trees."""
    inside: dict[int | None, list[Branch]] = {}
    place: dict[int, int] = {}
    count: dict[tuple[int | None, str], int] = {}
    for row in sorted(nodes, key=lambda row: (-row["time_ns"], row["node"])):
        around = row["parent"], row["kind"]
        place[row["node"]] = count[around] = count.get(around, -1) + 1
        if row["kind"] == "device":  # the order of time would match another device where two are alike
            place[row["node"]] = sum(one["kind"] == "device" and one["node"] < row["node"] for one in nodes)
    for row in reversed(nodes):  # each is before what is in it
        key = (row["kind"], row["name"] if row["kind"] in BY_NAME else place[row["node"]])
        inside.setdefault(row["parent"], []).append(Branch(row["node"], key, inside.get(row["node"], [])[::-1]))
    return inside.get(None, [])[::-1]


def _rows(pairs: list[Pair], one: list[dict[str, Any]], other: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows of the table but for base and number; nodes are numbered by their place."""
    for pair in pairs:
        before = one[pair.one] if pair.one is not None else None
        now = other[pair.other] if pair.other is not None else None
        told = now or before
        assert told is not None
        row: dict[str, Any] = {
            "parent": pair.parent if pair.parent >= 0 else None,
            "base_node": pair.one,
            "trace_node": pair.other,
            "depth": told["depth"],
            "kind": told["kind"],
            "name": told["name"],
            "change": _change(before, now),
            "delta_ns": (now["time_ns"] if now else 0) - (before["time_ns"] if before else 0),
        }
        for side, node in (("base_", before), ("", now)):
            row |= {f"{side}{name}": node[name] if node else None for name in ("repeat", "units", "mean_ns")}
            row |= {f"{side}{name}": node[name] if node else 0 for name in ("count", "time_ns")}
        yield row


def _change(before: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> str:
    """How a node changed in an iteration (or stretch), by the larger part of the difference in its time."""
    if before is None or now is None:
        return "vanished" if now is None else "appeared"
    rates = [Fraction(node["count"], node["units"]) for node in (before, now)]
    times = [Fraction(node["time_ns"], node["units"]) for node in (before, now)]
    calls = (rates[1] - rates[0]) * Fraction(before["time_ns"], before["count"])
    speed = times[1] - times[0] - calls
    if rates[0] == rates[1] and not speed:
        return "same"
    if rates[0] != rates[1] and abs(calls) >= abs(speed):
        return "more" if rates[1] > rates[0] else "fewer"
    return "slower" if speed > 0 else "faster"
