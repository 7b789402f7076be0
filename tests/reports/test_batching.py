import json
import os
import shutil
from pathlib import Path

from tests.collect.small_traces import trace
from tests.reports.batches import contents, nightly, write_pipeline
from tracelode.reports.batching import Batch, do_batch
from tracelode.reports.pipeline import read_pipeline
from tracelode.store import Archive

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
REPORT = '[[report]]\ntopic = "workload"\nformats = ["md", "html"]\nfolder = "reports"\n'


def done(folder: Path, more: str = "", **how: tuple[int, int]) -> Batch:
    return do_batch(read_pipeline(write_pipeline(folder, more)), **how)


def states(batch: Batch) -> dict[str, tuple[bool, int, int]]:
    return {run.name: (run.unchanged, len(run.traces), len(run.new)) for run in batch.runs}


def test_new_runs_are_read_and_what_was_done_is_not_done_again(tmp_path: Path) -> None:
    nightly(tmp_path, 3)
    first = done(tmp_path)
    assert states(first) == {"run0": (False, 2, 2), "run1.json": (False, 1, 1), "run2.json": (False, 1, 1)}
    archive = Archive(tmp_path / "traces")
    assert [(Path(one.source.path).name, one.run, one.rank) for one in archive.memberships()] == [
        ("rank0.json", "run0", 0),
        ("rank1.json", "run0", 1),
        ("run1.json", "run1.json", 0),
        ("run2.json", "run2.json", 0),
    ]
    assert all(archive.open(m.id).has("segment") for m in archive.manifests())
    assert archive.path.joinpath("catalog.duckdb").is_file()
    before = contents(archive.path)
    assert states(done(tmp_path)) == {"run0": (True, 2, 0), "run1.json": (True, 1, 0), "run2.json": (True, 1, 0)}
    assert contents(archive.path) == before
    (tmp_path / "nightly" / "run3.json").write_bytes(trace("kernel 3"))
    (tmp_path / "nightly" / "run1.json").write_bytes(trace("another kernel"))
    assert states(done(tmp_path)) == {
        "run0": (True, 2, 0),
        "run1.json": (False, 1, 1),
        "run2.json": (True, 1, 0),
        "run3.json": (False, 1, 1),
    }


def test_a_trace_that_was_lost_is_read_again(tmp_path: Path) -> None:
    nightly(tmp_path, 2)
    done(tmp_path)
    before = contents(tmp_path / "traces")
    (lost,) = [m.id for m in Archive(tmp_path / "traces").manifests() if m.source.path.endswith("run1.json")]
    shutil.rmtree(tmp_path / "traces" / "traces" / lost)
    assert states(done(tmp_path)) == {"run0": (True, 2, 0), "run1.json": (False, 1, 1)}
    assert contents(tmp_path / "traces") == before


def test_labels_become_facts_of_the_traces(tmp_path: Path) -> None:
    nightly(tmp_path, 2)
    done(tmp_path, 'labels = { model = "llama", batch = "8" }')
    labels = [m.facts.labels for m in Archive(tmp_path / "traces").manifests()]
    assert [(of["schemaVersion"], of["model"], of["batch"]) for of in labels] == [("1", "llama", "8")] * 3


def test_each_trace_of_a_run_has_the_labels_of_its_own_entry(tmp_path: Path) -> None:
    nightly(tmp_path, 3)
    text = 'archive = "traces"\nmine = []\n'
    for number, labels in ((1, '{ model = "llama", node = "a" }'), (2, '{ model = "gpt" }')):
        text += f'[[ingest]]\npaths = ["nightly/run{number}.json"]\nrun = "both"\nlabels = {labels}\n'
    (tmp_path / "pipeline.toml").write_text(text)
    assert do_batch(read_pipeline(tmp_path / "pipeline.toml")).errors == []
    told = {Path(m.source.path).name: m.facts.labels for m in Archive(tmp_path / "traces").manifests()}
    assert (told["run1.json"]["model"], told["run1.json"]["node"]) == ("llama", "a")
    assert (told["run2.json"]["model"], told["run2.json"].get("node")) == ("gpt", None)


def test_a_run_of_which_a_file_was_deleted_is_looked_at_once_more_and_then_left(tmp_path: Path) -> None:
    nightly(tmp_path, 1)
    check = '[check]\nformats = ["json"]\nfolder = "checks"\n'
    assert states(done(tmp_path, check)) == {"run0": (False, 2, 2)}
    measured = contents(tmp_path / "traces" / "history")
    (tmp_path / "nightly" / "run0" / "rank1.json").unlink()
    assert states(done(tmp_path, check)) == {"run0": (False, 2, 0)}  # the archive has the trace
    assert states(done(tmp_path, check)) == {"run0": (True, 2, 0)}
    assert contents(tmp_path / "traces" / "history") == measured


def test_what_is_no_trace_is_told_each_time_and_read_again_only_when_it_changes(tmp_path: Path) -> None:
    nightly(tmp_path, 1)
    (tmp_path / "nightly" / "bad.json").write_text("{}".ljust(999))
    (tmp_path / "nightly" / "run0" / "notes.txt").write_text("some notes".ljust(999))
    first = done(tmp_path)
    (error,) = first.errors
    assert error.message.startswith(f"{tmp_path}/nightly/bad.json: not a trace")
    assert [one.path for run in first.runs for one in run.refused] == [
        f"{tmp_path}/nightly/bad.json",
        f"{tmp_path}/nightly/run0/notes.txt",
    ]
    second = done(tmp_path)
    assert [(one.message, one.hint) for one in second.errors] == [(error.message, error.hint)]
    assert all(run.unchanged for run in second.runs)
    for path in (tmp_path / "nightly" / "bad.json", tmp_path / "nightly" / "run0" / "notes.txt"):
        in_disguise(path)
    (tmp_path / "nightly" / "run0" / "rank2.json").write_bytes(trace("kernel of rank 2", 2))
    third = done(tmp_path)
    assert states(third) == {"bad.json": (True, 0, 0), "run0": (False, 3, 1)}
    assert [one.path for run in third.runs for one in run.refused] == [
        one.path for run in first.runs for one in run.refused
    ]
    (tmp_path / "nightly" / "bad.json").write_bytes(trace("good now"))
    assert done(tmp_path).errors == []


def in_disguise(path: Path) -> None:
    """Makes a file a trace, of the same size and time: only who opens it will know."""
    state = path.stat()
    path.write_bytes(trace("x").ljust(state.st_size))
    assert path.stat().st_size == state.st_size
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def test_a_folder_without_a_trace_and_a_glob_without_a_match_are_errors(tmp_path: Path) -> None:
    (tmp_path / "nightly" / "empty").mkdir(parents=True)
    (tmp_path / "nightly" / "notes").mkdir()
    (tmp_path / "nightly" / "notes" / "readme").write_text("hello")
    for _ in range(2):
        batch = done(tmp_path, '[[ingest]]\npaths = ["gone/*"]')
        assert [(error.message, error.exit_code) for error in batch.errors] == [
            (f"{tmp_path}/gone/*: nothing is there", 5),
            (f"{tmp_path}/nightly/empty: no trace in this folder", 5),
            (f"{tmp_path}/nightly/notes: no trace in this folder", 5),
        ]


def test_a_file_that_may_not_be_read_is_tried_again(tmp_path: Path) -> None:
    nightly(tmp_path, 1)
    (tmp_path / "nightly" / "run1.json").symlink_to(tmp_path / "later.json")
    batch = done(tmp_path)
    assert [(error.message, error.exit_code) for error in batch.errors] == [
        (f"{tmp_path}/nightly/run1.json: no such file", 5)
    ]
    (tmp_path / "later.json").write_bytes(trace("here now"))
    assert done(tmp_path).errors == []


def test_each_run_has_its_reports_which_are_made_again_when_they_are_gone(tmp_path: Path) -> None:
    nightly(tmp_path, 2)
    first = done(tmp_path, REPORT)
    assert {run.name: [Path(file).name for file in run.written] for run in first.runs} == {
        "run0": ["workload.md", "workload.html", "workload.json"],
        "run1.json": ["workload.md", "workload.html", "workload.json"],
    }
    files = sorted(path for path in (tmp_path / "reports").rglob("*") if path.is_file())
    written = [path.stat().st_mtime_ns for path in files]
    assert [str(path.relative_to(tmp_path)) for path in files] == [
        f"reports/{run}/workload.{suffix}" for run in ("run0", "run1.json") for suffix in ("html", "json", "md")
    ]
    done(tmp_path, REPORT)
    assert [path.stat().st_mtime_ns for path in files] == written
    (tmp_path / "reports" / "run1.json" / "workload.md").unlink()
    assert [run.unchanged for run in done(tmp_path, REPORT).runs] == [True, False]
    assert (tmp_path / "reports" / "run1.json" / "workload.md").is_file()


def test_a_report_that_cannot_be_made_is_told_and_tried_again(tmp_path: Path) -> None:
    nightly(tmp_path, 1)
    report = REPORT.replace("workload", "uvm")
    for _ in range(2):
        (error,) = done(tmp_path, report).errors
        assert (error.message, error.exit_code) == ("uvm is a report on one trace, these are 2", 2)


def test_shards_share_the_runs_and_do_together_what_one_does(tmp_path: Path) -> None:
    nightly(tmp_path, 7)
    done(tmp_path)
    (tmp_path / "traces").rename(tmp_path / "whole")
    shares = [[run.name for run in done(tmp_path, shard=(part, 3)).runs] for part in range(3)]
    assert sorted(name for share in shares for name in share) == [
        "run0", "run1.json", "run2.json", "run3.json", "run4.json", "run5.json", "run6.json",
    ]  # fmt: skip
    assert sum(map(bool, shares)) > 1
    assert contents(tmp_path / "traces") == contents(tmp_path / "whole")
    assert all(run.unchanged for run in done(tmp_path).runs)


def test_a_kept_record_that_is_damaged_is_no_record(tmp_path: Path) -> None:
    nightly(tmp_path, 1)
    done(tmp_path)
    (record,) = (tmp_path / "traces" / "batch").iterdir()
    assert json.loads(record.read_text())["traces"] == [m.id for m in Archive(tmp_path / "traces").manifests()][::-1]
    record.write_text('{"key": 3')
    assert states(done(tmp_path)) == {"run0": (False, 2, 0)}


def test_a_check_measures_each_run_once_and_writes_its_reports(tmp_path: Path) -> None:
    (tmp_path / "nightly").mkdir()
    for night in ("01", "02"):
        shutil.copy(SAMPLES / "history" / f"night-{night}.json.gz", tmp_path / "nightly")
    check = '[check]\nformats = ["json", "junit"]\nfolder = "checks"\n'
    first = done(tmp_path, check)
    assert first.errors == []
    assert first.checked is not None
    assert {one.verdict for one in first.checked.checks} == {"inconclusive"}
    assert [Path(file).name for file in first.written] == ["check.json", "check.xml"]
    history = tmp_path / "traces" / "history"
    measured = contents(history)
    assert len(measured) == 2
    written = contents(tmp_path / "checks")
    assert all(run.unchanged for run in done(tmp_path, check).runs)
    shutil.rmtree(history)
    assert not any(run.unchanged for run in done(tmp_path, check).runs)
    assert (contents(history), contents(tmp_path / "checks")) == (measured, written)
    assert done(tmp_path, check, shard=(0, 1)).checked is None


def test_where_nothing_was_checked_no_earlier_check_is_left(tmp_path: Path) -> None:
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "check.xml").write_text("all is well")
    (tmp_path / "nightly").mkdir()
    batch = done(tmp_path, '[check]\nformats = ["json", "junit"]\nfolder = "checks"\n')
    assert batch.checked is not None
    assert [(one.series, one.metric, one.verdict) for one in batch.checked.checks] == [
        ("none", "runs", "inconclusive"),
        (f"{tmp_path}/nightly/*", "input", "inconclusive"),
    ]
    assert batch.checked.checks[1].sentence == (
        f"Inconclusive: {tmp_path}/nightly/*: nothing is there. Check the paths of the pipeline."
    )
    assert batch.checked.health == (f"not read: {tmp_path}/nightly/*: nothing is there",)
    assert [error.message for error in batch.errors] == [f"{tmp_path}/nightly/*: nothing is there"]
    assert sorted(path.name for path in (tmp_path / "checks").iterdir()) == ["check.json", "check.xml"]
    assert 'failures="0" errors="1" skipped="1"' in (tmp_path / "checks" / "check.xml").read_text()


def test_a_run_that_was_not_read_or_measured_is_an_error_of_the_check(tmp_path: Path) -> None:
    (tmp_path / "nightly").mkdir()
    shutil.copy(SAMPLES / "history" / "night-01.json.gz", tmp_path / "nightly")
    (tmp_path / "nightly" / "night-02.json").write_text("{}")
    for _ in range(2):
        batch = done(tmp_path, '[check]\nformats = ["html", "json", "junit"]\nfolder = "checks"\n')
        assert batch.checked is not None
        assert [(one.series, one.verdict) for one in batch.checked.checks if one.metric == "measurement"] == [
            ("night-02.json", "inconclusive")
        ]
        assert 'errors="1"' in (tmp_path / "checks" / "check.xml").read_text()
        assert [len(run.failures) for run in batch.runs] == [0, 1]
    assert [Path(file).name for file in batch.written] == ["check.html", "check.json", "check.xml"]


def test_a_damaged_history_is_an_error_beside_the_check(tmp_path: Path) -> None:
    (tmp_path / "nightly").mkdir()
    for night in ("01", "02"):
        shutil.copy(SAMPLES / "history" / f"night-{night}.json.gz", tmp_path / "nightly")
    check = '[check]\nformats = ["junit"]\nfolder = "checks"\n'
    done(tmp_path, check)
    damaged = min((tmp_path / "traces" / "history" / "runs").glob("*/*.json"))
    damaged.write_text("{")
    batch = done(tmp_path, check)
    assert [(error.message, error.exit_code) for error in batch.errors] == [(f"{damaged}: is damaged", 6)]
    assert [Path(file).name for file in batch.written] == ["check.xml"]
    assert 'errors="1"' in (tmp_path / "checks" / "check.xml").read_text()


def test_a_trace_that_was_cut_short_is_told_of_each_time(tmp_path: Path) -> None:
    nightly(tmp_path, 1)
    (tmp_path / "nightly" / "late.json").write_bytes(trace("late")[:-2])
    for unchanged in (False, True):
        batch = done(tmp_path)
        assert [run.unchanged for run in batch.runs] == [unchanged] * 2
        assert [one.partition(" (")[0] for one in batch.warnings] == [
            f"{tmp_path}/nightly/late.json: the file ends early: events after that point are missing"
        ]


def test_an_archive_that_takes_no_catalogue_is_told_when_all_else_is_done(tmp_path: Path) -> None:
    nightly(tmp_path, 2)
    (tmp_path / "traces" / "catalog.duckdb" / "full").mkdir(parents=True)
    batch = done(tmp_path)
    assert states(batch) == {"run0": (False, 2, 2), "run1.json": (False, 1, 1)}
    assert [error.exit_code for error in batch.errors] == [6]
    shutil.rmtree(tmp_path / "traces" / "catalog.duckdb")
    assert done(tmp_path).errors == []
    assert (tmp_path / "traces" / "catalog.duckdb").is_file()


def test_a_file_that_was_still_being_written_is_read_when_it_is_complete(tmp_path: Path) -> None:
    (tmp_path / "nightly").mkdir()
    path = tmp_path / "nightly" / "run.json"
    path.write_bytes(trace("late")[:9])
    assert len(done(tmp_path).errors) == 1
    path.write_bytes(trace("late"))
    assert states(done(tmp_path)) == {"run.json": (False, 1, 1)}
