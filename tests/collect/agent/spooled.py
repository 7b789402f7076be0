"""Runs programs under the agent and reads what it wrote, by a decoder of its own."""

import json
import os
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

START = Path(__file__).parents[3] / "collect" / "agent" / "start"
FAKE = Path(__file__).parent / "fake"
LETTERS = {"u1": "B", "u2": "H", "u4": "I", "u8": "Q", "i4": "i", "i8": "q"}


@dataclass(frozen=True)
class Spooled:
    """A decoded file: its JSON texts, and its rows with their names written out."""

    folder: str
    texts: list[dict[str, Any]]
    rows: dict[str, list[dict[str, Any]]]

    def said(self, what: str) -> dict[str, Any]:
        """The last text of that kind."""
        return [text for text in self.texts if text["what"] == what][-1]

    def ranges(self, kind: int) -> list[str]:
        """The names of the ranges of a kind, in the order of their ends."""
        return [row["name"] for row in self.rows["range"] if row["kind"] == kind]


def decode(path: Path) -> Spooled:
    """Reads a spool; every rule of its form is asserted."""
    data = path.read_bytes()
    tables: dict[int, tuple[str, list[tuple[str, str]]]] = {}
    texts: list[dict[str, Any]] = []
    names: dict[int, str] = {}
    rows: dict[str, list[dict[str, Any]]] = {"range": [], "op": [], "tensor": []}
    at = number = 0
    while at < len(data):
        magic, kind, columns, count, thread, size, sequence = struct.unpack_from("<4sHHIIQQ", data, at)
        assert (magic, sequence) == (b"TLC1", number)
        assert count > 0
        assert thread > 0
        assert size % 8 == 0
        payload = data[at + 32 : at + 32 + size]
        assert len(payload) == size
        at, number = at + 32 + size, number + 1
        if kind in (0, 1):
            assert (columns, count) == (1, 1)
            said = json.loads(payload.decode())
            if kind == 1:
                texts.append(said)
            else:
                assert said["spool"] == 1
                assert number == 1
                tables = {table["kind"]: (name, table["columns"]) for name, table in said["tables"].items()}
            continue
        table, described = tables[kind]
        assert columns == len(described)
        found, place = [], 0
        for _, code in described:
            found.append(struct.unpack_from(f"<{count}{LETTERS[code]}", payload, place))
            place += -(-int(code[1]) * count // 8) * 8
        if table == "name":
            for name, length in zip(*found, strict=True):
                assert name not in names
                names[name] = payload[place : place + length].decode()
                place += length
            assert len(payload) == -(-place // 8) * 8
            continue
        assert place == len(payload)
        for values in zip(*found, strict=True):
            row = dict(zip((name for name, _ in described), values, strict=True))
            for column in ("name", "owner", "shapes", "types", "stack"):
                if column in row:
                    row[column] = None if row[column] == 0xFFFFFFFF else names[row[column]]
            rows[table].append(row)
    return Spooled(path.parent.name, texts, rows)


def environment(folder: Path, *before: Path, **options: str) -> dict[str, str]:
    """The environment of a recorded program, with folders that it finds modules in."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("TRACELODE_", "CUDA_", "PYTHON"))}
    path = os.pathsep.join(str(one) for one in (START, *before))
    return {**kept, "PYTHONPATH": path, "TRACELODE_RECORD_DIR": str(folder), **options}


def run(
    program: str, folder: Path, *before: Path, flags: tuple[str, ...] = (), python: str = sys.executable, **options: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program from a file, recorded into the folder; the agent is there as `agent`."""
    path = folder.parent / "program.py"
    path.write_text(program)
    command = [python, *flags, str(path)]
    return subprocess.run(
        command, env=environment(folder, *before, **options), capture_output=True, text=True, timeout=120
    )


def spools(folder: Path) -> list[Spooled]:
    """What the processes wrote, in the order of their starts."""
    found = sorted(folder.glob("*/python.spool"), key=lambda path: int(path.parent.name.rsplit("-", 1)[1], 16))
    return [decode(path) for path in found]


def recorded(program: str, folder: Path, *before: Path, **options: str) -> Spooled:
    """What the one process of a program wrote that must succeed and say nothing."""
    done = run(program, folder, *before, **options)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (spooled,) = spools(folder)
    return spooled
