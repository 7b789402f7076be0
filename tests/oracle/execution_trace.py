"""Execution traces of PyTorch by the json module: each node with its parent and what joins it to a profile."""

import json
from pathlib import Path
from typing import Any

from tests.oracle.rows import Damaged, Odd, Row, Rows, constant, rows, unpacked


def read(path: Path) -> Rows:
    text = unpacked(path).decode("utf-8", "replace")
    document = json.loads(text, strict=False, parse_constant=constant, object_pairs_hook=_members)
    if "nodes" not in document or "workload_graph" in document:
        raise Odd("not a trace of PyTorch's own")
    return rows(node=[_node(node) for node in document["nodes"]])


def _node(node: Any) -> Row:
    if not isinstance(node, dict):
        raise Damaged("an element that is no node")
    attributes = node.get("attrs", [])
    if not isinstance(attributes, list) or not all(isinstance(one, dict) for one in attributes):
        raise Odd("attributes that are none")
    said = node | {one["name"]: one["value"] for one in attributes if one.keys() >= {"name", "value"}}
    if not {"id", "name"} <= node.keys():
        raise Odd("a node of another schema")
    above = node["parent"] if "parent" in node else node.get("ctrl_deps")
    if isinstance(above, list):
        above = above[0] if above else None
    number, parent = _whole(node["id"]), _whole(above)
    if number is None:
        raise Damaged("a node without an id")
    if not isinstance(node["name"], str):
        raise Odd("a name that is none")
    external, sequence = _whole(said.get("rf_id")), _whole(said.get("seq_id"))
    return (
        number,
        None if parent == number else parent,
        node["name"],
        external or None,
        None if sequence == -1 else sequence,
        _whole(said.get("tid")),
    )


def _whole(value: Any) -> int | None:
    if value is not None and (type(value) is not int or abs(value) >= 2**63):
        raise Odd("a number that is none")
    return value


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Odd("a member that is there twice")
    return found
