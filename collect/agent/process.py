"""What a recording says of the process it is of: its folder, its identity and its clocks."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

__all__ = ["claim_folder", "clocks", "identity", "measurable", "now", "shared_folder"]

VARIABLE = "TRACELODE_RECORD_PROCESS"
TOLD = (
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NTASKS",
    "SLURM_JOB_ID",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_RANK",
    "PMI_SIZE",
    "PMIX_RANK",
    "MPI_LOCALRANKID",
    "CUDA_VISIBLE_DEVICES",
)
"""The variables of the environment that tell a process's place among others; of the rest only our own are recorded."""

RAW = getattr(time, "CLOCK_MONOTONIC_RAW", time.CLOCK_MONOTONIC)


now: Callable[[], int] = partial(time.clock_gettime_ns, RAW)
"""Nanoseconds of the clock that all times of a recording are of."""


def measurable() -> bool:
    """Whether this system has the clocks of a recording: Linux has."""
    return hasattr(time, "CLOCK_MONOTONIC_RAW") and hasattr(time, "CLOCK_BOOTTIME")


def claim_folder(directory: str) -> str:
    """The folder of this process in the recording; it is not made here.

    Its name goes into the environment as `<pid>:<name>`, so that the event collector, which is loaded later, takes the
    same one. A child process sees there a pid that is not its own.
    """
    name = f"{_stem()}{time.time_ns():x}"
    os.environ[VARIABLE] = f"{os.getpid()}:{name}"
    return f"{directory}/{name}"


def shared_folder(folder: str, started_ns: int) -> str:
    """The folder that the event collector made for this process since it started, or else the one given."""
    directory, _, own = folder.rpartition("/")
    try:
        there = sorted(name for name in os.listdir(directory) if name.startswith(_stem()))  # noqa: PTH208 as above
    except OSError:
        return folder
    for name in there:
        began = re.fullmatch("[0-9a-f]+", name[len(_stem()) :])
        if began and int(began[0], 16) >= started_ns and os.path.exists(f"{directory}/{name}/events.spool"):  # noqa: PTH110
            return f"{directory}/{name}"
    return f"{directory}/{own}"


def identity(started_ns: int, hooks: Sequence[str]) -> Mapping[str, object]:
    """Who this process is. `started_ns` is when it was first seen, in Unix nanoseconds."""
    torch = sys.modules.get("torch")
    return {
        "what": "process",
        "pid": os.getpid(),
        "ppid": os.getppid(),
        "start_unix_ns": started_ns,
        "host": os.uname().nodename,
        "executable": sys.executable,
        "command": list(getattr(sys, "orig_argv", None) or [sys.executable, *getattr(sys, "argv", [])]),
        "collector": "python",
        "version": os.environ.get("TRACELODE_VERSION", ""),
        "python": sys.version.split()[0],
        "torch": None if torch is None else str(getattr(torch, "__version__", "")),
        "clock": "monotonic_raw",
        "hooks": list(hooks),
        "options": {key: value for key, value in os.environ.items() if key.startswith("TRACELODE_RECORD_")},
        "environment": {key: os.environ[key] for key in TOLD if key in os.environ},
    }


def clocks() -> Mapping[str, object]:
    """The three clocks at one moment: of five readings the quickest. `spread` is how long it took."""
    best = min((_reading() for _ in range(5)), key=lambda reading: reading["spread"])
    return {"what": "clocks", **best}


def _stem() -> str:
    host = re.sub(r"[^A-Za-z0-9._-]", "_", os.uname().nodename)
    return f"{host}-{os.getpid()}-"


def _reading() -> dict[str, int]:
    before = now()
    realtime, boottime = time.clock_gettime_ns(time.CLOCK_REALTIME), time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    spread = now() - before
    return {"realtime": realtime, "monotonic_raw": before + spread // 2, "boottime": boottime, "spread": spread}
