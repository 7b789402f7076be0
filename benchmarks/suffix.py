"""Measures the suffix structure: `python -m benchmarks.suffix [--sizes 1e6 1e7] [--rounds 3]`.

Each contender runs in a process of its own and says the CPU seconds of each step, the least of its rounds; the text is
made and everything compiled before. All must give the same arrays. `suffix-trees` builds a tree, at 10,000 symbols.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.process import run
from benchmarks.setting import setting

__all__ = ["WORKLOADS", "workload"]

Symbols = npt.NDArray[np.int32]

WORKLOADS = {
    "rep": "training, two phases, 0.2 % of the symbols edited",
    "rep1": "training, three variants of the iteration, 1 % edited",
    "rep0": "training, exactly periodic",
    "rnd": "uniform over 1000 symbols",
}
LAYERS = 24
NAMES = 300
"""Different operations by name and grid; the traces that `docs/encoding.md` counts have 134 to 570."""
LONGEST = 64

PREPARED = """
import hashlib, json, sys, time
import numpy as np
from benchmarks.suffix import LONGEST, workload
text = workload(sys.argv[1], int(sys.argv[2]))
seconds, digest = {}, hashlib.sha256()
def step(name, compute):
    for _ in range(int(sys.argv[3])):
        result = None  # before the next one is made
        begin = time.process_time()
        result = compute()
        seconds[name] = min(seconds.get(name, 1e9), time.process_time() - begin)
    return result
def tell(arrays, peak):
    for numbers in arrays:
        digest.update(np.ascontiguousarray(numbers))
    print(json.dumps({"seconds": seconds, "digest": digest.hexdigest(), "peak_bytes": peak}))
"""
CPU = """
from tracelode.mining.suffix import cpu
cpu.sort(text[:1000]).find_intervals(1, 2)
sa, peak = step("suffix array", lambda: cpu.suffix_array(text))
lcp = step("lcp", lambda: cpu.lcp_array(text, sa))
step("intervals", lambda: cpu.find_intervals(text, sa, lcp, 1, LONGEST))
tell([sa, lcp], max(peak, 16 * text.size))
"""
ARRAY = """
from tracelode.mining.suffix import build
from tracelode.mining.suffix.array import suffix_array
from tracelode.mining.suffix.arrays import enclosed
from tracelode.mining.suffix.intervals import find_intervals
from tracelode.mining.suffix.lcp import lcp_array
from tracelode.mining.suffix.steps import Steps
numpy = Steps(np)
sa = step("suffix array", lambda: suffix_array(numpy, text))
lcp, changes = step("lcp", lambda: lcp_array(numpy, enclosed(np, text), sa))
step("intervals", lambda: find_intervals(numpy, lcp, changes, 1, LONGEST))
tell([sa, lcp], build(text, engine="array").peak_bytes)
"""
PYDIVSUFSORT = """
import pydivsufsort
sa = step("suffix array", lambda: pydivsufsort.divsufsort(text))
lcp = step("lcp", lambda: pydivsufsort.kasai(text, sa))
tell([sa.astype(np.int32), np.roll(lcp, 1).astype(np.int32)], 0)
"""
SUFFIX_TREES = """
from suffix_trees.STree import STree
letters = "".join(map(chr, text.tolist()))
tree = step("tree", lambda: STree(letters))
tell([], 0)
"""


def workload(name: str, size: int, seed: int = 7) -> Symbols:
    """Returns a text of that name; an iteration is 1245 symbols, most of them of 24 forward and 24 backward layers."""
    random = np.random.default_rng(seed)
    if name == "rnd":
        return random.integers(0, 1000, size, dtype=np.int32)
    if name == "rep0":
        return np.resize(_iteration(random), size)
    if name == "rep1":
        return _edited(_varied(_iteration(random), size, random), 0.01, random)[:size]
    half = size // 2
    parts = [_edited(np.resize(_iteration(random), most + most // 100 + 100), 0.002, random) for most in (half, half)]
    return np.concatenate([parts[0][:half], parts[1][: size - half]])


def _iteration(random: np.random.Generator) -> Symbols:
    def part(size: int) -> Symbols:
        return random.integers(0, NAMES, size, dtype=np.int32)

    optimizer = np.concatenate([np.repeat(part(2), 16), np.tile(part(2), 8)])
    return np.concatenate([part(9), np.tile(part(16), LAYERS), part(4), np.tile(part(33), LAYERS), part(8), optimizer])


def _varied(iteration: Symbols, size: int, random: np.random.Generator) -> Symbols:
    """Strings three variants together that differ in 5 % of their symbols, as other shapes would make them."""
    variants = np.stack([iteration] * 3)
    for variant in variants[1:]:
        other = random.random(variant.size) < 0.05
        variant[other] = random.integers(NAMES, NAMES + 40, np.count_nonzero(other))
    return variants[random.integers(0, 3, size // iteration.size + size // 20_000 + 2)].reshape(-1)


def _edited(text: Symbols, share: float, random: np.random.Generator) -> Symbols:
    """Substitutes, inserts or deletes that share of the symbols, a third each."""
    places = np.sort(random.choice(text.size, round(text.size * share), replace=False, shuffle=False))
    kind = random.integers(0, 3, places.size)
    symbols = random.integers(0, NAMES, places.size, dtype=np.int32)
    text = text.copy()
    text[places[kind == 0]] = symbols[kind == 0]
    kept = np.ones(text.size, np.bool_)
    kept[places[kind == 1]] = False
    before = places[kind == 2] - np.searchsorted(places[kind == 1], places[kind == 2])
    return np.insert(text[kept], before, symbols[kind == 2])


def measure(name: str, size: int, rounds: int) -> dict[str, Any]:
    """The figures of one text, in nanoseconds and bytes a symbol."""
    contenders = {"cpu": CPU, "array": ARRAY, "pydivsufsort": PYDIVSUFSORT}
    rows: dict[str, Any] = {}
    digests: set[str] = set()
    for contender, program in contenders.items():
        empty = run(PREPARED + program, name, "1000", "1").peak  # what the libraries take
        told = run(PREPARED + program, name, str(size), str(rounds))
        said = json.loads(told.answer)
        digests.add(said["digest"])
        rows[contender] = {f"{step} ns": value / size * 1e9 for step, value in said["seconds"].items()}
        rows[contender]["peak of arrays, bytes"] = said["peak_bytes"] / size or None
        rows[contender]["peak of process, bytes"] = (told.peak - empty) / size
    if len(digests) != 1:
        raise SystemExit(f"{name} of {size} symbols: the contenders disagree")
    peer = rows["pydivsufsort"]["suffix array ns"] + rows["pydivsufsort"]["lcp ns"]
    for contender in ("cpu", "array"):
        own = rows[contender]["suffix array ns"] + rows[contender]["lcp ns"]
        rows[contender]["all three ns"] = own + rows[contender]["intervals ns"]
        rows[contender]["times as fast as pydivsufsort"] = peer / own
    return rows


def measure_tree(rounds: int) -> dict[str, float]:
    """The figures of `suffix-trees` and the CPU engine at 10,000 symbols."""
    seconds: dict[str, float] = {}
    for contender, program in {"suffix-trees": SUFFIX_TREES, "cpu": CPU}.items():
        said = json.loads(run(PREPARED + program, "rep", "10000", str(rounds)).answer)
        seconds[contender] = sum(said["seconds"].values())
    return {
        "suffix-trees ns": seconds["suffix-trees"] / 1e-5,
        "cpu ns": seconds["cpu"] / 1e-5,
        "times as fast": seconds["suffix-trees"] / seconds["cpu"],
    }


def main() -> None:
    """Measures and prints."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sizes", type=float, nargs="+", default=[1e6, 1e7])
    options.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("-o", "--output", type=Path, help="JSON file for the results")
    given = options.parse_args()
    report: dict[str, Any] = {
        **setting("numpy", "numba", "pydivsufsort", "suffix-trees"),
        "tree": measure_tree(given.rounds),
    }
    for size in map(int, given.sizes):
        for name in given.workloads:
            report[f"{name} {size}"] = rows = measure(name, size, given.rounds)
            print(f"{name}, {size} symbols: {WORKLOADS[name]}")
            for contender, row in rows.items():
                told = ", ".join(f"{key} {value:.3g}" for key, value in row.items() if value is not None)
                print(f"  {contender}: {told}", flush=True)
    print("10,000 symbols: " + ", ".join(f"{key} {value:.3g}" for key, value in report["tree"].items()))
    if given.output:
        given.output.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
