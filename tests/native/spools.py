"""Reads a spool by the book: a second reader, that shares no code with the product's."""

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

NONE = 0xFFFFFFFF
HEADER = struct.Struct("<4sHHIIQQ")

Columns = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Spool:
    """The whole chunks of a file: tables as columns, texts as objects, and how many bytes were cut off."""

    tables: dict[str, Columns]
    texts: list[dict[str, Any]]
    names: list[str]
    cut: int
    threads: set[int]

    def told(self, what: str) -> list[dict[str, Any]]:
        """The text chunks that tell something, in order."""
        return [text for text in self.texts if text["what"] == what]

    @property
    def state(self) -> dict[str, Any]:
        """The last state."""
        return self.told("state")[-1]

    def rows(self, table: str) -> int:
        """How many rows a table has."""
        columns = self.tables.get(table)
        return len(next(iter(columns.values()))) if columns else 0

    def named(self, column: npt.NDArray[Any]) -> list[str | None]:
        """The texts of a column of names."""
        return [None if number == NONE else self.names[number] for number in column.tolist()]

    def kernel_names(self) -> list[str | None]:
        """The names of the kernels, row by row."""
        kernel, config = self.tables["kernel"], self.tables["config"]
        names = dict(zip(config["id"].tolist(), self.named(config["name"]), strict=True))
        return [names[number] for number in kernel["config"].tolist()]


def _padded(count: int) -> int:
    return (count + 7) // 8 * 8


def _refers_only_to_what_is_known(columns: Columns, names: int, configs: int, table: str) -> bool:
    for column, known in (("name", names), ("domain", names), ("config", configs)):
        numbers = columns.get(column)
        if numbers is not None and table != "name":
            numbers = numbers[numbers != NONE]
            if numbers.size and numbers.max() >= known:
                return False
    return True


def _last(columns: Columns, keys: tuple[str, ...]) -> Columns:
    """The sums as they were told last, each report holding all of them."""
    rows = zip(*(columns[key].tolist() for key in keys), strict=True)
    last = list({key: row for row, key in enumerate(rows)}.values())
    return {name: column[last] for name, column in columns.items()}


def read_spool(path: Path) -> Spool:
    """Reads a spool, and checks what each reader may rely on."""
    content = path.read_bytes()
    schema: dict[str, Any] = {}
    parts: dict[str, list[Columns]] = {}
    texts: list[dict[str, Any]] = []
    names: list[str] = []
    threads: set[int] = set()
    at = sequence = configs = 0
    while at + HEADER.size <= len(content):
        magic, kind, width, rows, thread, size, number = HEADER.unpack_from(content, at)
        assert magic == b"TLC1"
        if at + HEADER.size + size > len(content):
            break
        assert number == sequence, "a chunk is missing"
        assert size % 8 == 0
        threads.add(thread)
        payload = content[at + HEADER.size : at + HEADER.size + size]
        at, sequence = at + HEADER.size + size, sequence + 1
        if kind < 2:
            text = json.loads(payload)
            assert (kind == 0) == (number == 0)
            if kind == 0:
                schema = {table["kind"]: {**table, "name": name} for name, table in text["tables"].items()}
            else:
                texts.append(text)
            continue
        table = schema[kind]
        assert width == len(table["columns"])
        columns: Columns = {}
        offset = 0
        for column, type_name in table["columns"]:
            columns[column] = np.frombuffer(payload, f"<{type_name}", rows, offset)
            offset += _padded(columns[column].nbytes)
        if table["name"] == "name":
            assert columns["id"].tolist() == list(range(len(names), len(names) + rows))
            for length in columns["bytes"].tolist():
                names.append(payload[offset : offset + length].decode("utf-8", "surrogateescape"))
                offset += length
        assert _padded(offset) == size
        configs += rows if table["name"] == "config" else 0
        assert _refers_only_to_what_is_known(columns, len(names), configs, table["name"])
        parts.setdefault(table["name"], []).append(columns)
    tables = {
        name: {column: np.concatenate([chunk[column] for chunk in chunks]) for column in chunks[0]}
        for name, chunks in parts.items()
    }
    for table, keys in (("total", ("device", "name")), ("histogram", ("device", "name", "bucket"))):
        if table in tables:
            tables[table] = _last(tables[table], keys)
    return Spool(tables, texts, names, len(content) - at, threads)
