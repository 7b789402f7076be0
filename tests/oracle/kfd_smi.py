"""The event stream of AMD's kernel driver, word by word: each end looks back for its begin."""

import json
import re
from pathlib import Path
from typing import Any

from tests.oracle.rows import Damaged, Odd, Row, Rows, rows, unpacked

CAUSES = ("user", "coherence", "coherence", "eviction")
SILENT = ("b", "9", "a", "c", "d")
"""Events of which there are neither faults nor moves."""


def read(path: Path) -> Rows:
    text = unpacked(path).decode("utf-8-sig", "replace")
    if not text.endswith("\n"):
        raise Damaged("the last line has no end")
    first, *lines = text.replace("\r\n", "\n").split("\n")[:-1]
    said = json.loads(first[1:], object_pairs_hook=_once)
    if type(said.get("page_bytes")) is not int or not 0 < said["page_bytes"] <= 1 << 21:
        raise Odd("pages of a size that cannot be")
    nodes = {gpu["gpu_id"]: gpu["node"] for gpu in said["gpus"]}
    found: dict[str, list[Row]] = {"fault": [], "migration": []}
    begun: list[list[str]] = []
    for line in filter(None, lines):
        words = line.split(" ")
        if words[0] in ("5", "7"):
            begun.append(words)
        elif words[0] in ("6", "8"):
            begin = next((one for one in begun if _shared(one) == _shared(words)), None)
            if begin is None:
                raise Damaged("an end without a begin")
            begun.remove(begin)
            found["fault" if words[0] == "8" else "migration"].append(_row(begin, words, said["page_bytes"], nodes))
        elif words[0] not in SILENT:
            raise Odd("a line that is not usual")
    if any(begin[0] == "5" for begin in begun):
        raise Damaged("a move without an end")
    found["fault"] += [_row(begin, None, said["page_bytes"], nodes) for begin in begun]
    return rows(**found)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Odd("a key that is given twice")
    return found


def _shared(words: list[str]) -> tuple[str | int, ...]:
    """What a begin and its end have in common: the process, the pages, the way and why."""
    places = [int(number, 16) for word in words[3:5] for number in re.findall(r"[0-9a-f]+", word)]
    if words[0] in ("7", "8"):
        return ("fault", int(words[2]), *places[:2])
    return ("move", int(words[2]), *places, int(words[6 if words[0] == "5" else 5]))


def _row(begin: list[str], end: list[str] | None, page: int, nodes: dict[int, int]) -> Row:
    process = int(begin[2].removeprefix("-"))
    times = int(begin[1]), None if end is None else int(end[1])
    place, _, inner = begin[3].removeprefix("@").removesuffix(")").partition("(")
    if int(place, 16) * page >= 2**62:
        raise Odd("an address that cannot be")
    if begin[0] == "7":
        device = nodes[int(inner, 16)]
        return process, device, "gpu", *times, int(place, 16) * page, 1, {"R": "read", "W": "write"}[begin[4]]
    source, target = (int(one, 16) for one in begin[4].split("->"))
    if end is None or (len(end) > 6 and int(end[6])) or not 0 < int(inner, 16) * page <= 2**44:
        raise Damaged("a move that failed, or that cannot be")
    if source and target:
        kind, device = "UVM_DtoD", nodes[target]
    elif source or target:
        kind, device = ("UVM_HtoD", nodes[target]) if target else ("UVM_DtoH", nodes[source])
    else:
        raise Odd("a move from the host to the host")
    cause = CAUSES[int(begin[6])] if int(begin[6]) < len(CAUSES) else None
    return process, device, kind, *times, int(place, 16) * page, int(inner, 16) * page, cause
