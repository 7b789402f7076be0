"""How does what two runs allocate differ, change by change and by share of the run?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...store.errors import NotCollected
from ...store.tables import TABLES
from ...store.trace import Trace
from ..evidence_levels import told
from ..finding import Finding
from ..memory_sources import asked
from ..sorting import Ints
from ..words import count, size

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 2
NEEDS = ("memory_use",)
TABLE = "memory_diff"

CURVES = """
with top as (
    select process, device, granularity
    from memory_curve
    group by process, device, granularity
    qualify row_number() over (
        partition by granularity order by max(bytes) desc, process, device nulls first
    ) = 1
)
select curve.granularity, bytes
from memory_curve as curve
join top
    on top.process = curve.process
    and top.granularity = curve.granularity
    and top.device is not distinct from curve.device
order by curve.granularity, event
"""
"""SQL: of each granularity the curve of the device with the highest peak."""

SQL = """
with point as (
    select
        *,
        max(abs(difference_bytes)) over (partition by granularity, axis) as largest,
        if(axis = 'event', 1, lead(position, 1, 1) over (partition by granularity, axis order by position) - position)
            as width
    from memory_diff
    where base = '{base}'
),
curve as (
    select granularity, count(base_bytes) as base_changes, count(bytes) as changes
    from point
    where axis = 'event'
    group by granularity
)
select
    granularity,
    axis,
    any_value(base_changes) as base_changes,
    any_value(changes) as changes,
    (any_value(changes) - any_value(base_changes))::bigint as changes_difference,
    max(base_bytes) as base_peak_bytes,
    max(bytes) as peak_bytes,
    (max(bytes) - max(base_bytes))::bigint as peak_difference_bytes,
    max(abs(difference_bytes)) as largest_difference_bytes,
    (min(position) filter (axis = 'event' and abs(difference_bytes) = largest))::bigint as largest_at_change,
    min(position) filter (axis = 'share' and abs(difference_bytes) = largest) as largest_at_share,
    sum(abs(difference_bytes) * width) / sum(width) filter (difference_bytes is not null) as mean_difference_bytes
from point
join curve using (granularity)
group by granularity, axis
order by granularity desc, axis
"""
"""SQL: both peaks are those of all changes, by either axis; a mean by share weighs each level by how long it lasts."""


def compare(base: Trace, trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `memory_diff`: for each granularity that both have, the curves of the devices with the highest peaks.

    By number of the change the longer one goes on alone. By share of the changes each level lasts for one share of its
    own curve: a row wherever one of the two changes, so that none is left out. Cost: one sort of both.
    """
    import pyarrow as pa

    one, two = curves(base), curves(trace)
    schema = TABLES[TABLE].schema
    parts = [schema.empty_table()]
    for granularity in sorted(one.keys() & two.keys()):
        left, right = one[granularity], two[granularity]
        longest = max(len(left), len(right))
        by_event = (np.arange(longest), _padded(left, longest), _padded(right, longest))
        by_share = _by_share(left, right)
        for axis, (position, first, second) in (("event", by_event), ("share", by_share)):
            parts.append(_rows(base.id, granularity, axis, position, first, second))
    return {TABLE: pa.concat_tables(parts)}


def find(base: Trace, trace: Trace) -> Finding:
    """Peaks, numbers of changes and differences; what is behind the end of the shorter curve is in no difference."""
    sql = SQL.format(base=base.id).strip()
    rows = trace.sql(sql)
    if not len(rows):
        what = "curves of allocated memory of one kind (tensors, or objects) in both"
        raise NotCollected(what, "record allocations in both runs with the same options")
    first = rows.filter(rows["axis"] == "event").row(0, named=True)
    more = first["peak_difference_bytes"]
    peak = "equal" if not more else f"{size(abs(more))} {'higher' if more > 0 else 'lower'}"
    sentence = (
        f"The peak of {first['granularity']}s is {peak} than that of the base ({size(first['base_peak_bytes'])}), "
        f"with {count(first['changes'])} changes against {count(first['base_changes'])}."
    ).replace("is equal than", "equals")
    return Finding("memory_curves", sentence, rows, sql, (told("C"), *asked(base, trace)))


def points(base: Trace, axis: str) -> str:
    """A query of the two curves and their difference, of at most about 400 points, for a picture."""
    return f"""
select
    min(position) as position,
    max(base_bytes) as base_bytes,
    max(bytes) as bytes,
    if(max(difference_bytes) >= -min(difference_bytes), max(difference_bytes), min(difference_bytes))
        as difference_bytes
from (
    select *, row_number() over (order by position) - 1 as place, count(*) over () as places
    from memory_diff
    where base = '{base.id}' and axis = '{axis}'
        and granularity = (select max(granularity) from memory_diff where base = '{base.id}')
)
group by place * 400 // greatest(places, 400)
order by position
""".strip()


def curves(trace: Trace) -> dict[str, Ints]:
    """Bytes allocated after each change, by granularity: of the device with the highest peak."""
    if not trace.has("memory_curve"):
        return {}
    parts = trace.sql(CURVES).partition_by("granularity", maintain_order=True)
    return {str(part["granularity"][0]): part["bytes"].to_numpy() for part in parts}


def _by_share(left: Ints, right: Ints) -> tuple[Any, Any, Any]:
    """Shares of the changes at which either curve changes, in whole parts of both lengths, and the levels of both."""
    parts = np.union1d(np.arange(len(left)) * len(right), np.arange(len(right)) * len(left))
    shares = parts / (len(left) * len(right))
    return shares, _full(left[parts // len(right)]), _full(right[parts // len(left)])


def _full(values: Ints) -> "np.ma.MaskedArray[Any, Any]":
    return np.ma.MaskedArray(values, mask=np.zeros(len(values), bool))


def _padded(values: Ints, longest: int) -> "np.ma.MaskedArray[Any, Any]":
    """The values, then none."""
    more = longest - len(values)
    return np.ma.MaskedArray(np.r_[values, np.zeros(more, np.int64)], mask=np.arange(longest) >= len(values))


def _rows(base: str, granularity: str, axis: str, position: Any, first: Any, second: Any) -> "pa.Table":
    import pyarrow as pa

    between = second - first
    columns = {
        "base": pa.array([base] * len(position)),
        "granularity": pa.array([granularity] * len(position)),
        "axis": pa.array([axis] * len(position)),
        "position": pa.array(np.asarray(position, np.float64)),
        **{
            name: pa.array(np.asarray(values.data, np.int64), mask=np.ma.getmaskarray(values))
            for name, values in (("base_bytes", first), ("bytes", second), ("difference_bytes", between))
        },
    }
    return pa.Table.from_pydict(columns, schema=TABLES[TABLE].schema)
