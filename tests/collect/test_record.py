import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.collect.recordings import complete
from tracelode.collect import native_library, record
from tracelode.collect.inputs import inputs
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
    assert record.run_name(folder, {"TORCHELASTIC_RUN_ID": "none", "SLURM_JOB_ID": "77"}) == "job-77"
    assert record.run_name(folder, {}) == "20261130-101010-5"


def test_ranks_of_a_launcher_without_a_name_are_one_run_and_those_of_another_launch_another() -> None:
    environment = {"TORCHELASTIC_RUN_ID": "none", "WORLD_SIZE": "2"}
    ask = (
        "import os; from pathlib import Path; from tracelode.collect.record import run_name\n"
        f"print(run_name(Path('f'), {environment!r}))"
    )
    rank = f"{sys.executable} -c {shlex.quote(ask)}"
    launcher = [["sh", "-c", f"{rank}; {rank}; true"]] * 2
    first, second = (subprocess.run(one, capture_output=True, text=True, check=True).stdout.split() for one in launcher)
    assert first[0] == first[1]
    assert first[0] != second[0]
    assert first[0].startswith("job-")


def test_preparing_makes_the_folder_and_the_environment_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "libtracelode_events.so"
    library.write_bytes(b"")
    monkeypatch.setenv("TRACELODE_COLLECTOR", str(library))
    cupti = tmp_path / "libcupti.so.13"
    cupti.write_bytes(b"")
    monkeypatch.setenv("TRACELODE_CUPTI", str(cupti))
    monkeypatch.setenv("PYTHONPATH", "/home/mine")
    with monkeypatch.context() as patch:
        patch.setattr(native_library.ctypes, "CDLL", lambda _: (_ for _ in ()).throw(OSError("none")))
        with pytest.raises(Error, match="no NVIDIA driver"):
            record.prepare(record.Options(), tmp_path / "recordings", tmp_path)
    assert not (tmp_path / "recordings").exists()
    monkeypatch.setattr(native_library, "driver", lambda: None)
    folder, environment = record.prepare(record.Options(hooks=("op",)), tmp_path / "recordings", tmp_path)
    assert folder.is_dir() and environment["TRACELODE_RECORD_DIR"] == str(folder)
    assert environment["CUDA_INJECTION64_PATH"] == environment["NVTX_INJECTION64_PATH"] == str(library)
    assert environment["TRACELODE_CUPTI"] == str(cupti)
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


def test_what_a_process_is_still_writing_is_neither_read_nor_removed(tmp_path: Path) -> None:
    folder = tmp_path / "recordings" / "now"
    for number, name in enumerate(("node7-11-a", "node-with-dashes-12-b")):
        file = complete()
        file.rows("config", {"id": 0, "name": file.name("gemm")})
        file.rows("kernel", {"start": 5_000_000_100 + number, "end": 5_000_000_200, "correlation": 1, "stream": 7})
        file.write(folder / name / "events.spool")
    (outcome,) = record.ingest(folder, tmp_path / "archive", "run", running=[12], keep=False)
    assert str(outcome.input.place).endswith("node7-11-a")
    assert len(record.processes(folder)) == 2


def test_recordings_that_were_kept_keep_their_runs(tmp_path: Path) -> None:
    for run in ("monday", "tuesday"):
        file = complete()
        file.rows("config", {"id": 0, "name": file.name(run)})
        file.rows("kernel", {"start": 5_000_000_100, "end": 5_000_000_200, "correlation": 1, "stream": 7})
        file.write(tmp_path / "recordings" / run / "node7-11-a" / "events.spool")
        (tmp_path / "recordings" / run / record.RUN).write_text(f"job-{run}\n")
    found = inputs(tmp_path / "recordings", None, print)
    assert [one.run for one in found] == ["job-monday", "job-tuesday"]
    assert [one.run for one in inputs(tmp_path / "recordings", "mine", print)] == ["mine", "mine"]


def test_recordings_made_at_the_same_moment_by_equal_processes_have_folders_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_library, "driver", lambda: None)
    monkeypatch.setattr(native_library, "library", lambda _: tmp_path / "lib.so")
    monkeypatch.setattr(native_library, "cupti", lambda: None)
    folders = {record.prepare(record.Options(), tmp_path / "recordings", tmp_path)[0] for _ in range(20)}
    assert len(folders) == 20
    assert all(folder.stat().st_mode & 0o777 == 0o700 for folder in folders)
