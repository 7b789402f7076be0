import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.collect.small_traces import trace
from tests.reports.batches import batch, contents, finish, nightly, write_pipeline
from tracelode.reports.cli import main

DONE = (
    "batch: 4 runs (0 unchanged), 5 traces (5 new), 0 report files written, no error. Archive: {}/traces. Exit code 0."
)
AGAIN = DONE.replace("(0 unchanged)", "(4 unchanged)").replace("(5 new)", "(0 new)")


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[str, list[str]]]:
    """Runs a batch in this process; its standard output and the lines of its standard error."""

    def run(*arguments: str | Path, code: int = 0) -> tuple[str, list[str]]:
        monkeypatch.setattr(sys, "argv", ["tracelode", "batch", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        done = capfd.readouterr()
        assert left.value.code == code, done.err
        return done.out, done.err.splitlines()

    return run


Batch = Callable[..., tuple[str, list[str]]]


def test_one_line_sums_up_and_json_holds_all(tmp_path: Path, run: Batch) -> None:
    nightly(tmp_path, 4)
    again = AGAIN.format(tmp_path)
    assert run(write_pipeline(tmp_path)) == ("", [DONE.format(tmp_path)])
    assert run(write_pipeline(tmp_path), "-o", tmp_path / "done.json") == ("", [again])
    document = json.loads((tmp_path / "done.json").read_text())
    assert document["schema"] == "tracelode.batch/1"
    assert (document["exit_code"], document["summary"], document["check"]) == (0, again, None)
    assert [one["run"] for one in document["runs"]] == ["run0", "run1.json", "run2.json", "run3.json"]
    assert (document["errors"], document["warnings"]) == ([], [])


def test_what_fails_is_told_and_the_document_is_written_all_the_same(tmp_path: Path, run: Batch) -> None:
    nightly(tmp_path, 1)
    (tmp_path / "nightly" / "bad\x1b.json").write_text("{}")
    pipeline = write_pipeline(tmp_path, '[[ingest]]\npaths = ["gone"]')
    out, said = run(pipeline, "-o", "-", code=5)
    document = json.loads(out)
    assert [(one["message"].partition(": ")[0], one["exit_code"]) for one in document["errors"]] == [
        (f"{tmp_path}/gone", 5),
        (f"{tmp_path}/nightly/bad\x1b.json", 5),
    ]
    assert said[0::2] == [
        f"error: {tmp_path}/gone: nothing is there",
        f"error: {tmp_path}/nightly/bad␛.json: not a trace of a known format (it begins '{{}}')",
        f"batch: 2 runs (0 unchanged), 2 traces (2 new), 0 report files written, 2 errors. Archive: {tmp_path}/traces. "
        "Exit code 5.",
    ]
    assert [(one["run"], one["errors"], len(one["unread"])) for one in document["runs"]] == [
        ("bad\x1b.json", 1, 1),
        ("run0", 0, 0),
    ]


def test_the_last_line_names_the_reports_and_files_and_json_holds_each_once(tmp_path: Path, run: Batch) -> None:
    nightly(tmp_path, 2)
    (tmp_path / "nightly" / "run1.json").write_bytes(trace("late")[:-2])
    report = '[[report]]\ntopic = "workload"\nformats = ["html", "json"]\nfolder = "reports"\n'
    check = '[check]\nformats = ["html", "json", "prom"]\nfolder = "checks"\n'.replace("prom", "openmetrics")
    _, said = run(write_pipeline(tmp_path, report + check), "-o", tmp_path / "done.json", code=4)
    files = [f"{tmp_path}/checks/check.{suffix}" for suffix in ("html", "json", "prom")]
    assert "4 report files written, no error." in said[-1]
    assert said[-1].endswith(
        f" Reports: {tmp_path}/reports. Check: {', '.join(files)}. Archive: {tmp_path}/traces. Exit code 4."
    )
    assert said[0].startswith(f"warning: {tmp_path}/nightly/run1.json: the file ends early")
    document = json.loads((tmp_path / "done.json").read_text())
    assert document["check"]["written"] == files
    assert len(document["warnings"]) == 1


def test_the_worst_thing_gives_the_exit_code(tmp_path: Path, run: Batch) -> None:
    nightly(tmp_path, 1)
    report = '[[report]]\ntopic = "uvm"\nformats = ["md"]\nfolder = "reports"\n[[ingest]]\npaths = ["gone"]\n'
    run(write_pipeline(tmp_path, report), code=2)
    for manifest in (tmp_path / "traces" / "traces").glob("*/manifest.json"):
        manifest.write_text("not one")
    run(write_pipeline(tmp_path, report.replace("gone", "nowhere").replace("uvm", "workload")), code=6)


@pytest.mark.parametrize("shard", ["3/3", "1", "-1/3", "1/0", "a/b"])
def test_a_part_that_there_is_not_is_a_wrong_argument(tmp_path: Path, run: Batch, shard: str) -> None:
    out, said = run(write_pipeline(tmp_path), f"--shard={shard}", code=2)
    assert (out, len(said)) == ("", 2)
    assert "as in 0/8" in said[0]


def test_processes_here_and_a_cluster_exclude_each_other(tmp_path: Path, run: Batch) -> None:
    said = run(write_pipeline(tmp_path), "--dask", "tcp://nowhere:1", "--jobs", "2", code=2)[1]
    assert said[0] == "error: --jobs is for this machine, --dask for a cluster: give one of them"


def test_a_missing_pipeline_is_told_in_words(tmp_path: Path, run: Batch) -> None:
    assert run(tmp_path / "none.toml", code=2)[1][0] == f"error: {tmp_path}/none.toml: No such file or directory"


HOLDER = """
import sys
from pathlib import Path
from tracelode.reports import batching
from tracelode.reports.cli import main
def do_batch(*_, **__):
    print("begun", flush=True)
    sys.stdin.read()
batching.do_batch = do_batch
main()
"""


def test_another_batch_of_the_pipeline_waits_or_is_not_begun(tmp_path: Path, run: Batch) -> None:
    nightly(tmp_path, 4)
    pipeline = write_pipeline(tmp_path)
    command = [sys.executable, "-c", HOLDER, "batch", str(pipeline)]
    first = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    assert first.stdout.readline() == "begun\n"
    assert run(pipeline, "--no-wait", code=4) == ("", ["another batch of this pipeline is under way: nothing was done"])
    shard = run(pipeline, "--no-wait", "--shard", "0/1")
    second = batch(pipeline)
    assert second.stderr is not None
    assert second.stderr.readline() == "waiting: another batch of this pipeline is under way\n"
    first.kill()
    first.communicate()
    assert (shard, finish(second)) == (("", [DONE.format(tmp_path)]), [AGAIN.format(tmp_path)])


def traces_in(archive: Path) -> int:
    return len(list(archive.glob("traces/*")))


def staged(archive: Path) -> list[Path]:
    return [path for path in archive.glob(".staging/*") if path.is_dir()]


def test_killed_at_any_point_and_called_again_it_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    report = '[[report]]\ntopic = "workload"\nformats = ["json"]\nfolder = "reports"\n'
    nightly(tmp_path, 6)
    pipeline, archive, reports = write_pipeline(tmp_path, report), tmp_path / "traces", tmp_path / "reports"
    finish(batch(pipeline, "--jobs", "2"))
    whole, made = contents(archive), contents(reports)
    archive.rename(tmp_path / "whole")
    reports.rename(tmp_path / "whole-reports")
    points: list[Callable[[], bool]] = [
        lambda: traces_in(archive) >= 1,
        lambda: len(list(archive.glob("derived/*/*"))) >= 4,
        lambda: len(list(reports.glob("*/*"))) >= 2,
    ]
    for reached in points:
        process = batch(pipeline, "--jobs", "2")
        while not reached():
            assert process.poll() is None, process.communicate()
            time.sleep(0.001)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    last = finish(batch(pipeline))[-1]
    assert re.fullmatch(
        r"batch: 6 runs \(0 unchanged\), 7 traces \(\d+ new\), 6 report files written, no error\. .*", last
    )
    assert contents(archive) == whole
    assert contents(reports) == made


def test_eight_batches_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    nightly(tmp_path, 8)
    first = write_pipeline(tmp_path)
    finish(batch(first))
    whole = contents(tmp_path / "traces")
    (tmp_path / "traces").rename(tmp_path / "whole")
    others = [write_pipeline(tmp_path, name=f"{number}.toml") for number in range(2)]
    processes = [
        batch(first),
        batch(first),
        *(batch(first, "--shard", f"{part}/3") for part in range(3)),
        *(batch(one) for one in others),
        batch(write_pipeline(tmp_path, name="few.toml", paths="nightly/run[0-3]*"), "--jobs", "2"),
    ]
    for process in processes:
        finish(process)

    def results(archive: dict[str, str]) -> dict[str, str]:
        return {name: digest for name, digest in archive.items() if not name.startswith("batch/")}

    assert results(contents(tmp_path / "traces")) == results(whole)
    assert staged(tmp_path / "traces") == []
    assert finish(batch(first)) == [
        f"batch: 8 runs (8 unchanged), 9 traces (0 new), 0 report files written, no error. Archive: {tmp_path}/traces. "
        "Exit code 0."
    ]


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_on_a_cluster_of_which_a_worker_is_killed_no_trace_is_lost(tmp_path: Path, run: Batch) -> None:
    distributed: Any = pytest.importorskip("distributed")
    nightly(tmp_path, 12)
    pipeline, archive = write_pipeline(tmp_path), tmp_path / "traces"
    finish(batch(pipeline))
    whole = contents(archive)
    archive.rename(tmp_path / "whole")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs="CRITICAL"
    ) as cluster:
        process = batch(pipeline, "--dask", cluster.scheduler_address)
        while traces_in(archive) < 3:
            assert process.poll() is None
            time.sleep(0.001)
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        said = finish(process)
    assert re.fullmatch(
        r"batch: 12 runs \(0 unchanged\), 13 traces \(\d+ new\), 0 report files .*, no error\. .*", said[-1]
    )
    assert contents(archive) == whole
