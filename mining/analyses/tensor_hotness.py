"""Which objects, tensors or blocks are accessed most, how densely, and how persistently?"""

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..evidence_levels import hint, told
from ..finding import Finding, total
from ..words import count, percent, size

NEEDS = ()

SQL = """
with told as (
    select *, coalesce("window", launch) as step from access where {chosen}
),
spans as (
    select process, granularity, count(distinct step) as steps from told group by all
)
select
    told.process,
    told.granularity,
    object,
    '0x' || lower(to_hex(object)) as address,
    object_id,
    object_bytes as bytes,
    sum(accesses)::bigint as accesses,
    sum(accesses) / sum(sum(accesses)) over (partition by told.granularity) as share,
    sum(accesses) / nullif(object_bytes, 0) as density,
    count(distinct step) filter (accesses > 0) as steps,
    count(distinct step) filter (accesses > 0) / nullif(any_value(spans.steps), 0) as persistence,
    (max(step) filter (accesses > 0) - min(step) filter (accesses > 0) + 1) / nullif(any_value(spans.steps), 0) as burst
from told
join spans using (process, granularity)
group by told.process, told.granularity, object, object_id, object_bytes
order by told.granularity desc, accesses desc, bytes desc, told.process, object nulls last, object_id
"""
LAUNCHES, WINDOWS, ALONE = '"window" is null and launch is not null', '"window" is not null', "true"


def find(trace: Trace) -> Finding:
    """Accesses of each object, tensor and block, with those that no object is charged with: rows add up to all.

    `density` is accesses a byte; `persistence` the share of the windows (launches, where there are none) in which it is
    accessed; `burst` that from its first access to its last. Overlapping granularities are not to be added.
    """
    if not trace.has("access"):
        raise NotCollected("accesses to memory", hint(trace, "A"))
    sql = SQL.format(chosen=chosen(trace)).strip()
    rows = trace.sql(sql)
    counted = rows.filter(rows["accesses"].is_not_null() & (rows["accesses"] > 0) & rows["object"].is_not_null())
    if not len(counted):
        raise NotCollected("counts of accesses (only which objects were touched)", hint(trace, "A"))
    first = counted.row(0, named=True)
    own = rows.filter(rows["granularity"] == first["granularity"])
    whole = total(own, "accesses")
    sentence = (
        f"Of {count(whole)} accesses, {percent(first['accesses'], whole)} are to the {first['granularity']} at "
        f"{first['object']:#x} of {size(first['bytes'] or 0)}."
    )
    return Finding("tensor_hotness", sentence, rows, sql, (told("A"),))


def chosen(trace: Trace) -> str:
    """SQL: the rows to add up, so that none counts twice: windows, or launches, or what there is as sums of all."""
    windows, launches = trace.sql('select count("window"), count(launch) from access').row(0)
    return WINDOWS if windows else LAUNCHES if launches else ALONE
