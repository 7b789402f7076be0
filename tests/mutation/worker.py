"""Reads mutants of samples in one process under limits: `python -m tests.mutation.worker FORMAT:FIRST:COUNT...`.

Prints a line of JSON before and after each mutant, so that a killed process tells which one killed it.
"""

import faulthandler
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

from tests.mutation.mutate import mutant
from tests.oracle.rows import disagreement
from tests.samples import SAMPLES, sample
from tracelode.collect.ingest import read
from tracelode.store import Archive, Error

__all__ = ["MOST_BYTES", "MOST_SECONDS", "main", "places"]

MOST_BYTES = 2 << 30
"""Of memory that a worker may hold. What libraries have reserved at its start, but do not use, comes on top."""

MOST_SECONDS = 10
"""Of processor time for one mutant; of waiting, six times as much."""


SEVERAL = frozenset({"accelprof"})
"""Formats in whose folder of samples every file, or folder in it, is a trace of its own; so is a file of the latter."""


class Hang(BaseException):
    """A mutant has taken too long."""


def main(parts: list[str]) -> None:
    """Reads the mutants of those formats and seeds, and prints what became of each."""
    most = MOST_BYTES + max(0, _status("VmData") - _status("VmRSS"))
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
    signal.signal(signal.SIGPROF, _hang)
    memory = Path("/dev/shm")
    for format, first, count in (part.split(":") for part in parts):
        with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
            reading = _Reading(format, Path(folder))
            for seed in range(int(first), int(first) + int(count)):
                _say({"format": format, "begun": seed})
                begun = time.process_time()
                said = reading.read(seed)
                _say({"format": format, "seed": seed, "seconds": round(time.process_time() - begun, 3), **said})
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        _say({"format": format, "peak_bytes": peak})


def _status(name: str) -> int:
    """A figure of this process' memory, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:"))


def _say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _hang(number: int, frame: Any) -> NoReturn:
    raise Hang


def places(format: str) -> list[tuple[Path, Path]]:
    """The traces that are given to the reader and, of each, the files that are damaged: one at a time, in turn.

    What lies beside a trace is read with it, so it is damaged as well: every second time, where it is no trace itself.
    """
    main = sample(format)
    if main.parent == SAMPLES:
        return [(main, main)]
    beside = sorted(one for one in main.parent.iterdir() if one.suffix != ".md" and one != main)
    if format in SEVERAL:
        within = [(one, member) for one in (main, *beside) for member in _members(one)]
        return within + [(member, member) for one, member in within if member != one]
    return [(main, member) for one in beside for member in (main, one)] or [(main, one) for one in _members(main)]


def _members(trace: Path) -> list[Path]:
    return sorted(one for one in trace.iterdir() if one.is_file()) if trace.is_dir() else [trace]


class _Reading:
    """The samples of a format, and where their mutants go."""

    def __init__(self, format: str, folder: Path) -> None:
        self._format, self._folder = format, folder
        self._places = places(format)
        self._notes_of(sample("kineto"))  # for which some mutants are taken: its reader takes seconds to be compiled
        self._benign = {trace: self._notes_of(trace) for trace in {trace for trace, _ in self._places}}
        self._contents = {member: member.read_bytes() for _, member in self._places}

    def _notes_of(self, trace: Path) -> frozenset[str]:
        found, _ = read(trace, Archive(self._folder / "sample"))
        return frozenset(note.kind for note in found.notes)

    def read(self, seed: int) -> dict[str, Any]:
        """What becomes of a mutant: accepted, noted (accepted with notes), refused; anything else is a failure."""
        files, archive = self._folder / "files", Archive(self._folder / "archive")
        trace, member = self._places[seed % len(self._places)]
        if trace.parent == SAMPLES:
            files.mkdir()
        else:  # what lies beside it belongs to it
            shutil.copytree(trace.parent, files)
        damaged = files / member.relative_to(trace.parent)
        damaged.write_bytes(mutant(self._contents[member], seed))
        faulthandler.dump_traceback_later(6 * MOST_SECONDS, exit=True)
        signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
        try:
            return self._read(files / trace.name, damaged, archive, self._benign[trace])
        except Hang:
            return _failure("hang", traceback.format_exc(limit=-4))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            faulthandler.cancel_dump_traceback_later()
            shutil.rmtree(files, ignore_errors=True)
            shutil.rmtree(archive.path, ignore_errors=True)

    def _read(self, path: Path, damaged: Path, archive: Archive, benign: frozenset[str]) -> dict[str, Any]:
        try:
            trace, _ = read(path, archive)
        except Error as error:
            return _refused(error, (path, damaged), archive)
        except Exception:  # noqa: BLE001 - this is what is looked for
            return _failure("traceback", traceback.format_exc(limit=-6))
        reader = archive.manifests()[0].source.reader
        wrong = disagreement(reader, path, trace, benign)
        if wrong:
            return _failure("disagreement", wrong)
        if reader != self._format:
            return {"outcome": "other", "error": reader}
        noted = {note.kind for note in trace.notes} - benign
        outcome = "noted" if noted else "accepted"
        return {"outcome": outcome, "error": ", ".join(sorted(noted)), "compared": wrong is not None}


def _refused(error: Error, named: tuple[Path, Path], archive: Archive) -> dict[str, Any]:
    """A refusal must be for bad input, name the file or its folder and what is wrong, and leave nothing behind."""
    what = error.message
    for path in named:
        what = what.removeprefix(f"{path}: ")
    if error.exit_code != 5 or what == error.message or len(what) < 8 or not error.hint:
        return _failure("refusal", f"exit {error.exit_code}: {error.message} | {error.hint}")
    staged = archive.path / ".staging"
    left = list(archive.path.glob("traces/*")) + (list(staged.iterdir()) if staged.is_dir() else [])
    if left or archive.manifests():
        return _failure("partial trace", f"{what}: {[str(one.relative_to(archive.path)) for one in left]}")
    return {"outcome": "refused", "error": what}


def _failure(kind: str, text: str) -> dict[str, Any]:
    return {"outcome": "failure", "kind": kind, "error": text}


if __name__ == "__main__":
    main(sys.argv[1:])
