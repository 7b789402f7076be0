"""A small generated run, written once in every format, and read back with nothing but json and exact decimals."""

import gzip
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from data.generator import Run, Workload, write_kineto, write_nsys, write_truth

Event = dict[str, Any]


def _kineto(path: Path) -> Event:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt") as file:
        whole = json.load(file, parse_float=Decimal)
    for event in whole["traceEvents"]:
        if event["ph"] == "X":
            event["start_ns"] = int(event["ts"] * 1000)
            event["end_ns"] = event["start_ns"] + int(event["dur"] * 1000)
    return whole


@pytest.fixture(scope="session")
def kineto() -> Callable[[Path], Event]:
    """Returns a function that reads a Kineto file and adds each event's start and end in nanoseconds."""
    return _kineto


@pytest.fixture(scope="session")
def small() -> Workload:
    """Returns a workload with one of each planted fault, small enough to be read in full."""
    return Workload(iterations=5, layers=2, warm_up=1, outlier=3, stall=2, late=(4,), seed=3, python_frames=True)


@pytest.fixture(scope="session")
def made(small: Workload, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder with the small run's files."""
    folder = tmp_path_factory.mktemp("small")
    run = Run(small)
    write_kineto(run, folder / "run.json")
    write_nsys(run, folder / "run.sqlite")
    write_truth(run, folder / "truth.json")
    return folder


@pytest.fixture(scope="session")
def told(made: Path) -> Any:
    """Returns the small run's truth."""
    return json.loads((made / "truth.json").read_text())


@pytest.fixture(scope="session")
def events(made: Path) -> list[Event]:
    """Returns the small run's Kineto events."""
    return _kineto(made / "run.json")["traceEvents"]


@pytest.fixture(scope="session")
def operations(events: list[Event]) -> list[Event]:
    """Returns the device operations in the order of their launches, each with its call."""
    calls = {
        event["args"]["correlation"]: event for event in events if event.get("cat") in ("cuda_runtime", "cuda_driver")
    }
    device = [event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    found = [one | {"call": calls[one["args"]["correlation"]]} for one in device]
    return sorted(found, key=lambda one: one["call"]["start_ns"])
