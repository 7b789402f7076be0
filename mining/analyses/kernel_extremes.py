"""Which kernel is called most, and which refers to most memory?"""

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..evidence_levels import LACKS, LEVELS, hint
from ..finding import Finding
from ..kernel_names import NORMALISED
from ..words import count, plural, size

NEEDS = ("memory_use",)

SQL = """
with named as (
    select *, {short} as short, coalesce(accesses, tensor_bytes, object_bytes) as touched
    from (select *, coalesce(kernel, '(no name)') as name from working_set)
),
called as (
    select short, count(*) as calls, count(distinct name) as full_names
    from named
    group by short
    order by calls desc, short
    limit 1
),
most_called as (
    select named.*, calls, full_names from named join called using (short) order by process, launch limit 1
),
most_touched as (
    select *
    from named
    where touched is not null
    order by evidence, accesses desc nulls last, greatest(tensor_bytes, object_bytes) desc nulls last, process, launch
    limit 1
)
select
    'most called' as choice, process, launch, start_ns, short, name as kernel, op,
    if(touched is null, null, evidence) as evidence,
    calls, full_names, accesses, object_bytes, tensor_bytes, output_bytes, outputs
from most_called
union all
select
    'most memory', process, launch, start_ns, short, name, op, evidence,
    null, null, accesses, object_bytes, tensor_bytes, output_bytes, outputs
from most_touched
order by choice
"""


def find(trace: Trace) -> Finding:
    """The first launch of the most called name, and the launch that refers to most memory, with its number.

    `short` is the name without template arguments, by which launches are counted; `full_names` says how many it has.
    Most memory: most measured accesses; where none are counted the largest measured working set, where none is measured
    the largest operands. Of equal ones the earliest launch; of equally frequent names the first in the alphabet.
    """
    if not trace.has("working_set"):
        raise NotCollected("kernel launches", hint(trace, "launches"))
    sql = SQL.format(short=NORMALISED).strip()
    rows = trace.sql(sql)
    said: list[str] = []
    for row in rows.iter_rows(named=True):
        if row["choice"] == "most called":
            names = f" under {count(row['full_names'])} full names" if row["full_names"] > 1 else ""
            said.append(f"Most called: {row['short']}, {plural(row['calls'], 'time')}{names}.")
        else:
            held = [one for one in (row["tensor_bytes"], row["object_bytes"]) if one is not None]
            much = f"{count(row['accesses'])} accesses" if row["accesses"] is not None else size(max(held))
            sure = f"{LEVELS[row['evidence']]}{LACKS.get(row['outputs'], '')}"
            said.append(f"Most memory: launch {count(row['launch'])}, {row['short']}, {much} ({sure}).")
    if rows["choice"].n_unique() < 2:
        said.append(f"What memory kernels touch was not collected: {hint(trace, 'B')}.")
    return Finding("kernel_extremes", " ".join(said), rows, sql)
