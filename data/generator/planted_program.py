"""What is planted: the plans of a training and of a serving, and the program each makes before anything disturbs it."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .planted_parts import (
    COLLECTIVE,
    EXTRA,
    FUSED_PAIRS,
    Loop,
    Shape,
    batch,
    checkpoint,
    decode,
    evaluation,
    loops,
    optimizer,
    prefill,
    tuning,
)

__all__ = ["Fusion", "Outlier", "Program", "Serving", "Training", "program"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
EAGER = 5
"""A replayed graph leaves the input to calls of its own."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """A training run; equal values give equal arrays.

    `noise` is the share of operations edited, `swaps` of neighbours that change places, `spread` the relative standard
    deviation of durations. `variants` shapes take turns at random; of `phases` each has a shape and layers of its own.
    `slow` and `odd` count the iterations with an outlier of duration and of content. `fused` has one forward kernel
    replaced by three and three backward kernels by one. The last all-reduce of `ranks` processes ends at once on all.
    """

    iterations: int = 200
    layers: int = 24
    seed: int = 0
    noise: float = 0.0
    swaps: float = 0.0
    spread: float = 0.02
    variants: int = 1
    accumulation: int = 1
    phases: int = 1
    warm_up: int = 0
    evaluate_every: int = 0
    checkpoint_every: int = 0
    slow: int = 0
    odd: int = 0
    fused: bool = False
    graph: bool = False
    ranks: int = 1
    straggler: int | None = None
    straggle: float = 1.25

    def __post_init__(self) -> None:
        if min(self.iterations, self.layers, self.variants, self.accumulation, self.phases, self.ranks) < 1:
            raise ValueError("a training has at least one of each: iteration, layer, variant, batch, phase, rank")
        if not 0 <= self.noise < 1 or not 0 <= self.swaps < 1:
            raise ValueError(f"noise {self.noise} or swaps {self.swaps} is no share of the operations")
        if self.slow + self.odd > max(0, self.iterations - self.warm_up - 2):
            raise ValueError(f"{self.slow + self.odd} outliers are too many for {self.iterations} iterations")


@dataclass(frozen=True, kw_only=True)
class Serving:
    """An inference server: each request is read at once, then answered by as many equal steps as it has tokens."""

    requests: int = 40
    tokens: tuple[int, int] = (16, 96)
    layers: int = 24
    seed: int = 0
    noise: float = 0.0
    swaps: float = 0.0
    spread: float = 0.02
    graph: bool = False


@dataclass(frozen=True)
class Outlier:
    """An iteration that stands out: `kind` is "slow", "extra", "missing" or "other"; what is slow or new in it.

    `edits` is the number of operations more, fewer or replaced.
    """

    iteration: int
    kind: str
    operations: tuple[int, ...]
    edits: int


@dataclass(frozen=True)
class Fusion:
    """Symbols of a layer that became others, in a plan with `fused` compared to the same without."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    count: int


@dataclass(kw_only=True)
class Program:
    """Operations before anything disturbs them, and the truth. Arrays have one entry per operation or per segment.

    `slow` and `warm` say which operations take longer, `joins` what the compute stream waits for; `node` numbers those
    that a graph could replay from 1, the rest have 0. No edit touches `protected` operations.
    """

    symbols: Ints
    first: Ints
    kinds: list[str]
    numbers: list[int]
    slow: Bools
    warm: Bools
    joins: Bools
    node: Ints
    protected: Bools
    consensus: Ints
    loops: list[Loop]
    outliers: list[Outlier] = field(default_factory=list)
    fusions: list[Fusion] = field(default_factory=list)
    requests: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def program(plan: Training | Serving) -> Program:
    """The program of a plan."""
    return _serving(plan) if isinstance(plan, Serving) else _training(plan)


def _serving(plan: Serving) -> Program:
    random = np.random.default_rng(plan.seed)
    shape, step = Shape(layers=plan.layers), decode(plan.layers)
    first_step, pieces, kinds, requests = prefill(shape), [], [], []
    for tokens in random.integers(plan.tokens[0], plan.tokens[1] + 1, plan.requests).tolist():
        requests.append(len(kinds))
        pieces += [first_step, *[step] * tokens]
        kinds += ["prefill", *["token"] * tokens]
    told = _program(pieces, kinds, step, [Loop(0, len(step) // plan.layers, plan.layers)])
    told.requests = np.array(requests)
    return told


def _training(plan: Training) -> Program:
    random = np.random.default_rng(plan.seed)
    odd = _chosen(plan, random)
    pieces: list[Ints] = []
    kinds: list[str] = []
    at: list[int] = []
    slow: list[tuple[int, int]] = []
    edits: list[tuple[int, str, int, int]] = []
    whole = [_iteration(plan, shape) for shape in _shapes(plan)]
    for number in range(plan.iterations):
        phase = number * plan.phases // plan.iterations
        content = whole[phase * plan.variants + int(random.integers(plan.variants))]
        at.append(len(pieces))
        kind = odd.get(number)
        if kind == "slow":
            slow.append((number, int(random.integers(len(content)))))
        elif kind is not None:
            content, place, size = _changed(content, kind, random)
            edits.append((number, kind, place, size))
        tries = tuning() if number < plan.warm_up else np.zeros(0, dtype=np.int64)
        pieces.append(np.concatenate([content[:13], tries, content[13:]]) if len(tries) else content)
        kinds.append("warm-up" if number < plan.warm_up else "iteration")
        if plan.evaluate_every and (number + 1) % plan.evaluate_every == 0:
            pieces.append(evaluation(_shape(plan, phase, 0), 2 + int(random.integers(3))))
            kinds.append("evaluation")
        if plan.checkpoint_every and (number + 1) % plan.checkpoint_every == 0:
            pieces.append(checkpoint(plan.layers))
            kinds.append("checkpoint")
    told = _program(pieces, kinds, whole[0], loops(_shape(plan, 0, 0), plan.accumulation))
    told.joins = _joins(told.symbols)
    for number, place in slow:
        operation = int(told.first[at[number]]) + place
        told.slow[operation] = True
        told.protected[operation] = True
        told.outliers.append(Outlier(number, "slow", (operation,), 0))
    for number, kind, place, size in edits:
        begin = int(told.first[at[number]]) + place
        new = tuple(range(begin, begin + size)) if kind != "missing" else ()
        told.protected[begin - 1 : begin + size + 1] = True
        told.outliers.append(Outlier(number, kind, new, size))
    told.outliers.sort(key=lambda one: one.iteration)
    told.fusions = [Fusion(*map(tuple, pair), plan.layers) for pair in FUSED_PAIRS] if plan.fused else []
    return told


def _shape(plan: Training, phase: int, variant: int) -> Shape:
    """Each phase has layers of its own: all of them, three quarters, a half, and so on."""
    layers = max(1, plan.layers - phase % 4 * plan.layers // 4)
    return Shape(phase * plan.variants + variant, layers, plan.fused)


def _shapes(plan: Training) -> list[Shape]:
    return [_shape(plan, phase, variant) for phase in range(plan.phases) for variant in range(plan.variants)]


def _iteration(plan: Training, shape: Shape) -> Ints:
    return np.r_[np.tile(batch(shape), plan.accumulation), optimizer()]


def _chosen(plan: Training, random: np.random.Generator) -> dict[int, str]:
    """Which iterations stand out and how: none in the warm-up, nor the first or last of the rest."""
    free = np.arange(plan.warm_up + 1, plan.iterations - 1)
    chosen = random.permutation(free)[: plan.slow + plan.odd].tolist()
    kinds = ["slow"] * plan.slow + [("extra", "missing", "other")[at % 3] for at in range(plan.odd)]
    return dict(zip(chosen, kinds, strict=True))


def _changed(content: Ints, kind: str, random: np.random.Generator) -> tuple[Ints, int, int]:
    """An iteration's content with five operations added, taken out or replaced, and where."""
    size = len(EXTRA)
    place = int(random.integers(20, len(content) - 80))
    rest = content[place:] if kind == "extra" else content[place + size :]
    return np.concatenate([content[:place], EXTRA if kind != "missing" else EXTRA[:0], rest]), place, size


def _joins(symbols: Ints) -> Bools:
    """The last all-reduce of each run of backward layers."""
    at = np.flatnonzero(symbols == COLLECTIVE)
    joins = np.zeros(len(symbols), dtype=np.bool_)
    joins[at[np.diff(at, append=len(symbols) + 99) > 2 * 33]] = True
    return joins


def _program(pieces: list[Ints], kinds: list[str], consensus: Ints, found: list[Loop]) -> Program:
    size = np.array([len(piece) for piece in pieces])
    first = np.cumsum(size) - size
    total = int(size.sum())
    seen: dict[str, int] = {}
    numbers: list[int] = []
    for kind in kinds:
        group = "iteration" if kind == "warm-up" else kind
        numbers.append(seen.get(group, 0))
        seen[group] = numbers[-1] + 1
    graph = np.repeat(np.array([kind in ("warm-up", "iteration", "token") for kind in kinds]), size)
    node = np.where(graph, np.maximum(np.arange(total) - np.repeat(first, size) - EAGER + 1, 0), 0)
    warm = np.repeat(np.array([kind == "warm-up" for kind in kinds]), size)
    none = np.zeros((3, total), dtype=np.bool_)
    return Program(
        symbols=np.concatenate(pieces), first=first, kinds=kinds, numbers=numbers, slow=none[0], warm=warm,
        joins=none[1], node=node, protected=none[2], consensus=consensus, loops=found,
    )  # fmt: skip
