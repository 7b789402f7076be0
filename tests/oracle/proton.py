"""Proton's profiles by the json module: the nodes of the tree with their totals, by depth."""

import json
import re
from pathlib import Path
from typing import Any

from tests.oracle.rows import Damaged, Odd, Row, Rows, constant, rows, unpacked

MEMBERS = {"frame", "metrics", "children"}


def read(path: Path) -> Rows:
    parts = json.loads(unpacked(path).decode("utf-8", "replace"), strict=False, parse_constant=constant)
    found: list[Row] = []
    level = [part for part in parts if isinstance(part, dict) and "frame" in part]
    depth = 0
    while level:
        below: list[Any] = []
        for node in level:
            if not isinstance(node, dict):
                raise Damaged("a child that is no node")
            if not node.keys() <= MEMBERS or not isinstance(node.get("children", []), list):
                raise Odd("a node that is not usual")
            below += node.get("children", [])
            frame, metrics = node.get("frame", {}), node.get("metrics", {})
            if not isinstance(frame, dict) or not isinstance(metrics, dict):
                raise Odd("a node whose frame or metrics are none")
            texts = frame.get("name"), frame.get("type"), metrics.get("device_type")
            if not all(text is None or isinstance(text, str) for text in texts):
                raise Odd("a text that is none")
            numbers = (_whole(metrics.get(name)) for name in ("count", "time (ns)", "device_id"))
            found.append((depth, *texts, *numbers, None))
        level, depth = below, depth + 1
    return rows(total=found)


def _whole(value: Any) -> int | None:
    if isinstance(value, str) and re.fullmatch("[0-9]{1,9}", value):
        return int(value)
    if value is not None and (type(value) is not int or abs(value) >= 2**31 * 1000):
        raise Odd("a number that is none")
    return value
