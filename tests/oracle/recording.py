"""Recordings by struct: chunk after chunk, columns as the first chunk describes them."""

import json
import struct
from pathlib import Path
from typing import Any

from tests.oracle.rows import Damaged, Row, Rows, rows

COPIES = dict(enumerate(("HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"), start=1))
LETTERS = {"u1": "B", "u2": "H", "u4": "I", "u8": "Q", "i4": "i", "i8": "q"}


def read(path: Path) -> Rows:
    content = (path / "events.spool" if path.is_dir() else path).read_bytes()
    tables, names, process = _tables(content)
    configs = {config["id"]: config["name"] for config in tables.get("config", [])}
    found: dict[str, list[Row]] = {"kernel": [], "copy": [], "fill": [], "api": []}
    for row in [*tables.get("kernel", []), *tables.get("graph_kernel", [])]:
        if row["config"] not in configs:
            raise Damaged("a configuration is missing")
        found["kernel"].append((process, *_placed(row), names.get(configs[row["config"]]), row["correlation"]))
    for row in tables.get("copy", []):
        found["copy"].append((process, *_placed(row), COPIES.get(row["kind"]), row["bytes"], row["correlation"]))
    for row in tables.get("fill", []):
        found["fill"].append((process, *_placed(row), row["bytes"], row["correlation"]))
    for row in tables.get("call", []):
        found["api"].append((process, row["thread"], row["start"], row["end"], None, row["correlation"]))
    return rows(**found)


def _tables(content: bytes) -> tuple[dict[str, list[dict[str, int]]], dict[int, str], int]:
    tables: dict[str, list[dict[str, int]]] = {}
    schema: dict[int, Any] = {}
    names: dict[int, str] = {}
    process = None
    at = sequence = 0
    while at < len(content):
        if len(content) < at + 32:
            raise Damaged("cut off in a header")
        magic, kind, _, count, _, length, number = struct.unpack_from("<4sHHIIQQ", content, at)
        payload = content[at + 32 : at + 32 + length]
        if magic != b"TLC1" or len(payload) < length or number != sequence:
            raise Damaged("no whole chunk")
        at, sequence = at + 32 + length, sequence + 1
        if kind < 2:
            said = json.loads(payload)
            if kind == 0:
                schema = {table["kind"]: (name, table["columns"]) for name, table in said["tables"].items()}
            elif said.get("what") == "process":
                process = said["pid"]
            continue
        if kind not in schema:
            raise Damaged("a table that nobody described")
        name, described = schema[kind]
        columns, offset = {}, 0
        for column, form in described:
            columns[column] = struct.unpack_from(f"<{count}{LETTERS[form]}", payload, offset)
            offset += -(-count * struct.calcsize(LETTERS[form]) // 8) * 8
        if name == "name":
            for id, size in zip(columns["id"], columns["bytes"], strict=True):
                names[id] = payload[offset : offset + size].decode()
                offset += size
            continue
        told = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        tables.setdefault(name, []).extend(told)
    if process is None:
        raise Damaged("no process")
    return tables, names, process


def _placed(row: dict[str, int]) -> Row:
    return row["device"], row["stream"], row["start"], row["end"]
