"""Measured runs for tests, as a history holds them: a value a night."""

from collections.abc import Mapping, Sequence
from typing import Any

from tracelode.mining.fingerprint import ASPECTS, UNKNOWN
from tracelode.mining.headline import HEADLINE
from tracelode.mining.measured_run import MeasuredRun
from tracelode.mining.series import Entry

__all__ = ["DAY_NS", "STEADY", "entry", "nights"]

DAY_NS = 86_400_000_000_000
STEADY = (100.0, 101, 99, 100, 102, 98, 100, 101, 99, 100)


def entry(
    night: int,
    values: Mapping[str, float | None],
    *,
    kernels: Mapping[str, float] | None = None,
    excluded: str | None = None,
    traces: Sequence[str] = (),
    timed_by: Any = "trace",
    **aspects: str,
) -> Entry:
    """A run of that night; metrics that are not given were not collected."""
    fingerprint = dict.fromkeys(ASPECTS, UNKNOWN) | {"gpu": "1 × Made GPU", "ranks": "1"} | aspects
    run = MeasuredRun(
        f"night-{night:02d}",
        tuple(traces) or (f"{night:064x}",),
        night * DAY_NS if timed_by == "trace" else None,
        fingerprint,
        dict.fromkeys((one.name for one in HEADLINE), None) | dict(values),
        kernels or {},
        excluded,
    )
    return Entry(f"key-{night:02d}", run, night * DAY_NS, timed_by)


def nights(values: Sequence[float], *, first: int = 1, **aspects: str) -> list[Entry]:
    """A run a night, of which the median iteration takes so long, in ms."""
    return [entry(first + at, {"iteration_p50_ns": value * 1e6}, **aspects) for at, value in enumerate(values)]
