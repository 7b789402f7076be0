"""The samples in every format are what the generator writes, small, and say of one run what each tool would."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
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


def said(path: Path) -> Any:
    """What a file says, without the version of the library that wrote it."""
    content = path.read_bytes()
    if content.startswith(b"SQLite format 3"):
        with closing(sqlite3.connect(path)) as database:
            return list(database.iterdump())
    if content.startswith(b"PAR1"):
        return pq.read_table(path)
    return streams(content) if content.startswith(b"\xff\xff\xff\xff") else content


def streams(content: bytes) -> list[tuple[Any, pa.Table]]:
    """The tables of Arrow's streams, one after another, each with what its schema says of it."""
    found: list[tuple[Any, pa.Table]] = []
    with pa.BufferReader(content) as source:
        while source.tell() < len(content):
            table = pa.ipc.open_stream(source).read_all()
            found.append((table.schema.metadata, table))
    return found


def test_the_samples_are_what_the_generator_writes(made: Path) -> None:
    names = sorted(str(path.relative_to(made)) for path in made.rglob("*") if path.is_file())
    assert names == sorted(str(path.relative_to(KEPT)) for path in KEPT.rglob("*") if path.is_file())
    for name in names:
        new, old = (folder / name for folder in (made, KEPT))
        assert said(new) == said(old), name


@pytest.mark.parametrize("format", FORMATS)
def test_a_sample_is_small(format: str) -> None:
    assert 0 < sum(path.stat().st_size for path in (KEPT / format).rglob("*") if path.is_file()) < MOST_BYTES


def test_amd_calls_its_functions_by_its_own_names() -> None:
    names = ("cudaMemcpyAsync", "cuLaunchKernel", "cudaLaunchKernelExC", "triton_poi_fused_add_mul_0")
    assert [hip(name) for name in names] == [
        "hipMemcpyAsync", "hipModuleLaunchKernel", "hipExtLaunchKernel", "triton_poi_fused_add_mul_0",
    ]  # fmt: skip
