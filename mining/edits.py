"""What differs in units from the content of their type: operations, and the time each difference accounts for."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .alignment import DELETION, INSERTION, SUBSTITUTION, Alignment, align, columns_of
from .column_times import medians
from .programs import Content, Program
from .slow import ROBUST
from .sorting import Ints, ragged

__all__ = ["KINDS", "NONE", "Edits", "edits_of"]

SLOW, TIME, REST = 3, 4, 5
KINDS = {
    SUBSTITUTION: "substitution",
    INSERTION: "insertion",
    DELETION: "deletion",
    SLOW: "slow",
    TIME: "time",
    REST: "rest",
}
NONE = -1

TIMES, DEVIATIONS = 5, 10
"""An operation is slow if it takes this many times the median of its column, by so many robust standard deviations of
the column, and adds to its unit so many (`UNIT_DEVIATIONS`) of those of the units' time, or this share of the time."""
UNIT_DEVIATIONS, SHARE = 5, 0.02
FEW = 5
"""With fewer steady units of a type than this no operation is called slow."""
MOST_TIMES = 20
"""Operations of a slow iteration that are listed because they differ most in time."""


@dataclass(frozen=True, eq=False)
class Edits:
    """Differences of units, one entry each, by unit: its edits and slow operations in order, others, then the rest.

    `column` is the place in the content of the type, `ordinal` that in the sequence, both `NONE` where there is none.
    """

    unit: Ints
    kind: Ints
    column: Ints
    ordinal: Ints
    duration_ns: Ints
    usual_ns: Ints
    dt_ns: Ints
    wait_dt_ns: Ints


def edits_of(program: Program, content: Content, wait_ns: Ints, work_ns: Ints, slow: npt.NDArray[np.bool_]) -> Edits:
    """The differences of all units of a type that have any, or that are `slow` (one entry per unit of the program).

    What an operation adds to its unit (`wait_ns` and `work_ns`) is compared with the median of its column in the steady
    units. The differences in time of a unit add up to its time less the median of these units, exactly.
    """
    units = np.flatnonzero(program.type == content.number)
    aligned = _Aligned.of(program, content, units, wait_ns, work_ns)
    parts = [_differing(aligned)]
    strange = aligned.slow_operations()
    parts.append(_same(aligned, strange, SLOW))
    listed = np.zeros(len(aligned.columns), np.bool_)
    listed[strange] = True
    parts.append(_same(aligned, _most(aligned, np.flatnonzero(slow[units]), listed), TIME))
    found = _joined(parts)
    touched = np.zeros(len(program.first), np.bool_)
    touched[found.unit] = True
    touched[units[slow[units]]] = True
    return _joined([found, _rest(aligned, found, touched[units])])


@dataclass(frozen=True, eq=False)
class _Aligned:
    """The units of a type, operation by operation, one unit after the other from `begins[i]` to `begins[i + 1]`."""

    units: Ints
    begins: Ints
    steady: npt.NDArray[np.bool_]
    found: Alignment
    columns: npt.NDArray[np.int32]
    counted: npt.NDArray[np.int32]
    """The columns of steady units; no others are compared with."""
    ordinal: Ints
    duration: Ints
    wait: Ints
    charge: Ints
    usual: Ints
    usual_wait: Ints
    usual_charge: Ints

    @classmethod
    def of(cls, program: Program, content: Content, units: Ints, wait_ns: Ints, work_ns: Ints) -> "_Aligned":
        texts = program.units.take(units)
        found = align(content.symbols, texts, int(program.distance[units].max(initial=0)))
        columns, size = columns_of(found, texts), texts.size
        ordinal = ragged(texts.first, size)
        steady = program.steady[units] if program.steady[units].any() else np.ones(len(units), np.bool_)
        counted = np.where(np.repeat(steady, size), columns, np.int32(NONE))
        duration = (program.end_ns - program.start_ns)[ordinal]
        wait = wait_ns[ordinal]
        charge = wait + work_ns[ordinal]
        usual, usual_wait, usual_charge = (
            medians(counted, values, len(content.symbols)) for values in (duration, wait, charge)
        )
        return cls(
            units, np.r_[0, np.cumsum(size)], steady, found, columns, counted, ordinal,
            duration, wait, charge, usual, usual_wait, usual_charge,
        )  # fmt: skip

    def total(self, values: Ints) -> Ints:
        """The sum of the operations of each unit."""
        before = np.r_[0, np.cumsum(values)]
        return before[self.begins[1:]] - before[self.begins[:-1]]

    def slow_operations(self) -> Ints:
        """The operations that take much longer than is usual in their column."""
        if self.steady.sum() < FEW:
            return np.zeros(0, np.int64)
        time = self.total(self.charge)[self.steady]
        usual = float(np.median(time))
        least = min(UNIT_DEVIATIONS * ROBUST * float(np.median(np.abs(time - usual))), SHARE * usual)
        at = np.flatnonzero(self.columns >= 0).astype(np.int64)
        column = self.columns[at]
        more = self.duration[at] - self.usual[column]
        adds = self.charge[at] - self.usual_charge[column]
        much = (adds > least) & (more > (TIMES - 1) * self.usual[column])
        at, column, more = at[much], column[much], more[much]
        if not len(at):
            return at
        # Only columns in question need their deviation.
        asked = np.zeros(len(self.usual), np.bool_)
        asked[column] = True
        kept = np.flatnonzero((self.counted >= 0) & asked[self.counted])
        away = np.abs(self.duration[kept] - self.usual[self.counted[kept]])
        deviation = medians(self.counted[kept], away, len(self.usual))
        return at[more > DEVIATIONS * ROBUST * deviation[column]]


def _differing(aligned: _Aligned) -> Edits:
    """The edits."""
    found = aligned.found
    there = found.kind != DELETION
    column = found.column.astype(np.int64)
    at = np.where(there, aligned.begins[found.text] + found.place, 0)
    known = found.kind != INSERTION
    usual = [
        np.where(known, np.r_[values, 0][column], 0)
        for values in (aligned.usual, aligned.usual_wait, aligned.usual_charge)
    ]
    mine = [np.where(there, np.r_[values, 0][at], 0) for values in (aligned.duration, aligned.wait, aligned.charge)]
    ordinal = np.where(there, np.r_[aligned.ordinal, 0][at], NONE)
    unit, kind = aligned.units[found.text], found.kind.astype(np.int64)
    return Edits(unit, kind, column, ordinal, mine[0], usual[0], mine[2] - usual[2], mine[1] - usual[1])


def _same(aligned: _Aligned, at: Ints, kind: int) -> Edits:
    """Operations that are those of the type."""
    column = aligned.columns[at].astype(np.int64)
    owner = np.searchsorted(aligned.begins, at, side="right") - 1
    return Edits(
        aligned.units[owner],
        np.full(len(at), kind),
        column,
        aligned.ordinal[at],
        aligned.duration[at],
        aligned.usual[column],
        aligned.charge[at] - aligned.usual_charge[column],
        aligned.wait[at] - aligned.usual_wait[column],
    )


def _most(aligned: _Aligned, texts: Ints, listed: npt.NDArray[np.bool_]) -> Ints:
    """The operations of some units that differ most in what they add, of those not listed yet; the most first."""
    chosen: list[Ints] = [np.zeros(0, np.int64)]
    for text in texts.tolist():
        at = np.arange(int(aligned.begins[text]), int(aligned.begins[text + 1]))
        at = at[(aligned.columns[at] >= 0) & ~listed[at]]
        differs = np.abs(aligned.charge[at] - aligned.usual_charge[aligned.columns[at]])
        order = np.argsort(-differs, kind="stable")[:MOST_TIMES]
        chosen.append(at[order[differs[order] > 0]])
    return np.concatenate(chosen)


def _rest(aligned: _Aligned, found: Edits, touched: npt.NDArray[np.bool_]) -> Edits:
    """For each unit with differences what they leave of the difference in its time."""
    time, wait = aligned.total(aligned.charge), aligned.total(aligned.wait)
    place = np.searchsorted(aligned.units, found.unit)
    told, told_wait = np.zeros(len(time), np.int64), np.zeros(len(time), np.int64)
    np.add.at(told, place, found.dt_ns)
    np.add.at(told_wait, place, found.wait_dt_ns)
    left = time - _middle(time[aligned.steady]) - told
    left_wait = wait - _middle(wait[aligned.steady]) - told_wait
    none = np.full(int(touched.sum()), NONE)
    nothing = none - NONE
    return Edits(
        aligned.units[touched], nothing + REST, none, none, nothing, nothing, left[touched], left_wait[touched]
    )


def _middle(values: Ints) -> int:
    """The lower median."""
    return int(np.sort(values)[(len(values) - 1) // 2])


def _joined(parts: list[Edits]) -> Edits:
    """The parts as one, by unit, with the order that `Edits` states."""
    columns = [np.concatenate([getattr(part, name) for part in parts]) for name in Edits.__dataclass_fields__]
    unit, kind, column, ordinal = columns[:4]
    group = np.maximum(kind, SLOW) - SLOW
    # Where several insertions stand before one column their ordinals decide; a deletion has none, but its column.
    place = np.where(group == 0, column, 0)
    order = np.lexsort((np.arange(len(unit)), np.where(group == 0, ordinal, 0), kind == DELETION, place, group, unit))
    return Edits(*(values[order] for values in columns))
