"""Hierarchy and outliers: planted loops found exactly, planted anomalies found and nothing else."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

from data.generator.planted import Planted, Training, label, plant
from data.generator.planted_parts import BASES
from tracelode.collect.sink import Sink
from tracelode.mining.mine import find, mine
from tracelode.store import TABLES, Archive, Facts, Source, Trace

NOISE = (0, 1e-5, 5e-5, 2e-4, 0.002, 0.01, 0.02, 0.03)
ITERATIONS, SLOW, ODD = 232, 6, 6
MOST_NOISE = 2e-4
"""Above it nearly every iteration is edited, so that no content stands out."""


def rows(seeds: Sequence[int]) -> list[dict[str, object]]:
    """One row for each share of edited operations, over all seeds."""
    return [row(noise, seeds) for noise in NOISE]


def row(noise: float, seeds: Sequence[int], iterations: int = ITERATIONS) -> dict[str, object]:
    """What is found where that share of the operations is edited."""
    exact, loops, found_loops, right = 0, 0, 0, 0
    told, truth, both = 0, 0, 0
    for seed in seeds:
        plan = Training(iterations=iterations, noise=noise, seed=seed, slow=SLOW, odd=ODD, warm_up=2)
        planted = plant(plan)
        with tempfile.TemporaryDirectory() as folder:
            trace, archive = stored(planted, Path(folder))
            trace = mine(trace, archive, "edits")
            consensus, got = _tree(trace)
            wanted = {(loop.offset, loop.period, loop.count) for loop in planted.loops}
            exact += consensus == [_name(int(symbol)) for symbol in planted.consensus]
            loops, found_loops, right = loops + len(wanted), found_loops + len(got), right + len(wanted & got)
            if noise <= MOST_NOISE:
                named, anomalies = _found(trace, archive, planted), _anomalies(planted)
                told, truth, both = told + len(named), truth + len(anomalies), both + len(named & anomalies)
    return {
        "edited operations": f"{noise:.3%}",
        "consensus exact": f"{exact} of {len(seeds)}",
        "loops found": f"{right} of {loops}",
        "others found": found_loops - right,
        "anomalies": truth or "–",
        "precision": f"{both / told:.3f}" if told else "–",
        "recall": f"{both / truth:.3f}" if truth else "–",
    }


def stored(planted: Planted, folder: Path) -> tuple[Trace, Archive]:
    """A planted sequence as a trace in a new archive: its kernels, and the calls that launched them."""
    archive, count = Archive(folder), len(planted.symbols)
    link = pa.array(np.arange(1, count + 1))
    names = pa.array([_name(symbol) for symbol in range(int(planted.symbols.max()) + 1)])
    kernel = {
        "stream": planted.stream,
        "start_ns": planted.start_ns,
        "end_ns": planted.end_ns,
        "name": pa.DictionaryArray.from_arrays(planted.symbols.astype(np.int32), names).cast(pa.string()),
        "grid_x": planted.symbols // BASES + 1,
        "correlation": link,
    }
    call = {
        "thread": np.ones(count, np.int64),
        "start_ns": planted.launch_ns,
        "end_ns": planted.launch_ns + 2_000,
        "name": pa.repeat("cudaLaunchKernel", count),
        "kind": pa.repeat("runtime", count),
        "correlation": link,
    }
    with archive.stage() as staging:
        sink = Sink(staging)
        for name, columns in {"kernel": kernel, "api": call}.items():
            columns |= {"process": pa.repeat(1, count), "device": pa.repeat(0, count)}
            fields = TABLES[name].columns
            given = {
                field.name: pa.array(columns[field.name]).cast(field.type) for field in fields if field.name in columns
            }
            sink.write(name, {field.name: given.get(field.name, pa.nulls(count, field.type)) for field in fields})
        notes = sink.finish()
        source = Source("planted.json", 1, 1, "kineto", 1)
        trace = archive.commit(staging, id="a" * 64, source=source, facts=Facts("kineto"), notes=notes)
    return trace, archive


def _name(symbol: int) -> str:
    """The kernel's name: shapes of the input show in the grid alone."""
    return label(symbol).split("@")[0]


def _tree(trace: Trace) -> tuple[list[str], set[tuple[int, int, int]]]:
    """The content of the most frequent type of iteration, and its loops that do not lie in others."""
    nodes = trace.tree.filter(pl.col("level").is_not_null()).collect()
    if not len(nodes):
        return [], set()
    nodes = nodes.filter(nodes["type"] == nodes["type"].min())
    text = [""] * int(nodes["length"][0])
    for offset, name in nodes.filter(nodes["kind"] == "symbol").select("offset", "label").rows():
        text[offset] = name
    loops = nodes.filter(nodes["kind"] == "loop").sort("depth", descending=True, maintain_order=True)
    for offset, period, repeat in loops.select("offset", "period", "repeat").rows():
        text[offset : offset + period * repeat] = text[offset : offset + period] * repeat
    return text, set(loops.select("offset", "period", "repeat").rows())


def _found(trace: Trace, archive: Archive, planted: Planted) -> set[int]:
    """The planted iterations that the finding names: those whose beginning is nearest to that of the one found."""
    rows = find(trace, archive, "outliers").rows
    firsts = trace.iteration.select("level", "iteration", "first").collect()
    first = rows.join(firsts, on=["level", "iteration"])["first"].to_numpy()
    return {int(np.argmin(np.abs(planted.starts - at))) for at in first}


def _anomalies(planted: Planted) -> set[int]:
    """The iterations whose content is not the usual one, or that have a slow operation; those of the warm-up too."""
    pairs = zip(planted.starts.tolist(), planted.stops.tolist(), strict=True)
    edited = [not np.array_equal(planted.symbols[first:stop], planted.consensus) for first, stop in pairs]
    warm = [segment.kind == "warm-up" for segment in planted.iterations]
    slow = {outlier.iteration for outlier in planted.outliers}
    return slow | {at for at, pair in enumerate(zip(edited, warm, strict=True)) if any(pair)}
