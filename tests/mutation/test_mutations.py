"""A few hundred damaged copies of every sample. Many more, and what became of them: `python -m tests.mutation`."""

import json
from collections.abc import Sequence
from subprocess import CompletedProcess

import pytest

from tests.mutation import running
from tests.mutation.mutate import mutant
from tests.mutation.running import run
from tests.mutation.worker import places
from tests.oracle.rows import oracle_of
from tests.samples import FORMATS, SAMPLES, sample

COUNT = 300
GROUPS = 5
"""Workers, each for so many of the formats: to start one takes as long as a hundred mutants."""


def test_a_seed_gives_always_the_same_mutant() -> None:
    content = sample(FORMATS[0]).read_bytes()
    assert [mutant(content, seed) for seed in range(30)] == [mutant(content, seed) for seed in range(30)]
    assert len({mutant(content, seed) for seed in range(200)}) > 180


def test_the_files_beside_a_trace_are_damaged_too() -> None:
    folder = SAMPLES / "formats" / "rocprofv3_csv"
    found = places("rocprofv3_csv")
    assert {trace for trace, _ in found} == {folder / "41200_kernel_trace.csv"}
    assert {member for _, member in found} == set(folder.iterdir())
    assert [member for _, member in found].count(folder / "41200_kernel_trace.csv") == 4


def test_every_form_of_log_and_every_file_of_a_folder_is_damaged() -> None:
    folder = SAMPLES / "accelprof"
    found = places("accelprof")
    alone = {one for one in folder.iterdir() if one.suffix != ".md"}
    (launches,) = [one for one in alone if one.is_dir()]
    assert {trace for trace, _ in found} == alone | set(launches.iterdir())
    assert {member for _, member in found} == {one for one in folder.rglob("*.*") if one.is_file()} - {
        folder / "README.md"
    }
    assert len(places("nsys_parquet")) == 25
    assert places("proton") == [(sample("proton"), sample("proton"))]


def test_a_worker_that_dies_is_a_failure_and_another_goes_on_behind_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[list[str]] = []

    def worker(command: list[str], **_: object) -> CompletedProcess[str]:
        given.append(command[3:])
        said: list[dict[str, object]] = []
        for part in command[3:]:
            format, first, count = part.split(":")
            for seed in range(int(first), int(first) + int(count)):
                said.append({"format": format, "begun": seed})
                if (format, seed) == ("b", 2):
                    return CompletedProcess(command, -9, "\n".join(map(json.dumps, said)), "killed")
                said.append({"format": format, "seed": seed, "outcome": "accepted", "error": ""})
        return CompletedProcess(command, 0, "\n".join(map(json.dumps, said)), "")

    monkeypatch.setattr(running.subprocess, "run", worker)
    tallies = run(["a", "b", "c"], 4)
    assert given == [["a:0:4", "b:0:4", "c:0:4"], ["b:3:1", "c:0:4"]]
    assert {format: dict(tally.outcomes) for format, tally in tallies.items()} == {
        "a": {"accepted": 4},
        "b": {"accepted": 3, "failure": 1},
        "c": {"accepted": 4},
    }
    assert [failure["seed"] for failure in tallies["b"].failures] == [2]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("formats", [FORMATS[first::GROUPS] for first in range(GROUPS)], ids=" ".join)
def test_damaged_files_are_read_with_a_note_or_refused_with_file_and_fault(formats: Sequence[str]) -> None:
    for format, tally in run(formats, COUNT).items():
        assert tally.failures == [], format
        assert sum(tally.outcomes.values()) == COUNT, format
        assert tally.outcomes["refused"] > 0, format
        assert tally.compared > 0 or oracle_of(format) is None, format
