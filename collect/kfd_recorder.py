"""Records the event stream of AMD's kernel driver: `python -m tracelode.collect.kfd_recorder FILE [-- COMMAND ...]`.

Writes what the reader `kfd_smi` reads: a line on the machine, then the lines of the driver as they are. Ends with the
command, with Ctrl-C, or after `--seconds`. It needs a Linux with an AMD GPU, and root: to others the driver tells of
their own process only. Under sudo the command runs as the user who called it.

Standard library only. Not verified on a machine with an AMD GPU: the calls of `/dev/kfd` are made from the kernel's
headers; what lies before and behind them is tested.
"""

import argparse
import fcntl
import json
import os
import platform
import pwd
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

__all__ = ["Remainders", "events_mask", "gpus_of", "header", "main", "pump"]

DEVICE = Path("/dev/kfd")
NODES = Path("/sys/class/kfd/kfd/topology/nodes")
VERSION = Path("/sys/module/amdgpu/version")
OPEN_STREAM = 0xC0084B1F
"""`AMDKFD_IOC_SMI_EVENTS`: `_IOWR('K', 0x1F, struct { u32 gpu_id; u32 fd; })`."""

EVENTS = range(5, 15)
"""Moves, page faults, queues, unmapping, processes, and what the driver had no room for."""

ALL_PROCESSES = 64
READ_BYTES = 8192
"""What the driver holds for a reader: about a hundred events, then it drops some."""

WAIT_MS = 200


def events_mask() -> int:
    """The bits of the events asked for, as the driver wants them: event 1 is bit 0."""
    return sum(1 << (event - 1) for event in (*EVENTS, ALL_PROCESSES))


def gpus_of(nodes: Path) -> list[dict[str, Any]]:
    """The GPUs of the machine as the driver lists its nodes, in their order; a node without a GPU has the id 0."""
    found: list[dict[str, Any]] = []
    for folder in sorted((one for one in nodes.glob("*") if one.name.isdecimal()), key=lambda one: int(one.name)):
        number = _text(folder / "gpu_id")
        if not number.isdecimal() or number == "0":
            continue
        said = _properties(folder / "properties")
        target, lanes = said.get("gfx_target_version", 0), said.get("simd_per_cu", 0)
        banks = (_properties(bank / "properties") for bank in folder.glob("mem_banks/*"))
        found.append(
            {
                "gpu_id": int(number),
                "node": int(folder.name),
                "name": _text(folder / "name"),
                "architecture": f"gfx{target // 10000}{target // 100 % 100:x}{target % 100:x}" if target else "",
                "compute_units": said.get("simd_count", 0) // lanes if lanes else 0,
                "clock_mhz": said.get("max_engine_clk_fcompute", 0),
                "memory_bytes": sum(bank.get("size_in_bytes", 0) for bank in banks),
            }
        )
    return found


def header(gpus: Sequence[Mapping[str, Any]], *, boottime_ns: int, unix_ns: int) -> str:
    """The first line of a recording, with its end."""
    said = {
        "tracelode": "kfd_smi",
        "version": 1,
        "page_bytes": os.sysconf("SC_PAGE_SIZE"),
        "boottime_ns": boottime_ns,
        "unix_ns": unix_ns,
        "host": platform.node(),
        "release": platform.release(),
        "driver": _text(VERSION),
        "gpus": list(gpus),
    }
    return f"# {json.dumps(said)}\n"


class Remainders:
    """Cuts what streams give into whole lines: the driver hands over what it has, to the middle of a line."""

    def __init__(self) -> None:
        self._rest: dict[int, bytes] = {}

    def whole(self, stream: int, content: bytes) -> bytes:
        """The lines of that stream that are whole now."""
        lines, end, rest = (self._rest.get(stream, b"") + content).rpartition(b"\n")
        self._rest[stream] = rest
        return lines + end


def pump(streams: Sequence[int], out: BinaryIO, is_over: Callable[[], bool]) -> None:
    """Writes the lines of all streams, in the order in which they come, until it is over and nothing is left."""
    poll, remainders = select.poll(), Remainders()
    for stream in streams:
        poll.register(stream, select.POLLIN)
    while True:
        over = is_over()  # asked before reading, so that what came until then is read
        ready = [stream for stream, _ in poll.poll(0 if over else WAIT_MS)]
        read = sum(_drain(stream, out, remainders) for stream in ready)
        if over and not read:
            break
    out.flush()


def _drain(stream: int, out: BinaryIO, remainders: Remainders) -> int:
    """Writes what a stream has; the number of bytes. The driver answers EAGAIN where it has nothing."""
    try:
        content = os.read(stream, READ_BYTES)
    except BlockingIOError:
        return 0
    out.write(remainders.whole(stream, content))
    return len(content)


def _open_streams(device: int, gpus: Sequence[Mapping[str, Any]]) -> list[int]:
    """A stream for each GPU, which tells what is asked for from now on. Not verified on a machine with a GPU."""
    streams: list[int] = []
    for gpu in gpus:
        asked = bytearray(struct.pack("=II", gpu["gpu_id"], 0))
        fcntl.ioctl(device, OPEN_STREAM, asked)
        stream = struct.unpack("=II", asked)[1]
        os.write(stream, struct.pack("=Q", events_mask()))
        streams.append(stream)
    return streams


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _properties(path: Path) -> dict[str, int]:
    """Lines of a name and a number, as the driver lists what a node has."""
    pairs = (line.split() for line in _text(path).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """The program, run as the user who called sudo."""
    name = os.environ.get("SUDO_USER", "")
    if os.geteuid() or not name:
        return subprocess.Popen(command)
    user = pwd.getpwnam(name)
    groups = os.getgrouplist(name, user.pw_gid)
    return subprocess.Popen(command, user=user.pw_uid, group=user.pw_gid, extra_groups=groups)


def main(words: Sequence[str] | None = None, *, nodes: Path = NODES) -> None:
    """Records as the words of the command line say; `nodes` is where the driver lists what the machine has."""
    parser = argparse.ArgumentParser(prog="python -m tracelode.collect.kfd_recorder", description=__doc__)
    parser.add_argument("file", type=Path, help="file to write")
    parser.add_argument("--seconds", type=float, help="how long to record without a command (default: until Ctrl-C)")
    parser.add_argument("command", nargs="*", help="program to run, after --")
    options = parser.parse_args(words)
    gpus = gpus_of(nodes)
    if not gpus:
        sys.exit(f"error: no AMD GPU: {nodes} lists none\nhint: is the module amdgpu loaded?")
    if os.geteuid():
        sys.exit("error: the driver tells others than root of their own process only\nhint: run it with sudo")
    try:
        device = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
        streams = _open_streams(device, gpus)
        with options.file.open("wb") as out:
            now = {"boottime_ns": time.clock_gettime_ns(time.CLOCK_BOOTTIME), "unix_ns": time.time_ns()}
            out.write(header(gpus, **now).encode())
            _record(streams, out, options)
    except OSError as error:
        sys.exit(f"error: {error.filename or DEVICE}: {error.strerror}")


def _record(streams: Sequence[int], out: BinaryIO, options: argparse.Namespace) -> None:
    """Records until the program ends, the time is over, or somebody stops it."""
    stopped: list[int] = []

    def stop(number: int, _: object) -> None:
        stopped.append(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    end = time.monotonic() + options.seconds if options.seconds else float("inf")
    program = _start(options.command) if options.command else None
    pump(streams, out, lambda: bool(stopped) or time.monotonic() > end or (program and program.poll()) is not None)
    if program is not None:
        if signal.SIGTERM in stopped:  # Ctrl-C reaches the program without us
            program.terminate()
        sys.exit(program.wait())


if __name__ == "__main__":
    main()
