"""OpenMetrics text for Prometheus, as a file for the textfile collector of its node_exporter: the checks as gauges."""

from collections.abc import Iterator, Mapping
from math import inf
from typing import get_args

from ..checks import demanded
from ..report import Check, Report, Unit, Verdict
from ..text import clean

__all__ = ["SUFFIX", "render"]

SUFFIX = ".prom"

_NUMBERS = {
    "value": "What was measured",
    "baseline": "The median of the runs before",
    "low_limit": "The limit below which it is a change",
    "high_limit": "The limit above which it is a change",
}
_UNITS: Mapping[Unit, tuple[str, float]] = {
    "ns": ("_seconds", 1e9),
    "bytes": ("_bytes", 1),
    "share": ("_ratio", 1),
    "ratio": ("_ratio", 1),
}
"""The end of a gauge's name by unit, as Prometheus has it, and what a value is divided by; counts have none."""

_Samples = dict[str, float]
"""The value of a gauge by its labels."""


def render(report: Report) -> str:
    """Gauges of what was measured and of its limits, and 1 for the verdict of each check, 0 for the other verdicts."""
    families: dict[str, tuple[str, _Samples]] = {}
    for check in demanded(report, "openmetrics"):
        for name, meaning, labels, value in _samples(check):
            # The first of a kind is the worst; a second would make the collector refuse the whole file.
            families.setdefault(name, (meaning, {}))[1].setdefault(labels, value)
    return "".join(_family(name, *family) for name, family in sorted(families.items())) + "# EOF\n"


def _samples(check: Check) -> Iterator[tuple[str, str, str, float]]:
    """Each gauge's name, what it means, the labels and the value."""
    labels = f'series="{_label(check.series)}",metric="{_label(check.metric)}"'
    end, divisor = _UNITS.get(check.unit, ("", 1))
    numbers = (check.value, check.baseline, check.low, check.high)
    for (name, meaning), number in zip(_NUMBERS.items(), numbers, strict=True):
        if number is not None:
            yield f"tracelode_metric_{name}{end}", meaning, labels, number / divisor
    for verdict in get_args(Verdict):
        yield (
            "tracelode_check",
            "1 for the verdict of the check",
            f'{labels},verdict="{verdict}"',
            float(verdict == check.verdict),
        )


def _family(name: str, meaning: str, samples: _Samples) -> str:
    lines = "".join(f"{name}{{{labels}}} {_number(value)}\n" for labels, value in samples.items())
    return f"# TYPE {name} gauge\n# HELP {name} {meaning}.\n{lines}"


def _number(value: float) -> str:
    if value != value:
        return "NaN"
    return {inf: "+Inf", -inf: "-Inf"}.get(value) or repr(float(value))


def _label(text: str) -> str:
    return clean(text).replace("\\", "\\\\").replace('"', '\\"')
