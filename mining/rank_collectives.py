"""Which communication kernels of several ranks are the same collective.

Collectives of one kind in one process group are the same where their sequence numbers are; without these, where they
come in the same order. A recording may begin some collectives later on one rank than on another: then the shift is
taken at which the ends lie most evenly apart, if it is clearly the best one.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..store.trace import Trace
from .rank_clocks import Shared
from .slow import ROBUST
from .sorting import Ints

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Calls", "Key", "Meetings", "calls_of", "meet", "zeros"]

MOST_SHIFT = 256
SAMPLE = 512
"""So many pairs are enough to tell how evenly ends lie apart."""
CLEARLY = 0.5
"""A shift is taken if the differences of ends spread this much less than without."""
LEAST = 8
"""With fewer collectives than this in common no shift is looked for."""

KINDS = (
    ("allreduce", r"all_?reduce"),
    ("allgather", r"all_?gather"),
    ("reducescatter", r"reduce_?scatter"),
    ("alltoall", r"all_?to_?all"),
    ("sendrecv", r"send_?recv"),
    ("broadcast", r"broadcast"),
    ("reduce", r"reduce"),
)
"""Kinds by the kernel's name, where the source tells none; the first that matches decides."""

SQL = """
with told as (
    select
        process,
        correlation,
        start_ns,
        any_value(kind) as kind,
        any_value("group") as "group",
        any_value(group_size) as group_size,
        any_value(ranks) as ranks,
        any_value(sequence) as sequence
    from ({collective})
    group by process, correlation, start_ns
)
select
    kernel.process,
    coalesce(kernel.name, '') as name,
    kernel.start_ns,
    kernel.end_ns,
    told.kind,
    told."group",
    told.ranks,
    told.group_size,
    told.sequence
from kernel
left join told
    on told.process = kernel.process
    and told.correlation = kernel.correlation
    and told.start_ns = kernel.start_ns
where kernel.category = 'communication' and kernel.flaw is null
order by kernel.process, kernel.start_ns, kernel.end_ns, name
"""
TOLD = 'select process, correlation, start_ns, kind, "group", group_size, ranks, sequence from collective'
UNTOLD = """
    select
        null::bigint as process, null::bigint as correlation, null::bigint as start_ns, null::varchar as kind,
        null::varchar as "group", null::integer as group_size, null::varchar as ranks, null::bigint as sequence
    where false
"""


@dataclass(frozen=True)
class Key:
    """What collectives that may be the same one have in common; `name` tells them apart where no group is known."""

    kind: str
    group: str | None
    ranks: str | None
    size: int | None
    name: str


@dataclass(frozen=True, eq=False)
class Calls:
    """The communication kernels of one process in order of their starts; `key` numbers into `keys`.

    `sequence` is below 0 where the source does not tell it. Times are those of the trace; `base_ns` is the Unix time
    of their zero, None where the trace does not tell it.
    """

    keys: Sequence[Key]
    key: Ints
    sequence: Ints
    start_ns: Ints
    end_ns: Ints
    base_ns: int | None


@dataclass(frozen=True, eq=False)
class Meetings:
    """Collectives matched: `at[rank, meeting]` is the place of the kernel in that rank's calls; below 0: not there."""

    at: Ints
    keys: Sequence[Key]
    key: Ints

    @property
    def there(self) -> npt.NDArray[np.bool_]:
        """Where a rank took part."""
        return self.at >= 0

    def taken(self, values: Sequence[Ints]) -> Ints:
        """One row for each rank of what belongs to its calls, 0 where it did not take part."""
        rows = [
            np.where(at >= 0, own[at], 0) if len(own) else np.zeros_like(at)
            for own, at in zip(values, self.at, strict=True)
        ]
        return np.array(rows, dtype=np.int64).reshape(self.at.shape)

    def shared(self, calls: Sequence[Calls]) -> Shared:
        """What the clocks are found from; ends count from the same moment where all traces tell their own."""
        end, start = self.taken([one.end_ns for one in calls]), self.taken([one.start_ns for one in calls])
        endless = np.iinfo(np.int64).max
        shortest = np.where(self.there, end - start, endless).min(axis=0, initial=endless)
        return Shared(end + zeros(calls)[:, None], self.there, shortest)


def zeros(calls: Sequence[Calls]) -> Ints:
    """Where the zero of each trace lies after that of the earliest; 0 for all where one does not tell it."""
    bases = [one.base_ns for one in calls]
    told = [base for base in bases if base is not None]
    if len(told) < len(bases) or not told:
        return np.zeros(len(bases), dtype=np.int64)
    return np.array([base - min(told) for base in told], dtype=np.int64)


def calls_of(trace: Trace) -> dict[int, Calls]:
    """The communication kernels of each process of a trace."""
    if not trace.has("kernel"):
        return {}
    rows = trace.sql(SQL.format(collective=TOLD if trace.has("collective") else UNTOLD))
    base = trace.facts.base_unix_ns
    return {int(part["process"][0]): _calls(part, base) for part in rows.partition_by("process", maintain_order=True)}


def _calls(rows: "pl.DataFrame", base: int | None) -> Calls:
    columns = ["kind", "group", "ranks", "group_size", "name"]
    distinct = rows.select(columns).unique(maintain_order=True).with_row_index("which")
    which = rows.join(distinct, on=columns, how="left", nulls_equal=True, maintain_order="left")["which"]
    keys: dict[Key, int] = {}
    number = [keys.setdefault(_key(*row), len(keys)) for row in distinct.select(columns).rows()]
    return Calls(
        list(keys),
        np.array(number, dtype=np.int64)[which.to_numpy()],
        rows["sequence"].fill_null(-1).to_numpy(),
        rows["start_ns"].to_numpy(),
        rows["end_ns"].to_numpy(),
        base,
    )


def _key(kind: str | None, group: str | None, ranks: str | None, size: int | None, name: str) -> Key:
    if group is None and ranks is None:
        return Key(kind or _kind(name), None, None, None, name)
    return Key(kind or _kind(name), group, ranks, size, "")


def _kind(name: str) -> str:
    return next((kind for kind, pattern in KINDS if re.search(pattern, name, re.IGNORECASE)), "other")


def meet(calls: Sequence[Calls]) -> Meetings:
    """Matches the calls of the ranks; a collective that only one of them has is left out.

    So is a group that more ranks have than belong to it: then several groups go by one name. One pass for each kind
    and group, and a sort of its calls.
    """
    places: dict[Key, dict[int, Ints]] = defaultdict(dict)
    for rank, one in enumerate(calls):
        if not one.keys:
            continue
        order = np.argsort(one.key, kind="stable")
        for number, part in enumerate(np.split(order, np.searchsorted(one.key[order], np.arange(1, len(one.keys))))):
            places[one.keys[number]][rank] = part
    keys: list[Key] = []
    pieces: list[Ints] = []
    for key, ranks in places.items():
        if len(ranks) > 1 and (key.size is None or len(ranks) <= key.size):
            keys.append(key)
            pieces.append(_matched(ranks, calls))
    at = np.concatenate(pieces, axis=1) if pieces else np.zeros((len(calls), 0), dtype=np.int64)
    return Meetings(at, keys, np.repeat(np.arange(len(keys)), [piece.shape[1] for piece in pieces]))


def _matched(ranks: dict[int, Ints], calls: Sequence[Calls]) -> Ints:
    """The collectives of one key: `Meetings.at` of them."""
    if all((calls[rank].sequence[part] >= 0).all() for rank, part in ranks.items()):
        index = {rank: _occurrence(calls[rank].sequence[part]) for rank, part in ranks.items()}
    else:
        index = _in_order(ranks, calls)
    numbers, count = np.unique(np.concatenate(list(index.values())), return_counts=True)
    numbers = numbers[count > 1]
    found = np.full((len(calls), len(numbers)), -1, dtype=np.int64)
    for rank, own in index.items():
        place = np.searchsorted(numbers, own)
        inside = (
            (place < len(numbers)) & (numbers[np.minimum(place, len(numbers) - 1)] == own)
            if len(numbers)
            else place < 0
        )
        found[rank, place[inside]] = ranks[rank][inside]
    return found


def _occurrence(sequence: Ints) -> Ints:
    """A number for each call that those of equal sequence numbers share, the first with the first and so on."""
    order = np.argsort(sequence, kind="stable")
    ordered = sequence[order]
    nth = np.empty_like(sequence)
    nth[order] = np.arange(len(sequence)) - np.searchsorted(ordered, ordered)
    return (sequence << 20) + np.minimum(nth, (1 << 20) - 1)


def _in_order(ranks: dict[int, Ints], calls: Sequence[Calls]) -> dict[int, Ints]:
    """The calls of each rank counted so that they fit those of the rank with most of them."""
    base = max(ranks, key=lambda rank: (len(ranks[rank]), -rank))
    ends = {rank: calls[rank].end_ns[part] for rank, part in ranks.items()}
    lasting = calls[base].end_ns[ranks[base]] - calls[base].start_ns[ranks[base]]
    close = float(np.median(lasting))
    return {rank: np.arange(len(own)) - _shift(ends[base], own, close) for rank, own in ends.items()}


def _shift(base: Ints, other: Ints, close: float) -> int:
    """How many calls the other rank has before the first of the base; below 0 where its first ones are missing."""
    n, m = len(base), len(other)
    plain = _spread(base, other, 0)
    if plain <= close or min(n, m) < LEAST:
        return 0
    least = max(LEAST, min(n, m) // 2)
    shifts = range(-min(MOST_SHIFT, n - least), min(MOST_SHIFT, m - least) + 1)
    told = [_spread(base, other, shift) for shift in shifts]
    best = int(np.argmin(told))
    return shifts[best] if told[best] < CLEARLY * plain else 0


def _spread(base: Ints, other: Ints, shift: int) -> float:
    """The robust standard deviation of the differences of ends, over some of the calls."""
    begin, ahead = max(0, -shift), max(0, shift)
    count = min(len(base) - begin, len(other) - ahead)
    some = np.linspace(0, count - 1, min(count, SAMPLE)).astype(np.int64)
    apart = other[ahead + some] - base[begin + some]
    return ROBUST * float(np.median(np.abs(apart - np.median(apart))))
