import os
from pathlib import Path

import pytest

from tracelode.reports.pipeline import Found, Ingest, Output, Pipeline, found_by, read_pipeline
from tracelode.store import Error

WHOLE = """
archive = "traces"
mine = ["iterations", "segments"]

[[ingest]]
paths = ["nightly/*", "more/*.json"]
labels = { model = "llama" }

[[ingest]]
paths = ["extra"]
run = "one/more"

[[report]]
topic = "perf"
formats = ["html", "md"]
folder = "reports"

[check]
formats = ["json"]
folder = "/checks"
"""


def pipeline(folder: Path, text: str) -> Pipeline:
    (folder / "p.toml").write_text(text)
    return read_pipeline(folder / "p.toml")


def files(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def found(folder: Path, ingest: str) -> list[tuple[str, list[str]]]:
    runs, errors = found_by(pipeline(folder, f'archive = "traces"\n{ingest}'))
    assert errors == []
    return [(one.run, [os.path.relpath(path, folder) for path in one.paths]) for one in runs]


def test_a_pipeline_is_read_with_its_paths_from_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p.toml").write_text(WHOLE)
    monkeypatch.chdir(tmp_path)
    assert read_pipeline(Path("p.toml")) == Pipeline(
        path=tmp_path / "p.toml",
        archive=tmp_path / "traces",
        ingest=(
            Ingest(("nightly/*", "more/*.json"), None, {"model": "llama"}),
            Ingest(("extra",), "one/more", {}),
        ),
        mine=("iterations", "segments"),
        reports=(Output("perf", ("html", "md"), tmp_path / "reports"),),
        check=Output("", ("json",), Path("/checks")),
    )


def test_without_more_words_all_is_mined_and_nothing_reported_or_checked(tmp_path: Path) -> None:
    read = pipeline(tmp_path, 'archive = "t"\n[[ingest]]\npaths = ["x"]\n')
    assert (read.mine, read.reports, read.check) == (None, (), None)
    assert pipeline(tmp_path, 'archive = "t"\nmine = []\n[[ingest]]\npaths = ["x"]\n').mine == ()


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("archive = ", "is not TOML: Invalid value (at end of document)", "see docs/batch.md"),
        ("archive = 'a'", "there is no [[ingest]], so nothing to read", 'add one: [[ingest]] paths = ["runs/*"]'),
        ("[[ingest]]\npaths = ['x']", "archive is missing", 'write it as in: archive = "..."'),
        ("archive = ''\n[[ingest]]\npaths = ['x']", "archive is '', no text", 'write it as in: archive = "..."'),
        ("archiv = 'a'", "unknown key 'archiv'", "there are: archive, mine, ingest, report, check"),
        ("ingest = 3", "ingest is not a list", "write [[ingest]], with two brackets"),
        ("ingest = [3]", "[[ingest]] 1: is 3, not a table", "see docs/batch.md"),
        ("[[ingest]]\npaths = []", "[[ingest]] 1: paths is empty", 'write it as in: paths = ["..."]'),
        ("[[ingest]]\npaths = 'x'", "[[ingest]] 1: paths is not a list of texts", 'write it as in: paths = ["..."]'),
        (
            "[[ingest]]\npaths = ['x']\nlabels = {a = 1}",
            "[[ingest]] 1: labels are texts by name",
            'write them as in: labels = { model = "llama-7b" }',
        ),
        (
            "[[ingest]]\npaths = ['x']\nrun = '../x'",
            "[[ingest]] 1: the run ../x would have reports outside the folder of reports",
            "name it otherwise",
        ),
        (
            "archive = 'a'\n[[ingest]]\npaths = ['x']\n[[report]]\ntopic = 'speed'\nfolder = 'f'\nformats = ['md']",
            "[[report]] 1: topic: there is no speed",
            "there are: perf, uvm, workload",
        ),
    ],
)
def test_what_is_wrong_in_a_pipeline_is_told_with_its_place(tmp_path: Path, text: str, message: str, hint: str) -> None:
    with pytest.raises(Error) as caught:
        pipeline(tmp_path, text)
    assert caught.value.message == f"{tmp_path / 'p.toml'}: {message}"
    assert caught.value.hint == hint
    assert caught.value.exit_code == 2


def test_each_match_is_a_run_named_by_what_the_wildcards_stand_for(tmp_path: Path) -> None:
    files(tmp_path, "a/r10/rank0.json", "a/r9/rank0.json", "a/r9/rank1.json", "a/.hidden", "b/x.json", "c[1]/y.json")
    assert found(tmp_path, '[[ingest]]\npaths = ["a/*"]') == [("r9", ["a/r9"]), ("r10", ["a/r10"])]
    assert found(tmp_path, '[[ingest]]\npaths = ["a/*/rank0.json", "b/x.json"]') == [
        ("r9/rank0.json", ["a/r9/rank0.json"]),
        ("r10/rank0.json", ["a/r10/rank0.json"]),
        ("x.json", ["b/x.json"]),
    ]
    assert found(tmp_path, '[[ingest]]\npaths = ["c[1]/y.json"]') == [("y.json", ["c[1]/y.json"])]
    assert found(tmp_path, '[[ingest]]\npaths = ["b/**/*.json"]\n') == [("x.json", ["b/x.json"])]


def test_with_a_name_all_matches_are_one_run(tmp_path: Path) -> None:
    files(tmp_path, "a/2.json", "a/10.json")
    assert found(tmp_path, '[[ingest]]\npaths = ["a/*"]\nrun = "all"') == [("all", ["a/2.json", "a/10.json"])]


def test_what_is_matched_twice_belongs_to_the_first_and_what_lies_in_a_matched_folder_to_that(tmp_path: Path) -> None:
    files(tmp_path, "a/r1/rank0.json", "a/r2/rank0.json")
    twice = '[[ingest]]\npaths = ["a/r1"]\nrun = "first"\n[[ingest]]\npaths = ["a/*", "a/r2/rank0.json"]'
    assert found(tmp_path, twice) == [("first", ["a/r1"]), ("r2", ["a/r2"])]


def test_two_folders_do_not_become_one_run_by_chance(tmp_path: Path) -> None:
    files(tmp_path, "a/r1/rank0.json", "b/r1/rank0.json")
    with pytest.raises(Error, match="both would be the run r1"):
        found(tmp_path, '[[ingest]]\npaths = ["a/*", "b/*"]')


def test_a_glob_that_finds_nothing_is_an_error_of_its_own(tmp_path: Path) -> None:
    files(tmp_path, "a/x.json")
    runs, unread = found_by(pipeline(tmp_path, 'archive = "t"\n[[ingest]]\npaths = ["a/*", "b/*", "c.json"]'))
    path = str(tmp_path / "a/x.json")
    assert runs == [Found("x.json", {path: {}})]
    assert [(one.name, one.error.message, one.error.exit_code) for one in unread] == [
        (f"{tmp_path}/b/*", f"{tmp_path}/b/*: nothing is there", 5),
        (f"{tmp_path}/c.json", f"{tmp_path}/c.json: nothing is there", 5),
    ]


def test_urls_and_members_of_archives_are_taken_as_they_are(tmp_path: Path) -> None:
    runs, unread = found_by(pipeline(tmp_path, 'archive = "t"\n[[ingest]]\npaths = ["s3://b/run1/", "r.tar!/a.json"]'))
    assert unread == []
    assert [(one.run, one.paths) for one in runs] == [
        ("a.json", (f"{tmp_path}/r.tar!/a.json",)),
        ("run1", ("s3://b/run1/",)),
    ]
