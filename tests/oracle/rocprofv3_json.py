"""JSON of rocprofv3 by the json module: names stand in tables of symbols and operations."""

import json
import re
from pathlib import Path
from typing import Any

from tests.oracle.rows import Damaged, Odd, Row, Rows, rows, unpacked

COPY = re.compile(r"(HOST|DEVICE)_TO_(HOST|DEVICE)")


def read(path: Path) -> Rows:
    found: dict[str, list[Row]] = {"kernel": [], "copy": [], "api": [], "fault": [], "migration": []}
    for tool in json.loads(unpacked(path).decode("utf-8", "replace"), object_pairs_hook=_once, strict=False)[
        "rocprofiler-sdk-tool"
    ]:
        process = tool["metadata"]["pid"]
        agents = {agent["id"]["handle"]: agent["node_id"] for agent in tool["agents"]}
        gpus = {agent["node_id"] for agent in tool["agents"] if agent["type"] == 2}
        symbols = {symbol["kernel_id"]: symbol for symbol in tool["kernel_symbols"]}
        operations = [kind.get("operations", []) for kind in tool["strings"]["buffer_records"]]
        records = tool["buffer_records"]
        for one in records["kernel_dispatch"]:
            work = one["dispatch_info"]
            place = process, agents[work["agent_id"]["handle"]], work["queue_id"]["handle"], *_times(one)
            symbol = symbols[work["kernel_id"]]
            if "formatted_kernel_name" not in symbol:
                raise Odd("a symbol that is named in another form alone")
            found["kernel"].append((*place, symbol["formatted_kernel_name"], _correlation(one)))
        for one in records["memory_copy"]:
            matched = COPY.search(_operation(operations, one))
            if not matched:
                raise Damaged("a copy that does not say its direction")
            kind = f"{matched[1][0]}to{matched[2][0]}"
            ends = [agents[_number(one[f"{end}_agent_id"]["handle"])] for end in ("dst", "src")]
            device = next((end for end in ends if end in gpus), None)
            if device is None:
                raise Odd("a copy of which no end is a GPU")
            place = process, device, one["stream_id"]["handle"], *_times(one)
            found["copy"].append((*place, kind, one["bytes"], _correlation(one)))
        for one in records.get("kfd", []):
            kind = tool["strings"]["buffer_records"][one["kind"]]["kind"]
            name = _operation(operations, one)
            if kind == "KFD_PAGE_FAULT":
                access = "read" if "READ" in name else "write"
                place = process, agents[one["agent_id"]["handle"]], "gpu", *_times(one)
                found["fault"].append((*place, _address(one["address"]), 1, access))
            elif kind == "KFD_PAGE_MIGRATE":
                found["migration"].append(_move(one, name, process, agents, gpus))
        for one in [*records["hip_api"], *records.get("hsa_api", [])]:
            name = _operation(operations, one)
            found["api"].append((process, one["thread_id"], *_times(one), name, _correlation(one)))
    return rows(**found)


def _move(one: dict[str, Any], name: str, process: int, agents: dict[int, int], gpus: set[int]) -> Row:
    source, target = (agents[one[f"{end}_agent"]["handle"]] for end in ("src", "dst"))
    ways = {
        (False, True): ("UVM_HtoD", target),
        (True, False): ("UVM_DtoH", source),
        (True, True): ("UVM_DtoD", target),
    }
    way = ways.get((source in gpus, target in gpus))
    first, last = _address(one["start_address"]), _address(one["end_address"])
    if way is None or one.get("error_code") or not 0 < last - first <= 2**44:
        raise Damaged("a move that cannot be")
    for cause, words in {"user": "PREFETCH", "coherence": "PAGEFAULT", "eviction": "EVICTION"}.items():
        if words in name:
            return process, way[1], way[0], *_times(one), first, last - first, cause
    raise Odd("a move without a reason")


def _address(value: dict[str, Any]) -> int:
    found = _number(value["handle"])
    if found < 0:
        raise Damaged("an address below 0")
    return found


def _operation(operations: list[list[str]], record: dict[str, Any]) -> str:
    kind, number = record["kind"], record["operation"]
    if type(kind) is not int or type(number) is not int or kind < 0 or number < 0:
        raise Damaged("an operation that is not named")
    return operations[kind][number]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Odd("a key that is given twice")
    return found


def _times(record: dict[str, Any]) -> tuple[int, int]:
    return _number(record["start_timestamp"]), _number(record["end_timestamp"])


def _correlation(record: dict[str, Any]) -> int:
    return _number(record["correlation_id"]["internal"])


def _number(value: Any) -> int:
    if type(value) is not int or not -(2**62) < value < 2**62:
        raise Odd("a number that is none")
    return value
