"""Which allocation, tensor or stretch of addresses the events of managed memory lie in."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..store.trace import Trace
from .managed_pages import clusters
from .memory_curve import EARLIEST, LATEST
from .owners import NOBODY, owners
from .sorting import Ints, stable_order

if TYPE_CHECKING:
    import polars as pl

__all__ = ["holders", "located"]

LIVES = """
select
    process,
    if(kind = 'tensor', 'tensor', 'object') as granularity,
    address,
    bytes,
    kind,
    owner,
    birth_ns,
    death_ns,
    row_number() over (
        partition by process, kind, bytes, owner order by birth_ns nulls first, address
    ) - 1 as occurrence
from allocation
where address is not null and bytes > 0 and kind not in ('host', 'pinned', 'device')
order by process, birth_ns nulls first, address, bytes
"""
"""SQL: what managed memory may lie in, by birth. Some sources do not say of which kind an object is."""


def located(trace: Trace, found: "pl.DataFrame") -> "tuple[pl.DataFrame, pl.DataFrame]":
    """The events with the `range` and the `tensor` that they lie in, and these ranges.

    Ranges are the managed allocations, whatever else holds an event, and for events in no allocation the 2 MiB blocks
    that are next to each other. A move or fault lies where its first address is.
    """
    import polars as pl

    lives = trace.sql(LIVES.strip()) if trace.has("allocation") else None
    object_, tensor = (_held(lives, found, granularity) for granularity in ("object", "tensor"))
    used = np.unique(np.r_[object_, tensor])
    kept = np.zeros(0 if lives is None else len(lives), bool)
    kept[used[used >= 0]] = True
    if lives is not None:
        kept |= (lives["kind"] == "managed").to_numpy()
    number = np.r_[np.cumsum(kept) - 1, NOBODY]  # the last is what NOBODY indexes
    free = found.filter(pl.Series(object_ == NOBODY) & pl.col("address").is_not_null())
    loose = [_loose(part) for part in free.partition_by("process", maintain_order=True)]
    base = [lives.filter(pl.Series(kept))] if lives is not None else []
    ranges = pl.concat([_none(), *base, *loose], how="diagonal_relaxed").with_row_index("range")
    ranges = ranges.with_columns(pl.col("range").cast(pl.Int64))
    place = number[object_]
    for part in free.partition_by("process", maintain_order=True):
        index = part["event"].to_numpy()
        place[index] = _between(ranges, int(part["process"][0]), part["address"].to_numpy())
    columns = {"range": place, "tensor": number[tensor]}
    placed = found.with_columns(
        pl.when(pl.Series(values) != NOBODY).then(pl.Series(values)).alias(name) for name, values in columns.items()
    )
    return placed, ranges


def holders(lives: "pl.DataFrame", address: Ints, moment: Ints) -> Ints:
    """The `number` of the life that holds each address at its moment, or `NOBODY`; without a birth it always lived."""
    held = owners(
        lives["address"].to_numpy(),
        lives["bytes"].to_numpy(),
        lives["birth_ns"].fill_null(EARLIEST).to_numpy(),
        lives["death_ns"].fill_null(LATEST).to_numpy(),
        address,
        moment,
    )
    return np.r_[lives["number"].to_numpy().astype(np.int64), NOBODY][held]


def _held(lives: "pl.DataFrame | None", found: "pl.DataFrame", granularity: str) -> Ints:
    """The number of the life that holds each event, or `NOBODY`."""
    import polars as pl

    result = np.full(len(found), NOBODY)
    if lives is None:
        return result
    known = found.filter(pl.col("address").is_not_null())
    of_it = lives.with_row_index("number").filter(granularity=granularity)
    for part in known.partition_by("process"):
        there = of_it.filter(process=part["process"][0])
        result[part["event"].to_numpy()] = holders(there, part["address"].to_numpy(), part["start_ns"].to_numpy())
    return result


def _loose(part: "pl.DataFrame") -> "pl.DataFrame":
    """The stretches of addresses of a process in which no allocation is known."""
    import polars as pl

    address, size = clusters(part["address"].to_numpy(), part["bytes"].fill_null(1).to_numpy())
    columns = {"address": address, "bytes": size}
    return pl.DataFrame(columns).with_columns(process=pl.lit(part["process"][0]), granularity=pl.lit("addresses"))


def _between(ranges: "pl.DataFrame", process: int, address: Ints) -> Ints:
    """The number of the stretch of addresses that holds each address."""
    there = ranges.filter(process=process, granularity="addresses")
    start = there["address"].to_numpy()
    order = stable_order(start)
    number = there["range"].to_numpy()[order]
    return number[np.searchsorted(start[order], address, "right") - 1]


def _none() -> "pl.DataFrame":
    """No ranges, with all columns that they may have."""
    import polars as pl

    texts = dict.fromkeys(("granularity", "kind", "owner"), pl.String)
    numbers = dict.fromkeys(("process", "address", "bytes", "birth_ns", "death_ns", "occurrence"), pl.Int64)
    schema: dict[str, Any] = {**texts, **numbers}
    return pl.DataFrame(schema=schema)
