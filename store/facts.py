"""The headline facts of a trace, by SQL over its tables: what `tracelode info` prints.

None where the source cannot state it: no host calls recorded, so no launch can be missing.
"""

from typing import TYPE_CHECKING, Any

from .database import transient
from .query import create_views, damage_told
from .trace import Trace

if TYPE_CHECKING:
    import duckdb

__all__ = ["facts"]

ASKED = ("kernel", "copy", "fill", "api")
KERNELS = """
select
    count(*) as kernels,
    count(distinct name) + max((name is null)::int) as kernel_names, -- kernels without a name count as one name
    coalesce(sum(duration_ns), 0)::bigint as kernel_time_ns
from kernel
"""
LONGEST = """
select name, duration_ns from kernel where duration_ns is not null order by duration_ns desc, name desc limit 1
"""
COPIES = """
select coalesce(kind, 'unknown') as kind, count(*) as copies, sum(bytes)::bigint as bytes
from copy
group by kind
order by kind
"""
FILLS = "select count(*) as fills, sum(bytes)::bigint as bytes from fill"
WORK = """
select
    count(distinct device) as devices,
    count(distinct (device, stream)) as streams,
    min(start_ns) filter (flaw is distinct from 'no start') as gpu_first_ns,
    max(end_ns) filter (flaw is distinct from 'no start') as gpu_last_ns
from ({work})
"""
LAUNCH = "contains(lower(name), 'launch') and not regexp_matches(name, 'hostfunc|callconfiguration', 'i')"
CALLS = f"select count(*) as runtime_calls, count(*) filter ({LAUNCH}) as launch_calls from api"
UNLAUNCHED = f"""
with call as (
    select process, correlation, bool_or({LAUNCH}) as launch from api where correlation is not null group by all
)
select
    count(*) filter (call.launch is not true) as kernels_without_launch,
    count(*) filter (call.correlation is null) as kernels_without_call
from kernel left join call using (process, correlation)
"""


def facts(trace: Trace) -> dict[str, Any]:
    """Counts, sums, extents and links of the trace's device work. Times are on the trace's own clock.

    `memcpy` and `memcpy_bytes` are by direction; `streams` counts distinct (device, stream) with device work;
    `kernels_without_launch`: no launch call shares the kernel's correlation within its process;
    `kernels_without_call`: no call at all does. `longest_kernel` is [name, ns], ties go to the greater name.
    """
    files = {name: file for name, file in trace.files.items() if name in ASKED}
    with damage_told(f"trace {trace.id[:12]}"), transient() as database:
        create_views(database, {trace.id: files}, categories="none")
        found: dict[str, Any] = {"kernels": 0, "kernel_names": 0, "kernel_time_ns": 0, "longest_kernel": None}
        if trace.has("kernel"):
            found |= _row(database, KERNELS)
            longest = _row(database, LONGEST)
            found["longest_kernel"] = [longest["name"], longest["duration_ns"]] if longest else None
        found |= _copies(database, trace) | _fills(database, trace) | _extent(database, trace) | _calls(database, trace)
    return found


def _copies(database: "duckdb.DuckDBPyConnection", trace: Trace) -> dict[str, Any]:
    rows = database.execute(COPIES).fetchall() if trace.has("copy") else []
    sized = all(size is not None for _, _, size in rows)
    return {
        "memcpy": {kind: count for kind, count, _ in rows},
        "memcpy_bytes": {kind: size for kind, _, size in rows} if sized else None,
    }


def _fills(database: "duckdb.DuckDBPyConnection", trace: Trace) -> dict[str, Any]:
    fill = _row(database, FILLS) if trace.has("fill") else {"fills": 0, "bytes": 0}
    return {"memset": fill["fills"], "memset_bytes": fill["bytes"]}


def _extent(database: "duckdb.DuckDBPyConnection", trace: Trace) -> dict[str, Any]:
    there = [name for name in ("kernel", "copy", "fill") if trace.has(name)]
    if not there:
        return {"devices": 0, "streams": 0, "gpu_first_ns": None, "gpu_last_ns": None}
    work = " union all ".join(f"select device, stream, start_ns, end_ns, flaw from {name}" for name in there)
    return _row(database, WORK.format(work=work))


def _calls(database: "duckdb.DuckDBPyConnection", trace: Trace) -> dict[str, Any]:
    calls = _row(database, CALLS) if trace.has("api") else {"runtime_calls": None, "launch_calls": None}
    unlaunched: dict[str, Any] = {"kernels_without_launch": None, "kernels_without_call": None}
    if trace.has("kernel") and trace.has("api"):
        unlaunched = _row(database, UNLAUNCHED)
    elif trace.has("kernel"):
        unlaunched = dict.fromkeys(unlaunched, trace.rows["kernel"])
    return calls | unlaunched


def _row(database: "duckdb.DuckDBPyConnection", query: str) -> dict[str, Any]:
    answer = database.execute(query)
    names = [column[0] for column in answer.description or []]
    row = answer.fetchone()
    return dict(zip(names, row, strict=True)) if row else {}
