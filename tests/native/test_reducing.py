"""What the collector reduces with, alone, against the plain way to do it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.native.programs import COLLECTOR, HERE, WARNINGS


def test_names_configurations_totals_and_samples_agree_with_the_plain_way(tmp_path: Path) -> None:
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    program = tmp_path / "reducing"
    command = ["g++", "-std=c++17", "-O1", *WARNINGS, "-I", COLLECTOR, HERE / "reducing.cpp", "-o", program]
    subprocess.run(command, check=True)
    ended = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "")
