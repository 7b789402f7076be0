"""How much of the device's work is replayed from graphs, launch by launch?"""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..columns import MISSING, numbers, words
from ..finding import Finding, total
from ..sorting import distinct
from ..words import count, duration, percent, plural

if TYPE_CHECKING:
    import polars as pl

NEEDS = ()

WORK = ("kernel", "copy", "fill")
WHOLE = r"^\W*(cuda|hip|cu)graph_?launch|graph_?exec(ution)?\b"
"""Names of rows that stand for all the work of a graph, which profilers write where they do not look into it."""
CALL = r"^(cuda|hip|cu)graph_?launch"
"""Names of the host calls that launch a graph."""

EVIDENCE = {
    "graph": "the recording names the graph of the operation",
    "call": "the host call that launched it launches graphs",
    "shared": "one call launched several kernels of it, which only a graph does, but nothing says so",
    "whole": "the row stands for all the work of a graph, which was not recorded",
}
"""How it is known that work is replayed, the surest first."""

SQL = """
with work as (
{work}
),
called as (
{called}
),
total as (
    select process, device, sum(duration_ns) as device_ns from work group by process, device
),
shared as (
    select process, device, launch
    from work
    where kind = 'kernel' and launch is not null
    group by process, device, launch
    having count(*) > 1
),
judged as (
    select
        work.*,
        call_ns,
        row_number() over () as number,
        case
            when whole then 'whole'
            when graph is not null then 'graph'
            when call_ns is not null then 'call'
            when shared.launch is not null then 'shared'
        end as evidence
    from work
    left join called
        on called.process = work.process
        and called.thread = work.launch_thread
        and called.start_ns = work.launch_ns
    left join shared
        on shared.process = work.process
        and shared.device = work.device
        and shared.launch = work.launch
),
launched as (
    select
        process,
        device,
        graph,
        evidence,
        case when whole then number else launch end as one,
        count(*) as operations,
        sum(duration_ns) as time_ns,
        max(end_ns) - min(start_ns) as span_ns,
        max(call_ns) as call_ns
    from judged
    where evidence is not null
    group by process, device, graph, evidence, one
)
select
    process,
    device,
    graph,
    evidence,
    count(one) as launches,
    sum(operations)::bigint as operations,
    sum(operations) / nullif(count(one), 0) as operations_per_launch,
    coalesce(sum(time_ns), 0)::bigint as time_ns,
    sum(time_ns) / nullif(any_value(device_ns), 0) as share,
    quantile_cont(span_ns, 0.5) filter (one is not null) as p50_span_ns,
    quantile_cont(call_ns, 0.5) as p50_call_ns
from launched
join total using (process, device)
group by process, device, graph, evidence
order by time_ns desc, process, device, graph, evidence
"""
PART = """    select
        '{name}' as kind, process, device, start_ns, end_ns, duration_ns, launch, launch_ns, launch_thread,
        nullif(graph, 0) as graph, {whole} as whole
    from {name}
    where flaw is distinct from 'no start'"""
"""SQL: profilers write the graph 0 for none."""
SPANS = """    select
        'graph' as kind, process, device, start_ns, end_ns, duration_ns, null as launch, null as launch_ns,
        null as launch_thread, id as graph, true as whole
    from range
    where kind = 'graph' and device is not null"""
"""SQL: graphs that were recorded as a whole, in a format that tells them from kernels."""
CALLED = f"""    select process, thread, start_ns, max(duration_ns) as call_ns
    from api
    where regexp_matches(name, '{CALL}', 'i') and duration_ns is not null
    group by process, thread, start_ns"""
NO_CALLS = (
    "    select null::bigint as process, null::bigint as thread, null::bigint as start_ns, null::bigint as call_ns"
)


def find(trace: Trace) -> Finding:
    """Work that is replayed from graphs, by device, graph and how that is known; `EVIDENCE` says what counts.

    `share` is of the summed time of all operations of the device. `p50_span_ns` is the median time of a launch from the
    first start to the last end of its operations, `p50_call_ns` that of its host call. Rows of whole graphs count as
    operations.
    """
    there = [name for name in WORK if trace.has(name)]
    if not there:
        raise NotCollected("no device work was collected", "record kernels")
    query = _query(trace, there)
    rows = trace.sql(query if _replays(trace, there) else f"select * from ({query}) limit 0")
    if not len(rows) and not any(_linked(trace, name) for name in there):
        raise NotCollected(
            "neither graphs nor launches were recorded, so which work is replayed is unknown",
            "record the host's calls to the runtime together with the device work",
        )
    if not len(rows):
        return Finding("graph_replay", "No device work is replayed from a graph.", rows, query)
    whole = rows.filter(rows["evidence"] == "whole")
    return Finding("graph_replay", _sentence(trace, rows, there), rows, query, _notes(rows, whole))


def _replays(trace: Trace, there: list[str]) -> bool:
    """Whether anything is replayed, by what it takes less to look at than to add up."""
    if trace.has("range") and trace.sql(f"select 1 from ({SPANS}) limit 1").height:
        return True
    if "kernel" in there and _named(trace.files["kernel"], WHOLE):
        return True
    if trace.has("api") and _named(trace.files["api"], CALL):
        return True
    for name in there:
        columns = numbers(trace.files[name], ("graph", "launch"))
        if ((columns["graph"] != 0) & (columns["graph"] != MISSING)).any():
            return True
        launches = columns["launch"][columns["launch"] != MISSING]
        if name == "kernel" and len(distinct(launches)) < len(launches):  # maybe of other processes
            return True
    return False


def _named(file: Path, pattern: str) -> bool:
    """Whether a name in the file matches, with words of ASCII as those of DuckDB."""
    matches = re.compile(pattern, re.IGNORECASE | re.ASCII).search
    return any(matches(text) for text in words(file, "name").texts if text is not None)


def _query(trace: Trace, there: list[str]) -> str:
    whole = f"regexp_matches(coalesce(name, ''), '{WHOLE}', 'i')"
    parts = [PART.format(name=name, whole=whole if name == "kernel" else "false") for name in there]
    parts += [SPANS] * trace.has("range")
    called = CALLED if trace.has("api") else NO_CALLS
    return SQL.format(work="\n    union all\n".join(parts), called=called).strip()


def _linked(trace: Trace, name: str) -> bool:
    return bool(trace.sql(f"select count(launch) from {name}").item())


def _sentence(trace: Trace, rows: "pl.DataFrame", there: list[str]) -> str:
    whole, told = rows.filter(rows["evidence"] == "whole"), rows.filter(rows["evidence"] != "whole")
    tables = [(name, "true") for name in there] + [("range", "kind = 'graph'")] * trace.has("range")
    summed = " union all ".join(f"select duration_ns as ns from {name} where {which}" for name, which in tables)
    all_ns, all_rows = trace.sql(f"select coalesce(sum(ns), 0)::bigint, count(*) from ({summed})").row(0)
    parts: list[str] = []
    if len(told):
        launches, operations = total(told, "launches"), total(told, "operations")
        each = f", {count(round(operations / launches))} a launch on average" if launches else ""
        parts.append(
            f"{percent(total(told, 'time_ns'), all_ns)} of the summed device time ({count(operations)} of "
            f"{plural(all_rows, 'operation')}) is replayed from graphs{each}."
        )
    if len(whole):
        many = total(whole, "operations")
        one = (
            "that stands for a whole graph: what ran in it"
            if many == 1
            else ("that stand for a whole graph each: what ran in them")
        )
        parts.append(
            f"{percent(total(whole, 'time_ns'), all_ns)} of the summed device time lies in {plural(many, 'row')} {one}"
            ", and whether the device was busy, is not recorded."
        )
    return " ".join(parts)


def _notes(rows: "pl.DataFrame", whole: "pl.DataFrame") -> tuple[str, ...]:
    notes: list[str] = []
    if len(whole):
        notes.append(
            "Rows that stand for whole graphs make busy time, idle time and kernel statistics unreliable: they are no "
            "kernels, and what looks idle around or within them need not be. Record the graphs' nodes (nsys: "
            "--cuda-graph-trace=node)."
        )
    shared = rows.filter(rows["evidence"] == "shared")
    if len(shared):
        notes.append(
            f"{plural(total(shared, 'operations'), 'operation')} of {duration(total(shared, 'time_ns'))} count as "
            "replayed only since one call launched several kernels; nothing names a graph."
        )
    return tuple(notes)
