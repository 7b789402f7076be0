"""What measurements were made with, to be kept beside them."""

import os
import platform
from importlib.metadata import version

__all__ = ["setting"]


def setting(*packages: str) -> dict[str, object]:
    """The machine, the versions of those packages, and the load average of the last minute."""
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "versions": {name: version(name) for name in packages},
        "load_average": os.getloadavg()[0],
    }
