"""`tracelode replay` from the command line, with a stub in the place of the driver."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.native.preloads import MIB, Preloads, built
from tests.native.programs import Programs
from tests.native.replays import KERNEL, Replay, recently
from tracelode.mining.plan import Key, Plan, Prefetch, Step, write_plan
from tracelode.store import Archive

PLAN = Plan(
    "t",
    "object",
    "faults",
    1 << 30,
    1,
    (Key("managed", MIB, None, 0), Key("managed", 4 * MIB, None, 0)),
    (Step("add(int, float *)", 0, (Prefetch(0, 0, MIB),)), Step("add(int, float *)", 1, (Prefetch(1, MIB, MIB),))),
)
WORDS = ("alloc", "a", str(MIB), "alloc", "b", str(4 * MIB), "launch", "_Z3addiPf", "launch", "_Z3addiPf")


@pytest.fixture(scope="module")
def preloads(tmp_path_factory: pytest.TempPathFactory) -> Preloads:
    return built(tmp_path_factory, "plain", "-O2")


def tracelode(preloads: Preloads, *arguments: str, **changes: str) -> "subprocess.CompletedProcess[str]":
    """Runs tracelode as a user does where the stub is the driver."""
    given = {"TRACELODE_REPLAYER": str(preloads.replayer), "LD_LIBRARY_PATH": str(preloads.folder / "driver")}
    given["XDG_CACHE_HOME"] = str(preloads.folder / "cache")
    command = [sys.executable, "-m", "tracelode", *arguments]
    environment = {name: value for name, value in (os.environ | given | changes).items() if value}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=200)


def managed(preloads: Preloads, *words: str) -> tuple[str, ...]:
    return ("--", str(preloads.folder / "managed"), *words)


def written(path: Path, plan: Plan = PLAN) -> str:
    path.write_text(write_plan(plan))
    return str(path)


def asked(log: Path) -> list[str]:
    return [line.split(" device")[0] for line in log.read_text().splitlines() if line.startswith("prefetch")]


def test_a_program_runs_by_a_plan_and_output_and_status_are_its_own(preloads: Preloads, tmp_path: Path) -> None:
    log, counts = tmp_path / "log", tmp_path / "counts.json"
    words = ("replay", "--plan", written(tmp_path / "plan.json"), "--counts", str(counts), *managed(preloads, *WORDS))
    done = tracelode(preloads, *words, STUB_LOG=str(log))
    assert (done.returncode, done.stdout, done.stderr) == (7, "the answer is 42\n", "")
    assert asked(log) == ["prefetch 0x10000000000 1048576", "prefetch 0x10000300000 1048576"]
    (line,) = counts.read_text().splitlines()
    told = json.loads(line)
    assert (told["steps"], told["reached"], told["objects"], told["asked_bytes"]) == (2, 2, 2, 2 * MIB)


def test_counts_are_told_only_when_asked_for(preloads: Preloads, tmp_path: Path) -> None:
    words = ("replay", "--plan", written(tmp_path / "plan.json"))
    assert tracelode(preloads, *words, *managed(preloads, *WORDS)).stderr == ""
    done = tracelode(preloads, *words, "--counts", "-", *managed(preloads, *WORDS, "fork"))
    assert [json.loads(line)["reached"] for line in done.stderr.splitlines()] == [0, 2]


@pytest.mark.parametrize(
    ("words", "changes", "why"),
    [
        (("launch", "other"), {}, "none of the kernels that the plan names ran; is the plan another program's?"),
        (("graph",), {}, "none of the kernels that the plan names ran; kernels in CUDA graphs are not followed"),
        (WORDS[6:], {}, "the plan's memory was not there, had no room or was refused: see --counts -"),
        (WORDS, {"STUB_FREE": "1000"}, "the plan's memory was not there, had no room or was refused: see --counts -"),
        (WORDS, {"STUB_MANAGED": "0"}, "the device or its driver does not prefetch managed memory"),
    ],
)
def test_a_plan_that_does_nothing_says_why(
    preloads: Preloads, tmp_path: Path, words: tuple[str, ...], changes: dict[str, str], why: str
) -> None:
    plan = written(tmp_path / "plan.json")
    done = tracelode(preloads, "replay", "--plan", plan, *managed(preloads, *words), **changes)
    assert (done.returncode, done.stdout) == (7, "the answer is 42\n")
    assert done.stderr == f"warning: nothing was prefetched: {why}\n"


def test_a_driver_without_names_is_told(preloads: Preloads, tmp_path: Path) -> None:
    plan, old = written(tmp_path / "plan.json"), str(preloads.folder / "old")
    words = managed(preloads, "unseen", "_Z3addiPf")
    done = tracelode(preloads, "replay", "--plan", plan, *words, LD_LIBRARY_PATH=old)
    assert done.stderr.endswith("the driver tells no names of kernels (it does since CUDA 12.3)\n")


def test_a_program_without_cuda_is_told(preloads: Preloads, tmp_path: Path) -> None:
    done = tracelode(preloads, "replay", "--plan", written(tmp_path / "plan.json"), "sh", "-c", "echo hello; exit 3")
    assert (done.returncode, done.stdout) == (3, "hello\n")
    assert "no process used CUDA and ended in order" in done.stderr


def test_memory_that_no_call_allocates_is_left_out_and_said(preloads: Preloads, tmp_path: Path) -> None:
    keys = (Key("managed", MIB, "weights", 0), Key("managed", 4 * MIB, None, 0))
    plan = written(tmp_path / "plan.json", Plan("t", "object", "faults", 1 << 30, 1, keys, PLAN.steps))
    log = tmp_path / "log"
    done = tracelode(preloads, "replay", "--plan", plan, *managed(preloads, *WORDS), STUB_LOG=str(log))
    assert done.stderr == "warning: 1 of the plan's 2 objects are no allocations: left out\n"
    assert asked(log) == ["prefetch 0x10000300000 1048576"]


def test_a_plan_without_steps_is_told(preloads: Preloads, tmp_path: Path) -> None:
    plan = written(tmp_path / "plan.json", Plan("t", "object", "faults", 1, 1, (), ()))
    done = tracelode(preloads, "replay", "--plan", plan, *managed(preloads, *WORDS))
    assert (done.returncode, done.stderr) == (7, "warning: nothing was prefetched: the plan has no steps\n")
    plan = written(tmp_path / "said.json", Plan("t", "object", "faults", 1, 1, (), (), "no name\x1b[31m is known"))
    done = tracelode(preloads, "replay", "--plan", plan, *managed(preloads, *WORDS))
    assert done.stderr.startswith("warning: nothing was prefetched: the plan has no steps, since no name")
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize(
    "change",
    [{"version": 2}, {"version": 0}, {"format": "other"}, {"steps": 3}, {"more": 1}],
    ids=lambda change: str(change),
)
def test_a_plan_that_is_wrong_or_newer_is_refused_before_the_program_runs(
    preloads: Preloads, tmp_path: Path, change: dict[str, Any]
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(json.loads(write_plan(PLAN)) | change))
    done = tracelode(preloads, "replay", "--plan", str(path), *managed(preloads, *WORDS))
    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr.startswith(f"error: {path}: plan: ")
    assert done.stderr.endswith("hint: write it with tracelode report uvm TRACE --plan FILE\n")


@pytest.mark.parametrize("content", [b"", b"\0" * 100, b"[" * 100_000, b'{"format": 1e999}', b"\xff"])
def test_what_is_no_plan_is_refused(preloads: Preloads, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(content)
    done = tracelode(preloads, "replay", "--plan", str(path), *managed(preloads, *WORDS))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (5, "", 2)


def test_what_is_missing_is_one_line_and_a_hint(preloads: Preloads, tmp_path: Path) -> None:
    plan = written(tmp_path / "plan.json")
    words = ("replay", "--plan", plan, *managed(preloads, *WORDS))
    cases = {
        "no C++ compiler: no-such": {"TRACELODE_REPLAYER": "", "CXX": "no-such", "XDG_CACHE_HOME": str(tmp_path)},
        f"{tmp_path}/no.so: no such file": {"TRACELODE_REPLAYER": f"{tmp_path}/no.so"},
        "no NVIDIA driver on this machine": {"LD_LIBRARY_PATH": ""},
    }
    for message, changes in cases.items():
        done = tracelode(preloads, *words, **changes)
        assert (done.returncode, done.stdout) == (2, "")
        error, hint = done.stderr.splitlines()
        assert error.startswith(f"error: {message}") and hint.startswith("hint: ")
    missing = tracelode(preloads, "replay", "--plan", str(tmp_path / "no.json"), *managed(preloads, *WORDS))
    assert missing.returncode == 2 and "no.json" in missing.stderr


def test_the_replayer_is_built_at_its_first_use_in_a_folder_that_can_be_preloaded(
    preloads: Preloads, tmp_path: Path
) -> None:
    words = ("replay", "--plan", written(tmp_path / "plan.json"), *managed(preloads, *WORDS))
    log = tmp_path / "log"
    own = {"TRACELODE_REPLAYER": "", "STUB_LOG": str(log), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = tracelode(preloads, *words, **own)
    assert (done.returncode, done.stdout, done.stderr) == (7, "the answer is 42\n", "")
    assert len(asked(log)) == 2
    odd = tmp_path / "with a space.so"
    odd.write_bytes(preloads.replayer.read_bytes())
    done = tracelode(preloads, *words, TRACELODE_REPLAYER=str(odd))
    assert done.returncode == 2 and "LD_PRELOAD takes no path with a space or a colon" in done.stderr


def test_what_the_user_preloads_is_loaded_too(preloads: Preloads, tmp_path: Path) -> None:
    words = ("replay", "--plan", written(tmp_path / "plan.json"), "--", "sh", "-c", "echo $LD_PRELOAD")
    done = tracelode(preloads, *words, LD_PRELOAD="libc.so.6")
    assert done.stdout == f"{preloads.replayer}:libc.so.6\n"


def test_a_run_that_replays_can_be_recorded(
    preloads: Preloads, programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    base = recently()
    replay.add(KERNEL, 100, start=base, end=base + 10, name=replay.text("add"), correlationId=np.arange(100))
    log, archive = tmp_path / "log", tmp_path / "traces"
    work = (
        "import ctypes, sys; cuda = ctypes.CDLL('libcuda.so.1'); cuda.cuInit(0); cuda.cuCtxSynchronize();"
        "at, f = ctypes.c_uint64(), ctypes.c_void_p();"
        "cuda.cuMemAllocManaged(ctypes.byref(at), ctypes.c_size_t(1 << 20), 1);"
        "cuda.cuModuleGetFunction(ctypes.byref(f), None, b'_Z3addiPf');"
        "cuda.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, None, None, None); sys.exit(9)"
    )
    replaying = (
        "-m",
        "tracelode",
        "replay",
        "--plan",
        written(tmp_path / "plan.json"),
        "--",
        sys.executable,
        "-c",
        work,
    )
    done = tracelode(
        preloads,
        *("record", "--archive", str(archive), "--", sys.executable, *replaying),
        STUB_LOG=str(log),
        STUB_REPLAY=str(replay.write(tmp_path / "replay")),
        TRACELODE_CUPTI=str(programs.cupti),
        TRACELODE_COLLECTOR=str(programs.collector),
    )
    assert done.returncode == 9, done.stderr
    assert asked(log) == ["prefetch 0x10000000000 1048576"]
    (manifest,) = Archive(archive).manifests()
    assert manifest.files["kernel"]["rows"] == 100
