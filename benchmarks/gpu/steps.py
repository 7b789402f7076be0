"""Runs and times training steps: `python steps.py [--models mlp,resnet,bert,gpt2] [--modes eager,graph]`.

Prints one JSON object: for each model and mode the microseconds of a step, the last loss, and between which moments of
CLOCK_MONOTONIC_RAW the measured steps ran, so that a recording of the same run can be compared. `graph` captures the
whole step as a CUDA graph and replays it. With `--profiler` the measured steps run under torch.profiler. `--check`
measures nothing: it prints the losses of a small model, computed deterministically, and ends with status 3.
"""

import argparse
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

if "--check" in sys.argv:  # whose sums must be the same each time
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"

import torch
from models import MODELS, Model
from torch.nn import functional

WARM_STEPS = 3


class Step:
    """One training step of a model on a device, to be called again and again."""

    def __init__(self, model: Model, device: str, size: int, *, captured: bool):
        torch.manual_seed(1)
        self.low = torch.bfloat16 if model.low_precision and device == "cuda" else torch.float32
        with torch.device(device):
            self.module = model.make().to(self.low)
            self.batch, self.labels = model.batch(size)
        self.batch = self.batch.to(self.low) if self.batch.is_floating_point() else self.batch
        if self.batch.dim() == 4:
            self.module, self.batch = (x.to(memory_format=torch.channels_last) for x in (self.module, self.batch))
        options = model.options | ({"capturable": True} if captured and "fused" in model.options else {})
        self.optimizer = model.optimizer(self.module.parameters(), **options)
        self.loss = torch.zeros(())
        self.graph = self._capture() if captured else None

    def __call__(self) -> None:
        """Does the step, without waiting for it."""
        if self.graph is None:
            self._work()
        else:
            self.graph.replay()

    def _work(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(self.module(self.batch).float(), self.labels)
        loss.backward()
        self.optimizer.step()
        self.loss = loss.detach()

    def _capture(self) -> torch.cuda.CUDAGraph:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_STEPS):
                self._work()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._work()
        return graph


def now_ns() -> int:
    """The time of the recorder's clock."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def timed(step: Step, steps: int, blocks: int, wait: Callable[[], None]) -> dict[str, Any]:
    """Microseconds of a step: of so many blocks, each of so many steps with one wait at its end."""
    found: list[float] = []
    wait()
    begin = now_ns()
    for _ in range(blocks):
        start = time.perf_counter_ns()
        for _ in range(steps):
            step()
        wait()
        found.append((time.perf_counter_ns() - start) / 1e3 / steps)
    end = now_ns()
    found.sort()
    return {
        "steps": steps * blocks,
        "begin_ns": begin,
        "end_ns": end,
        "step_us": {"median": statistics.median(found), "p10": part_below(found, 0.1), "p90": part_below(found, 0.9)},
    }


def part_below(ordered: Sequence[float], part: float) -> float:
    """The value below which that part of the values lies; the nearest one that occurs."""
    return ordered[math.floor(part * (len(ordered) - 1) + 0.5)]


def kernels_of(profile: Any) -> int:
    """How many kernels torch.profiler saw."""
    cuda = torch.autograd.DeviceType.CUDA
    return sum(
        event.device_type() == cuda
        and not event.name().startswith(("Memcpy", "Memset"))
        and not getattr(event, "is_user_annotation", bool)()
        for event in profile.profiler.kineto_results.events()
    )


def variant(name: str, mode: str, given: argparse.Namespace) -> dict[str, Any]:
    """Makes, warms and measures a model in a mode."""
    model, cuda = MODELS[name], given.device == "cuda"
    step = Step(model, given.device, given.batch or model.size, captured=mode == "graph")
    wait = torch.cuda.synchronize if cuda else (lambda: None)
    for _ in range(WARM_STEPS):
        step()
    activities = [torch.profiler.ProfilerActivity.CPU] + [torch.profiler.ProfilerActivity.CUDA] * cuda
    profile = torch.profiler.profile(activities=activities) if given.profiler else None
    with profile or nullcontext():
        measured = timed(step, given.steps or model.steps, given.blocks, wait)
    counted = {"kernels": kernels_of(profile)} if profile else {}
    return {"name": f"{name} {mode}", **measured, "loss": float(step.loss), **counted}


def print_losses(device: str) -> None:
    """The losses of some steps of the small model, the same each time."""
    torch.use_deterministic_algorithms(True)
    step = Step(MODELS["mlp"], device, 16, captured=False)
    for _ in range(5):
        step()
        print(f"loss {float(step.loss):.9g}")


def main() -> int:
    """Runs what is asked for; the exit status."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--models", default=",".join(MODELS))
    options.add_argument("--modes", default="eager,graph")
    options.add_argument("--steps", type=int, help="steps measured together, instead of the model's own")
    options.add_argument("--blocks", type=int, default=5, help="how often that is repeated")
    options.add_argument("--batch", type=int, help="instead of the model's own")
    options.add_argument("--device", default="cuda")
    options.add_argument("--profiler", action="store_true")
    options.add_argument("--check", action="store_true")
    given = options.parse_args()
    if given.device == "cuda" and not torch.cuda.is_available():
        print("error: PyTorch sees no GPU", file=sys.stderr)
        return 2
    if given.check:
        print_losses(given.device)
        return 3
    begin, found = now_ns(), list[dict[str, Any]]()
    for name in given.models.split(","):
        for mode in given.modes.split(","):
            found.append(variant(name, mode, given))
    device = torch.cuda.get_device_name() if given.device == "cuda" else given.device
    about = {"program": "steps", "torch": torch.__version__, "cuda": torch.version.cuda, "device": device}
    print(json.dumps({**about, "begin_ns": begin, "end_ns": now_ns(), "sections": found}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
