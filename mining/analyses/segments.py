"""Tiles each device's time with stretches of one state: compute, communication, copy, or idle with one cause.

Busy is the union over streams. Where several things run at once the stretch is compute, else communication, else
copy: so communication and copy are the exposed parts, and the states of a device sum to its span exactly.

The cause of an idle stretch is read off the operation that ends it, and the host call that launched that operation:

- synchronisation: launched after the device ran dry, at most `AFTER_WAIT_NS` after its thread had waited for it;
- launch: launched after the device ran dry, by a thread that issues launches at a steady pace (`LAUNCH_PACE_NS`);
- host: launched after the device ran dry, by a thread that did something else;
- dependency: launched in time, and what ran last was on another stream;
- device: launched in time, and what ran last was on the same stream: the device was slow to take it up;
- unknown: no host call is known for it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...store.kinds import category_sql
from ...store.tables import TABLES
from ...store.trace import Trace
from ..naming import called
from ..sorting import distinct
from ..tiling import IDLE, tile

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

VERSION = 2
NEEDS = ()

LAUNCH_PACE_NS = 50_000
"""A thread whose previous launch is no longer ago than this is busy launching: eager PyTorch takes 5-30 µs each."""

AFTER_WAIT_NS = 1_000_000
"""A thread that launches nothing for so long after a wait for the device did something else: it is the host."""

WORK = {
    "kernel": f"state, {called('kernel.')['kernel']} as name",
    "copy": f"2 as state, {called()['copy']} as name",
    "fill": f"2 as state, {called()['fill']} as name",
}
KERNEL = """
kernel left join (
    select name, case category when 'communication' then 1 when 'copy' then 2 when 'fill' then 2 else 0 end as state
    from (select name, {category} as category from (select distinct name from kernel))
) as named on kernel.name is not distinct from named.name
"""
"""SQL: kernels with their state. Names are few: judging each once is ten times faster than judging each kernel."""
WAITING = r"synchronize|^(cuda|hip)memcpy(_v\d+)?$"
"""Names of calls that return when the device is done."""
SYNCHRONISING = f"""
select process, thread, end_ns
from api
where regexp_matches(name, '{WAITING}', 'i')
order by process, thread, end_ns
"""
STATES = ("compute", "communication", "copy", "idle")
NEVER = np.iinfo(np.int64).min

Ints = npt.NDArray[np.int64]


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `segment`; nothing when the trace has no device work, or none whose times are to be trusted."""
    import polars as pl

    there = [name for name in WORK if trace.has(name)]
    if not there:
        return {}
    columns = "process, device, stream, start_ns, end_ns, launch_ns, launch_thread"
    tables = {name: name for name in there} | {"kernel": KERNEL.format(category=category_sql("name"))}
    work = trace.sql(
        " union all ".join(f"select {columns}, {WORK[name]} from {tables[name]} where flaw is null" for name in there)
        + " order by process, device, start_ns, end_ns, stream, name"
    )
    if not len(work):
        return {}
    waits = trace.sql(SYNCHRONISING) if trace.has("api") else None
    pieces = [_tile(part, waits) for part in work.partition_by("process", "device", maintain_order=True)]
    return {"segment": pl.concat(pieces).to_arrow().cast(TABLES["segment"].schema)}


def _tile(work: "pl.DataFrame", waits: "pl.DataFrame | None") -> "pl.DataFrame":
    import polars as pl

    tiles = tile(work["start_ns"].to_numpy(), work["end_ns"].to_numpy(), work["state"].to_numpy())
    first, last, before, after = tiles.cuts[:-1], tiles.cuts[1:], tiles.before, tiles.after
    idle = tiles.state == IDLE
    causes = _causes(work, first[idle], before, after, waits)
    names = work["name"]
    rows = len(tiles.state)
    columns: dict[str, Any] = {
        "process": np.full(rows, work["process"][0]),
        "device": np.full(rows, work["device"][0]),
        "start_ns": first,
        "end_ns": last,
        "state": pl.Series(STATES).gather(tiles.state),
        "cause": _where_idle(idle, pl.Series(causes, dtype=pl.String)),
        "before": _where_idle(idle, names.gather(before)),
        "after": _where_idle(idle, names.gather(after)),
    }
    return pl.DataFrame(columns)


def _causes(work: "pl.DataFrame", dry: Ints, before: Ints, after: Ints, waits: "pl.DataFrame | None") -> list[str]:
    launched = work["launch_ns"].fill_null(NEVER).to_numpy()[after]
    stream = work["stream"].to_numpy()
    waited, paced = _host(work, dry, after, launched, waits)
    late = launched >= dry
    choice = np.select(
        [launched == NEVER, late & waited, late & paced, late, stream[before] != stream[after]],
        [0, 1, 2, 3, 4],
        5,
    )
    names = ("unknown", "synchronisation", "launch", "host", "dependency", "device")
    return [names[c] for c in choice]


def _host(
    work: "pl.DataFrame", dry: Ints, after: Ints, launched: Ints, waits: "pl.DataFrame | None"
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """For each idle stretch: did the launching thread wait for the device, and was it launching steadily before."""
    thread = work["launch_thread"].fill_null(NEVER).to_numpy()
    launch = work["launch_ns"].fill_null(NEVER).to_numpy()
    waited, paced = np.zeros(len(dry), bool), np.zeros(len(dry), bool)
    process = work["process"][0]
    for one in distinct(thread[after]):
        mine = thread[after] == one
        launches = distinct(launch[(thread == one) & (launch != NEVER)])
        if not len(launches):
            continue
        at = np.searchsorted(launches, launched[mine]) - 1
        paced[mine] = (at >= 0) & (launched[mine] - launches[np.maximum(at, 0)] <= LAUNCH_PACE_NS)
        if waits is None:
            continue
        ends = waits.filter((waits["process"] == process) & (waits["thread"] == int(one)))["end_ns"].to_numpy()
        if len(ends):
            next_end = np.append(ends, np.iinfo(np.int64).max)[np.searchsorted(ends, dry[mine])]
            waited[mine] = (next_end <= launched[mine]) & (launched[mine] - next_end <= AFTER_WAIT_NS)
    return waited, paced


def _where_idle(idle: npt.NDArray[np.bool_], values: "pl.Series") -> "pl.Series":
    import polars as pl

    position = np.cumsum(idle) - 1
    return (
        pl.select(
            pl.when(pl.lit(pl.Series(idle))).then(
                pl.lit(values.gather(np.maximum(position, 0)) if len(values) else None)
            )
        )
        .to_series()
        .cast(pl.String)
    )
