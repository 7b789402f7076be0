"""Which collectives take the time, how large are they, and what bandwidth do they reach?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...store.trace import Trace
from ..finding import Finding, total
from ..words import count, duration, percent, plural, size

if TYPE_CHECKING:
    import polars as pl

NEEDS = ()

OPERATIONS = (
    ("all-reduce", "all_?reduce|cross_device_reduce"),
    ("all-gather", "all_?gather"),
    ("reduce-scatter", "reduce_?scatter"),
    ("all-to-all", "all_?to_?all"),
    ("broadcast", "broadcast"),
    ("send and receive", "send|recv"),
    ("barrier", "barrier"),
    ("gather", "gather"),
    ("scatter", "scatter"),
    ("reduce", "reduce"),
)
"""Collectives, and what their names have in them: the first that matches decides."""

BYTES = (
    (8, "double|long|int64|uint64|float64|complexfloat"),
    (16, "complexdouble"),
    (4, "float|int|int32|uint32|float32"),
    (2, "half|bfloat16|float16|short|int16|uint16"),
    (1, "byte|char|bool|int8|uint8|float8.*"),
)
"""Bytes of an element, and the types, as PyTorch writes them, that have so many."""

FACTORS = """
case operation
    when 'all-reduce' then 2 * (group_size - 1) / group_size
    when 'all-gather' then (group_size - 1) / group_size
    when 'reduce-scatter' then (group_size - 1) / group_size
    when 'all-to-all' then (group_size - 1) / group_size
    when 'broadcast' then 1
    when 'reduce' then 1
    when 'send and receive' then 1
end
"""
"""SQL: bus bandwidth by algorithm bandwidth; doc/PERFORMANCE.md of github.com/NVIDIA/nccl-tests derives it."""

TOLD = """
select
    process,
    device,
    stream,
    start_ns,
    any_value(name) as name,
    any_value(kind) as kind,
    any_value(input_elements) as input_elements,
    any_value(output_elements) as output_elements,
    any_value(type) as type,
    any_value(group_size) as group_size
from collective
group by process, device, stream, start_ns
"""
UNTOLD = """
select
    null::bigint as process,
    null::integer as device,
    null::bigint as stream,
    null::bigint as start_ns,
    null::varchar as name,
    null::varchar as kind,
    null::bigint as input_elements,
    null::bigint as output_elements,
    null::varchar as type,
    null::integer as group_size
where false
"""

SQL = """
with told as ({told}),
communication as (
    select name
    from kernel
    where category = 'communication'
    union
    select name
    from told
),
call as (
    select
        kernel.process,
        kernel.end_ns - kernel.start_ns as time_ns,
        coalesce(kind, kernel.name) as said,
        {operation} as operation,
        type,
        group_size,
        greatest(input_elements, output_elements) * {bytes} as bytes
    from kernel
    left join told using (process, device, stream, start_ns)
    where kernel.flaw is null and kernel.name in (select name from communication)
)
select
    operation,
    type,
    bytes,
    group_size,
    count(distinct process) as processes,
    count(*) as calls,
    sum(time_ns)::bigint as time_ns,
    sum(time_ns) / sum(sum(time_ns)) over () as share,
    quantile_disc(time_ns, 0.5) as p50_ns,
    min(time_ns) as shortest_ns,
    bytes * count(*) * 1e9 / nullif(sum(time_ns), 0) as algorithm_bytes_per_s,
    algorithm_bytes_per_s * ({factors}) as bus_bytes_per_s,
    bytes * 1e9 / nullif(min(time_ns), 0) * ({factors}) as best_bus_bytes_per_s
from call
group by operation, type, bytes, group_size
order by time_ns desc, operation, type, bytes, group_size
"""


def find(trace: Trace) -> Finding:
    """Collectives by kind, type, size and group, the most time first; null is what the trace does not record.

    `bytes` is the size S of nccl-tests: of the larger of the input and the output of a rank, so the whole array of an
    all-gather or a reduce-scatter. Algorithm bandwidth is S over time; bus bandwidth is that times 2(n-1)/n for an
    all-reduce, (n-1)/n for all-gather, reduce-scatter and all-to-all, and 1 for broadcast, reduce, send and receive,
    in a group of n (doc/PERFORMANCE.md of github.com/NVIDIA/nccl-tests); reductions in the network move less than
    that. A call waits in its kernel for the ranks that come later: bandwidth over the time of all calls is what the
    program got, that of the shortest call is closer to what the links give.
    """
    sql = SQL.format(
        told=TOLD if trace.has("collective") else UNTOLD,
        operation=_first_match({f"'{name}'": pattern for name, pattern in OPERATIONS}, "said"),
        bytes=_first_match({str(each): f"^({types})$" for each, types in BYTES}, "type"),
        factors=FACTORS.strip(),
    ).strip()
    rows = trace.sql(sql)
    if not len(rows):
        return Finding("collectives", "No kernel communicates.", rows, sql)
    first = rows.row(0, named=True)
    large = "size not recorded" if first["bytes"] is None else size(first["bytes"])
    sentence = (
        f"{plural(total(rows, 'calls'), 'collective call')} of {duration(total(rows, 'time_ns'))} in sum; "
        f"{percent(first['share'], 1)} of it in {plural(first['calls'], 'call')} of one kind and size "
        f"({first['operation'] or 'kind not recorded'}, {large})"
    )
    best = first["best_bus_bytes_per_s"]
    sentence += f", the shortest at {best / 1e9:.3g} GB/s of bus bandwidth." if best else "."
    return Finding("collectives", sentence, rows, sql, _notes(rows))


def _notes(rows: "pl.DataFrame") -> tuple[str, ...]:
    calls, whole = total(rows.filter(rows["bytes"].is_null()), "calls"), total(rows, "calls")
    if not calls:
        return ()
    if calls == whole:
        return ("The size of calls is not recorded, so there is no bandwidth.",)
    return (f"The size of {count(calls)} of {count(whole)} calls is not recorded: they are without a bandwidth.",)


def _first_match(cases: Mapping[str, str], text: str) -> str:
    """A SQL expression: the key of the first pattern that is in the text, whatever its case; else null."""
    when = " ".join(f"when regexp_matches({text}, '{pattern}', 'i') then {key}" for key, pattern in cases.items())
    return f"case {when} end"
