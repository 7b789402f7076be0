"""The options of a generated training run."""

from dataclasses import dataclass, field

__all__ = ["Workload"]


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Describes one training run of a small transformer; equal values give equal bytes.

    The model has `layers` identical layers. Iterations count from 0. `outlier`, `stall` and `late` number the
    iterations that get the planted faults; a number past the last iteration plants nothing, None switches it off.
    `ranks` of the `world_size` processes are played together, so that their all-reduces end at the same moment;
    `rank` is the one whose events are recorded. Rates are shares of the kernels of an iteration that get edited.
    """

    iterations: int = 12
    layers: int = 4
    warm_up: int = 2
    seed: int = 0
    rank: int = 0
    ranks: int = 1
    world_size: int = 8
    straggler: int | None = None  # this rank computes slower, by the factor `straggle`
    straggle: float = 1.25
    outlier: int | None = 8  # one kernel 40 times longer, and extra kernels behind it
    stall: int | None = 5  # a large copy from pageable memory that everything waits for
    late: tuple[int, ...] = (3, 10)  # the data loader is late: nothing to do for the device
    noise: float = 0.02  # relative standard deviation of every duration
    insert_rate: float = 0.0
    delete_rate: float = 0.0
    substitute_rate: float = 0.0
    evaluate_every: int = 0  # iterations between evaluations of two batches, 0 for none
    checkpoint_every: int = 0  # iterations between checkpoints, 0 for none
    annotations: bool = True  # ProfilerStep#N, the data loader's and the optimizer's ranges
    memory_events: bool = True
    python_frames: bool = False
    # Not in the text of the workload, from which a trace has its id:
    deep_stacks: bool = field(default=False, repr=False)  # frames of modules around each operator of the forward pass
    clock_step_ns: int = field(default=1, repr=False)  # kernels last multiples of it: 32 ns on A100 and H100
    day: int = field(default=0, repr=False)  # days by which a Kineto file's times are later
    driver: int = field(default=13000, repr=False)  # CUDA's version of the driver, as Kineto writes it

    def __post_init__(self) -> None:
        if self.iterations < 1 or self.layers < 1 or self.warm_up < 0:
            raise ValueError("a run has at least one iteration and one layer, and no negative warm-up")
        if not 0 <= self.rank < self.ranks <= self.world_size:
            raise ValueError(f"rank {self.rank} of {self.ranks} ranks played, of {self.world_size} in the world")
        if not 0 <= self.noise < 0.2:
            raise ValueError(f"noise {self.noise} is not in [0, 0.2)")
        if min(self.rates) < 0 or sum(self.rates) > 1:
            raise ValueError(f"edit rates {self.rates} are no shares of the kernels")

    @property
    def rates(self) -> tuple[float, float, float]:
        """Returns the rates of insertion, deletion and substitution."""
        return self.insert_rate, self.delete_rate, self.substitute_rate

    @property
    def device(self) -> int:
        """Returns the number of the GPU that the rank computes on."""
        return self.rank % 8

    @property
    def process(self) -> int:
        """Returns the process id of the rank."""
        return 41200 + 150 * self.rank

    @property
    def threads(self) -> tuple[int, int]:
        """Returns the ids of the main and of the autograd thread."""
        return self.process, self.process + 71
