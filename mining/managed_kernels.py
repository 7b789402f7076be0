"""The kernels that events of managed memory fall into, and the time in which any of them runs on a device."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..store.trace import Trace
from .covered import Cover, cover
from .levels import STEP
from .sorting import Ints

if TYPE_CHECKING:
    import polars as pl

__all__ = ["NO_NAME", "Kernels", "Lane", "lanes", "times"]

NO_NAME = "(no name)"
"""The name of a kernel whose own is not told."""

Lane = tuple[int, int]
"""A process and a device."""

KERNELS = f"""
with {{step}}launched as (
select
    kernel.process,
    kernel.device,
    kernel.stream,
    kernel.start_ns,
    kernel.end_ns,
    coalesce(kernel.name, '{NO_NAME}') as kernel,
    row_number() over (
        partition by kernel.process, coalesce(kernel.name, '{NO_NAME}')
        order by kernel.launch nulls last, kernel.start_ns, kernel.device, kernel.stream
    ) - 1 as occurrence,
    {{operator}} as operator
from kernel{{joined}}
where kernel.flaw is null
)
select launched.*, {{iteration}} as iteration
from launched{{steps}}
order by process, device, stream, start_ns, end_ns
"""
JOINED = """
left join op on op.id = kernel.op"""
STEPS = """
asof left join step on step.process = launched.process and launched.start_ns >= step.from_ns"""
IN_STEP = "if(launched.start_ns < step.end_ns, step.iteration, null)"


@dataclass(frozen=True)
class Kernels:
    """The kernels of a trace by process, device and stream, and the time in which any of them runs on a device."""

    rows: "pl.DataFrame"
    busy: Mapping[Lane, Cover]

    @classmethod
    def of(cls, trace: Trace) -> "Kernels":
        """The kernels of the trace whose times can be trusted."""
        import polars as pl

        if not trace.has("kernel"):
            numbers = ("process", "device", "stream", "start_ns", "end_ns", "occurrence", "iteration")
            schema: dict[str, Any] = {**dict.fromkeys(numbers, pl.Int64), "kernel": pl.String, "operator": pl.String}
            return cls(pl.DataFrame(schema=schema), {})
        known, stepped = trace.has("op"), trace.has("iteration")
        sql = KERNELS.format(
            step=f"{STEP.strip()},\n" if stepped else "",
            operator="op.name" if known else "null::varchar",
            joined=JOINED if known else "",
            iteration=IN_STEP if stepped else "null::integer",
            steps=STEPS if stepped else "",
        )
        rows = trace.sql(sql.strip())
        return cls(rows, {lane: cover(*times(part)) for lane, part in lanes(rows).items()})


def lanes(rows: "pl.DataFrame") -> "dict[Lane, pl.DataFrame]":
    """The rows of each process and device, in their order."""
    parts = rows.partition_by("process", "device", maintain_order=True) if len(rows) else []
    return {(int(part["process"][0]), int(part["device"][0])): part for part in parts}


def times(rows: "pl.DataFrame") -> tuple[Ints, Ints]:
    """The starts and the ends of the rows."""
    return rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
