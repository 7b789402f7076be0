"""Builds the event collector, the stubs and the program under test, and runs that program under the collector."""

import fcntl
import json
import os
import shutil
import site
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.native.spools import Spool, read_spool

HERE = Path(__file__).parent
COLLECTOR = HERE.parents[1] / "collect" / "native"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]


def include_folder() -> Path | None:
    """Where NVIDIA's headers are on this machine: TRACELODE_CUDA_INCLUDE, wheels, or the toolkit."""
    named = os.environ.get("TRACELODE_CUDA_INCLUDE")
    wheels = [Path(folder, "nvidia", "cu13", "include") for folder in site.getsitepackages()]
    homes = [Path(os.environ[name], "include") for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ]
    for folder in [*([Path(named)] if named else []), *wheels, *homes, Path("/usr/local/cuda/include")]:
        if all((folder / header).is_file() for header in ("cupti_activity.h", "cuda.h", "crt/host_defines.h")):
            return folder
    return None


def missing() -> str | None:
    """What the machine lacks to build; None if it has all."""
    if not shutil.which("g++"):
        return "g++ is not installed"
    return None if include_folder() else "NVIDIA's headers (cupti_activity.h, cuda.h) are not installed"


@dataclass(frozen=True)
class Outcome:
    """How the program under test ended, what it printed, and the folders of processes it left."""

    status: int
    output: str
    told: str
    folders: list[Path]

    @property
    def spool(self) -> Spool:
        """The recording of the only process."""
        (folder,) = self.folders
        return read_spool(folder / "events.spool")

    def states(self) -> list[dict[str, object]]:
        """The states that the program was told."""
        return [json.loads(line.removeprefix("state ")) for line in self.told.splitlines() if line.startswith("state ")]

    def lines(self) -> list[str]:
        """What the collector told on stderr."""
        return [line for line in self.told.splitlines() if line.startswith("tracelode: ")]


@dataclass(frozen=True)
class Programs:
    """A folder with the collector, the stubs of libcuda and libcupti, and the program under test."""

    folder: Path

    @property
    def collector(self) -> Path:
        """The library that is injected."""
        return self.folder / "libtracelode_events.so"

    @property
    def cupti(self) -> Path:
        """The stub of libcupti."""
        return self.folder / "cupti" / "libcupti.so.13"

    @property
    def driver(self) -> Path:
        """The stub of libcuda."""
        return self.folder / "driver" / "libcuda.so.1"

    def layout(self) -> dict[int, dict[str, tuple[int, int]]]:
        """Offset and size of the fields of each kind of record."""
        told = subprocess.run([self.folder / "layout"], capture_output=True, check=True, text=True).stdout
        return {int(kind): {name: (at[0], at[1]) for name, at in of.items()} for kind, of in json.loads(told).items()}

    def environment(self, out: Path, replays: Sequence[Path], changes: Mapping[str, str]) -> dict[str, str]:
        """What the program under test is started with; an empty change takes a variable away."""
        inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        environment = {
            **inherited,
            "LD_LIBRARY_PATH": str(self.driver.parent),
            "CUDA_INJECTION64_PATH": str(self.collector),
            "TRACELODE_CUPTI": str(self.cupti),
            "TRACELODE_RECORD_DIR": str(out),
            "TRACELODE_VERSION": "1.2.3",
            "STUB_REPLAY": ":".join(map(str, replays)),
            **changes,
        }
        return {name: value for name, value in environment.items() if value}

    def run(self, out: Path, *replays: Path, program: Sequence[str] = (), **changes: str) -> Outcome:
        """Runs the program, or another, under the collector."""
        command = list(program) or [str(self.folder / "app")]
        environment = self.environment(out, replays, changes)
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
        folders = sorted(out.iterdir()) if out.is_dir() else []
        return Outcome(ended.returncode, ended.stdout, ended.stderr, folders)


def _commands(folder: Path, include: Path, flags: Sequence[str]) -> Iterator[list[str]]:
    common = ["-I", str(include), "-pthread", *WARNINGS, *flags]
    cpp = ["g++", "-std=c++17", *common]
    shared = ["-fPIC", "-shared"]
    sources = sorted(COLLECTOR.glob("*.cpp"))
    whole = [word for source in sources for word in ("-include", str(source))]  # as users have it
    library = ["-fvisibility=hidden", "-x", "c++", os.devnull, "-o", str(folder / "libtracelode_events.so"), "-ldl"]
    static = ["-static-libstdc++", "-static-libgcc", "-Wl,--no-undefined"]
    yield [*cpp, *shared, *whole, *library, *(() if any("sanitize" in flag for flag in flags) else static)]
    for name, file, source in (
        ("cupti", "libcupti.so.13", "stub_cupti.cpp"),
        ("driver", "libcuda.so.1", "stub_cuda.c"),
    ):
        (folder / name).mkdir(exist_ok=True)
        compiler = cpp if source.endswith("cpp") else ["gcc", *common]
        yield [*compiler, *shared, str(HERE / source), f"-Wl,-soname,{file}", "-o", str(folder / name / file), "-ldl"]
    yield ["gcc", *common, str(HERE / "app.c"), "-o", str(folder / "app"), "-ldl"]
    for name in ("layout", "walk"):
        yield [*cpp, str(HERE / f"{name}.cpp"), "-o", str(folder / name), "-ldl"]


def build_once(folder: Path, *flags: str) -> Programs:
    """Builds all into the folder, where no other process has or does."""
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "built").exists():
            build(folder, *flags)
            (folder / "built").touch()
    return Programs(folder)


def build(folder: Path, *flags: str) -> Programs:
    """Builds all into an empty folder."""
    include = include_folder()
    assert include is not None
    for command in _commands(folder, include, flags):
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, f"{' '.join(command)}\n{ended.stderr}"
    return Programs(folder)
