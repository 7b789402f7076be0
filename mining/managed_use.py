"""Which parts of which objects are touched in which window of a run: from measured accesses, else from faults."""

from typing import TYPE_CHECKING

import numpy as np

from ..store.trace import Trace
from .managed_pages import LEAF_BYTES
from .managed_ranges import holders
from .owners import NOBODY
from .sorting import Ints, ragged
from .use import Use
from .uvm_rules import uvm_rules

if TYPE_CHECKING:
    import polars as pl

__all__ = ["as_use", "by_accesses", "by_faults", "uses"]

OBJECTS = """
select
    process,
    if(kind = 'tensor', 'tensor', 'object') as granularity,
    kind,
    address,
    bytes,
    owner,
    birth_ns,
    death_ns
from allocation
where address is not null and bytes > 0
order by process, birth_ns nulls first, address, bytes
"""
PARTS = """
select
    process,
    granularity,
    object as address,
    object_bytes as bytes,
    coalesce("window", launch) as "window",
    launch,
    accesses,
    pages
from access
where object is not null and coalesce("window", launch) is not null and coalesce(accesses, 1) > 0
order by process, granularity, object, "window"
"""
"""SQL: accesses with a place on the clock of windows or of launches; sums over a whole run have none."""
PAGE_BYTES = 4096
MOST_LEAVES = 4_000_000
"""Leaves that moves are taken apart into, at most: of more, larger ones."""
CAME = """
select
    uvm_event.process,
    uvm_event.range as object,
    uvm_event.tensor,
    uvm_event.start_ns,
    uvm_event.address,
    greatest(coalesce(uvm_event.bytes, 1), 1) as bytes,
    pages
from uvm_event
where kind in ('gpu_fault', 'HtoD') and cause is distinct from 'user' and uvm_event.address is not null
    and uvm_event.range is not null
order by uvm_event.process, uvm_event.start_ns
"""
RANGES = """
select process, range, granularity, kind, address, bytes, owner from uvm_range order by range
"""


def by_accesses(trace: Trace) -> "tuple[pl.DataFrame, pl.DataFrame] | None":
    """The objects and the parts of them that are accessed in each window; None where no accesses say where and when.

    A part has `object` (a row of the objects), `process`, `window`, `address`, `bytes` (None: not known how much of the
    object) and `accesses`. Blocks belong to the object that lived there at the launch, where lives are in launches.
    """
    import polars as pl

    if not trace.has("access"):
        return None
    parts = trace.sql(PARTS)
    if not len(parts):
        return None
    if not trace.has("allocation"):
        return _blocks_alone(parts)
    objects = trace.sql(OBJECTS)
    lives = objects.with_row_index("number")
    if trace.facts.clock != "ordinal":
        lives = lives.with_columns(pl.lit(None, pl.Int64).alias(name) for name in ("birth_ns", "death_ns"))
    found: list[pl.DataFrame] = []
    for (process, granularity), part in parts.partition_by("process", "granularity", as_dict=True).items():
        there = lives.filter(process=process, granularity="tensor" if granularity == "tensor" else "object")
        held = holders(there, part["address"].to_numpy(), part["launch"].fill_null(0).to_numpy())
        found.append(part.with_columns(object=pl.Series(held)))
    return objects, _touched(pl.concat(found).filter(pl.col("object") != NOBODY))


def _blocks_alone(parts: "pl.DataFrame") -> "tuple[pl.DataFrame, pl.DataFrame]":
    """Where no object is known, each block stands for itself; how much of an object is touched is not known then."""
    import polars as pl

    keys = ["process", "address", "bytes"]
    blocks = parts.select(keys).unique(maintain_order=True).with_row_index("object")
    blocks = blocks.with_columns(pl.col("object").cast(pl.Int64))
    objects = blocks.drop("object").with_columns(
        granularity=pl.lit("addresses"), kind=pl.lit(None, pl.String), owner=pl.lit(None, pl.String)
    )
    parts = parts.join(blocks, on=keys, nulls_equal=True)
    return objects, _touched(parts).with_columns(bytes=pl.lit(None, pl.Int64))


def _touched(parts: "pl.DataFrame") -> "pl.DataFrame":
    """The parts with the bytes that were touched of each: whole blocks; of objects the pages, where these are known."""
    import polars as pl

    block = pl.col("granularity") == "block"
    return parts.select(
        "object",
        "process",
        "window",
        "launch",
        "address",
        bytes=pl.when(block).then(pl.col("bytes")).otherwise(pl.col("pages") * PAGE_BYTES),
        accesses=pl.col("accesses").fill_null(1),
    )


def by_faults(trace: Trace) -> "tuple[pl.DataFrame, pl.DataFrame] | None":
    """The ranges and their leaves of 64 KiB that came to a device in each window of time; None without such events.

    The run is cut into windows of equal time between the first and the last of them.
    """
    import polars as pl

    if not trace.has("uvm_event"):
        return None
    came = trace.sql(CAME)
    if not len(came):
        return None
    ranges = trace.sql(RANGES)
    count, leaf = int(uvm_rules("use")["windows_count"]), _leaf(came["bytes"].to_numpy())
    start = came["start_ns"].to_numpy()
    came = came.with_columns(window=pl.Series((start - start.min()) * count // (start.max() - start.min() + 1)))
    leaves = _leaves(came, leaf)
    both = [leaves.filter(pl.col(name).is_not_null()).with_columns(place=pl.col(name)) for name in ("object", "tensor")]
    size = dict(ranges.select("range", "bytes").rows())
    parts = pl.concat(both).select(
        "process",
        "window",
        "address",
        "accesses",
        object=pl.col("place"),
        bytes=pl.min_horizontal(pl.lit(leaf), pl.col("place").replace_strict(size, return_dtype=pl.Int64)),
    )
    return ranges, parts.select("object", "process", "window", "address", "bytes", "accesses")


def _leaf(size: Ints) -> int:
    """The bytes of a leaf: those of the driver's, or so many times more that there are not too many of them."""
    leaf = LEAF_BYTES
    while int((size // leaf).sum()) > MOST_LEAVES:
        leaf *= 2
    return leaf


def _leaves(came: "pl.DataFrame", leaf: int) -> "pl.DataFrame":
    """Each event once for each leaf that it touches; a fault of several pages counts those on its own leaf."""
    import polars as pl

    address, size = came["address"].to_numpy(), came["bytes"].to_numpy()
    first = address // leaf
    count = (address + size - 1) // leaf - first + 1
    row = np.repeat(np.arange(len(came)), count)
    place: Ints = ragged(first, count) * leaf
    return came[row].with_columns(address=pl.Series(place), accesses=pl.col("pages").fill_null(1))


def uses(objects: "pl.DataFrame", parts: "pl.DataFrame") -> "pl.DataFrame":
    """A row for each object that is used: what `use.Use` holds, with the row of the object."""
    import polars as pl

    window = pl.col("window")
    whole = parts.group_by("process").agg(base=window.min(), windows=window.max() - window.min() + 1)
    blocks = parts.group_by("object", "process", "address").agg(
        bytes=pl.col("bytes").max(), used=window.n_unique(), first=window.min(), accesses=pl.col("accesses").sum()
    )
    by_place = blocks.sort("object", "address").group_by("object", "process", maintain_order=True)
    found = by_place.agg(
        accesses=pl.col("accesses").sum(),
        covered_bytes=pl.when(pl.col("bytes").is_not_null().all()).then(pl.col("bytes").sum()),
        once=(pl.col("used") == 1).all(),
        in_order=(pl.col("first").diff().fill_null(0) >= 0).all(),
    )
    spans = parts.group_by("object").agg(used=window.n_unique(), first=window.min(), last=window.max())
    joined = found.join(spans, on="object").join(whole, on="process")
    return (
        joined.with_columns(first=pl.col("first") - pl.col("base"), last=pl.col("last") - pl.col("base"))
        .join(
            objects.with_row_index("object").select(pl.col("object").cast(pl.Int64), object_bytes=pl.col("bytes")),
            on="object",
        )
        .sort("object")
    )


def as_use(row: dict[str, int]) -> Use:
    """One of the rows as what is judged."""
    names = ("accesses", "used", "first", "last", "windows", "covered_bytes", "once", "in_order")
    return Use(bytes=max(row["object_bytes"], 1), **{name: row[name] for name in names})  # pyright: ignore[reportArgumentType] - bools too
