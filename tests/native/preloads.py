"""Builds the replayer, a driver that stands in for CUDA's and programs with managed memory, and runs these under it."""

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.native.programs import COLLECTOR, HERE, WARNINGS
from tracelode.collect.replay import Orders

MIB = 1 << 20


@dataclass(frozen=True)
class Outcome:
    """How a program ended, what it printed, what the driver was called for, and what the replayer counted."""

    status: int
    output: str
    told: str
    calls: list[str]
    counts: list[dict[str, int]]

    @property
    def prefetches(self) -> list[tuple[int, int]]:
        """Where prefetches began, as bytes from the first address that the driver gives, and their bytes."""
        words = [call.split() for call in self.calls if call.startswith("prefetch ")]
        assert all(word[3:5] == ["device", "0"] and len(word) == 7 for word in words), "nothing to remark"
        return [(int(word[1], 16) - 0x10000000000, int(word[2])) for word in words]

    @property
    def count(self) -> dict[str, int]:
        """The counts of the only process, without its number and zeros."""
        (counts,) = self.counts
        return {name: count for name, count in counts.items() if name != "process" and count}


@dataclass(frozen=True)
class Preloads:
    """A folder with the replayer, drivers and programs; `before` is to be loaded before the replayer."""

    folder: Path
    before: str = ""

    @property
    def replayer(self) -> Path:
        """The library that is loaded first."""
        return self.folder / "libtracelode_replay.so"

    def environment(self, changes: Mapping[str, str], driver: str = "driver") -> dict[str, str]:
        """What programs are started with, without the replayer."""
        inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return inherited | {"LD_LIBRARY_PATH": str(self.folder / driver)} | changes

    def run(
        self,
        orders: Orders | bytes | None,
        *words: str,
        program: str = "managed",
        driver: str = "driver",
        **changes: str,
    ) -> Outcome:
        """Runs the program under the replayer, with orders, a file of other content, or none."""
        work = self.folder / f"run-{os.getpid()}-{os.urandom(4).hex()}"
        work.mkdir()
        if orders is not None:
            (work / "orders").write_bytes(orders.packed() if isinstance(orders, Orders) else orders)
        given = {
            "LD_PRELOAD": f"{self.before}:{self.replayer}" if self.before else str(self.replayer),
            "TRACELODE_REPLAY_PLAN": str(work / "orders"),
            "TRACELODE_REPLAY_COUNTS": str(work / "counts"),
            "STUB_LOG": str(work / "log"),
        }
        environment = self.environment(given | changes, driver)
        command = [str(self.folder / program), *words]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
        calls, counts = (
            (work / name).read_text(errors="replace").splitlines() if (work / name).exists() else []
            for name in ("log", "counts")
        )
        return Outcome(ended.returncode, ended.stdout, ended.stderr, calls, [json.loads(line) for line in counts])


def _commands(folder: Path, flags: Sequence[str]) -> Iterator[list[str]]:
    common = ["-pthread", *WARNINGS, *flags]
    cpp, shared = ["g++", "-std=c++17", *common], ["-fPIC", "-shared"]
    sources = [*sorted((COLLECTOR / "replay").glob("*.cpp")), COLLECTOR / "json.cpp", COLLECTOR / "message.cpp"]
    script = ["-Xlinker", f"--version-script={COLLECTOR / 'replay' / 'exports.map'}"]
    static = [] if any("sanitize" in flag for flag in flags) else ["-static-libstdc++", "-static-libgcc"]
    whole = [word for source in sources for word in ("-include", str(source))]  # as users have it
    library = ["-fvisibility=hidden", "-x", "c++", os.devnull, "-o", str(folder / "libtracelode_replay.so"), "-ldl"]
    yield [*cpp, *shared, *whole, *library, *script, *static]
    for name, options in (("driver", []), ("old", ["-DSTUB_OLD"])):
        (folder / name).mkdir(exist_ok=True)
        file = folder / name / "libcuda.so.1"
        stubs = [str(HERE / source) for source in ("stub_cuda.c", "stub_managed.c")]
        yield ["gcc", *common, *options, *shared, *stubs, "-Wl,-soname,libcuda.so.1", "-o", str(file), "-ldl"]
    app = ["gcc", *common, str(HERE / "managed.c")]
    yield [*app, "-o", str(folder / "managed"), "-ldl"]
    yield [*app, "-DLINKED", str(folder / "driver" / "libcuda.so.1"), "-o", str(folder / "linked"), "-ldl"]


def built(bases: pytest.TempPathFactory, name: str, *flags: str, before: str = "") -> Preloads:
    """All of it, built once a session, by whichever of its processes comes first."""
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    base = bases.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"preloads-{name}"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in () if (folder / "built").exists() else _commands(folder, flags):
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            assert ended.returncode == 0, f"{' '.join(command)}\n{ended.stderr}"
        (folder / "built").touch()
    return Preloads(folder, before)
