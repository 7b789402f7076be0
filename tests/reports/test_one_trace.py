import shutil
from pathlib import Path

import pytest

from tests.reports.test_cli import KINETO, refused, run
from tracelode.reports.one_trace import open_trace
from tracelode.store.errors import UnreadableFile

HERE = Path("no archive")


def folder_of(path: Path, *names: str) -> Path:
    """A folder with copies of the sample, each another trace, and a file that is none."""
    folder = path / "run"
    folder.mkdir()
    (folder / "notes.txt").write_text("not a trace")
    for at, name in enumerate(names):
        (folder / name).write_text(f'{{"schemaVersion": 1, "traceEvents": [], "at": {at}}}')
    return folder


def test_a_folder_stands_for_the_single_trace_in_it(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    shutil.copy(KINETO, folder / "rank0.json.gz")
    found, _ = open_trace(str(folder), HERE)
    assert found.source == str(folder / "rank0.json.gz")
    assert found.rows["kernel"] == 2117
    assert run("sql", "--trace", folder, "select count(*) n from kernel", "--format", "csv").stdout == "n\n2117\n"


def test_of_several_the_error_names_some_and_what_takes_them_all(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "b.json", "a.json", "c.json", "e.json", "d.json")
    with pytest.raises(UnreadableFile, match="no trace by itself, and 5 in it") as caught:
        open_trace(str(folder), HERE)
    assert caught.value.hint == (
        f"give one of them: {folder}/a.json, {folder}/b.json, {folder}/c.json or one of 2 others; "
        f"tracelode report perf {folder} takes them all"
    )


@pytest.mark.parametrize(
    "verb", [("export", "--to", "chrome", "-o", "a.json"), ("open", "--no-browser"), ("info",), ("mine",)]
)
def test_a_folder_without_a_trace_is_refused(tmp_path: Path, verb: tuple[str, ...]) -> None:
    folder = folder_of(tmp_path)
    error = refused(verb[0], folder, *(tmp_path / w if w == "a.json" else w for w in verb[1:]), code=5)
    assert error == f"error: {folder}: no trace by itself, and 0 in it"


def test_a_file_that_is_no_trace_is_told_by_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"notes\.txt"):
        open_trace(str(folder_of(tmp_path) / "notes.txt"), HERE)
