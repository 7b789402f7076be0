"""The operations of a trace as sequences of symbols, and back.

A symbol stands for equal operations: for a kernel its name, grid and block; for a copy its direction; for a fill the
fact that it is one; and the stream. Ordinals count the operations of a sequence from 0; runs are not folded here.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..store.trace import Trace
from .order import MISSING, merge_order

if TYPE_CHECKING:
    import polars as pl

__all__ = ["OPERATIONS", "Sequence", "sequences"]

Ints = npt.NDArray[np.int64]
OPERATIONS = {
    "kernel": (
        "'kernel' as kind, coalesce(name, '(no name)') as label, "
        "concat_ws('/', 'kernel', name, grid_x, grid_y, grid_z, block_x, block_y, block_z) as content"
    ),
    "copy": "'copy' as kind, concat_ws(' ', 'copy', kind) as label, concat_ws('/', 'copy', kind) as content",
    "fill": "'fill' as kind, 'fill' as label, 'fill' as content",
}
COLUMNS = "process, device, stream, start_ns, end_ns, launch_ns, graph_node"


@dataclass(frozen=True)
class Sequence:
    """Operations of one process in one order; all arrays have one entry per operation.

    `stream` is None where the streams of the device are merged in launch order; `launch_ns` is None where not.
    `labels[symbols[i]]` names operation i for a reader. `rows` holds the operations themselves, in order.
    """

    number: int
    process: int
    device: int
    stream: int | None
    symbols: npt.NDArray[np.int32]
    start_ns: Ints
    end_ns: Ints
    launch_ns: Ints | None
    labels: list[str]
    rows: "pl.DataFrame"


def sequences(trace: Trace) -> list[Sequence]:
    """The sequences of a trace, numbered by process, device and first operation; empty without device work with times.

    The streams of a device merge in launch order where the launches are known, else each stands alone (`mining.order`
    says when). Operations that were queued before the recording began are in none of the merged ones. A stream that
    stands alone is mined for its kernels: copies are the work of other engines, and only launches say
    where they belong.
    """
    import polars as pl

    there = [name for name in OPERATIONS if trace.has(name)]
    if not there:
        return []
    work = trace.sql(
        " union all ".join(
            f"select {COLUMNS}, {OPERATIONS[name]}, row from (select *, row_number() over () as row from {name}) "
            "where flaw is distinct from 'no start'"
            for name in there
        )
        + " order by process, device, start_ns, end_ns, stream, kind, row"
    )
    if not len(work):
        return []
    # Streams are told apart by place among the streams of their device, so that ranks have the same symbols.
    lanes = pl.col("stream").rank("dense").over("process", "device").cast(pl.String)
    work = work.with_columns(pl.concat_str(lanes, pl.col("content"), separator="/").alias("content"))
    names = work.group_by("content", maintain_order=True).agg(pl.col("label").first())
    labels = names["label"].fill_null("").to_list()
    number = pl.Series(range(len(labels)), dtype=pl.Int32)
    work = work.with_columns(
        work["content"].replace_strict(names["content"], number, return_dtype=pl.Int32).alias("symbol")
    )
    found: list[Sequence] = []
    for part in work.partition_by("process", "device", maintain_order=True):
        found += _of_device(part, labels, len(found))
    return found


def _of_device(work: "pl.DataFrame", labels: list[str], number: int) -> list[Sequence]:
    launch = work["launch_ns"].fill_null(MISSING).to_numpy()
    streams = work["stream"].to_numpy()
    tie = work["graph_node"].fill_null(0).to_numpy()
    order = merge_order(launch, work["start_ns"].to_numpy(), streams, tie)
    parts = [(work[ordered.index], ordered.launch_ns) for ordered in order.sequences]
    parts = [(rows if known is not None else rows.filter(rows["kind"] == "kernel"), known) for rows, known in parts]
    kept = [part for part in parts if len(part[0])]
    return [_sequence(rows, labels, number + at, known) for at, (rows, known) in enumerate(kept)]


def _sequence(rows: "pl.DataFrame", labels: list[str], number: int, launch_ns: Ints | None) -> Sequence:
    one_stream = rows["stream"].n_unique() == 1 and launch_ns is None
    return Sequence(
        number=number,
        process=int(rows["process"][0]),
        device=int(rows["device"][0]),
        stream=int(rows["stream"][0]) if one_stream else None,
        symbols=rows["symbol"].to_numpy(),
        start_ns=rows["start_ns"].to_numpy(),
        end_ns=rows["end_ns"].to_numpy(),
        launch_ns=launch_ns,
        labels=labels,
        rows=rows,
    )
