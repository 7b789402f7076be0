"""`tracelode record` from the command line, with the stubs in the place of the driver and of CUPTI."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.native.programs import Programs
from tests.native.replays import COPY, KERNEL, Replay, recently
from tracelode.store import Archive

ITERATIONS, NAMES = 40, ("embed", "attention", "mlp", "norm", "mlp", "norm", "loss", "optimizer")


def _steps(replay: Replay, iterations: int = ITERATIONS) -> Replay:
    """A training loop: eight kernels an iteration on stream 7, 10 µs each, and a copy of 4 KiB on stream 9 before."""
    base, texts = recently(), {name: replay.text(name) for name in dict.fromkeys(NAMES)}
    for iteration in range(iterations):
        start = base + iteration * 200_000
        number = 1 + iteration * (len(NAMES) + 1)
        place = {"deviceId": 0, "contextId": 1}
        replay.add(
            COPY, start=start, end=start + 5_000, bytes=4096, copyKind=1, correlationId=number, streamId=9, **place
        )
        at = np.arange(len(NAMES))
        replay.add(
            KERNEL,
            len(NAMES),
            start=start + 10_000 + at * 15_000,
            end=start + 20_000 + at * 15_000,
            name=[texts[name] for name in NAMES],
            correlationId=number + 1 + at,
            streamId=7,
            gridX=1,
            gridY=1,
            gridZ=1,
            blockX=32,
            blockY=1,
            blockZ=1,
            **place,
        )
    return replay


def _tracelode(
    programs: Programs, folder: Path, replay: Path, *arguments: str, **changes: str
) -> "subprocess.CompletedProcess[str]":
    """Runs tracelode as a user does where the stubs are the driver and CUPTI."""
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(programs.folder / "cache"),
        "LD_LIBRARY_PATH": str(programs.driver.parent),
        "STUB_REPLAY": str(replay),
        "TRACELODE_CUPTI": str(programs.cupti),
        "TRACELODE_COLLECTOR": str(programs.collector),
        **changes,
    }
    return subprocess.run(
        [sys.executable, "-m", "tracelode", *arguments],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


def test_a_recorded_program_becomes_a_trace_like_any_other(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    path = _steps(replay).write(tmp_path / "replay")
    done = _tracelode(programs, tmp_path, path, "record", "--", str(programs.folder / "app"), RANK="2", WORLD_SIZE="4")
    assert (done.returncode, done.stdout) == (7, "the answer is 42\n")
    assert "recorded" in done.stderr and f"{ITERATIONS * len(NAMES)} kernels" in done.stderr
    archive = Archive(tmp_path / "traces")
    (manifest,) = archive.manifests()
    trace = archive.open(manifest.id)
    assert trace.sql("select count(*) n, sum(duration_ns) t, count(distinct name) k from kernel").row(0) == (
        ITERATIONS * len(NAMES),
        ITERATIONS * len(NAMES) * 10_000,
        len(set(NAMES)),
    )
    assert trace.sql("select sum(bytes) from copy").item() == ITERATIONS * 4096
    assert trace.sql("select rank, world_size from process").row(0) == (2, 4)
    assert [note.kind for note in trace.notes] == []
    assert not (tmp_path / "traces" / "recordings").exists()

    told = _tracelode(programs, tmp_path, path, "info", manifest.id[:12])
    assert told.returncode == 0 and "recording" in told.stdout
    rows = _tracelode(programs, tmp_path, path, "sql", "select count(*) as n from kernel", "--format", "json")
    assert json.loads(rows.stdout) == [{"n": ITERATIONS * len(NAMES)}]
    mined = _tracelode(
        programs, tmp_path, path, "mine", manifest.id[:12], "--analysis", "iterations", "--format", "json"
    )
    assert mined.returncode == 0, mined.stderr
    counted = "select count(*) from iteration join level using (level) where level.kind = 'iteration'"
    assert archive.open(manifest.id).sql(counted).item() == ITERATIONS
    report = _tracelode(programs, tmp_path, path, "report", "perf", manifest.id[:12], "-o", "report.html")
    assert report.returncode == 0, report.stderr
    assert (tmp_path / "report.html").stat().st_size > 100_000


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"APP_END": "kill"}, "unfinished"),
        ({"APP_END": "abort"}, "unfinished"),
        ({"APP_END": "segv"}, "unfinished"),
    ],
)
def test_a_program_that_crashes_keeps_its_status_and_what_was_flushed(
    programs: Programs, replay: Replay, tmp_path: Path, changes: dict[str, str], kind: str
) -> None:
    path = _steps(replay).write(tmp_path / "replay")
    program = ("record", "--flush", "20", "--", str(programs.folder / "app"))
    done = _tracelode(programs, tmp_path, path, *program, APP_SLEEP="600", **changes)
    assert done.returncode == 128 + {"kill": 9, "abort": 6, "segv": 11}[changes["APP_END"]]
    (manifest,) = Archive(tmp_path / "traces").manifests()
    assert kind in [note.kind for note in manifest.notes]
    assert manifest.files["kernel"]["rows"] == ITERATIONS * len(NAMES)


def test_a_program_without_cuda_says_so_and_leaves_nothing(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    path = _steps(replay).write(tmp_path / "replay")
    done = _tracelode(programs, tmp_path, path, "record", "--", "echo", "hello")
    assert (done.returncode, done.stdout) == (5, "hello\n")
    assert "nothing was recorded" in done.stderr
    assert not list((tmp_path / "traces").rglob("*"))


def test_a_failing_program_keeps_its_own_status(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    path = _steps(replay).write(tmp_path / "replay")
    assert _tracelode(programs, tmp_path, path, "record", "--", "sh", "-c", "exit 3").returncode == 3
    missing = _tracelode(programs, tmp_path, path, "record", "--", "no-such-program")
    assert missing.returncode == 2 and "no-such-program: No such file or directory" in missing.stderr


def test_another_tool_that_holds_cupti_is_named_and_the_program_runs(
    programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    path = _steps(replay).write(tmp_path / "replay")
    done = _tracelode(
        programs, tmp_path, path, "record", "--", str(programs.folder / "app"), STUB_FAIL="cuptiSubscribe:39"
    )
    assert (done.returncode, done.stdout) == (7, "the answer is 42\n")
    assert "another" in done.stderr


def test_the_agents_ranges_and_the_kernels_of_a_process_are_one_trace(
    programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    program = (
        "import ctypes\n"
        "from tracelode.collect import agent\n"
        "with agent.range('load'):\n"
        "    pass\n"
        "cuda = ctypes.CDLL('libcuda.so.1')\n"
        "cuda.cuInit(0)\n"
        "with agent.range('work'):\n"
        "    cuda.cuCtxSynchronize()\n"
        "agent.step()\n"
        "print('done')\n"
    )
    path = _steps(replay).write(tmp_path / "replay")
    done = _tracelode(programs, tmp_path, path, "record", "--", sys.executable, "-c", program)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    archive = Archive(tmp_path / "traces")
    (manifest,) = archive.manifests()
    trace = archive.open(manifest.id)
    assert trace.sql("select name from range where kind = 'annotation' order by end_ns")["name"].to_list() == [
        "load",
        "work",
        "step",
    ]
    assert trace.rows["kernel"] == ITERATIONS * len(NAMES)


def test_names_of_kernels_are_shown_and_selected_as_their_authors_wrote_them(
    programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    base, names = recently(), ("_Z4gemmIfEvPT_i", "_ZN2at6native4copyEPKci", "_Znonsense", "plain")
    for at, name in enumerate(names):
        replay.add(
            KERNEL, start=base + at * 100, end=base + at * 100 + 50, name=replay.text(name), correlationId=at + 1
        )
    path = replay.write(tmp_path / "replay")
    app = str(programs.folder / "app")
    assert _tracelode(programs, tmp_path, path, "record", "--", app).returncode == 7
    archive = Archive(tmp_path / "traces")
    (manifest,) = archive.manifests()
    shown = ["void gemm<float>(float*, int)", "at::native::copy(char const*, int)", "_Znonsense", "plain"]
    assert archive.open(manifest.id).sql("select name from kernel order by start_ns")["name"].to_list() == shown
    selected = tmp_path / "selected"
    options = ("--archive", str(selected), "--names", "gemm<float>", "--names", "_ZN2at")
    assert _tracelode(programs, tmp_path, path, "record", *options, "--", app).returncode == 7
    (manifest,) = Archive(selected).manifests()
    assert (
        Archive(selected).open(manifest.id).sql("select name from kernel order by start_ns")["name"].to_list()
        == shown[:2]
    )
    assert [note.kind for note in manifest.notes] == ["selected"]


def test_the_processes_of_a_launcher_are_the_ranks_of_one_run(
    programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    path = _steps(replay).write(tmp_path / "replay")
    app = programs.folder / "app"
    launcher = f"RANK=0 WORLD_SIZE=2 {app} & RANK=1 WORLD_SIZE=2 {app}; wait"
    done = _tracelode(programs, tmp_path, path, "record", "--", "sh", "-c", launcher, TORCHELASTIC_RUN_ID="abc")
    assert (done.returncode, done.stdout) == (0, 2 * "the answer is 42\n"), done.stderr
    archive = Archive(tmp_path / "traces")
    assert sorted((one.run, one.rank, one.rank_from) for one in archive.memberships()) == [
        ("job-abc", 0, "file"),
        ("job-abc", 1, "file"),
    ]


def test_only_what_happens_between_start_and_stop_is_recorded(
    programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    parts = []
    for at, name in enumerate(("before", "within", "after")):
        one = Replay(replay.layout)
        one.add(KERNEL, start=recently(), end=recently() + 50, name=one.text(name), correlationId=at + 1)
        parts.append(one.write(tmp_path / name))
    program = (
        "import ctypes\n"
        "from tracelode.collect import agent\n"
        "cuda = ctypes.CDLL('libcuda.so.1')\n"
        "cuda.cuInit(0)\n"
        "cuda.cuCtxSynchronize()\n"
        "agent.start()\n"
        "with agent.range('mine'):\n"
        "    cuda.cuCtxSynchronize()\n"
        "agent.stop()\n"
        "with agent.range('not mine'):\n"
        "    cuda.cuCtxSynchronize()\n"
    )
    replays = Path(":".join(map(str, parts)))
    done = _tracelode(programs, tmp_path, replays, "record", "--paused", "--", sys.executable, "-c", program)
    assert done.returncode == 0, done.stderr
    archive = Archive(tmp_path / "traces")
    trace = archive.open(archive.manifests()[0].id)
    assert trace.sql("select name from kernel")["name"].to_list() == ["within"]
    assert trace.sql("select name from range")["name"].to_list() == ["mine"]
