"""Measures what the agent costs the program it is in: `python -m benchmarks.agent [--python PATH] [--rounds 5]`.

Each figure is of a process of its own, started as `tracelode record` starts it: CPU nanoseconds of each call, the least
of the rounds, without the loop. `off` is without a recording, `paused` with one that is stopped, `on` while it records,
writing included. Where the Python has PyTorch, a small operator, a module that does nothing and a step of training on
the CPU are measured as well: alone, and how much longer they take with hooks.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.setting import tell

START = Path(__file__).parents[1] / "collect" / "agent" / "start"

PREPARED = """
import json, sys, time
def least(work, count, rounds=5):
    best = float("inf")
    for _ in range(rounds):
        begin = time.process_time_ns()
        work(count)
        best = min(best, (time.process_time_ns() - begin) / count)
    return best
"""
CALLS = """
agent = sys.modules.get("tracelode_agent")
if agent is None:
    sys.path.insert(0, sys.argv[1])
    import importlib
    agent = importlib.import_module("agent")
ranged = agent.range
def empty(count):
    for _ in range(count): pass
def with_range(count):
    for _ in range(count):
        with ranged("name"): pass
def push_and_pop(count):
    for _ in range(count): agent.push("name"); agent.pop()
def mark(count):
    for _ in range(count): agent.mark("name")
@ranged("name")
def inside(): pass
def outside(): pass
def decorated(count):
    for _ in range(count): inside()
def called(count):
    for _ in range(count): outside()
base = least(empty, 100_000)
figures = {work.__name__: least(work, 100_000) - base for work in (with_range, push_and_pop, mark, decorated, called)}
figures["decorated"] -= figures.pop("called")
print(json.dumps(figures))
"""
TORCH = """
import warnings
warnings.simplefilter("ignore")
import torch
torch.set_num_threads(1)
x, module = torch.ones(4), torch.nn.Identity()
layers = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(8)))
optimizer = torch.optim.SGD(layers.parameters(), lr=1e-3)
batch = torch.ones(8, 64)
def operator(count):
    for _ in range(count): torch.add(x, x)
def call(count):
    for _ in range(count): module(x)
def step(count):
    for _ in range(count):
        layers(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
works = {"operator": (operator, 20_000), "module": (call, 20_000), "step": (step, 200)}
print(json.dumps({name: least(work, count) for name, (work, count) in works.items()}))
"""
HOOKS = ("", "module", "phase", "op", "op,shape", "op,stack", "tensor", "op,module,phase,tensor")


def measured(python: str, program: str, **options: str) -> dict[str, float]:
    """What a program prints as JSON, run under the agent if a recording is asked for."""
    with tempfile.TemporaryDirectory() as folder:
        own = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "TRACELODE_", "CUDA_"))}
        if options.pop("record", ""):
            own["TRACELODE_RECORD_DIR"] = folder
        environment = {**own, "PYTHONPATH": str(START), "OMP_NUM_THREADS": "1", **options}
        command = [python, "-c", PREPARED + program, str(START.parents[1])]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"a program failed with exit code {done.returncode}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def start_ms(python: str, rounds: int, record: str) -> float:
    """CPU milliseconds of an empty program, which the agent starts in or not."""
    program = "print(json.dumps({'ms': time.process_time() * 1e3}))"
    return min(measured(python, program, record=record)["ms"] for _ in range(4 * rounds))


def bytes_of_a_range(python: str, rows: int = 100_000) -> float:
    """Bytes on the disk for each of many ranges."""
    program = f"""
agent = sys.modules["tracelode_agent"]
for _ in range({rows}):
    with agent.range("name"): pass
agent.stop()
print(json.dumps({{"bytes": sys.modules["tracelode_agent.session"].SESSION.held.spool.bytes / {rows}}}))
"""
    return measured(python, program, record="1")["bytes"]


def calls(python: str, rounds: int) -> dict[str, Any]:
    """Nanoseconds of the program's own calls."""
    figures: dict[str, Any] = {}
    for state, options in {
        "off": {},
        "paused": {"record": "1", "TRACELODE_RECORD_PAUSED": "1"},
        "on": {"record": "1"},
    }.items():
        rows = [measured(python, CALLS, **options) for _ in range(rounds)]
        figures |= {f"{name} {state} ns": min(row[name] for row in rows) for name in rows[0]}
    figures["range bytes"] = bytes_of_a_range(python)
    figures["start ms"] = start_ms(python, rounds, "1") - start_ms(python, rounds, "")
    return figures


def hooks(python: str, rounds: int) -> dict[str, Any]:
    """Nanoseconds that each hook adds to an operator, to the call of a module, and to a step of training."""
    figures: dict[str, Any] = {}
    base: dict[str, float] = {}
    for asked in HOOKS:
        record = {"record": "1", "TRACELODE_RECORD_HOOKS": asked} if asked else {}
        rows = [measured(python, TORCH, **record) for _ in range(rounds)]
        least = {name: min(row[name] for row in rows) for name in rows[0]}
        base = base or least
        for name, value in least.items():
            figures[f"{name} + {asked} ns" if asked else f"{name} ns"] = value - base[name] if asked else value
    return figures


def version(python: str, module: str) -> str | None:
    """The version of a module that this Python has."""
    program = f"import warnings; warnings.simplefilter('ignore'); import {module}; print({module}.__version__)"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def main() -> None:
    """Prints the figures, and keeps them where asked."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--python", default=sys.executable, help="the Python to measure in, which may have PyTorch")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("-o", "--output", type=Path, help="JSON file for the results")
    given = options.parse_args()
    torch = version(given.python, "torch")
    figures = calls(given.python, given.rounds)
    if torch:
        figures |= {"torch": torch, **hooks(given.python, given.rounds)}
    tell([figures], given.output, "tracelode")


if __name__ == "__main__":
    main()
