"""Writes planted sequences as Kineto files, one for each rank, with the truth about it beside it.

`python -m data.generator.planted_trace FOLDER [--noise 0.01] [--ranks 2] ...`
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from .kineto import write_kineto
from .planted import COLLECTIVE_STREAM, Planted, label, plant_ranks
from .planted_parts import BASES, CHECKPOINT, COLLECTIVE, INPUT, NAMES
from .planted_program import Training
from .planted_times import LAUNCH_NS
from .program import COMPUTE_STREAM, REDUCE_STREAM
from .records import Call, Copy, Kernel, Operator, Segment, Shade, Span, Work
from .workload import Workload

__all__ = ["PlantedRun", "main", "planted_truth", "write_planted"]

FIRST_NS = 1_000_000
"""When the capture's first launch may be, so that no annotation begins before the capture."""
CALL_NS = LAUNCH_NS * 9 // 10
ANNOTATION_NS = 500


@dataclass(frozen=True, eq=False)
class PlantedRun:
    """Planted operations in the form in which the writers of traces take a run."""

    planted: Planted
    workload: Workload

    def segments(self) -> Iterator[Segment]:
        """Yields the segments in order, iterations annotated if the workload says so."""
        specs = {symbol: _spec(symbol) for symbol in set(self.planted.symbols.tolist())}
        spans = 0
        for one in self.planted.segments:
            part = slice(one.first, one.stop)
            columns = (self.planted.symbols, self.planted.stream, self.planted.launch_ns, self.planted.start_ns)
            rows = zip(*(column[part].tolist() for column in (*columns, self.planted.end_ns)), strict=True)
            made = Segment(kind=one.kind, number=one.number, start_ns=0)
            for correlation, (symbol, stream, launch, start, end) in enumerate(rows, start=one.first + 1):
                spec, on = specs[symbol], REDUCE_STREAM if stream == COLLECTIVE_STREAM else COMPUTE_STREAM
                work = Work(spec, on, start + FIRST_NS, end + FIRST_NS, correlation, 0)
                made.works.append(work)
                called = launch + FIRST_NS
                made.calls.append(Call(spec.call, 0, called, called + CALL_NS, correlation, 0, work))
            made.start_ns = made.calls[0].start_ns - ANNOTATION_NS
            made.end_ns = max(made.calls[-1].end_ns + ANNOTATION_NS, *(work.end_ns for work in made.works))
            if self.workload.annotations and one.kind in ("warm-up", "iteration"):
                spans += 1
                step = Operator(name=f"ProfilerStep#{one.number}", category="user_annotation")
                made.host.append(Span(step, 0, made.start_ns, made.end_ns, spans, spans, None, None))
                compute = [work for work in made.works if work.stream == COMPUTE_STREAM]
                made.shades.append(Shade(step, COMPUTE_STREAM, compute[0].start_ns, compute[-1].end_ns, spans))
            yield made


def _spec(symbol: int) -> Kernel | Copy:
    shape, base = divmod(symbol, BASES)
    if base in (*INPUT[:2], *CHECKPOINT):
        to_host = base in CHECKPOINT
        ends = ("Device", "Pinned") if to_host else ("Pinned", "Device")
        return Copy(direction="DtoH" if to_host else "HtoD", source=ends[0], target=ends[1], bytes=65536, speed=24000)
    reduces = 1 << 20 if base == COLLECTIVE else 0
    name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL" if reduces else f"void planted::{NAMES[base]}_kernel(float*)"
    return Kernel(name=name, duration_ns=0, grid=(64 + shape, 1, 1), reduces=reduces)


def write_planted(plan: Training, folder: Path, *, annotations: bool = False) -> None:
    """Writes `rank0.json` and so on, and the truth of each as `rank0.truth.json`.

    No graph is written as one: each of its operations has a launch of its own.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for rank, planted in enumerate(plant_ranks(plan)):
        workload = Workload(
            seed=plan.seed, iterations=plan.iterations, layers=plan.layers, rank=rank, ranks=plan.ranks,
            world_size=max(2, plan.ranks), annotations=annotations, memory_events=False,
        )  # fmt: skip
        write_kineto(PlantedRun(planted, workload), folder / f"rank{rank}.json")
        told = {"plan": asdict(plan), "rank": rank, **planted_truth(planted)}
        (folder / f"rank{rank}.truth.json").write_text(json.dumps(told, indent=1) + "\n")


def planted_truth(planted: Planted) -> dict[str, Any]:
    """Returns what an analysis should find: ordinals count operations from 0 in the order of their launches."""
    return {
        "operations": len(planted.symbols),
        "iterations": len(planted.iterations),
        "segments": [asdict(segment) for segment in planted.segments],
        "consensus": [label(symbol) for symbol in planted.consensus.tolist()],
        "loops": [asdict(loop) for loop in planted.loops],
        "outliers": [asdict(outlier) for outlier in planted.outliers],
        "fusions": [asdict(fusion) for fusion in planted.fusions],
    }


def main() -> None:
    """Reads the command line and writes the traces."""
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m data.generator.planted_trace", description=about)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--annotations", action="store_true", help="annotate each iteration as ProfilerStep#N")
    for field in fields(Training):
        option = f"--{field.name.replace('_', '-')}"
        if isinstance(field.default, bool):
            parser.add_argument(option, action="store_true")
        else:
            kind = int if field.default is None else type(field.default)
            parser.add_argument(option, type=kind, default=field.default, help="default: %(default)s")
    given = vars(parser.parse_args())
    folder, annotations = given.pop("folder"), given.pop("annotations")
    write_planted(Training(**given), folder, annotations=annotations)


if __name__ == "__main__":
    main()
