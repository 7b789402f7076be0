"""Sums of managed memory by the json module: page faults, what pages moved for, and the moves of each device."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.oracle.rows import Damaged, Odd, Row, Rows, constant, members, rows, unpacked

SUMMARY = {"total_page_faults", "xnack_enabled", "migration_triggers"}
TRIGGERS = {"gpu_page_fault", "cpu_page_fault", "prefetch", "ttm_eviction", "unknown"}
DEVICE = {"device_id", "device_name", "migrations"}
WAYS = {"host_to_device": "HtoD", "device_to_host": "DtoH", "device_to_device": "DtoD"}
SIZES = [f"{which}_size_bytes" for which in ("avg", "min", "max", "total")]
MOVES = {"count", "total_time_ns", "migration_throughput_gbps", *SIZES}
"""The members that the objects of the file have, all of them always."""


def read(path: Path) -> Rows:
    text = unpacked(path).decode("utf-8", "replace")
    told = json.loads(text, strict=False, parse_float=_exact, parse_constant=constant, object_pairs_hook=members)
    _object(told, {"devices", "summary"})
    summary = _object(told["summary"], SUMMARY)
    faults, triggers = summary["total_page_faults"], _object(summary["migration_triggers"], TRIGGERS)
    devices: list[Row] = []
    totals = [_total("page faults", "page faults", faults)]
    totals += [_total(name, "triggers of page moves", count) for name, count in triggers.items()]
    if not isinstance(told["devices"], list):
        raise Damaged("devices that are no list")
    for device in told["devices"]:
        moves = _object(_object(device, DEVICE)["migrations"], set(WAYS))
        if not isinstance(device["device_name"], str) or not device["device_name"]:
            raise Damaged("a device without a name")
        devices.append((_whole(device["device_id"]), device["device_name"]))
        for way, sums in moves.items():
            _object(sums, MOVES)
            args = {name: value for name, value in sums.items() if name not in ("count", "total_time_ns")}
            if not all(type(value) in (int, str) for value in args.values()):
                raise Damaged("a sum that is no number")
            where = _whole(sums["total_time_ns"]), _whole(device["device_id"]), json.dumps(args)
            totals.append((*_total(WAYS[way], "page moves", sums["count"])[:5], *where))
    if type(summary["xnack_enabled"]) is not bool:
        raise Damaged("neither with nor without retries of faults")
    return rows(total=totals, device=devices, label=[("xnack", str(summary["xnack_enabled"]).lower())])


def _object(value: Any, names: set[str]) -> dict[str, Any]:
    if not isinstance(value, dict) or not names <= value.keys():
        raise Damaged("an object without all of its members")
    if names < value.keys():
        raise Odd("a member that there is not")
    return value


def _total(name: str, kind: str, count: Any) -> Row:
    return 0, name, kind, None, _whole(count), None, None, None


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise Damaged("a number that is none")
    if value >= 2**62:
        raise Odd("a number that is too large")
    return value


def _exact(number: str) -> str:
    return str(Decimal(number))
