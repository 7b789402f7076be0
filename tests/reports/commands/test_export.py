import os
from pathlib import Path

import polars as pl
import pytest

from tests.reports.exports.packets import content
from tests.reports.test_cli import KINETO, refused, run
from tracelode.reports.export_file import opened, whole
from tracelode.store.errors import Error


def test_each_form_is_written_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    run("export", KINETO, "--to", "perfetto", "-o", tmp_path / "a.pftrace.gz")
    run("export", KINETO, "--to", "chrome", "--table", "kernel", "-o", tmp_path / "a.json")
    run("export", KINETO, "--to", "parquet", "-o", tmp_path / "tables")
    done = run("export", KINETO, "--to", "csv", "--table", "kernel", "-o", tmp_path / "kernel.csv")
    assert done.stdout == ""
    assert done.stderr == f"written: {tmp_path / 'kernel.csv'}\n"
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != "cache") == [
        "a.json", "a.pftrace.gz", "kernel.csv", "tables",
    ]  # fmt: skip
    assert len(content(tmp_path / "a.pftrace.gz").of("kernel")) == 2117
    assert len(content(tmp_path / "a.pftrace.gz").of("mined.iteration")) == 12
    assert len(pl.read_parquet(tmp_path / "tables" / "kernel.parquet")) == 2117
    assert len((tmp_path / "kernel.csv").read_text().splitlines()) == 2118


def test_what_is_there_stays_unless_it_is_to_be_replaced(tmp_path: Path) -> None:
    place = tmp_path / "a.json"
    place.write_text("mine")
    arguments = ("export", KINETO, "--to", "chrome", "--table", "process", "-o", place)
    assert refused(*arguments, code=2) == f"error: {place}: is there already"
    assert place.read_text() == "mine"
    run(*arguments, "--force")
    assert place.read_text().startswith('{"schemaVersion": 1,')


def test_a_place_or_table_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    assert "is to end in .json, .json.gz" in refused("export", KINETO, "--to", "chrome", "-o", tmp_path / "a.x", code=2)
    assert "holds one table" in refused("export", KINETO, "--to", "csv", "-o", tmp_path / "a.csv", code=2)
    missing = ("export", KINETO, "--to", "csv", "--table", "fault", "-o", tmp_path / "a.csv")
    assert "table fault was not collected" in refused(*missing, code=5)
    assert "No such file" in refused("export", KINETO, "--to", "chrome", "-o", tmp_path / "no" / "a.json", code=2)
    assert [p.name for p in tmp_path.iterdir() if p.name != "cache"] == []


def test_a_fault_on_the_way_leaves_what_was_there(tmp_path: Path) -> None:
    place = tmp_path / "a.json"
    place.write_text("mine")
    with pytest.raises(KeyboardInterrupt), whole(place, force=True) as path:
        path.write_text("half")
        raise KeyboardInterrupt
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]
    assert place.read_text() == "mine"


def test_a_full_disk_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(Error, match="No space left on device") as caught, whole(tmp_path / "a", force=False):
        raise OSError(28, os.strerror(28))
    assert caught.value.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_replaced_only_if_it_holds_nothing_but_data(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "old.csv").write_text("x")
    with whole(folder, force=True, folder=True) as path:
        (path / "new.csv").write_text("y")
    assert [p.name for p in folder.iterdir()] == ["new.csv"]
    (folder / "thesis.tex").write_text("mine")
    with pytest.raises(Error, match=r"holds what no export wrote: thesis\.tex"), whole(folder, force=True, folder=True):
        pass
    assert (folder / "thesis.tex").read_text() == "mine"


def test_a_compressed_file_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with opened(tmp_path / name) as out:
            out.write(b"x" * 1000)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert (tmp_path / "a.gz").stat().st_size < 100
