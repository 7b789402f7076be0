"""Runs the CUDA kernels on the CPU: g++ compiles the same source, with a loop in the place of the threads."""

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracelode.mining.suffix.fused import fused_steps
from tracelode.mining.suffix.kernels import SOURCE
from tracelode.mining.suffix.steps import Steps

__all__ = ["compiled_steps"]

NUMBERS = {np.int32: ctypes.c_int32, np.int64: ctypes.c_int64, np.uint32: ctypes.c_uint32, np.uint64: ctypes.c_uint64}


def compiled_steps(folder: Path) -> Steps:
    """Returns the steps as kernels on arrays of NumPy, compiled in a folder; skips the test where there is no g++."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ to compile the kernels with")
    source, library = folder / "kernels.cpp", folder / "kernels.so"
    source.write_text(SOURCE)
    options = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([compiler, *options, "-o", str(library), str(source)], check=True)
    kernels = ctypes.CDLL(str(library))

    def launch(name: str, items: int, *arguments: Any) -> None:
        getattr(kernels, name)(*map(_passed, arguments), ctypes.c_longlong(items))

    return fused_steps(np, launch)


def _passed(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        assert argument.flags.c_contiguous, "kernels know no strides"
        return ctypes.c_void_p(argument.ctypes.data)
    return NUMBERS[type(argument)](argument)
