"""A few hundred damaged copies of every sample. Many more, and what became of them: `python -m tests.mutation`."""

import pytest

from tests.mutation.mutate import mutant
from tests.mutation.running import run
from tests.samples import FORMATS, sample

COUNT = 300


def test_a_seed_gives_always_the_same_mutant() -> None:
    content = sample(FORMATS[0]).read_bytes()
    assert [mutant(content, seed) for seed in range(30)] == [mutant(content, seed) for seed in range(30)]
    assert len({mutant(content, seed) for seed in range(200)}) > 180


@pytest.mark.parametrize("format", FORMATS)
def test_damaged_files_are_read_with_a_note_or_refused_with_file_and_place(format: str) -> None:
    tally = run(format, COUNT)
    assert tally.failures == []
    assert sum(tally.outcomes.values()) == COUNT
    assert tally.outcomes["refused"] > 0
