"""Tells the event collector, where it is loaded in this process, to begin and to stop."""

from __future__ import annotations

import os

__all__ = ["tell"]


def tell(what: str) -> None:
    """Calls `tracelode_start` or `tracelode_stop` of the library that CUDA was told to load, if it has loaded it.

    The library is never loaded here: it belongs only into processes that use the GPU, and CUDA loads it then.
    """
    path = os.environ.get("CUDA_INJECTION64_PATH")
    if not path:
        return
    try:
        import ctypes

        library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        getattr(library, f"tracelode_{what}")()
    except (ImportError, OSError, AttributeError):  # no ctypes; not loaded here; the library of another tool
        return
