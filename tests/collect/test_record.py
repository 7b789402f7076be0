import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.collect.recordings import complete
from tracelode.collect import native_library, record
from tracelode.store import Archive, Error


def test_options_become_the_variables_that_the_collector_reads(tmp_path: Path) -> None:
    options = record.Options(
        detail="totals",
        graphs="node",
        calls=True,
        uvm=True,
        launches=(100, None),
        sample=10,
        names=("gemm", "flash"),
        hooks=("module",),
        paused=True,
        buffers_mib=32,
        flush_ms=100,
        stop_mib=2,
    )
    told = options.variables(tmp_path)
    assert told["TRACELODE_RECORD_DIR"] == str(tmp_path)
    assert told["TRACELODE_RECORD_EVENTS"].split(",")[-4:] == ["runtime", "driver", "external", "uvm"]
    assert (told["TRACELODE_RECORD_LAUNCHES"], told["TRACELODE_RECORD_SAMPLE"]) == ("100:", "10")
    assert (told["TRACELODE_RECORD_NAMES"], told["TRACELODE_RECORD_HOOKS"]) == ("gemm\nflash", "module")
    assert (told["TRACELODE_RECORD_STOP"], told["TRACELODE_RECORD_FLUSH"]) == (str(2 << 20), "100")
    assert (told["TRACELODE_RECORD_PAUSED"], told["TRACELODE_RECORD_GRAPHS"]) == ("1", "node")


def test_operators_are_linked_by_calls_so_that_the_one_brings_the_other(tmp_path: Path) -> None:
    assert "runtime" not in record.Options().variables(tmp_path)["TRACELODE_RECORD_EVENTS"]
    assert "runtime" in record.Options(hooks=("op",)).variables(tmp_path)["TRACELODE_RECORD_EVENTS"]


def test_the_ranks_of_a_job_are_one_run_and_a_program_alone_is_one_by_its_time() -> None:
    folder = Path("recordings/20261130-101010-5")
    assert record.run_name(folder, {"SLURM_JOB_ID": "77"}) == "job-77"
    assert record.run_name(folder, {"TORCHELASTIC_RUN_ID": "abc", "SLURM_JOB_ID": "77"}) == "job-abc"
    assert record.run_name(folder, {}) == "20261130-101010-5"


def test_the_exit_status_is_the_programs_own() -> None:
    assert record.run([sys.executable, "-c", "raise SystemExit(3)"], os.environ) == 3
    assert record.run(["sh", "-c", "kill -9 $$"], os.environ) == 137


def test_a_program_that_cannot_be_started_is_named() -> None:
    with pytest.raises(Error, match="no-such-program: No such file or directory"):
        record.run(["no-such-program"], os.environ)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_to_the_recorder_reaches_the_program(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), number))
    timer.start()
    program = f"import signal, time; signal.signal({int(number)}, lambda *_: exit(9)); time.sleep(20)"
    began = time.monotonic()
    assert record.run([sys.executable, "-c", program], os.environ) == 9
    assert time.monotonic() - began < 15
    timer.join()
    assert signal.getsignal(number) == before


def test_preparing_makes_the_folder_and_the_environment_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "libtracelode_events.so"
    library.write_bytes(b"")
    monkeypatch.setenv("TRACELODE_COLLECTOR", str(library))
    monkeypatch.setenv("TRACELODE_CUPTI", "/opt/libcupti.so.13")
    monkeypatch.setenv("PYTHONPATH", "/home/mine")
    with monkeypatch.context() as patch:
        patch.setattr(native_library.ctypes, "CDLL", lambda _: (_ for _ in ()).throw(OSError("none")))
        with pytest.raises(Error, match="no NVIDIA driver"):
            record.prepare(record.Options(), tmp_path / "recordings", tmp_path)
    assert not (tmp_path / "recordings").exists()
    monkeypatch.setattr(native_library, "driver", lambda: None)
    folder, environment = record.prepare(record.Options(hooks=("op",)), tmp_path / "recordings", tmp_path)
    assert folder.is_dir() and environment["TRACELODE_RECORD_DIR"] == str(folder)
    assert environment["CUDA_INJECTION64_PATH"] == str(library)
    assert environment["TRACELODE_CUPTI"] == environment["NVTX_INJECTION64_PATH"] == "/opt/libcupti.so.13"
    assert environment["PYTHONPATH"].split(os.pathsep) == [str(record.AGENT), "/home/mine"]
    assert (record.AGENT / "sitecustomize.py").is_file()


def test_what_processes_recorded_is_read_and_removed_unless_it_cannot_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "recordings" / "now"
    file = complete()
    file.rows("config", {"id": 0, "name": file.name("gemm")})
    file.rows("kernel", {"start": 5_000_000_100, "end": 5_000_000_200, "correlation": 1, "stream": 7})
    file.write(folder / "node7-1-a" / "events.spool")
    (folder / "node7-2-b").mkdir()  # a process that never used CUDA
    (outcome,) = record.ingest(folder, tmp_path / "archive", "run", keep=False)
    assert outcome.trace and outcome.trace.rows["kernel"] == 1
    assert Archive(tmp_path / "archive").memberships()[0].run == "run"
    assert not folder.exists()
    file.write(folder / "node7-1-a" / "events.spool")
    (folder / "node7-3-c").mkdir(parents=True)
    (folder / "node7-3-c" / "events.spool").write_bytes(b"TLC1 cut")
    outcomes = record.ingest(folder, tmp_path / "archive", "run", keep=False)
    assert [outcome.error is None for outcome in outcomes] == [True, False]
    assert folder.exists()
