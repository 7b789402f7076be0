"""The timeline of a trace: its device operations on a lane for each stream, and what else the trace says there."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..mining.columns import Rows, chosen, joined, numbers, words
from ..mining.finding import Finding
from ..mining.naming import called, names_of
from ..mining.sorting import lexical_order, runs
from ..store.columns import NO_START
from ..store.trace import Trace
from .overlays import curves, overlays
from .report import Lane, Timeline

if TYPE_CHECKING:
    import polars as pl

__all__ = ["timeline"]

MOST_SLOW = 3

COLUMNS = ("process", "device", "stream", "start_ns", "end_ns")
PLACE = COLUMNS[:3]

BUSY = """
select process, device, stream, count(*) as operations,
    sum(greatest(end_ns - greatest(start_ns, coalesce(before_ns, start_ns)), 0))::bigint as busy_ns
from (
    select *, max(end_ns) over (
        partition by process, device, stream
        order by start_ns
        rows between unbounded preceding and 1 preceding
    ) as before_ns
    from (
{work}
    )
)
group by process, device, stream
order by process, device, stream
"""


def timeline(trace: Trace, ask: Callable[[str], Finding]) -> Timeline:
    """The timeline; the trace has device work and has been mined for `member`, `iteration` and `pattern`."""
    there = {table: name for table, name in called().items() if trace.has(table)}
    work = "\nunion all\n".join(
        f"select '{table}' as kind, process, device, stream, start_ns, end_ns, {name} as name, correlation\n"
        f"from {table}\nwhere flaw is distinct from 'no start'"
        for table, name in there.items()
    )
    rows, names = _operations(trace, there)
    first, last = int(rows["start_ns"].min()), int(rows["end_ns"].max())
    margin = (last - first) // 10
    shown = overlays(trace, ask, first - margin, last + margin)
    return Timeline(
        title="Device operations by stream",
        base_ns=min([first, *(overlay.spans[0][0] for overlay in shown)]),
        names=names,
        lanes=list(_lanes(rows, work)),
        sql=f"{work}\norder by process, device, stream, start_ns, end_ns, name",
        overlays=shown,
        left_out=sum(trace.rows[name] for name in there) - len(rows["name"]),
        curves=curves(trace, first - margin, last + margin),
        wanted=_wanted(ask("iteration_times").rows),
        busy_sql=BUSY.format(work=work).strip(),
    )


def _operations(trace: Trace, tables: Iterable[str]) -> tuple[Rows, list[str]]:
    """The operations with a known start, by stream, start, end and name: an index of the names, which are in order."""
    parts: list[tuple[Rows, list[str]]] = []
    for table in tables:
        code, texts = names_of(trace, table)
        rows, lost = numbers(trace.files[table], COLUMNS), words(trace.files[table], "flaw").are(NO_START)
        named = {**rows, "name": code}
        parts.append((chosen(named, ~lost) if lost.any() else named, texts))
    used = ({texts[one] for one in np.flatnonzero(np.bincount(rows["name"])).tolist()} for rows, texts in parts)
    names = sorted(set[str]().union(*used))
    place = {name: at for at, name in enumerate(names)}
    work = joined(
        [{**rows, "name": np.array([place.get(text, 0) for text in texts])[rows["name"]]} for rows, texts in parts]
    )
    order = lexical_order(*work.values())
    if bool((order[1:] > order[:-1]).all()):  # as a single table is stored
        return work, names
    return chosen(work, order), names


def _lanes(rows: Rows, work: str) -> Iterator[Lane]:
    """A lane for each stream."""
    for begin, stop in runs(*(rows[name] for name in PLACE)):
        place = {name: int(rows[name][begin]) for name in PLACE}
        where = " and ".join(f"{key} = {value}" for key, value in place.items())
        start, end = rows["start_ns"][begin:stop], rows["end_ns"][begin:stop]
        yield Lane(
            label=" ".join(f"{key} {value}" for key, value in place.items()),
            start_ns=start,
            duration_ns=end - start,
            name=rows["name"][begin:stop],
            sql=f"select *\nfrom (\n{work}\n)\nwhere {where}",
        )


def _wanted(rows: "pl.DataFrame") -> tuple[tuple[int, int, str], ...]:
    """Iterations worth looking at, of the process with most of them, each with the wait before it.

    The typical one is the first whose time is nearest the median; then the slow ones that took longest (where none is
    slow, the longest), the first and the last.
    """
    if not len(rows):
        return ()
    parts = rows.partition_by("process", maintain_order=True)
    part = max(parts, key=len)
    of = f" of process {part['process'][0]}" if len(parts) > 1 else ""
    usual = part.filter(part["mark"].is_null())
    usual = usual if len(usual) else part
    away = (usual["duration_ns"] - usual["duration_ns"].median()).abs()
    slow = part.filter(part["mark"] == "slow").sort("duration_ns", descending=True, maintain_order=True)[:MOST_SLOW]
    longest = usual.sort("duration_ns", descending=True, maintain_order=True)[:1]
    kinds = {
        "typical": usual[[away.arg_min() or 0]],
        **({"slow": slow} if len(slow) else {"longest": longest}),
        "first": part[:1],
        "last": part[-1:],
    }
    return tuple(
        (row["start_ns"] - row["wait_ns"], row["end_ns"], f"{kind} iteration {row['iteration']}{of}")
        for kind, found in kinds.items()
        for row in found.iter_rows(named=True)
    )
