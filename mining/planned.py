"""Makes a plan of prefetches for a trace: at the level that takes less time on its device, by the simulation."""

from dataclasses import dataclass

import numpy as np

from ..store.errors import NotCollected
from ..store.trace import Trace
from .managed_kernels import NO_NAME
from .managed_pages import LEAF_BYTES
from .managed_steps import Program, program
from .managed_vendors import touches_hint
from .plan import Key, Plan, Prefetch, Step
from .prefetch_plans import object_plan, shifted, tensor_plan
from .residency import LEAVES, Outcome, replay
from .sorting import Ints
from .uvm_rules import uvm_rules

__all__ = ["LOOK_AHEAD", "Planned", "plan_of"]

LOOK_AHEAD = 1
"""Steps from asking for memory to its use: while one kernel runs, what the next needs comes."""
MEMORY = "select min(memory_bytes) from device where process = {process} and memory_bytes > 0"


@dataclass(frozen=True)
class Planned:
    """A plan, what the simulation says of it and of no plan (in leaves), and how many leaves it had to leave out.

    Left out is what no name of another run tells: kernels without a name, addresses of no known allocation, and objects
    alike whose order of birth is not known.
    """

    plan: Plan
    outcome: Outcome
    without: Outcome
    left_out: int


def plan_of(trace: Trace, level: str | None = None) -> Planned:
    """The plan for the trace, at that level or the better one; `NotCollected` where nothing says what kernels touch.

    No step brings more than the device has room for, nothing that is there is moved again, and what a step brings
    pushes out nothing else that it brings or that lies there for it.
    """
    told = program(trace)
    if told is None:
        raise NotCollected("what kernels touch of managed memory", touches_hint(trace))
    capacity = _capacity(trace, told)
    touched = [step.touched for step in told.steps]
    plans = {"object": object_plan(told.steps, told.objects)}
    if any(step.tensors for step in told.steps):
        least = int(uvm_rules("prefetch")["tensor_bytes"])
        plans["tensor"] = tensor_plan(told.steps, told.tensors, least)
    if level is not None and level not in plans:
        raise NotCollected(f"what {level}s kernels touch", "record the allocations of tensors, or plan by objects")
    outcomes = {level: replay(touched, capacity, plan=shifted(plan, LOOK_AHEAD)) for level, plan in plans.items()}
    level = level or min(outcomes, key=lambda one: (outcomes[one].faults, outcomes[one].moved, one))
    steps, memory, kept, left_out = _steps(told, outcomes[level])
    made = Plan(trace.id, level, told.evidence, capacity * LEAF_BYTES, LOOK_AHEAD, memory, steps)
    outcome = replay(touched, capacity, plan=kept) if left_out else outcomes[level]
    return Planned(made, outcome, replay(touched, capacity), left_out)


def _capacity(trace: Trace, told: Program) -> int:
    """The leaves that the device holds; where its memory is not known, all that the program touches."""
    size = trace.sql(MEMORY.format(process=told.process)).item() if trace.has("device") else None
    return max((size or told.footprint + LEAVES * LEAF_BYTES * len(told.objects)) // LEAF_BYTES, LEAVES)


def _steps(told: Program, outcome: Outcome) -> tuple[tuple[Step, ...], tuple[Key, ...], list[Ints], int]:
    """The moves of a simulated plan by objects, those of one execution together; then the leaves each step keeps."""
    numbers: dict[Key, int] = {}
    steps: list[Step] = []
    kept: list[Ints] = []
    lost = 0
    for step, brought in zip(told.steps, outcome.brought, strict=True):
        whole = np.array(sorted(brought), np.int64)
        if step.name == NO_NAME:
            kept.append(whole[:0])
            lost += len(whole)
            continue
        parts: list[Prefetch] = []
        left = whole
        for at, one in enumerate(told.objects):
            key = told.keys[at]
            if key is None or not len(left):
                continue
            held = (left >= one.address // LEAF_BYTES) & (left * LEAF_BYTES < one.address + one.bytes)
            for first, count in _runs(left[held]):
                begin = max(first * LEAF_BYTES - one.address, 0)
                end = min((first + count) * LEAF_BYTES - one.address, one.bytes)
                parts.append(Prefetch(numbers.setdefault(key, len(numbers)), begin, end - begin))
            left = left[~held]
        lost += len(left)
        kept.append(np.setdiff1d(whole, left))
        if parts:
            steps.append(Step(step.name, step.occurrence, tuple(parts)))
    return tuple(steps), tuple(numbers), kept, lost


def _runs(leaves: Ints) -> list[tuple[int, int]]:
    """First and number of the leaves that follow each other."""
    cut = np.flatnonzero(np.diff(leaves) > 1) + 1
    return [(int(part[0]), len(part)) for part in np.split(leaves, cut) if len(part)]
