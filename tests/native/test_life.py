"""However a program ends, forks or threads: its status is its own, and what was delivered is recorded."""

import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.native.programs import Programs
from tests.native.replays import KERNEL, Replay, recently
from tests.native.spools import read_spool

HARMLESS = (7, "the answer is 42\n")


def written(replay: Replay, path: Path, kernels: int = 5000) -> Path:
    """A file of so many kernels."""
    base = recently()
    numbers = np.arange(kernels)
    replay.add(KERNEL, kernels, start=base, end=base + 10, name=replay.text("gemm"), correlationId=numbers)
    return replay.write(path)


@pytest.mark.parametrize("how", ["return", "exit", "quick"])
def test_a_program_that_ends_orderly_is_recorded_to_the_end(
    programs: Programs, replay: Replay, tmp_path: Path, how: str
) -> None:
    outcome = programs.run(tmp_path / "out", written(replay, tmp_path / "r"), APP_END=how)
    assert (outcome.status, outcome.output, outcome.told) == (*HARMLESS, "")
    assert outcome.spool.rows("kernel") == 5000
    assert (outcome.spool.state["final"], outcome.spool.state["stopped"]) == (True, "exit")


@pytest.mark.parametrize(
    ("how", "status"),
    [("abort", -signal.SIGABRT), ("segv", -signal.SIGSEGV), ("kill", -signal.SIGKILL), ("_exit", 7)],
)
def test_a_crash_loses_what_came_after_the_last_flush_only(
    programs: Programs, replay: Replay, tmp_path: Path, how: str, status: int
) -> None:
    outcome = programs.run(
        tmp_path / "out",
        written(replay, tmp_path / "r"),
        APP_END=how,
        APP_SLEEP="1000",
        TRACELODE_RECORD_FLUSH="50",
    )
    assert (outcome.status, outcome.output) == (status, "the answer is 42\n")
    assert outcome.spool.rows("kernel") == 5000
    assert outcome.spool.state["records"] == {"kernel": 5000}
    assert not outcome.spool.state["final"]


def test_a_flush_before_a_sudden_end_saves_all(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    outcome = programs.run(
        tmp_path / "out",
        written(replay, tmp_path / "r"),
        APP_CALLS="work,flush,state",
        APP_END="_exit",
        TRACELODE_RECORD_FLUSH="0",
    )
    assert outcome.status == 7
    assert outcome.spool.rows("kernel") == 5000
    (state,) = outcome.states()
    assert (state["records"], state["active"]) == ({"kernel": 5000}, True)


@pytest.mark.parametrize("how", ["cudaDeviceReset", "cuDevicePrimaryCtxReset_v2", "cuCtxDestroy_v2"])
def test_what_a_device_holds_is_taken_before_its_context_ends(
    programs: Programs, replay: Replay, tmp_path: Path, how: str
) -> None:
    outcome = programs.run(tmp_path / "out", written(replay, tmp_path / "r"), APP_CALLS=f"work,{how}")
    assert outcome.spool.rows("kernel") == 5000


def test_a_chunk_that_was_cut_off_takes_no_other_along(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    outcome = programs.run(tmp_path / "out", written(replay, tmp_path / "r"))
    path = outcome.folders[0] / "events.spool"
    path.write_bytes(path.read_bytes()[:-9])
    assert read_spool(path).cut > 0
    assert read_spool(path).rows("kernel") == 5000


def test_what_only_a_forced_flush_gives_is_there_at_the_end(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    outcome = programs.run(
        tmp_path / "out",
        written(replay, tmp_path / "r"),
        STUB_HOLD="1",
        APP_SLEEP="200",
        TRACELODE_RECORD_FLUSH="20",
    )
    assert outcome.spool.rows("kernel") == 5000


def test_what_is_delivered_while_the_program_ends_is_recorded(
    programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    file = written(replay, tmp_path / "r", 50_000)
    outcome = programs.run(tmp_path / "out", file, file, STUB_LATE="1")
    assert (outcome.status, outcome.output, outcome.told) == (*HARMLESS, "")
    assert outcome.spool.rows("kernel") == 100_000


def test_a_thread_at_work_while_the_program_ends_does_no_harm(
    programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    file = written(replay, tmp_path / "r")
    outcome = programs.run(tmp_path / "out", *[file] * 500, APP_BEHIND="1", APP_SLEEP="20", STUB_THREADS="2")
    assert (outcome.status, outcome.output, outcome.told) == (*HARMLESS, "")
    assert outcome.spool.state["final"]
    assert outcome.spool.state["kept"]["kernel"] == outcome.spool.rows("kernel") > 0


def test_a_cupti_that_hangs_delays_the_end_and_does_not_prevent_it(
    programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    outcome = programs.run(tmp_path / "out", written(replay, tmp_path / "r"), STUB_HANG="1")
    assert (outcome.status, outcome.output) == HARMLESS
    assert outcome.lines() == ["tracelode: the recording could not be finished in time: its last part is missing"]


def test_several_threads_deliver_at_once(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    file = written(replay, tmp_path / "r", 20_000)
    outcome = programs.run(
        tmp_path / "out",
        *[file] * 4,
        APP_THREADS="4",
        STUB_THREADS="2",
        TRACELODE_RECORD_BUFFER="64",
        TRACELODE_RECORD_FLUSH="5",
    )
    assert (outcome.status, outcome.output, outcome.told) == (*HARMLESS, "")
    kernel = outcome.spool.tables["kernel"]
    assert np.bincount(kernel["correlation"]).tolist() == [4] * 20_000
    assert len(outcome.spool.threads) == 1, "one thread writes"


def test_a_child_forked_after_cuda_leaves_the_recording_alone(
    programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    file = written(replay, tmp_path / "r")
    outcome = programs.run(tmp_path / "out", file, file, APP_FORK="late")
    assert (outcome.status, outcome.output) == HARMLESS
    assert outcome.told.splitlines() == ["child active 0 flush -1", "child ended with 3"]
    assert outcome.spool.rows("kernel") == 5000


@pytest.mark.parametrize("when", ["early", "exec"])
def test_a_child_that_uses_cuda_itself_has_a_folder_of_its_own(
    programs: Programs, replay: Replay, tmp_path: Path, when: str
) -> None:
    outcome = programs.run(tmp_path / "out", written(replay, tmp_path / "r"), APP_FORK=when)
    assert outcome.status == 7
    assert "child ended with 7" in outcome.told
    spools = [read_spool(folder / "events.spool") for folder in outcome.folders]
    assert [spool.rows("kernel") for spool in spools] == [5000, 5000]
    parent, child = sorted((spool.told("process")[0] for spool in spools), key=lambda process: process["pid"])
    assert child["ppid"] == parent["pid"]
    assert all(spool.state["final"] for spool in spools)


def test_the_folder_that_was_agreed_on_is_used_once(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    shell = f"TRACELODE_RECORD_PROCESS=$$:agreed exec {programs.folder / 'app'}"
    outcome = programs.run(
        tmp_path / "out", written(replay, tmp_path / "r"), program=["sh", "-c", shell], APP_CALLS="work,flush,again"
    )
    assert (outcome.status, outcome.output, outcome.told) == (*HARMLESS, "flush 0\n")
    spools = [read_spool(folder / "events.spool") for folder in outcome.folders]
    assert [spool.rows("kernel") for spool in spools] == [5000, 5000]
    assert {spool.told("process")[0]["pid"] for spool in spools} == {spools[0].told("process")[0]["pid"]}
    assert "agreed" in {folder.name for folder in outcome.folders}


def test_two_runs_never_meet_in_a_folder(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    file = written(replay, tmp_path / "r")
    programs.run(tmp_path / "out", file)
    assert len(programs.run(tmp_path / "out", file).folders) == 2


def test_the_collector_needs_no_other_library_than_the_system_s(programs: Programs) -> None:
    told = subprocess.run(["readelf", "-Wd", programs.collector], capture_output=True, text=True, check=True).stdout
    needed = {line.split("[")[1].rstrip("]\n") for line in told.splitlines() if "NEEDED" in line}
    assert {name.split(".")[0] for name in needed} <= {"libc", "libm", "ld-linux-x86-64", "ld-linux-aarch64", "libdl"}
    symbols = subprocess.run(["nm", "-D", "--defined-only", programs.collector], capture_output=True, text=True)
    ours = {line.split()[-1] for line in symbols.stdout.splitlines() if "tracelode" in line or "Injection" in line}
    calls = ("start", "stop", "flush", "push", "pop", "active", "state")
    assert ours == {"InitializeInjection", "InitializeInjectionNvtx2", *(f"tracelode_{call}" for call in calls)}
