"""Whatever CUPTI delivers or refuses, the program runs on unharmed and each loss is counted or told."""

import os
import resource
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.native.programs import Programs
from tests.native.replays import COPY, KERNEL, UNKNOWN, UVM, Replay, recently
from tests.native.spools import read_spool

HARMLESS = (7, "the answer is 42\n")
HOUR = 3_600_000_000_000


def kernels(replay: Replay, count: int = 100) -> None:
    """So many valid kernels of 10 ns."""
    base = recently()
    replay.add(KERNEL, count, start=base, end=base + 10, name=replay.text("gemm"), correlationId=np.arange(count))


def test_times_that_cannot_be_are_counted_and_never_summed(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    base = recently()
    kernels(replay, 3)
    replay.add(KERNEL, 2, start=0, end=0, name=replay.text("lost"))
    replay.add(KERNEL, 1, start=base, end=0, name=replay.text("unfinished"))
    replay.add(KERNEL, 4, start=base + 10, end=base, name=replay.text("backwards"))
    replay.add(KERNEL, 5, start=base + HOUR, end=base + HOUR + 1, name=replay.text("later"))
    replay.add(COPY, 6, start=0, end=base)
    replay.add(COPY, 7, start=base, end=base)
    outcome = programs.run(tmp_path / "out", replay.write(tmp_path / "r"))
    assert (outcome.status, outcome.output) == HARMLESS
    state = outcome.spool.state
    assert state["records"] == {"kernel": 15, "copy": 13}
    assert state["kept"] == {"kernel": 3, "copy": 7}
    assert state["invalid"] == {"zero": 9, "inverted": 4, "future": 5}
    assert outcome.spool.tables["total"]["time"].tolist() == [30]
    assert set(outcome.spool.kernel_names()) == {"gemm"}


def test_what_cupti_dropped_is_told(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    kernels(replay)
    outcome = programs.run(tmp_path / "out", replay.write(tmp_path / "r"), STUB_DROPPED="5")
    assert outcome.spool.state["dropped"] == 5 * outcome.spool.state["buffers"] == 5


def test_no_more_memory_is_taken_than_allowed_and_each_refusal_counts(
    programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    kernels(replay, 100_000)
    outcome = programs.run(
        tmp_path / "out",
        replay.write(tmp_path / "r"),
        TRACELODE_RECORD_BUFFERS="1",
        TRACELODE_RECORD_BUFFER="256",
        STUB_THREADS="8",
    )
    assert (outcome.status, outcome.output) == HARMLESS
    state = outcome.spool.state
    assert state["buffer_bytes"] == 4 * 256 * 1024
    assert state["refused_buffers"] >= state["dropped"] > 0
    assert state["kept"]["kernel"] + state["dropped"] == 100_000
    assert outcome.spool.tables["total"]["count"].sum() == state["kept"]["kernel"]


def test_unknown_kinds_are_counted_by_number(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    kernels(replay, 2)
    replay.add(UNKNOWN, 3)
    kernels(replay, 2)
    outcome = programs.run(tmp_path / "out", replay.write(tmp_path / "r"))
    assert outcome.spool.state["unknown"] == {str(UNKNOWN): 3}
    assert outcome.spool.rows("kernel") == 4


def test_a_buffer_that_cannot_be_walked_to_its_end_is_counted(
    programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    kernels(replay)
    broken = programs.run(tmp_path / "out", replay.write(tmp_path / "r"), STUB_FAIL="cuptiActivityGetNextRecord:21")
    assert (broken.status, broken.output) == HARMLESS
    assert broken.spool.state["broken_buffers"] == 1
    assert broken.spool.state["records"] == {}


def test_another_subscriber_is_told_in_one_line(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    kernels(replay)
    outcome = programs.run(
        tmp_path / "out",
        replay.write(tmp_path / "r"),
        STUB_FAIL="cuptiSubscribe:39",
        APP_CALLS="active,start,stop,push,pop,flush,work,state",
    )
    assert (outcome.status, outcome.output) == HARMLESS
    said = "another tool (a profiler or debugger) already uses CUPTI: nothing is recorded, the program runs on"
    assert outcome.lines() == [f"tracelode: {said}"]
    (error,) = outcome.spool.told("error")
    assert error["message"] == said
    assert not outcome.spool.tables
    (told,) = outcome.spool.told("state")
    assert (told["final"], told["stopped"], told["error"], told["records"]) == (True, "error", said, {})
    assert "active 0\nstart -1\nstop -1\npush -1\npop -1\nflush -1\n" in outcome.told
    (state,) = outcome.states()
    assert (state["active"], state["error"], state["folder"]) == (False, said, str(outcome.folders[0]))


@pytest.mark.parametrize(
    ("failing", "said"),
    [
        ("cuptiGetVersion:999", "cuptiGetVersion of {cupti} says STUB_ERROR_999 (999)"),
        ("cuptiSubscribe:8", "cuptiSubscribe says STUB_ERROR_8 (8)"),
        ("cuptiActivityRegisterCallbacks:15", "cuptiActivityRegisterCallbacks says STUB_ERROR_15 (15)"),
    ],
)
def test_a_function_that_must_not_fail_is_named(
    programs: Programs, replay: Replay, tmp_path: Path, failing: str, said: str
) -> None:
    kernels(replay)
    outcome = programs.run(tmp_path / "out", replay.write(tmp_path / "r"), STUB_FAIL=failing)
    assert (outcome.status, outcome.output) == HARMLESS
    assert outcome.lines() == [f"tracelode: {said.format(cupti=programs.cupti)}"]
    assert len(outcome.spool.told("error")) == 1


def test_nothing_can_be_enabled_and_the_program_is_told_why(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    kernels(replay)
    outcome = programs.run(
        tmp_path / "out",
        replay.write(tmp_path / "r"),
        STUB_FAIL="cuptiActivityEnable:35",
        TRACELODE_RECORD_EVENTS="copy",
        APP_CALLS="work,state,start",
    )
    assert (outcome.status, outcome.output) == HARMLESS
    assert outcome.told.splitlines()[-1] == "start -1"
    said = "CUPTI records nothing: copy: STUB_ERROR_35 (35); copy: STUB_ERROR_35 (35)"
    assert outcome.lines() == [f"tracelode: {said}"]
    assert [error["message"] for error in outcome.spool.told("error")] == [said]
    assert outcome.states()[0]["error"] == said
    assert (outcome.spool.state["final"], outcome.spool.state["stopped"]) == (True, "error")


def test_a_kind_that_is_refused_does_not_take_the_others_along(
    programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    kernels(replay)
    outcome = programs.run(tmp_path / "out", replay.write(tmp_path / "r"), STUB_FAIL_KIND="50:21,51:27")
    assert outcome.lines() == ["tracelode: CUPTI does not record pool: STUB_ERROR_21 (21); graph: STUB_ERROR_27 (27)"]
    assert outcome.spool.rows("kernel") == 100


@pytest.mark.parametrize(
    "failing",
    [
        "cuptiSetThreadIdType",
        "cuptiActivityFlushPeriod",
        "cuptiActivityGetNumDroppedRecords",
        "cuptiActivityDisable",
        "cuptiGetCallbackName",
    ],
)
def test_a_function_that_may_fail_costs_nothing_else(
    programs: Programs, replay: Replay, tmp_path: Path, failing: str
) -> None:
    kernels(replay)
    outcome = programs.run(
        tmp_path / "out", replay.write(tmp_path / "r"), STUB_FAIL=f"{failing}:999", APP_CALLS="work,stop"
    )
    assert (outcome.status, outcome.output, outcome.lines()) == (*HARMLESS, [])
    assert outcome.spool.rows("kernel") == 100


def test_without_the_steady_clock_the_wall_clock_is_named(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    kernels(replay)
    outcome = programs.run(
        tmp_path / "out", replay.write(tmp_path / "r"), STUB_FAIL="cuptiActivityRegisterTimestampCallback:15"
    )
    assert outcome.spool.told("process")[0]["clock"] == "realtime"
    assert outcome.spool.rows("kernel") == 100


def test_counters_of_managed_memory_begin_with_the_first_context(
    programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    replay.add(UVM, 3, start=recently(), end=recently(), counterKind=1)
    file = replay.write(tmp_path / "r")
    outcome = programs.run(tmp_path / "out", file, TRACELODE_RECORD_EVENTS="kernel,uvm")
    assert (outcome.lines(), outcome.spool.rows("uvm")) == ([], 3)
    refused = programs.run(
        tmp_path / "refused",
        file,
        TRACELODE_RECORD_EVENTS="kernel,uvm",
        STUB_FAIL="cuptiActivityConfigureUnifiedMemoryCounter:30",
    )
    assert refused.lines() == ["tracelode: CUPTI does not record uvm: STUB_ERROR_30 (30)"]
    assert (refused.status, refused.output) == HARMLESS


def test_an_old_cupti_is_not_used(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    kernels(replay)
    outcome = programs.run(tmp_path / "out", replay.write(tmp_path / "r"), STUB_VERSION="17")
    assert outcome.lines() == [f"tracelode: {programs.cupti} is of version 17, older than CUDA 12.1"]
    assert (outcome.status, outcome.output) == HARMLESS


def test_a_cupti_without_the_functions_is_not_used(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    kernels(replay)
    empty = tmp_path / "libcupti.so.13"
    source = "int cuptiGetVersion(unsigned *v) { *v = 130000; return 0; }"
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(empty)]
    subprocess.run(command, input=source, text=True, check=True)
    outcome = programs.run(tmp_path / "out", replay.write(tmp_path / "r"), TRACELODE_CUPTI=str(empty))
    assert outcome.lines() == [f"tracelode: {empty} lacks functions of the activity interface"]
    assert (outcome.status, outcome.output) == HARMLESS


def test_a_missing_cupti_is_told(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    kernels(replay)
    outcome = programs.run(tmp_path / "out", replay.write(tmp_path / "r"), TRACELODE_CUPTI=str(tmp_path / "none"))
    assert (outcome.status, outcome.output) == HARMLESS
    if outcome.lines() != ["tracelode: libcupti was not found"]:
        pytest.skip("the loader of this machine finds a libcupti of its own")


def test_without_a_driver_or_a_folder_nothing_happens(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    kernels(replay)
    file = replay.write(tmp_path / "r")
    folderless = programs.run(tmp_path / "out", file, TRACELODE_RECORD_DIR="", APP_CALLS="work,start,state")
    assert (folderless.status, folderless.output, folderless.folders) == (*HARMLESS, [])
    assert folderless.states() == [{"what": "state", "active": False}]
    driverless = ["python3", "-c", f"import ctypes; print(ctypes.CDLL('{programs.collector}').tracelode_start())"]
    outcome = programs.run(tmp_path / "out", file, program=driverless, LD_LIBRARY_PATH="")
    if outcome.output == "0\n":
        pytest.skip("this machine has a driver")
    assert (outcome.output, outcome.told, outcome.folders) == ("-1\n", "", [])


def test_a_process_without_events_leaves_no_folder(programs: Programs, tmp_path: Path) -> None:
    outcome = programs.run(tmp_path / "out")
    assert (outcome.status, outcome.output, outcome.told, outcome.folders) == (*HARMLESS, "", [])


def test_a_full_disk_ends_the_recording_and_not_the_program(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    kernels(replay, 100_000)
    environment = programs.environment(
        tmp_path / "out", [replay.write(tmp_path / "r")], {"APP_CALLS": "work,flush,state"}
    )
    ended = subprocess.run(
        [programs.folder / "app"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )
    assert (ended.returncode, ended.stdout) == HARMLESS
    (folder,) = (tmp_path / "out").iterdir()
    line, flushed, state = ended.stderr.splitlines()
    why = f"{folder}/events.spool: File too large"
    assert line == f"tracelode: cannot write {why}: the recording ends here, the program runs on"
    assert flushed == "flush -1"
    assert '"stopped":"disk"' in state
    assert 0 < (folder / "events.spool").stat().st_size <= 100_000
    spool = read_spool(folder / "events.spool")
    assert (spool.cut, spool.rows("kernel")) == (0, 0)
    last = spool.state
    assert (last["stopped"], last["final"], last["error"]) == ("disk", True, why)
    assert (last["records"], last["kept"]) == ({"kernel": last["unwritten"]}, {})


def test_what_a_full_disk_has_taken_is_whole_and_says_how_it_ended(
    programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    kernels(replay, 100_000)
    disk, out = tmp_path / "disk", tmp_path / "out"
    disk.mkdir()
    # A disk of our own, that only this process sees; there is no other room on it than what the recording takes.
    script = f'mount -t tmpfs -o size=1500k none {disk} && "$@"; status=$?; cp -r {disk} {out}; exit $status'
    own_disk = ["unshare", "--user", "--map-root-user", "--mount"]
    if not shutil.which("unshare") or subprocess.run([*own_disk, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody have a disk of his own")
    environment = programs.environment(disk / "out", [replay.write(tmp_path / "r")], {"TRACELODE_RECORD_BUFFER": "64"})
    command = [*own_disk, "sh", "-c", script, "sh", str(programs.folder / "app")]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == HARMLESS
    (folder,) = (out / "out").iterdir()
    spool = read_spool(folder / "events.spool")
    assert (spool.cut, spool.rows("kernel")) == (0, 32_768), "two chunks are whole"
    last = spool.state
    assert (last["stopped"], last["final"], last["kept"]) == ("disk", True, {"kernel": 32_768})
    assert last["records"]["kernel"] == 32_768 + last["unwritten"]
    assert last["error"].endswith("/events.spool: No space left on device")
    assert spool.told("clocks"), "the times of day are known all the same"


def test_a_folder_that_cannot_be_made_is_told(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    kernels(replay)
    blocker = tmp_path / "file"
    blocker.write_text("")
    outcome = programs.run(blocker / "out", replay.write(tmp_path / "r"))
    assert (outcome.status, outcome.output) == HARMLESS
    (line,) = outcome.lines()
    assert line.startswith(f"tracelode: cannot write {blocker}/out/")
    assert line.endswith(": Not a directory: the recording ends here, the program runs on")


def test_files_that_the_program_opens_in_the_place_of_the_spool_are_left_alone(
    programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    kernels(replay)
    file = replay.write(tmp_path / "r")
    outcome = programs.run(tmp_path / "out", file, file, APP_CALLS="work,flush,close,work,flush")
    assert (outcome.status, outcome.output) == HARMLESS
    why = f"{outcome.folders[0]}/events.spool: Bad file descriptor"
    assert outcome.lines() == [f"tracelode: cannot write {why}: the recording ends here, the program runs on"]
    assert outcome.spool.rows("kernel") == 100


def test_a_closed_stderr_kills_nobody(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    kernels(replay)
    changes = {"STUB_FAIL": "cuptiSubscribe:39"}
    environment = programs.environment(tmp_path / "out", [replay.write(tmp_path / "r")], changes)
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [programs.folder / "app"], env=environment, stdout=subprocess.PIPE, stderr=writing, text=True, check=False
    )
    os.close(writing)
    assert (ended.returncode, ended.stdout) == HARMLESS


def test_lines_do_not_go_into_a_file_that_has_taken_the_place_of_stderr(
    programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    kernels(replay)
    file, log = replay.write(tmp_path / "r"), tmp_path / "log"
    outcome = programs.run(
        tmp_path / "out", file, file, APP_CALLS="work,flush,close,redirect,work,flush", APP_LOG=str(log)
    )
    assert (outcome.status, outcome.output, outcome.told) == (*HARMLESS, "flush 0\n")
    assert log.read_text() == "flush -1\n"


def test_hundreds_of_thousands_of_names_are_kept_apart(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    names = [f"kernel_{number}" for number in range(200_000)]
    base = recently()
    numbers = np.array([replay.text(name) for name in names])
    replay.add(KERNEL, len(names), start=base, end=base + 1, name=numbers)
    outcome = programs.run(tmp_path / "out", replay.write(tmp_path / "r"), TRACELODE_RECORD_BUFFERS="100")
    spool = outcome.spool
    assert spool.kernel_names() == names
    assert spool.rows("total") == len(names)
    assert spool.state["names_beyond"] == 0


def test_a_name_that_comes_again_at_the_same_address_is_another_name(
    programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    again = Replay(replay.layout)
    for one, name in ((replay, "first"), (again, "other"), (again, "first")):
        one.add(KERNEL, 2, start=recently(), end=recently(), name=one.text(name))
    files = replay.write(tmp_path / "a"), again.write(tmp_path / "b")
    outcome = programs.run(tmp_path / "out", *files, APP_CALLS="work,flush,work")
    assert outcome.spool.kernel_names() == ["first"] * 2 + ["other"] * 2 + ["first"] * 2
    assert outcome.spool.names == ["first", "other"]


def test_names_of_any_length_and_bytes_and_none_at_all(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    base = recently()
    names = ["x" * 60_000, b"\xff\xfe".decode("utf-8", "surrogateescape"), "ünïcode", ""]
    for name in names[:3]:
        replay.add(KERNEL, start=base, end=base, name=replay.text(name))
    replay.add(KERNEL, start=base, end=base, name=0)
    outcome = programs.run(tmp_path / "out", replay.write(tmp_path / "r"))
    assert outcome.spool.kernel_names() == names
