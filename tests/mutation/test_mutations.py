"""A few hundred damaged copies of every sample. Many more, and what became of them: `python -m tests.mutation`."""

import pytest

from tests.mutation.mutate import mutant
from tests.mutation.running import run
from tests.mutation.worker import places
from tests.oracle.rows import oracle_of
from tests.samples import FORMATS, SAMPLES, sample

COUNT = 300


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


@pytest.mark.parametrize("format", FORMATS)
def test_damaged_files_are_read_with_a_note_or_refused_with_file_and_fault(format: str) -> None:
    tally = run(format, COUNT)
    assert tally.failures == []
    assert sum(tally.outcomes.values()) == COUNT
    assert tally.outcomes["refused"] > 0
    assert tally.compared > 0 or oracle_of(format) is None
