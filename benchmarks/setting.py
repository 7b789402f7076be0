"""What measurements were made with, to be kept beside them."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["setting", "tell"]


def setting(*packages: str) -> dict[str, object]:
    """The machine, the versions of those packages, and the load average of the last minute."""
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "versions": {name: version(name) for name in packages},
        "load_average": os.getloadavg()[0],
    }


def tell(measured: Sequence[Mapping[str, Any]], output: Path | None, *packages: str) -> None:
    """Prints the figures, and keeps them with what they were made with where an output is given."""
    width = max(len(key) for figures in measured for key in figures) + 2
    for figures in measured:
        for key, value in figures.items():
            print(f"{key:<{width}}{value:.4g}" if isinstance(value, float) else f"{key:<{width}}{value}")
    if output:
        output.write_text(json.dumps({**setting(*packages), "figures": measured}, indent=1) + "\n")
