"""Runs a program under the event collector, and reads what it recorded into an archive when it has ended.

The collector is a library that the CUDA driver loads into the program (`CUDA_INJECTION64_PATH`); it only appends to
files. All else is done here, outside the program's process, so that nothing of it can disturb the program, and so that
a program that crashes leaves what was recorded until then.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from ..store.errors import Error
from ..store.version import VERSION
from . import native_library
from .ingest import Outcome, read_all
from .inputs import Input

__all__ = ["EVENTS", "Options", "ingest", "prepare", "processes", "run", "run_name"]

EVENTS = ("kernel", "copy", "fill", "sync", "memory", "pool", "graph", "marker", "overhead")
"""What is recorded unless told otherwise."""

CALLS = ("runtime", "driver", "external")
AGENT = Path(__file__).parent / "agent" / "start"
"""What Python imports as it starts: the agent, for ranges and hooks in the program."""

JOBS = ("TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "OMPI_MCA_ess_base_jobid")
"""What launchers call the job, so that its ranks, each recorded for itself, are one run."""

PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


@dataclass(frozen=True)
class Options:
    """What is to be recorded, and how; see `tracelode record --help`.

    `launches` is a pair of ordinals, either of which may be None; `buffers_mib` and `flush_ms` bound what waits in the
    program.
    """

    detail: str = "rows"
    graphs: str = "graph"
    calls: bool = False
    uvm: bool = False
    launches: tuple[int | None, int | None] = (None, None)
    sample: int = 1
    names: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    paused: bool = False
    buffers_mib: int = 64
    flush_ms: int = 500
    stop_mib: int = 0
    events: tuple[str, ...] = field(default=EVENTS)

    def variables(self, folder: Path) -> dict[str, str]:
        """The options as the collector and the agent read them from the environment."""
        events = [*self.events, *(CALLS if self.calls or "op" in self.hooks else ()), *(("uvm",) if self.uvm else ())]
        first, last = ("" if bound is None else str(bound) for bound in self.launches)
        return {
            "TRACELODE_RECORD_DIR": str(folder.resolve()),
            "TRACELODE_RECORD_EVENTS": ",".join(events),
            "TRACELODE_RECORD_GRAPHS": self.graphs,
            "TRACELODE_RECORD_DETAIL": self.detail,
            "TRACELODE_RECORD_LAUNCHES": f"{first}:{last}",
            "TRACELODE_RECORD_SAMPLE": str(self.sample),
            "TRACELODE_RECORD_NAMES": "\n".join(self.names),
            "TRACELODE_RECORD_HOOKS": ",".join(self.hooks),
            "TRACELODE_RECORD_PAUSED": str(int(self.paused)),
            "TRACELODE_RECORD_BUFFERS": str(self.buffers_mib),
            "TRACELODE_RECORD_FLUSH": str(self.flush_ms),
            "TRACELODE_RECORD_STOP": str(self.stop_mib << 20),
            "TRACELODE_VERSION": VERSION,
        }


def prepare(options: Options, parent: Path, cache: Path) -> tuple[Path, dict[str, str]]:
    """A new folder within the parent, where the processes write, and the environment of the program to be recorded.

    Raises `Error` where something is missing (the driver, a compiler, NVIDIA's headers) or the folder cannot be made.
    """
    native_library.driver()
    library = native_library.library(cache)
    cupti = native_library.cupti()
    folder = parent / time.strftime(f"%Y%m%d-%H%M%S-{os.getpid()}", time.gmtime())
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise Error(f"{folder}: {error.strerror}", "choose another place with --keep or --archive") from error
    added = options.variables(folder) | {"CUDA_INJECTION64_PATH": str(library)}
    if cupti is not None:  # which also hands ranges of NVTX over to the collector
        added |= {"TRACELODE_CUPTI": str(cupti), "NVTX_INJECTION64_PATH": str(cupti)}
    added["PYTHONPATH"] = os.pathsep.join(filter(None, (str(AGENT), os.environ.get("PYTHONPATH"))))
    return folder, dict(os.environ) | added


def run_name(folder: Path, environment: Mapping[str, str]) -> str:
    """The run that a recording belongs to where the user gives none: the job's id, else the recording's folder."""
    return next((f"job-{environment[name]}" for name in JOBS if environment.get(name)), folder.name)


def run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs the program with our streams; its exit status, or 128 and the signal that ended it, as shells tell it.

    Signals sent to us are passed on. What the terminal sends reaches the program by itself: there we only wait for its
    end. Raises `Error` where the program cannot be started.
    """
    try:
        program = subprocess.Popen(command, env=dict(environment))
    except OSError as error:
        raise Error(f"{command[0]}: {error.strerror}", "is it installed, and on the PATH?") from error
    with _signals_for(program):
        status = program.wait()
    return 128 - status if status < 0 else status


@contextmanager
def _signals_for(program: "subprocess.Popen[bytes]") -> Generator[None]:
    def pass_on(number: int, _: FrameType | None) -> None:
        program.send_signal(number)

    def wait(_number: int, _: FrameType | None) -> None:
        """Leaves it to the program what to do about it."""

    before = {number: signal.signal(number, pass_on) for number in PASSED_ON}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, wait)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def processes(folder: Path) -> list[Path]:
    """The folders of the processes that recorded something."""
    return sorted(path for path in folder.iterdir() if path.is_dir() and any(path.glob("*.spool")))


def ingest(folder: Path, archive: Path, run: str, *, keep: bool) -> list[Outcome]:
    """Reads what each process recorded into the archive, and removes the recording unless it is to be kept.

    What cannot be read is never removed.
    """
    outcomes = list(read_all([Input(path, folder, run) for path in processes(folder)], archive))
    if not keep and all(outcome.error is None for outcome in outcomes):
        shutil.rmtree(folder, ignore_errors=True)
    return outcomes
