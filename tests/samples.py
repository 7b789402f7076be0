"""The samples of all formats, found by name: a file or a folder in `data/samples` is called after its reader.

`data/samples/formats/rpd_json/`, `data/samples/proton.json`, `data/samples/execution-trace.json` (dashes do as well).
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tracelode.store.parts import names

__all__ = ["FORMATS", "SAMPLES", "sample", "truth"]

SAMPLES = Path(__file__).parents[1] / "data" / "samples"


def _found() -> Iterator[tuple[str, Path]]:
    """Yields each format with its trace: of a folder the largest file, to which what lies beside it belongs, or the
    folder in it, where the trace is one."""
    known = set(names("reader"))
    for path in sorted((*SAMPLES.iterdir(), *(SAMPLES / "formats").iterdir()), key=lambda path: len(path.name)):
        format = path.name.split(".")[0].replace("-", "_")
        if format in known:
            files = [path] if path.is_file() else [file for file in path.iterdir() if file.suffix != ".md"]
            yield format, max(files, key=lambda one: (one.is_file(), one.stat().st_size, one.name))


_SAMPLES = dict(reversed([*_found()]))  # of several the one with the shortest name
FORMATS = sorted(_SAMPLES)


def sample(format: str) -> Path:
    """The trace of the format."""
    return _SAMPLES[format]


def truth() -> dict[str, Any]:
    """What is in the run that the samples under `formats/` show."""
    return json.loads((SAMPLES / "formats" / "truth.json").read_text())
