"""Makes a plan of prefetches for a trace: at the level that takes less time on its device, by the simulation."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..store.errors import NotCollected
from ..store.trace import Trace
from .managed_kernels import NO_NAME
from .managed_pages import LEAF_BYTES
from .managed_steps import ALIKE, Program, program
from .managed_vendors import names_hint, touches_hint
from .plan import Key, Plan, Prefetch, Step
from .prefetch_plans import Memory, object_plan, shifted, tensor_plan
from .residency import LEAVES, Outcome, replay
from .sorting import Ints
from .uvm_rules import uvm_rules
from .words import size

__all__ = ["LOOK_AHEAD", "Planned", "plan_of"]

LOOK_AHEAD = 1
"""Steps from asking for memory to its use: while one kernel runs, what the next needs comes."""
MEMORY = "select min(memory_bytes) from device where process = {process} and memory_bytes > 0"


UNNAMED = "lie at addresses of no recorded allocation"
REPEATED = "belong to allocations alike, in an order that was not recorded"
UNCALLED = "are needed by kernels whose names were not recorded"
"""Why memory is left out of a plan: nothing tells another run which memory, or which kernel, is meant."""


@dataclass(frozen=True)
class Planned:
    """A plan, what the simulation says of it and of no plan (in leaves), and the leaves left out of it, by why.

    Left out is what no name of another run tells: kernels without a name, addresses of no known allocation, and objects
    alike whose order of birth is not known. `is_known` says that the trace tells what the device holds; else the plan
    has room for all that is touched.
    """

    process: int
    plan: Plan
    outcome: Outcome
    without: Outcome
    lost: Mapping[str, int]
    is_known: bool

    @property
    def left_out(self) -> int:
        """All leaves left out."""
        return sum(self.lost.values())


def plan_of(trace: Trace, level: str | None = None) -> Planned:
    """The plan for the trace, at that level or the better one; `NotCollected` where nothing says what kernels touch.

    No step brings more than the device has room for, nothing that is there is moved again, and what a step brings
    pushes out nothing else that it brings or that lies there for it.
    """
    told = program(trace)
    if told is None:
        raise NotCollected("what kernels touch of managed memory", touches_hint(trace))
    memory_bytes = trace.sql(MEMORY.format(process=told.process)).item() if trace.has("device") else None
    capacity = _capacity(memory_bytes, told)
    touched = [step.touched for step in told.steps]
    plans = {"object": object_plan(told.steps, told.objects)}
    if any(step.tensors for step in told.steps):
        least = int(uvm_rules("prefetch")["tensor_bytes"])
        plans["tensor"] = tensor_plan(told.steps, told.tensors, least)
    if level is not None and level not in plans:
        raise NotCollected(f"what {level}s kernels touch", "record the allocations of tensors, or plan by objects")
    outcomes = {level: replay(touched, capacity, plan=shifted(plan, LOOK_AHEAD)) for level, plan in plans.items()}
    level = level or min(outcomes, key=lambda one: (outcomes[one].faults, outcomes[one].moved, one))
    steps, memory, kept, lost = _steps(told, outcomes[level])
    why = None if steps else _why_empty(trace, lost, outcomes[level].skipped, capacity)
    made = Plan(trace.id, level, told.evidence, capacity * LEAF_BYTES, LOOK_AHEAD, memory, steps, why)
    outcome = replay(touched, capacity, plan=kept) if lost else outcomes[level]
    return Planned(told.process, made, outcome, replay(touched, capacity), lost, bool(memory_bytes))


def _capacity(memory_bytes: int | None, told: Program) -> int:
    """The leaves that the device holds; where its memory is not known, all that the program touches."""
    room = memory_bytes or told.footprint + LEAVES * LEAF_BYTES * len(told.objects)
    return max(room // LEAF_BYTES, LEAVES)


def _why_empty(trace: Trace, lost: Mapping[str, int], skipped: int, capacity: int) -> str:
    """Why a plan has no steps, and what to record so that it has some, as a sentence without its end."""
    if lost:
        parts = [f"{size(number * LEAF_BYTES)} {why}" for why, number in lost.items()]
        hint = names_hint(trace) if set(lost) - {UNCALLED} else "record the names of kernels"
        return f"nothing names its steps to another run: {'; '.join(parts)}. To have a plan, {hint}"
    if skipped:
        return f"what a kernel needs is larger than what the device holds, {size(capacity * LEAF_BYTES)}"
    return "no kernel needs memory that was there before it"


def _steps(told: Program, outcome: Outcome) -> tuple[tuple[Step, ...], tuple[Key, ...], list[Ints], Mapping[str, int]]:
    """The moves of a simulated plan by objects, those of one execution together; then the leaves each step keeps.

    Last the leaves that nothing tells to another run, by why.
    """
    numbers: dict[Key, int] = {}
    steps: list[Step] = []
    kept: list[Ints] = []
    lost: Counter[str] = Counter()
    alike = [one for one, key in zip(told.objects, told.keys, strict=True) if key == ALIKE]
    for step, brought in zip(told.steps, outcome.brought, strict=True):
        whole = np.array(sorted(brought), np.int64)
        if step.name == NO_NAME:
            kept.append(whole[:0])
            lost[UNCALLED] += len(whole)
            continue
        parts: list[Prefetch] = []
        left = whole
        for at, one in enumerate(told.objects):
            key = told.keys[at]
            if not isinstance(key, Key) or not len(left):
                continue
            held = _held(left, one)
            for first, count in _runs(left[held]):
                begin = max(first * LEAF_BYTES - one.address, 0)
                end = min((first + count) * LEAF_BYTES - one.address, one.bytes)
                parts.append(Prefetch(numbers.setdefault(key, len(numbers)), begin, end - begin))
            left = left[~held]
        repeated = np.logical_or.reduce([np.zeros(len(left), bool), *(_held(left, one) for one in alike)])
        lost[REPEATED] += int(repeated.sum())
        lost[UNNAMED] += int((~repeated).sum())
        kept.append(np.setdiff1d(whole, left))
        if parts:
            steps.append(Step(step.name, step.occurrence, tuple(parts)))
    return tuple(steps), tuple(numbers), kept, {why: number for why, number in lost.most_common() if number}


def _held(leaves: Ints, one: Memory) -> npt.NDArray[np.bool_]:
    """Which of the leaves hold some of the memory."""
    return (leaves >= one.address // LEAF_BYTES) & (leaves * LEAF_BYTES < one.address + one.bytes)


def _runs(leaves: Ints) -> list[tuple[int, int]]:
    """First and number of the leaves that follow each other."""
    cut = np.flatnonzero(np.diff(leaves) > 1) + 1
    return [(int(part[0]), len(part)) for part in np.split(leaves, cut) if len(part)]
