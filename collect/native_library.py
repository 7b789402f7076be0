"""Finds or builds the libraries that go into other programs, and finds what they need: a driver, headers, CUPTI.

Installing tracelode needs no compiler: the sources come with it, and are compiled when they are first used, with g++;
the event collector against the headers of the user's CUDA toolkit or wheels. The libraries then lie in the user's cache
folder.
"""

import ctypes
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..store.errors import Error

__all__ = ["SOURCES", "cupti", "driver", "headers", "library", "replayer"]

SOURCES = Path(__file__).parent / "native"
NEEDED = ("cupti_activity.h", "cuda.h", "crt/host_defines.h")
"""The headers that the collector includes, and what these include in turn."""

FLAGS = ("-O2", "-std=c++17", "-fPIC", "-fvisibility=hidden", "-shared", "-static-libstdc++", "-static-libgcc")
LIBRARIES = ("-ldl", "-pthread")
RECORD_HINT = "record where the GPU is; traces from elsewhere are read with tracelode ingest"
WHEELS = "pip install 'tracelode[collector]'"
TOOLKITS = ("TRACELODE_CUDA", "CUDA_HOME", "CUDA_PATH")
"""Variables that name the folder of a CUDA toolkit."""


@dataclass(frozen=True)
class _Library:
    """A library of ours: what it is called, the variable that names one built elsewhere, and what it is built of.

    `sources` are patterns within `SOURCES`, `options` the linker's.
    """

    file: str
    title: str
    variable: str
    sources: tuple[str, ...]
    options: tuple[str, ...] = ()


COLLECTOR = _Library("libtracelode_events.so", "event collector", "TRACELODE_COLLECTOR", ("*.cpp",))
REPLAYER = _Library(
    "libtracelode_replay.so",
    "replayer",
    "TRACELODE_REPLAYER",
    ("replay/*.cpp", "json.cpp", "message.cpp"),
    ("-Xlinker", f"--version-script={SOURCES / 'replay' / 'exports.map'}"),
)


def driver(hint: str = RECORD_HINT) -> None:
    """Raises `Error`, with that hint, where there is no NVIDIA driver."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise Error("no NVIDIA driver on this machine: libcuda.so.1 is not there", hint) from error


def headers() -> list[Path]:
    """The folders of NVIDIA's headers; raises `Error` where some are missing."""
    for folders in _header_folders():
        if all(any((folder / name).is_file() for folder in folders) for name in NEEDED):
            return folders
    raise Error(
        f"NVIDIA's headers are not there: {', '.join(NEEDED)}",
        f"{WHEELS}, or name a CUDA toolkit's folder in CUDA_HOME",
    )


def cupti() -> Path | None:
    """The CUPTI library: what TRACELODE_CUPTI names, else of wheels, else of a toolkit; None: the loader finds one."""
    if named := os.environ.get("TRACELODE_CUPTI"):
        return _there(Path(named), "TRACELODE_CUPTI names the library of CUPTI")
    for pattern in ("nvidia/cu*/lib", "nvidia/cuda_cupti/lib"):
        for folder in _in_packages(pattern):
            if found := sorted(folder.glob("libcupti.so.[0-9]*")):
                return found[-1]
    for toolkit in _toolkits():
        for place in ("extras/CUPTI/lib64", "lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"):
            if found := sorted((toolkit / place).glob("libcupti.so.[0-9]*")):
                return found[-1]
    return None


def library(cache: Path) -> Path:
    """The event collector: what TRACELODE_COLLECTOR names, else built in the cache folder, once for these sources.

    Raises `Error` without a compiler or the headers, or where the sources do not compile.
    """
    return _named(COLLECTOR) or _built(COLLECTOR, cache, headers())


def replayer(cache: Path) -> Path:
    """The replayer of plans, found like the event collector; it needs no headers."""
    return _named(REPLAYER) or _built(REPLAYER, cache, [])


def _named(one: _Library) -> Path | None:
    named = os.environ.get(one.variable)
    return _there(Path(named), f"{one.variable} names the {one.title}'s library") if named else None


def _built(one: _Library, cache: Path, folders: list[Path]) -> Path:
    built = cache / "native" / _mark(one, folders) / one.file
    return built if built.is_file() else _build(one, built, folders)


def _there(named: Path, hint: str) -> Path:
    if not named.is_file():
        raise Error(f"{named}: no such file", hint)
    return named


def _build(one: _Library, built: Path, folders: list[Path]) -> Path:
    """Compiles the library into that file; where others wait for the same, as the ranks of a node do, only once."""
    compiler, folder = _compiler(), built.parent
    sources = sorted(path for pattern in one.sources for path in SOURCES.glob(pattern))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / ".lock").open("w") as lock, tempfile.TemporaryDirectory(dir=folder, prefix=".building-") as work:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if built.is_file():
                return built
            made = Path(work) / one.file
            include = [word for place in folders for word in ("-isystem", str(place))]
            whole = [word for source in sources for word in ("-include", str(source))]  # takes half the time
            place = ["-x", "c++", os.devnull, "-o", str(made)]
            command = [*compiler, *FLAGS, *include, *whole, *place, *one.options, *LIBRARIES]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
            if done.returncode:
                first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
                raise Error(f"the {one.title} does not compile: {first}", f"see: {' '.join(command)}")
            made.replace(built)
    except OSError as error:
        raise Error(f"{folder}: cannot build there: {error.strerror}", "set XDG_CACHE_HOME") from error
    return built


def _compiler() -> list[str]:
    words = os.environ.get("CXX", "g++").split() or ["g++"]
    if shutil.which(words[0]) is None:
        raise Error(f"no C++ compiler: {words[0]}", "install g++ (apt install g++), or name a compiler in CXX")
    return words


def _mark(one: _Library, folders: list[Path]) -> str:
    """What the library depends on, as a name: sources, headers, how they are compiled and for what machine."""
    words = (one.file, platform.machine(), os.environ.get("CXX", ""), *FLAGS)
    mark = hashlib.sha256("\0".join(words).encode())
    for path in sorted(path for path in SOURCES.rglob("*.*") if path.is_file()):
        mark.update(path.name.encode() + b"\0" + path.read_bytes())
    for name in NEEDED if folders else ():
        found = next(folder / name for folder in folders if (folder / name).is_file())
        mark.update(found.read_bytes())
    return mark.hexdigest()[:16]


def _header_folders() -> Iterator[list[Path]]:
    """Sets of folders that may hold all headers: the toolkits', the wheels'."""
    for toolkit in _toolkits():
        yield [toolkit / "include", toolkit / "extras" / "CUPTI" / "include"]
    wheels = [*_in_packages("nvidia/cu*/include"), *_in_packages("nvidia/cuda_*/include")]
    if wheels:
        yield wheels


def _toolkits() -> Iterator[Path]:
    named = [Path(folder) for variable in TOOLKITS if (folder := os.environ.get(variable))]
    compiler = shutil.which("nvcc")
    if compiler:
        named.append(Path(compiler).resolve().parent.parent)
    yield from dict.fromkeys([*named, Path("/usr/local/cuda")])


def _in_packages(pattern: str) -> list[Path]:
    """Folders of that pattern in the installed packages, the newest first."""
    roots = dict.fromkeys(sysconfig.get_paths()[kind] for kind in ("purelib", "platlib"))
    return [path for root in roots for path in sorted(Path(root).glob(pattern), reverse=True)]
