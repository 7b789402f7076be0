import gzip
import os
import shutil
from pathlib import Path

import pytest

from tests.collect.small_traces import trace
from tests.collect.test_archives import special, tar, zipped
from tests.samples import sample
from tracelode.collect.archives import Member
from tracelode.collect.inputs import Input, inputs, place_of
from tracelode.store import Error, UnreadableFile


def lay(folder: Path, **files: bytes) -> Path:
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def found(given: Path, run: str | None = None) -> tuple[list[str], list[str], set[str | None]]:
    """The places in the folder, what was left out, the runs."""
    left_out: list[str] = []
    answer = list(inputs(given, run, left_out.append))
    return [str(one.place).removeprefix(f"{given}/") for one in answer], left_out, {one.run for one in answer}


def test_a_folder_is_one_run_with_all_files_below_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    run = tmp_path / "run 7"
    lay(run, part10=b"1", part9=b"1", b__x=b"1", b__c__y=b"1", a__z=b"1", **{".git__x": b"1", ".hidden": b"1"})
    assert found(run) == (["a/z", "b/c/y", "b/x", "part9", "part10"], [], {"run 7"})
    assert found(run, "named")[2] == {"named"}


def test_links_that_lead_in_a_circle_are_walked_once(tmp_path: Path) -> None:
    lay(tmp_path / "run", a__x=b"1")
    (tmp_path / "run" / "a" / "up").symlink_to(tmp_path / "run")
    (tmp_path / "run" / "b").symlink_to(tmp_path / "run" / "a")
    (tmp_path / "run" / "broken").symlink_to(tmp_path / "nothing")
    (tmp_path / "run" / "y").symlink_to(tmp_path / "run" / "a" / "x")
    os.mkfifo(tmp_path / "run" / "pipe")
    places, left_out, _ = found(tmp_path / "run")
    assert places == ["a/x", "broken", "y"]  # reading the broken one says that it is not there
    assert left_out == []


def test_an_archive_of_tracelode_is_not_walked(tmp_path: Path) -> None:
    lay(tmp_path, traces__archive_toml=b"", traces__traces__x__kernel=b"PAR1", x=b"1")
    (tmp_path / "traces" / "archive_toml").rename(tmp_path / "traces" / "archive.toml")
    assert found(tmp_path)[:2] == (["x"], [f"{tmp_path}/traces: an archive of tracelode"])


def test_of_a_folder_that_a_reader_takes_for_one_trace_only_other_traces_are_walked(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "report_pqtdir"
    shutil.copytree(sample("nsys_parquet"), folder)
    lay(tmp_path, run__x=b"1")
    assert found(tmp_path / "run")[0] == ["report_pqtdir", "x"]
    assert list(inputs(folder, None, pytest.fail)) == [Input(folder, folder)]
    lay(folder, **{"notes.txt": b"no trace", "other.json": trace(), "ranks__rank1.json": trace("b")})
    (folder / "both.zip").write_bytes(zipped(("a.json", trace()), ("b.json", trace("c"))))
    others = ["both.zip!/a.json", "both.zip!/b.json", "other.json", "ranks/rank1.json"]
    assert found(folder) == ([str(folder), *others], [], {"report_pqtdir"})
    assert found(tmp_path / "run")[0] == ["report_pqtdir", *(f"report_pqtdir/{other}" for other in others), "x"]


def test_archives_are_opened_where_they_are_met(tmp_path: Path) -> None:
    link = special("s", b"2", "x")
    both = tar({"rank0.json": trace(), "rank1.json": trace("b")}, link)
    lay(tmp_path / "run", **{"a.tar.gz": gzip.compress(both), "b.zip": zipped(("x.json", trace())), "c.tar": tar({})})
    places, left_out, runs = found(tmp_path / "run")
    assert places == ["a.tar.gz!/rank0.json", "a.tar.gz!/rank1.json", "b.zip", "c.tar"]
    assert (left_out, runs) == ([f"{tmp_path}/run/a.tar.gz!/s: a link"], {"run"})
    assert {one.run for one in inputs(tmp_path / "run" / "a.tar.gz", None, print)} == {"a"}
    assert list(inputs(tmp_path / "run" / "b.zip", None, print)) == [
        Input(tmp_path / "run" / "b.zip", tmp_path / "run" / "b.zip")
    ]


def test_what_is_lost_of_a_cut_archive_is_an_error_after_its_members(tmp_path: Path) -> None:
    cut = tar({"a.json": trace("a"), "b.json": trace("b" * 5000), "c.json": trace("c")})[:3000]
    lay(tmp_path, **{"cut.tar": cut})
    first, second, rest = inputs(tmp_path / "cut.tar", None, pytest.fail)
    assert [str(one.place) for one in (first, second)] == [f"{tmp_path}/cut.tar!/{n}.json" for n in "ab"]
    assert isinstance(rest.fault, UnreadableFile)
    assert str(rest.fault) == f"{tmp_path}/cut.tar: unexpected end of data: what follows b.json is lost"


def test_an_empty_folder_has_no_trace(tmp_path: Path) -> None:
    (only,) = inputs(tmp_path, None, pytest.fail)
    assert str(only.fault) == f"{tmp_path}: no trace in this folder"


def test_a_name_with_an_exclamation_mark_is_a_member_only_of_what_is_no_path(tmp_path: Path) -> None:
    lay(tmp_path, **{"a!__x.json": trace(), "a!__b.tar": tar({"c!/d.json": trace(), "e": b""})})
    assert place_of(tmp_path / "a!" / "x.json") == tmp_path / "a!" / "x.json"
    member = place_of(f"{tmp_path}/a!/b.tar!/c!/d.json")
    assert isinstance(member, Member)
    assert (member.archive, member.member) == (tmp_path / "a!" / "b.tar", "c!/d.json")
    with pytest.raises(Error, match=r"none.tar: no such file"):
        place_of(f"{tmp_path}/none.tar!/x")
    with pytest.raises(Error, match="no such file"):
        place_of("s3!/x")
    assert place_of("x" * 5000) == Path("x" * 5000)
