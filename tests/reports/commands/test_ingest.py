import gzip
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.collect.object_store import serving
from tests.collect.small_traces import trace
from tests.collect.test_archives import tar, zipped
from tests.samples import sample
from tracelode.reports.cli import main


class Done(NamedTuple):
    """What a command wrote."""

    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command line in this process."""

    def run(*arguments: str | Path, code: int = 0) -> Done:
        monkeypatch.setattr(sys, "argv", ["tracelode", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        done = Done(*capfd.readouterr())
        assert left.value.code == code, done.stderr
        return done

    return run


@pytest.fixture
def ingest(run: Run, tmp_path: Path) -> Callable[..., tuple[list[dict[str, Any]], list[str]]]:
    """Reads into the archive `t`; the rows of the answer, and the lines on standard error."""

    def ingest(*paths: str | Path, code: int = 0) -> tuple[list[dict[str, Any]], list[str]]:
        done = run("ingest", *paths, "--archive", tmp_path / "t", "--format", "json", code=code)
        return json.loads(done.stdout or "[]"), done.stderr.splitlines()

    return ingest


Ingest = Callable[..., tuple[list[dict[str, Any]], list[str]]]


def test_a_folder_of_ranks_is_a_run_and_each_trace_shows_its_rank_and_where_it_is_from(
    tmp_path: Path, ingest: Ingest, run: Run
) -> None:
    job = tmp_path / "job"
    job.mkdir()
    for name, content in {
        "stated.json": trace("a", rank=3),
        "rank1.json.gz": gzip.compress(trace("b")),
        "more.json": trace("c"),
        "README": b"read me",
    }.items():
        (job / name).write_bytes(content)
    rows, said = ingest(job)
    assert [(Path(row["source"]).name, row["rank"], row["state"]) for row in rows] == [
        ("more.json", 0, "new"),
        ("rank1.json.gz", 1, "new"),
        ("stated.json", 3, "new"),
    ]
    assert said == [f"left out: {job}/README: not a trace of a known format (it begins 'read me')"]
    listed = json.loads(run("ls", "--archive", tmp_path / "t", "--format", "json").stdout)
    assert {(row["run"], row["rank"], row["rank_from"]) for row in listed} == {
        ("job", 3, "file"),
        ("job", 1, "name"),
        ("job", 0, "order"),
    }
    assert [row["rank"] for row in listed] == [0, 1, 3]
    shown = run("info", job / "more.json", "--archive", tmp_path / "t").stdout
    assert f"{job}/more.json (run job, rank 0 by its place in the order)" in shown
    run("fsck", "--archive", tmp_path / "t")
    assert {row["state"] for row in ingest(job, "--jobs", "2")[0]} == {"known"}


def test_claims_of_one_rank_and_files_of_one_content_are_warned_of(tmp_path: Path, ingest: Ingest, run: Run) -> None:
    job = tmp_path / "job"
    job.mkdir()
    for name, content in {"rank0.json": trace("a"), "x.json": trace("b", rank=0), "rank7.json": trace("a")}.items():
        (job / name).write_bytes(content)
    rows, said = ingest(job)
    assert [row["rank"] for row in rows] == [0, 7, 0]
    first, second = said
    assert first == f"warning: run job: rank 0 is claimed by 2 traces, all are kept: {job}/rank0.json, {job}/x.json"
    assert second.startswith("warning: run job: 2 files have the same content and are one trace, ")
    answer = json.loads(run("info", job / "rank0.json", "--archive", tmp_path / "t", "--format", "json").stdout)
    assert [(Path(one["source"]).name, one["rank"]) for one in answer["sources"]] == [
        ("rank0.json", 0),
        ("rank7.json", 7),
    ]
    listed = json.loads(run("ls", "--archive", tmp_path / "t", "--format", "json").stdout)
    assert [(Path(row["source"]).name, row["rank"]) for row in listed] == [
        ("rank0.json", 0),
        ("x.json", 0),
        ("rank7.json", 7),
    ]
    assert listed[0]["trace_id"] == listed[2]["trace_id"]
    assert len(listed[0]["trace_id"]) == 64


def test_an_archive_gives_its_traces_and_names_what_it_lacks(tmp_path: Path, ingest: Ingest, run: Run) -> None:
    whole = tar(
        {"rank0.json": trace("a"), "rank1.json": trace("b"), "notes.txt": b"some notes", "rank2.json": b"1" * 999}
    )
    (tmp_path / "cut.tar").write_bytes(whole.rstrip(b"\0")[:-300])
    rows, said = ingest(tmp_path / "cut.tar", code=5)
    assert [row["source"] for row in rows] == [f"{tmp_path}/cut.tar!/rank{n}.json" for n in (0, 1)]
    assert said[0] == f"left out: {tmp_path}/cut.tar!/notes.txt: not a trace of a known format (it begins 'some notes')"
    assert f"error: {tmp_path}/cut.tar: unexpected end of data: what follows rank2.json is lost" in said
    (tmp_path / "none.zip").write_bytes(zipped(("a.txt", b"some text"), ("b.txt", b"some text")))
    rows, said = ingest(tmp_path / "none.zip", code=5)
    assert (rows, said[-2]) == ([], f"error: {tmp_path}/none.zip: no trace in this archive")
    answer = json.loads(run("info", f"{tmp_path}/cut.tar!/rank1.json", "--format", "json").stdout)
    assert (answer["source"], answer["facts"]["kernels"]) == (f"{tmp_path}/cut.tar!/rank1.json", 1)


def test_one_path_that_is_not_there_does_not_stop_the_others(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "x.json").write_bytes(trace())
    rows, said = ingest(tmp_path / "none", "http://host/x", tmp_path / "x.json", code=2)
    assert len(rows) == 1
    assert [line for line in said if line.startswith("error: ")] == [
        f"error: {tmp_path}/none: no such file",
        "error: http://host/x: http URLs are not read",
        "error: 2 of 3 not read",
    ]


def test_names_of_odd_bytes_are_read_and_shown(tmp_path: Path, ingest: Ingest, run: Run) -> None:
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/job\xff")
    Path(odd).mkdir()
    (Path(odd) / "rank4\x1b[2J.json").write_bytes(trace())
    rows, _ = ingest(odd)
    assert (rows[0]["rank"], rows[0]["source"]) == (4, f"{tmp_path}/job\\udcff/rank4\x1b[2J.json")
    for output in (run("ls", "--archive", tmp_path / "t").stdout, run("info", f"{odd}/rank4\x1b[2J.json").stdout):
        assert "\x1b" not in output
        assert "job\\udcff" in output


def test_traces_in_a_store_are_read_by_their_urls(
    tmp_path: Path, ingest: Ingest, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"ACCESS_KEY_ID": "k", "SECRET_ACCESS_KEY": "s", "EC2_METADATA_DISABLED": "true"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    with serving("jobs", {"job/rank0.json": trace("a"), "job/rank1.json": trace("b"), "job/x.txt": b"text"}) as store:
        monkeypatch.setenv("AWS_ENDPOINT_URL", store.url)
        rows, said = ingest("s3://jobs/job/", "--jobs", "2")
        assert [(row["source"], row["rank"]) for row in rows] == [
            ("s3://jobs/job/rank0.json", 0),
            ("s3://jobs/job/rank1.json", 1),
        ]
        assert [line[:34] for line in said] == ["left out: s3://jobs/job/x.txt: not"]
        assert "rank 1 by its name" in run("info", "s3://jobs/job/rank1.json", "--archive", tmp_path / "t").stdout
        assert run("info", "s3://jobs/none.json", code=2).stderr == (
            "error: s3://jobs/none.json: no such file\nhint: check the path\n"
        )


def test_a_bar_with_rate_and_remaining_time_is_shown_on_a_terminal_only(tmp_path: Path) -> None:
    program = (
        "import sys, time\n"
        "from tracelode.reports import options\n"
        "options.PROGRESS_S = 0.05\n"
        "with options.progress('reading [b]x[/b]', lambda: 4_000_000) as heard:\n"
        "    for _ in range(8):\n"
        "        time.sleep(0.1)\n"
        "        if heard: heard(500_000)\n"
        "print('told' if heard else 'silent')\n"
    )
    main, other = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=other,
        env=os.environ | {"COLUMNS": "120", "TERM": "xterm"},
    )
    os.close(other)
    shown = b""
    while True:
        try:
            shown += os.read(main, 65536)
        except OSError:  # the end, on Linux
            break
    os.close(main)
    assert done.stdout == b"told\n"
    for part in (b"reading [b]x[/b]", b"/4.0 MB", b"MB/s", b"0:00:0"):
        assert part in shown, part
    quiet = subprocess.run([sys.executable, "-c", program], capture_output=True)
    assert (quiet.stdout, quiet.stderr) == (b"silent\n", b"")


def test_a_file_that_was_cut_short_is_warned_of(tmp_path: Path, ingest: Ingest) -> None:
    (tmp_path / "cut.json").write_bytes(trace("a").removesuffix(b"]}") + b", {")
    rows, said = ingest(tmp_path / "cut.json")
    assert [row["state"] for row in rows] == ["new"]
    assert said[0].startswith(f"warning: {tmp_path}/cut.json: the file ends early: events after that point are missing")


def test_a_file_that_was_damaged_is_warned_of_and_what_is_not_there_may_have_been(
    tmp_path: Path, ingest: Ingest, run: Run
) -> None:
    content = sample("perfetto").read_bytes()
    (tmp_path / "cut.pftrace").write_bytes(content[: len(content) // 10])
    _, said = ingest(tmp_path / "cut.pftrace")
    assert said[0].startswith(f"warning: {tmp_path}/cut.pftrace: the file is cut or damaged: what follows that place")
    lines = run("info", tmp_path / "cut.pftrace", "--archive", tmp_path / "t").stdout.splitlines()
    assert "kernels                 none found" in lines
    whole = run("info", sample("memory_snapshot")).stdout.splitlines()
    assert "kernels                 none recorded" in whole


def test_a_folder_without_an_archive_is_no_sound_archive(tmp_path: Path, run: Run) -> None:
    (tmp_path / "a.json").write_bytes(trace("a"))
    for verb in ("fsck", "ls"):
        said = run(verb, "--archive", tmp_path, code=2).stderr
        assert said.startswith(f"error: {tmp_path}: no archive there\nhint: ")


def test_a_table_whose_file_is_gone_is_an_archive_problem(tmp_path: Path, ingest: Ingest, run: Run) -> None:
    (tmp_path / "a.json").write_bytes(trace("a"))
    ingest(tmp_path / "a.json")
    (path,) = tmp_path.glob("t/traces/*/kernel.parquet")
    path.unlink()
    said = run("info", tmp_path / "a.json", "--archive", tmp_path / "t", code=6).stderr
    assert said.startswith("error: table kernel: ")
    assert str(path) in said
    assert said.endswith("\nhint: check the archive: tracelode fsck\n")


def test_without_a_verb_the_help_is_shown(run: Run) -> None:
    assert run(code=2).stderr.startswith("Usage: tracelode [OPTIONS] COMMAND [ARGS]...\n")
