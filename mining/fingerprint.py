"""What a run ran on and how it was recorded: runs are compared only where all of it is the same."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..store.query import run as ask
from ..store.trace import Trace

__all__ = ["ASPECTS", "UNKNOWN", "Worked", "fingerprint_id", "fingerprint_of", "worked"]

UNKNOWN = "not recorded"

LABELS: Mapping[str, tuple[str, ...]] = {
    "driver": ("driver", "driver_version", "cuda_driver_version", "hip_driver_version"),
    "runtime": (
        "runtime",
        "cuda_runtime_version",
        "hip_runtime_version",
        "rocm_version",
        "HSASystemAttributes.RuntimeVersion",
    ),
    "model": ("model",),
    "config": ("config", "config_hash"),
    "batch": ("batch", "batch_size"),
    "node": ("node", "node_class", "hardware"),
    "power cap": ("power_cap", "power_limit"),
    "clocks": ("clocks", "clock_lock"),
}
"""The labels of traces that tell an aspect; the first that is there does."""
SETTINGS = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules", "options")
"""Labels that say what was recorded: some of it makes the program slower."""
ASPECTS = (
    "gpu",
    "driver",
    "runtime",
    "framework",
    "model",
    "config",
    "batch",
    "ranks",
    "collector",
    "settings",
    "node",
    "power cap",
    "clocks",
)
"""What a fingerprint tells, in this order."""

WORKED = """
select
    used.trace_id,
    used.process,
    used.device,
    {name} as name,
    {world_size} as world_size,
    first_ns
from (select trace_id, process, device, min(start_ns) as first_ns from segment group by all) as used
{joins}
order by all
"""
NAMES = "left join device using (trace_id, process, device)"
RANKS = "left join (select trace_id, max(world_size) as ranks from process group by all) using (trace_id)"


@dataclass(frozen=True)
class Worked:
    """A device that worked for a process: its name and the number of ranks where they are told, and its first work."""

    trace_id: str
    process: int
    device: int
    name: str | None
    world_size: int | None
    first_ns: int


def worked(traces: Sequence[Trace]) -> list[Worked]:
    """The devices that worked in the traces of a run, which are mined for segments."""
    files = {trace.id: trace.files for trace in traces if trace.has("segment")}
    if not files:
        return []
    there = {table for own in files.values() for table in own}
    joins = [join for table, join in (("device", NAMES), ("process", RANKS)) if table in there]
    query = WORKED.format(
        name="device.name" if "device" in there else "null::varchar",
        world_size="ranks" if "process" in there else "null::integer",
        joins="\n".join(joins),
    )
    return [Worked(*row) for row in ask(files, query.strip()).rows()]


def fingerprint_of(traces: Sequence[Trace], devices: Sequence[Worked]) -> Mapping[str, str]:
    """The value of each of `ASPECTS`, `UNKNOWN` where the traces of the run do not tell; of several, all of them.

    `devices` are those that `worked` in them.
    """
    found = {
        "gpu": _gpu(devices),
        "framework": _all(trace.facts.framework for trace in traces),
        "ranks": _ranks(devices),
        "collector": _all(", ".join(filter(None, (trace.facts.format, trace.facts.producer))) for trace in traces),
        "settings": _all(_settings(trace) for trace in traces),
    }
    found |= {aspect: _all(_label(trace, names) for trace in traces) for aspect, names in LABELS.items()}
    return {aspect: found[aspect] for aspect in ASPECTS}


def fingerprint_id(fingerprint: Mapping[str, str]) -> str:
    """A short name of a fingerprint: the first 12 hexadecimal digits of the sha256 of its canonical JSON."""
    text = json.dumps(dict(fingerprint), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _all(values: Iterable[str | None]) -> str:
    there = sorted({value for value in values if value})
    return " and ".join(there) or UNKNOWN


def _label(trace: Trace, names: Sequence[str]) -> str | None:
    return next((trace.facts.labels[name] for name in names if trace.facts.labels.get(name)), None)


def _settings(trace: Trace) -> str:
    labels = trace.facts.labels
    return ", ".join(f"{name} {labels[name]}" for name in SETTINGS if labels.get(name))


def _gpu(devices: Sequence[Worked]) -> str:
    """The names of the devices that worked, with the number of each."""
    if all(one.name is None for one in devices):
        return UNKNOWN
    counts = Counter(one.name or "name not recorded" for one in devices)
    return ", ".join(f"{counts[name]} × {name}" for name in sorted(counts))


def _ranks(devices: Sequence[Worked]) -> str:
    """How many processes worked on devices, and of how many ranks where the traces tell."""
    count = len({(one.trace_id, one.process) for one in devices})
    world = max((one.world_size or 0 for one in devices), default=0)
    return f"{count} of {world}" if world else str(count)
