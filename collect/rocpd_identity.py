"""Who took part, from a rocpd database: processes, processors, named threads and queues, and the recording itself.

The database holds the environment of the program, with whatever secrets that had. Of it nothing is kept but the rank
and the number of ranks.
"""

import json
from typing import Any, TypeGuard

from ..store.trace import Facts
from .nsys_columns import as_json
from .nsys_identity import RANK, RANKS, words
from .rocpd_recording import Node, agent_number

__all__ = ["facts", "write_identities"]

MACHINE = {"system_name": "system", "release": "os_kernel", "version": "os", "hardware_name": "hardware"}
TOLD = ("type", "logical_index", "type_index", "model_name", "user_name", "generic_name")
PROCESSORS = ("CPU", "GPU")
MEGAHERTZ = 1_000_000


def facts(nodes: list[Node]) -> Facts:
    """The facts of the recording as a whole: those of the first node, where there are several."""
    said = {str(row.get("tag")): str(row.get("value")) for row in nodes[0].rows("rocpd_metadata")}
    machine = next(iter(nodes[0].rows("rocpd_info_node")), {})
    labels = {ours: str(machine[theirs]) for theirs, ours in MACHINE.items() if machine.get(theirs)}
    if version := said.get("schema_version"):
        labels["schema_version"] = version
    if guid := said.get("guid"):
        labels["guid"] = guid
    host = machine.get("hostname")
    return Facts(
        "rocpd",
        producer="rocpd" + (f" schema {version}" if version else ""),
        host=str(host) if host else None,
        clock="nanoseconds since the host started",
        labels=labels,
    )


def write_identities(node: Node) -> None:
    """Writes the processes that have events, their GPUs and what else they copied to, their threads and queues."""
    hosts = {row.get("id"): row.get("hostname") for row in node.rows("rocpd_info_node")}
    for process in sorted(node.active):
        row = node.process_rows.get(process, {})
        rank, ranks = _ranks(row.get("environment"))
        columns = {"pid": row.get("pid", process), "rank": rank, "world_size": None if rank is None else ranks}
        columns |= {"name": words(row.get("command")), "host": words(hosts.get(row.get("nid")))}
        node.sink.write("process", {"process": [process], **columns})
    _write_devices(node)
    _write_tracks(node)


def _write_devices(node: Node) -> None:
    described = {agent_number(row): row for row in node.agents.values()}
    gpus = {number for number, row in described.items() if row.get("type") == "GPU" and _fits(number)}
    for row in described.values():
        if row.get("type") not in PROCESSORS:
            meaning = "processors that the file calls neither CPU nor GPU: taken for none"
            node.sink.note("unknown-processor", meaning, example=repr(row.get("type"))[:80])
    workers = {process for process, _ in node.busy}
    for process, device in sorted(node.busy | {(process, gpu) for process in workers for gpu in gpus}):
        node.sink.write("device", _device(process, device, described.get(device, {})))


def _device(process: int, device: int, row: dict[str, Any]) -> dict[str, Any]:
    details = _object(row.get("extdata"))
    gpu = row.get("type") == "GPU"
    vendor = str(row.get("vendor_name") or "").lower()
    units, clock = details.get("cu_count"), details.get("max_engine_clk_fcompute")
    return {
        "process": [process],
        "device": device,
        "name": words(row.get("product_name")) or words(row.get("name")),
        "vendor": vendor if gpu and vendor else "amd" if gpu else None,
        "compute_units": units if gpu and _fits(units) and units else None,
        "clock_hz": clock * MEGAHERTZ if gpu and _fits(clock) and clock else None,
        "architecture": words(row.get("name")) if gpu and row.get("product_name") else None,
        "args": as_json({name: row.get(name) for name in TOLD if row.get(name) not in (None, "")}),
    }


def _write_tracks(node: Node) -> None:
    """Names of threads and queues; the placeholders of the profiler (`Queue 0`) are names too."""
    for kind, base in (("thread", "rocpd_info_thread"), ("stream", "rocpd_info_queue")):
        for row in node.rows(base):
            process = node.processes.get(row.get("pid", -1), row.get("pid"))
            track = row.get("tid") if kind == "thread" else row.get("id")
            if process in node.active and isinstance(track, int) and (name := words(row.get("name"))):
                node.sink.write("track", {"process": [process], "track": track, "name": name, "kind": kind})


def _ranks(environment: Any) -> tuple[int | None, int | None]:
    variables = _object(environment)
    values = [next((variables[name] for name in names if name in variables), None) for names in (RANK, RANKS)]
    numbers = [
        int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 10 else None for value in values
    ]
    return numbers[0], numbers[1]


def _object(text: Any) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except (ValueError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType] - JSON from outside


def _fits(value: Any) -> TypeGuard[int]:
    """Whether it is a number as devices have."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
