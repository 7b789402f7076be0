from pathlib import Path

import polars as pl

from tests.building import build
from tracelode.reports.exports.parquet import write


def test_each_table_is_a_file_with_what_its_view_shows(tmp_path: Path) -> None:
    trace, _ = build(
        tmp_path,
        kernel=[{"start_ns": at, "end_ns": at + 3, "name": f"=k{at}"} for at in range(3)],
        copy=[{"start_ns": 0, "end_ns": 1, "bytes": 8}],
    )
    folder = tmp_path / "out"
    folder.mkdir()
    assert write(trace, folder, ()) == ()
    for table in trace.files:
        assert pl.read_parquet(folder / f"{table}.parquet").equals(trace.sql(f"select * from {table}"))
    assert pl.read_parquet(folder / "kernel.parquet")["name"].to_list() == ["=k0", "=k1", "=k2"]


def test_one_table_is_one_file(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, kernel=[{"start_ns": 0, "end_ns": 1, "name": "it's"}])
    write(trace, tmp_path / "it's.parquet", ("kernel",))
    assert pl.read_parquet(tmp_path / "it's.parquet")["name"].to_list() == ["it's"]
