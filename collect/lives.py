"""Lives of memory blocks: each allocation with the release of its address that comes next in time."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

__all__ = ["lives"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing


def lives(events: pa.Table) -> dict[str, pa.Array]:
    """Columns of `allocation`, one row per block; one released without an allocation was born before the recording.

    The events have columns of that table, `time` (ns), and `ends`: whether they release.
    """
    keys = [(name, "ascending") for name in ("process", "address", "time")]
    events = events.sort_by(keys).combine_chunks()
    process, address = (pc.fill_null(events[name], -1).to_numpy() for name in ("process", "address"))
    ends: npt.NDArray[np.bool_] = pc.fill_null(events["ends"], False).to_numpy()
    time: npt.NDArray[np.int64] = events["time"].to_numpy()
    followed = (process[1:] == process[:-1]) & (address[1:] == address[:-1]) & ends[1:] & ~ends[:-1]
    released, taken = np.append(followed, False), np.insert(followed, 0, False)
    row = np.flatnonzero(~ends | ~taken)
    lives = events.take(pa.array(row))
    columns = {name: lives[name] for name in lives.column_names if name not in ("time", "ends")}
    death = np.where(ends[row], time[row], np.append(time[1:], 0)[row])
    columns["birth_ns"] = pa.array(time[row], mask=ends[row])
    columns["death_ns"] = pa.array(death, mask=~(released[row] | ends[row]))
    return columns
