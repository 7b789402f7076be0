import gzip
import io
import json
import os
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest

from tests.native.programs import Programs
from tracelode.reports.cli import main

ROOT = Path(__file__).parents[2]
KINETO = ROOT / "data" / "samples" / "train.json.gz"
NSYS = ROOT / "data" / "samples" / "train.sqlite"


def run(*arguments: str | Path, code: int = 0, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"COLUMNS": "100"} | more
    command = [sys.executable, "-m", "tracelode", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, input=stdin, env=environment)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def refused(*arguments: str | Path, code: int) -> str:
    """Has the command line fail, in this process; its one error line and one hint line, nothing on standard output."""
    out, told = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["tracelode", *map(str, arguments)]),
        redirect_stdout(out),
        redirect_stderr(told),
        pytest.raises(SystemExit) as left,
    ):
        main()
    assert left.value.code == code, told.getvalue()
    assert out.getvalue() == ""
    return error_in(told.getvalue())


def error_in(told: str) -> str:
    """The error line of the two lines of a refusal."""
    error, hint = told.splitlines()
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")
    return error


@pytest.mark.parametrize("sample", [KINETO, NSYS], ids=["kineto", "nsys"])
def test_info_gives_the_facts_of_the_generator(sample: Path) -> None:
    truth = json.loads((ROOT / "data" / "samples" / "train.truth.json").read_text())
    answer = json.loads(run("info", sample, "--format", "json").stdout)
    facts = answer["facts"]
    for key in ("kernels", "kernel_time_ns", "launch_calls"):
        assert facts[key] == truth[key], key
    assert facts["streams"] == len(truth["streams"])
    assert facts["kernel_names"] == truth["distinct_kernel_names"]
    assert facts["runtime_calls"] == truth["api_calls"]
    offset = truth["clock"]["kineto"]["offset_ns"] if sample == KINETO else 0
    assert facts["gpu_first_ns"] - offset == truth["gpu_first_ns"]
    assert facts["gpu_last_ns"] - offset == truth["gpu_last_ns"]
    assert answer["notes"] == []


@pytest.mark.parametrize("sample", [KINETO, NSYS], ids=["kineto", "nsys"])
def test_mine_finds_the_planted_iterations(sample: Path) -> None:
    truth = json.loads((ROOT / "data" / "samples" / "train.truth.json").read_text())
    data = json.loads(run("mine", sample, "--format", "json").stdout)["data"]
    (main,) = [level for level in data["level"] if level["kind"] == "iteration"]
    assert main["period"] == 181
    assert main["stream"] is None
    planted = truth["iterations"]
    found = [row for row in data["iteration"] if row["level"] == main["level"]]
    assert len(found) == len(planted) == 12
    assert [row["last"] for row in found] == [p["first_operation"] + p["operations"] - 1 for p in planted]
    assert [row["first"] for row in found[1:]] == [p["first_operation"] for p in planted[1:]]
    backward = data["pattern"][0]
    assert len(backward["symbols"]) == 25
    assert backward["count"] == 4 * 12


def test_a_whole_session_over_an_archive(tmp_path: Path) -> None:
    archive = tmp_path / "traces"
    rows = json.loads(run("ingest", KINETO, NSYS, "--archive", archive, "--format", "json").stdout)
    assert [(row["state"], row["format"]) for row in rows] == [("new", "kineto"), ("new", "nsys")]
    again = json.loads(run("ingest", KINETO, "--archive", archive, "--format", "json").stdout)
    assert [row["state"] for row in again] == ["known"]
    listed = json.loads(run("ls", "--archive", archive, "--format", "json").stdout)
    assert sorted(row["format"] for row in listed) == ["kineto", "nsys"]
    query = "select count(*) as kernels, count(distinct trace_id) as traces from kernel"
    assert run("sql", query, "--archive", archive, "--format", "csv").stdout == "kernels,traces\n4234,2\n"
    one = run("sql", "-", "--trace", rows[0]["trace_id"], "--archive", archive, "--format", "jsonl", stdin=query)
    assert json.loads(one.stdout) == {"kernels": 2117, "traces": 1}
    assert run("fsck", "--archive", archive).stdout == "2 traces, every file as its manifest says\n"
    assert (archive / "catalog.duckdb").is_file()


def test_a_folder_is_a_run(tmp_path: Path) -> None:
    done = run("ingest", ROOT / "data" / "samples" / "two-ranks", "--archive", tmp_path, "--format", "json")
    assert len(json.loads(done.stdout)) == 2
    assert done.stderr.count("left out: ") == 2  # the truth files are no traces
    query = "select rank, world_size from process order by rank"
    assert run("sql", query, "--archive", tmp_path, "--format", "csv").stdout == "rank,world_size\n0,2\n1,2\n"
    listed = json.loads(run("ls", "--archive", tmp_path, "--format", "json").stdout)
    assert {row["run"] for row in listed} == {"two-ranks"}


def test_fsck_finds_a_flipped_bit(tmp_path: Path) -> None:
    run("ingest", NSYS, "--archive", tmp_path)
    path = next(tmp_path.glob("traces/*/kernel.parquet"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    done = run("fsck", "--archive", tmp_path, code=6)
    assert done.stdout.endswith("kernel.parquet: does not have the sha256 of its manifest\n")
    assert done.stderr.startswith("error: ")


def test_a_report_is_written_with_its_numbers_beside_it(tmp_path: Path) -> None:
    done = run("report", "perf", KINETO, "-o", tmp_path / "report.html")
    assert done.stdout == ""
    assert f"written: {tmp_path / 'report.html'}" in done.stderr
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    numbers = json.loads((tmp_path / "report.json").read_text())
    assert numbers["topic"] == "perf"
    assert sorted(path.name for path in tmp_path.glob("report*")) == ["report.html", "report.json"]


def test_every_format_writes_rows(tmp_path: Path) -> None:
    query = "select name, count(*) as calls from kernel group by name order by calls desc, name limit 3"
    outputs = {f: run("sql", query, "--trace", NSYS, "--format", f) for f in ("table", "json", "jsonl", "csv", "md")}
    rows = json.loads(outputs["json"].stdout)
    assert len(rows) == 3
    assert [json.loads(line) for line in outputs["jsonl"].stdout.splitlines()] == rows
    assert len(outputs["md"].stdout.splitlines()) == len(outputs["table"].stdout.splitlines()) + 1 == 5
    run("sql", query, "--trace", NSYS, "--format", "parquet", "-o", tmp_path / "rows.parquet")
    assert pl.read_parquet(tmp_path / "rows.parquet").to_dicts() == rows


def test_bad_input_gets_one_error_and_a_hint_and_leaves_nothing(tmp_path: Path) -> None:
    whole = gzip.decompress(KINETO.read_bytes())
    bad = {
        "garbage.json": bytes(range(256)) * 100,
        "empty.json": b"",
        "wrong.sqlite": b"name,start\nk,1\n",
        "page.json": b"<!DOCTYPE html><p>Not found</p>",
        "cut.sqlite": NSYS.read_bytes()[:5000],
        "cut.json": whole[:200],
        "cut.json.gz": KINETO.read_bytes()[:10],
        "pointer.json": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        "list.json": b"[1, 2, 3]",
        "object.json": b'{"a": 1}',
    }
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
        assert name in refused("ingest", "--archive", tmp_path / "traces", tmp_path / name, code=5), name
    process = run("ingest", "--archive", tmp_path / "traces", tmp_path / "garbage.json", code=5)
    assert error_in(process.stderr) == refused(
        "ingest", "--archive", tmp_path / "traces", tmp_path / "garbage.json", code=5
    )
    for verb in (["info"], ["mine"], ["report", "perf"], ["sql", "select 1", "--trace"]):
        assert "garbage.json" in refused(*verb, tmp_path / "garbage.json", code=5)
    assert refused("info", tmp_path / "missing.json", code=2).endswith("missing.json: no such file")
    refused("ingest", tmp_path / "missing.json", "--archive", tmp_path / "traces", code=2)
    assert list(tmp_path.glob("traces/traces/*")) == []
    assert list(tmp_path.glob("traces/.staging/*")) == []


@pytest.mark.parametrize("packed", [False, True], ids=["json", "gzip"])
def test_a_cut_trace_with_usable_events_is_read_with_a_note(tmp_path: Path, packed: bool) -> None:
    if packed:
        (tmp_path / "cut.json.gz").write_bytes(KINETO.read_bytes()[: KINETO.stat().st_size * 2 // 3])
    else:
        whole = gzip.decompress(KINETO.read_bytes())
        (tmp_path / "cut.json").write_bytes(whole[: len(whole) * 2 // 3])
    (path,) = tmp_path.glob("cut.*")
    answer = json.loads(run("info", path, "--format", "json").stdout)
    assert 500 < answer["facts"]["kernels"] < 2117
    assert "truncated" in [note["kind"] for note in answer["notes"]]


def test_usage_errors_exit_with_2_in_the_same_form(tmp_path: Path) -> None:
    assert error_in(run("nonsense", code=2).stderr) == refused("nonsense", code=2)
    refused("info", code=2)
    refused("info", NSYS, "--format", "xlsx", code=2)
    refused("report", "nonsense", NSYS, code=2)
    refused("sql", code=2)
    refused("sql", "select 1", "--archive", tmp_path / "none", code=2)
    refused("ls", "--archive", tmp_path / "none", code=2)
    refused("info", "abcdef", "--archive", tmp_path / "none", code=2)
    refused("mine", NSYS, "--format", "csv", code=2)
    refused("report", "perf", NSYS, "-o", tmp_path / "report.xyz", code=2)
    refused("report", "perf", NSYS, "-o", tmp_path / "no" / "folder" / "report.html", code=2)
    assert "not collected" in refused("sql", "select * from fault", "--trace", NSYS, code=5)
    (tmp_path / "archive.toml").write_text("format = 99")
    refused("ls", "--archive", tmp_path, code=6)


def test_names_that_look_like_sql_or_markup_stay_text(tmp_path: Path) -> None:
    event = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "ts": 1.0, "dur": 2.0}
    names = [
        "=cmd|' /C calc'!A0",
        "[bold]x[/bold] [clone .kd]",
        "\u001b[31mred\u001b[0m",
        "a|b`c<d>@e",
        "'; drop table x; --",
    ]
    events = [{**event, "name": n, "args": {"device": 0, "stream": 7, "correlation": 1}} for n in names]
    (tmp_path / "hostile.json").write_text(json.dumps({"traceEvents": events}))
    query = "select name from kernel order by name"
    for format in ("table", "md", "json", "jsonl"):
        out = run("sql", query, "--trace", tmp_path / "hostile.json", "--format", format).stdout
        assert "\x1b" not in out
    table = run("sql", query, "--trace", tmp_path / "hostile.json").stdout
    assert "[bold]x[/bold] [clone .kd]" in table
    csv = run("sql", query, "--trace", tmp_path / "hostile.json", "--format", "csv").stdout
    assert "'=cmd|" in csv
    assert json.loads(run("sql", query, "--trace", tmp_path / "hostile.json", "--format", "json").stdout) == [
        {"name": name} for name in sorted(names)
    ]


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m tracelode mine {NSYS} --table member --format jsonl | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1


def test_an_unwritable_home_does_not_stop_a_report(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    run("info", NSYS, XDG_CACHE_HOME=str(tmp_path / "file"))


def test_doctor_checks_every_engine_and_says_what_can_be_recorded_and_replayed(programs: Programs) -> None:
    collector = str(programs.collector)
    lines = run("doctor", TRACELODE_REPLAYER="nowhere.so", TRACELODE_COLLECTOR=collector).stdout.splitlines()
    offered = [line for line in lines if line[6:].startswith(("record: ", "replay: "))]
    assert all(line.startswith("ok ") for line in lines if line not in offered)
    assert [line[6:24].split()[1] for line in offered] == ["driver", "collector", "CUPTI", "replayer"]
    assert all(line.startswith("ok ") or line.endswith(")") for line in offered)  # what is missing, and how to get it
    why = "nowhere.so: no such file (TRACELODE_REPLAYER names the replayer's library)"
    assert offered[-1] == f"--    replay: replayer  {why}"
    (engines,) = [line for line in lines if "suffix engine" in line]
    assert [engine in engines for engine in ("cpu: 223 repeats", "array: 223 repeats", "cuda: ")] == [True] * 3


def test_every_verb_has_a_page_and_help() -> None:
    page = (ROOT / "docs" / "commands.md").read_text()
    for verb in ("doctor", "fsck", "info", "ingest", "ls", "mine", "parts", "report", "sql"):
        assert f"\n## {verb}\n" in page
        assert len(run(verb, "--help").stdout.splitlines()) >= 5


def test_copied_archives_still_answer(tmp_path: Path) -> None:
    run("ingest", NSYS, "--archive", tmp_path / "one")
    shutil.move(tmp_path / "one", tmp_path / "two")
    out = run("sql", "select count(*) as n from kernel", "--archive", tmp_path / "two", "--format", "csv").stdout
    assert out == "n\n2117\n"


def test_a_file_the_archive_has_read_is_taken_from_there(tmp_path: Path) -> None:
    run("ingest", NSYS, "--archive", tmp_path / "traces")
    run("mine", NSYS, "--archive", tmp_path / "traces")
    assert list(tmp_path.glob("traces/derived/*/*/level.parquet")) != []
    assert (
        run("sql", "select count(*) as n from level", "--archive", tmp_path / "traces", "--format", "csv").stdout
        == "n\n6\n"
    )


def test_what_is_missing_is_said_in_one_line_without_control_characters() -> None:
    assert refused("export", KINETO, "-o", "a.json", code=2) == (
        "error: Missing option '--to'. Choose from: chrome, csv, parquet, perfetto"
    )
    assert (
        refused("report", code=2) == "error: Missing argument '{perf|uvm|workload}'. Choose from: perf, uvm, workload"
    )
    assert "\x1b" not in refused("report", "p\x1b[31m", KINETO, code=2)


def test_what_a_trace_lacks_for_an_answer_is_said_in_a_sentence(tmp_path: Path) -> None:
    refusal = refused("mine", KINETO, "--analysis", "tensor_hotness", "--archive", tmp_path / "a", code=5)
    assert refusal == "error: not collected: accesses to memory"


def test_an_archive_whose_name_is_no_utf8_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    error = refused("ingest", KINETO, "--archive", Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")), code=2)
    assert "the name of an archive's folder must be UTF-8" in error
    assert list(tmp_path.iterdir()) == []


def test_a_verdict_is_the_exit_code_of_the_process(tmp_path: Path) -> None:
    run("ingest", KINETO, "--archive", tmp_path / "t")
    assert "nconclusive" in run("watch", "check", "--archive", tmp_path / "t", code=4).stdout
    assert run("compare", KINETO, "--", KINETO, code=4).stdout
