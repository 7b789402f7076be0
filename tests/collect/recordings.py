"""What every whole recording says of itself, for tests that add the rows they are about."""

from typing import Any

from data.generator.spool import NONE, Spool

__all__ = ["CLOCKS", "FINAL", "NONE", "PROCESS", "Spool", "complete"]

PROCESS: dict[str, Any] = {
    "what": "process",
    "pid": 4711,
    "host": "node7",
    "executable": "/usr/bin/python3",
    "command": ["python3", "train.py"],
    "collector": "cupti",
    "version": "0.1.0",
    "cupti": 130000,
    "environment": {"RANK": "3", "WORLD_SIZE": "8"},
}
CLOCKS = {"what": "clocks", "realtime": 1_700_000_000_000_000_000, "monotonic_raw": 5_000_000_000, "boottime": 5_000}
FINAL = {"what": "state", "final": True, "stopped": "exit"}


def complete() -> Spool:
    """A file with the texts that every whole recording has; rows are yet to come."""
    return Spool().text(PROCESS).text(CLOCKS).text(FINAL)
