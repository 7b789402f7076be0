import shutil
import subprocess
from pathlib import Path

import pytest

from tests.collect.agent.spooled import run

LIBRARY = """
#include <unistd.h>
int tracelode_start(void) { write(1, "start\\n", 6); return 0; }
int tracelode_stop(void) { write(1, "stop\\n", 5); return -1; }
"""
PROGRAM = """
import ctypes, os, sys
from tracelode.collect import agent
agent.start()
print("loading", flush=True)
if sys.platform: ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
agent.start(); agent.stop()
agent.mark("stopped")
"""


def test_start_and_stop_reach_the_event_collector_once_cuda_has_loaded_it(folder: Path, tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    source, library = tmp_path / "collector.c", tmp_path / "collector.so"
    source.write_text(LIBRARY)
    subprocess.run([compiler, "-shared", "-fPIC", "-w", "-o", str(library), str(source)], check=True)
    done = run(PROGRAM, folder, CUDA_INJECTION64_PATH=str(library))
    assert (done.returncode, done.stdout, done.stderr) == (0, "loading\nstart\nstop\n", "")
    bare = run(PROGRAM, folder, CUDA_INJECTION64_PATH=str(library), TRACELODE_RECORD_DIR="")
    assert (bare.returncode, bare.stdout, bare.stderr) == (0, "loading\nstart\nstop\n", "")


def test_the_library_of_another_tool_or_none_is_left_alone(folder: Path) -> None:
    program = PROGRAM.replace("if sys.platform", "if 'libc' in os.environ['CUDA_INJECTION64_PATH']")
    for path in ("libc.so.6", "/nowhere/lib.so"):
        done = run(program, folder, CUDA_INJECTION64_PATH=path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "loading\n", "")
