"""Execution traces of PyTorch by the json module: each node with its parent and what joins it to a profile.

Chakra's graphs as JSON too: each node with its type, what it depends on and how long it ran.
"""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.oracle.chakra import KINDS
from tests.oracle.rows import Damaged, Odd, Row, Rows, constant, members, rows, unpacked

DEPENDENCIES = (("ctrlDeps", "ctrl_deps"), ("data_deps", "dataDeps"))
"""What controls a node and what gives it data, as one tool or another calls it."""


def read(path: Path) -> Rows:
    text = unpacked(path).decode("utf-8", "replace")
    document = json.loads(text, strict=False, parse_float=Decimal, parse_constant=constant, object_pairs_hook=members)
    if document.keys() >= {"nodes", "workload_graph"}:
        raise Odd("two graphs in one file")
    if "nodes" in document:
        return rows(node=[_node(node) for node in document["nodes"]])
    return rows(node=[_graph_node(node) for node in document["workload_graph"]])


def _graph_node(node: Any) -> Row:
    if not isinstance(node, dict) or "Id" not in node or node["Id"] is None:
        raise Damaged("an element that is no node")
    number, name, kind = _whole(node["Id"]), node.get("Name"), node.get("NodeType")
    if not isinstance(name, str) or type(kind) is not int or not 0 <= kind < len(KINDS):
        raise Odd("a name or a type that is none")
    if len({"ctrlDeps", "ctrl_deps"} & node.keys()) + len({"dataDeps", "data_deps"} & node.keys()) > 2:
        raise Odd("what the node depends on in two ways")
    control, data = (_ids(node.get(name, node.get(other))) for name, other in DEPENDENCIES)
    runtime = node.get("runtime")
    if runtime is not None and (type(runtime) not in (int, Decimal) or not 0 <= runtime < 2**53):
        raise Odd("a time that is none")
    parent = control[0] if control and control[0] != number else None
    time = None if runtime is None else int(runtime * 1000)
    several = json.dumps(control) if len(control) > 1 else None
    return number, parent, name, None, None, None, KINDS[kind], None, time, several, json.dumps(data) if data else None


def _ids(value: Any) -> list[int]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(type(one) is int and abs(one) < 2**63 for one in value):
        raise Odd("ids that are none")
    return value


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
        *[None] * 5,
    )


def _whole(value: Any) -> int | None:
    if value is not None and (type(value) is not int or abs(value) >= 2**63):
        raise Odd("a number that is none")
    return value
