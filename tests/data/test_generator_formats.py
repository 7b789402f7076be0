"""The samples in every format are what the generator writes, small, and say of one run what each tool would."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from data.generator import FORMATS, write_formats
from data.generator.small import hip

KEPT = Path(__file__).parents[2] / "data" / "samples" / "formats"
MOST_BYTES = 60 * 1024


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the samples written anew."""
    folder = tmp_path_factory.mktemp("formats")
    write_formats(folder)
    return folder


def test_the_samples_are_what_the_generator_writes(made: Path) -> None:
    names = sorted(str(path.relative_to(made)) for path in made.rglob("*") if path.is_file())
    assert names == sorted(str(path.relative_to(KEPT)) for path in KEPT.rglob("*") if path.is_file())
    for name in names:
        new, old = (folder / name for folder in (made, KEPT))
        if old.read_bytes().startswith(b"SQLite format 3"):  # whose header holds the version of the library
            with closing(sqlite3.connect(new)) as one, closing(sqlite3.connect(old)) as other:
                assert list(one.iterdump()) == list(other.iterdump())
        else:
            assert new.read_bytes() == old.read_bytes(), name


@pytest.mark.parametrize("format", FORMATS)
def test_a_sample_is_small(format: str) -> None:
    assert 0 < sum(path.stat().st_size for path in (KEPT / format).iterdir()) < MOST_BYTES


def test_amd_calls_its_functions_by_its_own_names() -> None:
    names = ("cudaMemcpyAsync", "cuLaunchKernel", "cudaLaunchKernelExC", "triton_poi_fused_add_mul_0")
    assert [hip(name) for name in names] == [
        "hipMemcpyAsync", "hipModuleLaunchKernel", "hipExtLaunchKernel", "triton_poi_fused_add_mul_0",
    ]  # fmt: skip
