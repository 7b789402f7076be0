"""Measures the linear passes over the stored order: `python -m benchmarks.passes [--kernels 1e7] [--rounds 3]`.

A made trace, with streams of compute and one of communication that half overlap, is put into an archive. The gaps of
each stream, and how long communication and compute run together, are told from it by the passes and by SQL, each in a
process of its own, after a small trace; all must tell the same. The passes are timed alone, without reading, and within
the analysis that reads the columns, sweeps and tells the streams as well.
"""

import argparse
import json
import tempfile
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.process import run
from benchmarks.setting import tell
from tracelode.collect.sink import Sink
from tracelode.store import Archive, Facts, Source

ID = "a" * 64
NAMES = (*(f"gemm_{number}" for number in range(60)), "ncclDevKernel_AllReduce_Sum_f16_RING_LL")

PREPARED = """
import json, sys, time
from tracelode.store import Archive
seconds = {}
def step(name, work):
    begin = time.process_time()
    answer = work()
    seconds[name] = time.process_time() - begin
    return answer
"""
PASSES = """
import numpy as np
from tracelode.mining.analyses import concurrency as analysis
from tracelode.mining.concurrency import concurrency
from tracelode.mining.lanes import lanes_of, stream_gaps
process, device, stream, start, end = (
    column.to_numpy() for column in trace.arrow("kernel", [*analysis.PLACE, "start_ns", "end_ns"]).columns
)
kind = (stream == stream.max()).astype(np.int8)
lanes = step("lanes", lambda: lanes_of(process, device, stream))
gaps = step("gaps by stream", lambda: stream_gaps(lanes, start, end))
found = step("overlap", lambda: concurrency(lanes, start, end, kind))
return [int((gaps > 0).sum()), int(gaps.sum()), int(found.time_ns[3].sum())]
"""
MINED = """
from tracelode.mining.analyses import concurrency as analysis
tables = step("analysis", lambda: analysis.mine(trace))
rows = tables["device_time"].to_pylist()
streams = tables["stream_time"].to_pylist()
both = sum(row["time_ns"] for row in rows if row["compute"] and row["communication"])
return [sum(row["gaps"] for row in streams), sum(row["gap_ns"] for row in streams), both]
"""
SQL = """
GAPS = '''
select count(*) filter (gap > 0), coalesce(sum(gap), 0)::bigint
from (
    select start_ns - max(end_ns) over (
        partition by process, device, stream order by start_ns rows between unbounded preceding and 1 preceding
    ) as gap
    from kernel
)
where gap > 0
'''
OVERLAP = '''
with change as (
    select process, device, start_ns as time_ns, (stream <> last)::int as compute, (stream = last)::int as communication
    from kernel, (select max(stream) as last from kernel)
    union all
    select process, device, end_ns, -(stream <> last)::int, -(stream = last)::int
    from kernel, (select max(stream) as last from kernel)
),
moment as (
    select process, device, time_ns, sum(compute) as compute, sum(communication) as communication
    from change
    group by process, device, time_ns
)
select sum(length)::bigint
from (
    select
        sum(compute) over device as compute,
        sum(communication) over device as communication,
        lead(time_ns) over device - time_ns as length
    from moment
    window device as (partition by process, device order by time_ns)
)
where compute > 0 and communication > 0
'''
told = [int(number) for number in step("gaps by stream", lambda: trace.sql(GAPS)).row(0)]
return [*told, int(step("overlap", lambda: trace.sql(OVERLAP)).item())]
"""
TELL = """
small, large = (Archive(path).open("a" * 64) for path in sys.argv[1:])
tell(small)  # imports and compiles
print(json.dumps({"told": tell(large), "seconds": seconds}))
"""


def add(archive: Archive, kernels: int, streams: int) -> int:
    """Puts a made trace into the archive; how many kernels it has."""
    random = np.random.default_rng(7)
    each = kernels // streams
    with archive.stage() as staging:
        sink = Sink(staging)
        for stream in range(streams):
            length = random.integers(1_000, 20_000, each)
            gap = random.integers(0, 4_000, each) * (random.random(each) < 0.8)
            start = np.cumsum(gap + np.r_[0, length[:-1]]) + (each * 6_000 if stream == streams - 1 else 0)
            name = np.full(each, len(NAMES) - 1) if stream == streams - 1 else random.integers(0, len(NAMES) - 1, each)
            names = pa.DictionaryArray.from_arrays(pa.array(name.astype(np.int32)), pa.array(NAMES))
            work = {"process": 1, "device": 0, "stream": stream, "name": names}
            sink.write("kernel", {**work, "start_ns": start, "end_ns": start + length})
        source = Source("/made", kernels, 0, "planted", 1)
        archive.commit(staging, id=ID, source=source, facts=Facts("planted"), notes=sink.finish())
    return each * streams


def measure(kernels: int, streams: int, rounds: int) -> dict[str, Any]:
    """Least CPU seconds of the passes, of the analysis and of SQL over the rounds, and the most memory of each."""
    programs = {"pass": PASSES, "analysis": MINED, "SQL": SQL}
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        small, large = (Archive(Path(folder, name)) for name in ("small", "large"))
        add(small, 1000, streams)
        figures["kernels"], figures["streams"] = add(large, kernels, streams), streams
        answers: set[str] = set()
        for name, program in programs.items():
            text = f"{PREPARED}def tell(trace):\n{indent(program, '    ')}{TELL}"
            for _ in range(rounds):
                told = run(text, str(small.path), str(large.path))
                answer = json.loads(told.answer)
                answers.add(json.dumps(answer["told"]))
                for step, seconds in answer["seconds"].items():
                    key = f"{name}: {step} s" if name != step else f"{name} s"
                    figures[key] = min(seconds, figures.get(key, seconds))
                figures[f"{name} peak MB"] = max(told.peak / 1e6, figures.get(f"{name} peak MB", 0))
    if len(answers) > 1:
        raise SystemExit(f"the contenders tell different numbers: {sorted(answers)}")
    for what in ("gaps by stream", "overlap"):
        figures[f"SQL / pass, {what}"] = figures[f"SQL: {what} s"] / figures[f"pass: {what} s"]
    return figures


def main() -> None:
    """Prints the figures, and keeps them where asked."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--kernels", type=float, default=1e7)
    options.add_argument("--streams", type=int, nargs="*", default=[2, 8])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("-o", "--output", type=Path, help="JSON file for the results")
    given = options.parse_args()
    measured = [measure(int(given.kernels), streams, given.rounds) for streams in given.streams]
    tell(measured, given.output, "tracelode", "numba", "numpy", "duckdb", "pyarrow")


if __name__ == "__main__":
    main()
