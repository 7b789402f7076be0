"""Runs a program under the event collector, and reads what it recorded into an archive when it has ended.

The collector is a library that the CUDA driver loads into the program (`CUDA_INJECTION64_PATH`); it only appends to
files. All else is done here, outside the program's process, so that nothing of it can disturb the program, and so that
a program that crashes leaves what was recorded until then.
"""

import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..store.errors import Error
from ..store.version import VERSION
from . import native_library

if TYPE_CHECKING:
    from .ingest import Outcome

__all__ = ["EVENTS", "RUN", "Options", "ingest", "overridden", "prepare", "processes", "run_name"]

EVENTS = ("kernel", "copy", "fill", "sync", "memory", "pool", "graph", "marker", "overhead")
"""What is recorded unless told otherwise."""

CALLS = ("runtime", "driver", "external")
AGENT = Path(__file__).parent / "agent" / "start"
"""What Python imports as it starts: the agent, for ranges and hooks in the program."""

INJECTED = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")
"""By which the driver and the NVTX in the program load the collector."""

JOBS = ("TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid")
"""What launchers call the job, so that its ranks, each recorded for itself, are one run."""

NO_JOB = ("", "none")
"""What these say where the job was given no name: torchrun's is `none` by default."""

RUN = ".run"
"""The file in a recording's folder that says which run it is."""

TRIES = 10


@dataclass(frozen=True)
class Options:
    """What is to be recorded, and how; see `tracelode record --help`.

    `launches` is a pair of ordinals, either of which may be None; `buffers_mib` and `flush_ms` bound what waits in the
    program, `device_mib` what CUPTI takes of a device's memory in each context.
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
    device_mib: int = 256
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
            "TRACELODE_RECORD_DEVICE": str(self.device_mib),
            "TRACELODE_RECORD_FLUSH": str(self.flush_ms),
            "TRACELODE_RECORD_STOP": str(self.stop_mib << 20),
            "TRACELODE_VERSION": VERSION,
        }


def _new_folder(parent: Path) -> Path:
    """A folder of which there is no other, whoever else records there at the moment."""
    host = re.sub(r"[^A-Za-z0-9_.-]", "_", socket.gethostname())
    for attempt in range(TRIES):
        started = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        folder = parent / f"{started}-{host}-{os.getpid()}-{secrets.token_hex(2)}"
        try:
            folder.mkdir(mode=0o700, parents=True)
        except (FileExistsError, FileNotFoundError) as error:  # another one makes or removes it at this moment
            if attempt + 1 == TRIES:
                raise Error(f"{folder}: {error.strerror}", "try again") from error
        except OSError as error:
            hint = "choose another place with --keep or --archive"
            raise Error(f"{folder}: {error.strerror}", hint) from error
        else:
            return folder
    raise AssertionError("unreachable")


def overridden(environment: Mapping[str, str]) -> list[str]:
    """The variables of the user's that recording replaces."""
    return [name for name in INJECTED if environment.get(name)]


def prepare(options: Options, parent: Path, cache: Path) -> tuple[Path, dict[str, str]]:
    """A new folder within the parent, where the processes write, and the environment of the program to be recorded.

    Raises `Error` where something is missing (the driver, a compiler, NVIDIA's headers) or the folder cannot be made.
    """
    native_library.driver()
    library = native_library.library(cache)
    cupti = native_library.cupti()
    folder = _new_folder(parent)
    added = options.variables(folder) | dict.fromkeys(INJECTED, str(library))
    if cupti is not None:
        added["TRACELODE_CUPTI"] = str(cupti)
    added["PYTHONPATH"] = os.pathsep.join(filter(None, (str(AGENT), os.environ.get("PYTHONPATH"))))
    return folder, dict(os.environ) | added


def run_name(folder: Path, environment: Mapping[str, str]) -> str:
    """The run that a recording belongs to where the user gives none: the job's id, else the recording's folder.

    Ranks of a launcher that tells no id are told by that launcher: its host, its process, and when that began.
    """
    for name in JOBS:
        if environment.get(name, "") not in NO_JOB:
            return f"job-{environment[name]}"
    if environment.get("WORLD_SIZE", "1") == "1":
        return folder.name
    launcher = os.getppid()
    try:
        began = Path(f"/proc/{launcher}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return folder.name
    return f"job-{socket.gethostname()}-{launcher}-{began}"


def processes(folder: Path) -> list[Path]:
    """The folders of the processes that recorded something; none where the folder is gone."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.is_dir() and any(path.glob("*.spool")))


def ingest(folder: Path, archive: Path, run: str, *, running: Collection[int] = (), keep: bool) -> "list[Outcome]":
    """Reads what each process recorded into the archive, and removes the recording unless it is to be kept.

    What cannot be read is never removed. Where processes are still `running`, those of these numbers are not read and
    nothing is removed.
    """
    from .ingest import read_all
    from .inputs import Input

    ended = [path for path in processes(folder) if _pid(path) not in running]
    outcomes = list(read_all([Input(path, folder, run) for path in ended], archive))
    if not keep and not running and all(outcome.error is None for outcome in outcomes):
        shutil.rmtree(folder, ignore_errors=True)
    return outcomes


def _pid(process: Path) -> int | None:
    """The process that wrote a folder, which is named for host, process and time."""
    parts = process.name.rsplit("-", 2)
    return int(parts[1]) if len(parts) == 3 and parts[1].isdecimal() else None
