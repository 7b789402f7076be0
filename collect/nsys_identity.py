"""What an Nsight Systems export says of itself: producer, clock, machine, processes, devices, names, warnings.

The export holds the environment of the program, with whatever secrets that had. Of it nothing is kept but the rank
and the number of ranks; of the rest of the recording's options and of the machine, only what is listed here.
"""

import re
from typing import Any, TypeGuard

from ..store.trace import Facts
from .nsys_columns import as_json
from .nsys_export import Export

__all__ = ["RANK", "RANKS", "device_columns", "facts", "words", "write_identities", "write_warnings"]

MACHINE = {
    "NvDriverVersion": "driver",
    "CudaDriverVersion": "cuda_driver",
    "OsDescription": "os",
    "SoftwareReleaseVersion": "os_kernel",
    "CpuDescription": "cpu",
    "CpuCores": "cpu_cores",
}
"""Properties of the machine that become labels."""

ENVIRONMENT = re.compile(r"PROCESS_\d+:ENVIRONMENT_VARIABLE")
VARIABLE = re.compile(r'([A-Z_]+)="?(\d{1,9})"?')
RANK = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID")
RANKS = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_NTASKS")
"""Variables of the environment that give the rank and the number of ranks; the first that is set counts."""

DEVICE_NUMBERS = {
    "smCount": ("compute_units", 1, 2**31),
    "numMultiprocessors": ("compute_units", 1, 2**31),
    "totalMemory": ("memory_bytes", 1, 2**63),
    "globalMemorySize": ("memory_bytes", 1, 2**63),
    "memoryBandwidth": ("memory_bandwidth", 1, 2**63),
    "clockRate": ("clock_hz", 1, 2**63),
    "globalMemoryBandwidth": ("memory_bandwidth", 1000, 2**63),
    "coreClockRate": ("clock_hz", 1000, 2**63),
}
"""A card's column: ours, the factor to our unit (the oldest table gives kB/s and kHz), the first value too great."""

STREAM_FLAGS = {1: "default", 2: "non-blocking", 3: "null"}
LOST = re.compile(
    r"\bnot all\b|\blost\b|\bdropp|\bdiscard|\boverflow|\bincomplete|\bmissing\b|\bmissed\b", re.IGNORECASE
)
WARNING, ERROR = 2, 3
LONGEST = 300


def facts(export: Export, form: str) -> Facts:
    """The facts of the export as a whole, and in which format it came."""
    said = {
        r.get("name"): r.get("value") for base in ("EXPORT_META_DATA", "META_DATA_EXPORT") for r in export.rows(base)
    }
    machine = {r.get("name"): r.get("value") for r in export.rows("TARGET_INFO_SYSTEM_ENV")}
    capture = {r.get("name"): r.get("value") for r in export.rows("META_DATA_CAPTURE")}
    session = next(iter(export.rows("ANALYSIS_DETAILS")), {})
    base = next(iter(export.rows("TARGET_INFO_SESSION_START_TIME")), {}).get("utcEpochNs")
    labels = {ours: str(machine[theirs]) for theirs, ours in MACHINE.items() if machine.get(theirs)}
    if said.get("EXPORT_SCHEMA_VERSION"):
        labels["export_schema"] = str(said["EXPORT_SCHEMA_VERSION"])
    if isinstance(session.get("duration"), int):
        labels["session_ns"] = str(session["duration"])
    producer = (said.get("EXPORT_PRODUCT_NAME") or "NVIDIA Nsight Systems", said.get("EXPORT_PRODUCT_VERSION"))
    host = machine.get("Hostname") or capture.get("DEVICE_DISPLAY_NAME")
    return Facts(
        form,
        producer=" ".join(str(word) for word in producer if word),
        host=str(host) if host else None,
        clock="nanoseconds since the session began",
        base_unix_ns=base if isinstance(base, int) else None,
        labels=labels,
    )


def write_identities(export: Export, host: str | None) -> None:
    """Writes the processes that have events, their devices, and the names of their threads and streams.

    A rank is what MPI gave, else what the environment of the profiler says, where it profiled one process alone.
    """
    named = {
        r["globalPid"] >> 24: r.get("name") for r in export.rows("PROCESSES") if isinstance(r.get("globalPid"), int)
    }
    _read_ranks(export)
    everyone = sorted({*export.processes.values(), *(process for process, _ in export.device_work)})
    keys = {process: key for key, process in export.processes.items()}
    workers = {process for process, _ in export.device_work} or set(everyone)
    said = _environment(export)
    known, ranks = (next((said[name] for name in names if name in said), None) for names in (RANK, RANKS))
    for process in everyone:
        key = keys.get(process, process)
        rank = export.ranks.get(process, known if workers == {process} else None)
        row = {"pid": key & 0xFFFFFF, "rank": rank, "world_size": None if rank is None else ranks, "host": host}
        export.sink.write("process", {"process": [process], **row, "name": words(named.get(key))})
    _write_devices(export, everyone)
    _write_threads(export)
    _write_streams(export)


def write_warnings(export: Export) -> None:
    """Turns what the profiler itself complained of into notes; lost events are a kind of their own."""
    for row in export.rows("DIAGNOSTIC_EVENT", "severity", (WARNING, ERROR)):
        text = " ".join(str(row.get("text") or "").split())
        if LOST.search(text):
            kind, meaning = "lost-events", "the profiler says that events are missing: counts and times are a floor"
        elif row["severity"] == ERROR:
            kind, meaning = "profiler-error", "the profiler reported an error"
        else:
            kind, meaning = "profiler-warning", "the profiler warned"
        export.sink.note(kind, meaning, example=text[:LONGEST])


def _read_ranks(export: Export) -> None:
    for row in export.rows("MPI_RANKS"):
        serial, rank = row.get("globalTid"), row.get("rank")
        if isinstance(serial, int) and _fits(rank) and serial >> 24 in export.processes:
            export.ranks[export.processes[serial >> 24]] = rank


def _environment(export: Export) -> dict[str, int]:
    """The variables with a whole number for value, of the environment the profiler was started in."""
    said: dict[str, int] = {}
    for row in export.rows("META_DATA_CAPTURE"):
        variable = VARIABLE.fullmatch(str(row.get("value")))
        if variable and ENVIRONMENT.fullmatch(str(row.get("name"))):
            said[variable[1]] = int(variable[2])
    return said


def _write_devices(export: Export, everyone: list[int]) -> None:
    """Each process' devices as it numbers them: those the export lists, and those that only events name."""
    cards = {number: r for r in export.rows("TARGET_INFO_GPU") if _fits(number := _number(r))}
    pids = {key & 0xFFFFFF: process for key, process in export.processes.items()}
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for row in export.rows("TARGET_INFO_CUDA_DEVICE"):
        process, device = pids.get(row.get("pid", -1)), row.get("cudaId")
        by_id = next((r for r in cards.values() if r.get("id") == row.get("gpuId")), None)
        if process is not None and _fits(device):
            found[process, device] = by_id or {}
    for row in export.rows("TARGET_INFO_CUDA_GPU"):
        process, device = pids.get(row.get("pid", -1)), row.get("deviceId")
        if process is not None and _fits(device):
            found.setdefault((process, device), row)
    mapped = {process for process, _ in found}
    owners = {process for process, _ in export.device_work} or (mapped or set(everyone))
    for process in sorted(owners - mapped):
        found |= {(process, number): card for number, card in cards.items()}
    for process, device in export.device_work:
        found.setdefault((process, device), {})
    for (process, device), row in sorted(found.items(), key=lambda item: item[0]):
        export.sink.write("device", device_columns(process, device, row))


def _number(row: dict[str, Any]) -> Any:
    """A card's number as CUDA gives it, under the name this release gave the column."""
    return next((row[name] for name in ("cuDevice", "deviceId", "id") if isinstance(row.get(name), int)), None)


def device_columns(process: int, device: int, row: dict[str, Any]) -> dict[str, Any]:
    """The columns of one device of a process, from what the export says of the card."""
    columns: dict[str, Any] = {"process": [process], "device": device, "vendor": "nvidia"}
    columns["name"] = words(row.get("name"))
    for theirs, (ours, factor, most) in DEVICE_NUMBERS.items():
        if isinstance(value := row.get(theirs), int) and 0 < value * factor < most:
            columns[ours] = value * factor
    major, minor = (row.get(f"compute{part}", row.get(f"computeCapability{part}")) for part in ("Major", "Minor"))
    if major is not None:
        columns["architecture"] = f"{major}.{minor or 0}"
    told = {*DEVICE_NUMBERS, "name", "vmId", "pid", "computeMajor", "computeMinor"}
    told |= {"computeCapabilityMajor", "computeCapabilityMinor", "cuDevice", "deviceId"}
    return columns | {"args": as_json({name: value or None for name, value in row.items() if name not in told})}


def _write_threads(export: Export) -> None:
    rows = [
        (export.processes[serial >> 24], serial & 0xFFFFFF, name)
        for r in export.rows("ThreadNames")
        if isinstance(serial := r.get("globalTid"), int) and serial >> 24 in export.processes
        if (name := export.string(r.get("nameId")))
    ]
    if rows:
        processes, threads, names = zip(*rows, strict=True)
        export.sink.write("track", {"process": processes, "track": threads, "name": names, "kind": "thread"})


def _write_streams(export: Export) -> None:
    pids = {key & 0xFFFFFF: process for key, process in export.processes.items()}
    titles = {
        (r.get("processId"), r.get("contextId"), r.get("streamId")): r.get("name")
        for r in export.rows("TARGET_INFO_NVTX_CUDA_STREAM")
    }
    for row in export.rows("TARGET_INFO_CUDA_STREAM"):
        process, stream = pids.get(row.get("processId", -1)), row.get("streamId")
        if process is None or not isinstance(stream, int):
            continue
        kind = STREAM_FLAGS.get(row.get("flag", 0), "")
        title = titles.get((row["processId"], row.get("contextId"), stream))
        args = {name: row.get(name) or None for name in ("contextId", "priority")}
        export.sink.write(
            "track",
            {
                "process": [process],
                "track": stream,
                "name": words(title) or " ".join(word for word in (kind, "stream", str(stream)) if word),
                "kind": "stream",
                "args": as_json(args),
            },
        )


def _fits(value: Any) -> TypeGuard[int]:
    """Whether it is a number as devices and ranks have."""
    return isinstance(value, int) and 0 <= value < 2**31


def words(value: Any) -> str | None:
    """The value as text; None for none and for an empty one."""
    return str(value) if value not in (None, "") else None
