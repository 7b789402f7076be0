"""Simulates a program's touches of managed memory on devices of several sizes, with and without plans."""

from collections.abc import Iterator
from dataclasses import dataclass

from .managed_pages import LEAF_BYTES
from .managed_steps import Program
from .prefetch_plans import object_plan, tensor_plan
from .residency import LEAVES, Outcome, replay

__all__ = ["FACTORS", "Costs", "Simulated", "capacity", "simulated"]

FACTORS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
"""Oversubscription: the footprint over what the device holds."""


@dataclass(frozen=True)
class Costs:
    """What a fault takes, and what the link moves in a second; each `measured` in the trace, or `assumed`."""

    fault_ns: int
    bytes_per_s: int
    fault_source: str = "assumed"
    link_source: str = "assumed"


@dataclass(frozen=True)
class Simulated:
    """One run: the policy, the oversubscription, the capacity in leaves, and what came of it."""

    policy: str
    factor: float
    capacity: int
    outcome: Outcome

    def times(self, costs: Costs) -> tuple[int, int]:
        """The time of faults and their moves, without and with that of the prefetches."""
        demand = (self.outcome.moved - self.outcome.prefetched) * LEAF_BYTES
        least = self.outcome.faults * costs.fault_ns + round(demand * 1e9 / costs.bytes_per_s)
        return least, least + round(self.outcome.prefetched * LEAF_BYTES * 1e9 / costs.bytes_per_s)


def capacity(footprint: int, factor: float) -> int:
    """The leaves that a device holds which a footprint oversubscribes so many times; at least a block."""
    return max(int(footprint / factor) // LEAF_BYTES, LEAVES)


def simulated(program: Program, *, tree_share: float, tensor_bytes: int) -> Iterator[Simulated]:
    """Each policy at each oversubscription. The plans follow PASTA's: no look-ahead, and no check for room.

    The tensor plan is there only where tensors are known. On demand is without the driver's own fetching, which those
    who measured PASTA's plans had switched off.
    """
    touched = [step.touched for step in program.steps]
    plans = {"object plan": object_plan(program.steps, program.objects)}
    if any(step.tensors for step in program.steps):
        plans["tensor plan"] = tensor_plan(program.steps, program.tensors, tensor_bytes)
    for factor in FACTORS:
        room = capacity(program.footprint, factor)
        yield Simulated("on demand", factor, room, replay(touched, room))
        yield Simulated("driver's tree", factor, room, replay(touched, room, tree_share=tree_share))
        for name, plan in plans.items():
            yield Simulated(name, factor, room, replay(touched, room, plan=plan, checked=False))
