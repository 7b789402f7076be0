"""What a Kineto file says of itself: the members around its events, as facts, devices and processes."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ..store.tables import TABLES
from ..store.trace import Facts
from .jsonrepair import text_of
from .kineto_process import Processes
from .kineto_record import whole
from .sink import Sink

__all__ = ["facts_of", "write_devices", "write_processes"]

UNIX_FROM, UNIX_TO = 1_000_000_000 * 10**9, 4_000_000_000 * 10**9
"""Times between 2001 and 2096: a clock that shows them counts Unix time."""

VENDORS = (
    ("nvidia", ("nvidia", "tesla", "quadro", "geforce", "rtx", "titan")),
    ("amd", ("amd", "radeon", "instinct")),
    ("meta", ("artemis", "mtia")),
    ("intel", ("intel", "arc(tm)")),
)


def facts_of(members: Mapping[str, Any], first_ns: int | None, *, generic: bool) -> Facts:
    """The facts; `first_ns` is a time of the trace. Without a stated base, times that look like Unix time are that."""
    base = whole(members.get("baseTimeNanoseconds"))
    if base is None and first_ns is not None and UNIX_FROM <= first_ns < UNIX_TO:
        base = 0
    schema = members.get("schemaVersion")
    known = ("baseTimeNanoseconds", "deviceProperties", "computeProperties")
    return Facts(
        format="chrome-trace" if generic else "kineto",
        producer=None if generic else "Kineto" if schema is None else f"Kineto, schema {text_of(schema)}",
        host=next((v for k in ("host_name", "hostname", "host") if isinstance(v := members.get(k), str)), None),
        framework=None if generic else "PyTorch",
        clock=None if base is None else "unix",
        base_unix_ns=base,
        labels={k: v if isinstance(v, str) else text_of(v) for k, v in members.items() if k not in known},
    )


def write_devices(members: Mapping[str, Any], process: int, sink: Sink) -> None:
    """Writes the table `device` from the properties of the devices; what no column holds stays in `args`."""
    listed = members.get("deviceProperties") or members.get("computeProperties")
    vendor = _vendor_of_software(members)
    rows = [_device(entry, vendor) for entry in (listed if isinstance(listed, list) else []) if _is_device(entry)]
    if rows:
        table = pa.Table.from_pylist([{"process": process, **row} for row in rows], TABLES["device"].schema)
        sink.write("device", dict(zip(table.column_names, table.columns, strict=True)))


def write_processes(
    members: Mapping[str, Any],
    used: list[int],
    processes: Processes,
    names: Mapping[int, str],
    raw_pids: Mapping[int, int],
    sink: Sink,
) -> None:
    """Writes the table `process`: of one process, the job's own record tells its rank; of several, their lanes do."""
    job = members.get("distributedInfo")
    job = job if isinstance(job, dict) else {}
    host = facts_of(members, None, generic=True).host
    rank, size = (_counted(job, name, sink) for name in ("rank", "world_size"))
    columns = {
        "process": used,
        "pid": [None if p in processes.names or p not in processes.hosts else raw_pids.get(p, p) for p in used],
        "rank": [rank if len(used) == 1 and rank is not None else _fitting(processes.ranks.get(p)) for p in used],
        "world_size": [size for _ in used],
        "name": [processes.names.get(p, names.get(p)) for p in used],
        "host": [host for _ in used],
    }
    schema = TABLES["process"].schema
    table = pa.table({name: pa.array(values, schema.field(name).type) for name, values in columns.items()})
    sink.write("process", dict(zip(table.column_names, table.columns, strict=True)))


def _counted(job: Mapping[str, Any], name: str, sink: Sink) -> int | None:
    number = _fitting(whole(job.get(name)))
    if number is None and job.get(name) is not None:
        meaning = "ranks, or numbers of ranks, that cannot be: read as null"
        sink.note("no-number", meaning, example=f"{name} {text_of(job[name])[:80]}")
    return number


def _fitting(number: int | None) -> int | None:
    return number if number is not None and 0 <= number < 1 << 31 else None


def _is_device(entry: Any) -> bool:
    number = whole(entry.get("id")) if isinstance(entry, dict) else None
    return number is not None and abs(number) < 1 << 31


def _device(entry: Mapping[str, Any], vendor: str | None) -> dict[str, Any]:
    left = dict(entry)
    name = left.pop("name", None)
    row: dict[str, Any] = {
        "device": whole(left.pop("id")),
        "name": name if isinstance(name, str) and name else None,
        "vendor": _vendor(str(name or "")) or vendor,
    }
    row["memory_bytes"] = _taken(left, ("totalGlobalMem",), 1 << 63)
    row["compute_units"] = _taken(left, ("numSms", "multiProcessorCount"), 1 << 31)
    for major, minor in (("computeMajor", "computeMinor"), ("major", "minor")):
        if isinstance(left.get(major), int) and isinstance(left.get(minor), int):
            row["architecture"] = f"{left.pop(major)}.{left.pop(minor)}"
    row["args"] = text_of(left) if left else None
    return row


def _taken(left: dict[str, Any], keys: tuple[str, ...], limit: int) -> int | None:
    """The first of the members that is a whole number below the limit, taken out."""
    key = next((k for k in keys if type(left.get(k)) is int and 0 <= left[k] < limit), None)
    return None if key is None else left.pop(key)


def _vendor(name: str) -> str | None:
    name = name.lower()
    return next((vendor for vendor, words in VENDORS if any(word in name for word in words)), None)


def _vendor_of_software(members: Mapping[str, Any]) -> str | None:
    """The vendor whose runtime the file names."""
    if any(key.startswith(("hip_", "roctracer")) for key in members):
        return "amd"
    return "nvidia" if any(key.startswith(("cuda_", "cupti_")) for key in members) else None
