"""Columns of tables as arrays, straight from their files: no SQL, and of text each different one but once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..store.errors import ArchiveError
from ..store.stored import END, LENGTH, START
from .sorting import Ints

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MISSING", "Rows", "Words", "chosen", "joined", "numbers", "state_of", "words"]

MISSING = int(np.iinfo(np.int64).min)
"""Stands for a number that the source does not say."""

Rows = Mapping[str, npt.NDArray[Any]]
"""Columns by name."""


@dataclass(frozen=True, eq=False)
class Words:
    """A column of text: `texts[code[i]]` is that of row i. The last of the texts is None, for rows without one."""

    code: npt.NDArray[np.int32]
    texts: list[str | None]

    def are(self, text: str | None) -> npt.NDArray[np.bool_]:
        """Which rows have that text."""
        return self.code == (self.texts.index(text) if text in self.texts else -1)


def numbers(file: Path, names: Sequence[str]) -> dict[str, Ints]:
    """Columns of whole numbers of a table's file, `MISSING` where there is none; ends and durations of events too."""
    stored = [name for name in names if name != END] + [START, LENGTH] * (END in names)
    found = {name: _numbers(column) for name, column in _read(file, stored).items()}
    if END in names:
        found[END] = found[START] + found[LENGTH]
    return {name: found[name] for name in names}


def words(file: Path, name: str) -> Words:
    """A column of text of a table's file."""
    pieces: list[Any] = _read(file, [name], text=True)[name].unify_dictionaries().chunks
    texts = pieces[0].dictionary.to_pylist() if pieces else []
    code = [piece.indices.fill_null(len(texts)).to_numpy() for piece in pieces]
    return Words(np.concatenate([np.zeros(0, np.int32), *code]), [*texts, None])


def chosen(rows: Rows, which: Any) -> dict[str, npt.NDArray[Any]]:
    """Some of the rows: by a mask, by their places, or a slice of them; the arrays as they are where that is all."""
    if not isinstance(which, slice) and _is_all(which, len(next(iter(rows.values())))):
        return dict(rows)
    return {name: column[which] for name, column in rows.items()}


def _is_all(which: npt.NDArray[Any], size: int) -> bool:
    """Whether a mask or places stand for so many rows, all of them in order: to look costs less than to copy one."""
    if which.dtype == np.bool_:
        return bool(which.all())
    return len(which) == size and bool((which == np.arange(size)).all())


def joined(parts: Sequence[Rows]) -> Rows:
    """The rows of one or more tables, one after the other; those of a single one as they are."""
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def state_of(path: Path) -> tuple[int, ...]:
    """What is different when a file is another one: an archive never changes one, but may put one in its place."""
    if not path.is_file():
        return ()
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _numbers(column: "pa.ChunkedArray[Any]") -> Ints:
    import pyarrow as pa

    if column.null_count == len(column):
        return np.broadcast_to(np.int64(MISSING), len(column))  # takes no room
    if column.null_count:
        column = column.cast(pa.int64()).fill_null(MISSING)
    return column.to_numpy().astype(np.int64, copy=False)


def _read(file: Path, names: list[str], *, text: bool = False) -> "dict[str, pa.ChunkedArray[Any]]":
    """Those columns; null where the file was written when its table had fewer."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(file)
        there = [name for name in dict.fromkeys(names) if name in metadata.schema.names]
        whole = pq.ParquetFile(file, metadata=metadata, read_dictionary=there if text else None)
        rows = whole.read(there, use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise ArchiveError(f"table {file.stem}: {error}", "check the archive: tracelode fsck") from error
    kind = pa.dictionary(pa.int32(), pa.string()) if text else pa.int64()
    lacking = {name: pa.chunked_array([pa.nulls(metadata.num_rows, kind)]) for name in names if name not in there}
    return {name: lacking[name] if name in lacking else rows[name] for name in names}
