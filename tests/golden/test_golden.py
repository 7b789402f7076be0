"""Expected outputs of the command line on the samples; `make golden` writes them anew."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMANDS = {
    "report-train-kineto.txt": ["report", "perf", "data/samples/train.json.gz"],
    "report-train-nsys.txt": ["report", "perf", "data/samples/train.sqlite"],
    "levels-train-kineto.csv": ["mine", "data/samples/train.json.gz", "--table", "level", "--format", "csv"],
    "iterations-rank1.csv": ["mine", "data/samples/two-ranks/rank1.json.gz", "--table", "iteration", "--format", "csv"],
    "help.txt": ["--help"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_output_is_as_reviewed(name: str) -> None:
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "tracelode", *COMMANDS[name]]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    expected = Path(__file__).parent / name
    if os.environ.get("TRACELODE_GOLDEN") == "write":
        expected.write_bytes(done.stdout)
    assert done.stdout.decode() == expected.read_text()
