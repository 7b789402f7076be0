"""Vega-Lite specifications as plain JSON, written the way Altair writes them.

The few words that our charts are made of have Altair's names and arguments, and give what it gives, down to the order
of keys: the tests hold them against it. Altair itself takes three quarters of a second of a report to load and to check
each part.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = [
    "Axis",
    "Chart",
    "Color",
    "Data",
    "Json",
    "Layers",
    "Legend",
    "Opacity",
    "Order",
    "Scale",
    "Shape",
    "X",
    "Y",
    "datum",
    "layer",
]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.4.1.json"
TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal"}
SECOND = ("x2", "y2")
"""Channels that have the type of the first one."""

Json = dict[str, Any]
"""A part of a specification."""


@dataclass(frozen=True, eq=False)
class Data:
    """Rows inline; layers share them if they all have the same one of these."""

    values: Sequence[Mapping[str, Any]]


def Axis(**options: Any) -> Json:  # noqa: N802 - named as Altair names it
    """An axis; so for scales and legends, and for what a channel shows: `X("time:Q", title=...)`."""
    return dict(sorted(options.items()))


Scale = Legend = Axis


def X(shorthand: str, **options: Any) -> Json:  # noqa: N802 - named as Altair names it
    """A channel: the field and its type (Q, N or O), and how it is shown."""
    name, _, kind = shorthand.rpartition(":")
    return dict(sorted({"field": name, "type": TYPES[kind], **options}.items()))


Y = Color = Opacity = Order = Shape = X


def datum(value: Any) -> Json:
    """A channel that is the same everywhere."""
    return {"datum": value}


@dataclass(frozen=True, eq=False)
class Chart:
    """One mark; `mark_bar(...)` and so on, `encode` and `transform_calculate` give another chart each."""

    data: Data | None = None
    mark: Json | None = None
    encoding: Mapping[str, Any] = field(default_factory=dict[str, Any])
    transform: tuple[Json, ...] = ()

    def encode(self, **channels: Any) -> "Chart":
        """Shows fields: a channel, or its short form."""
        told = {name: _channel(name, value) for name, value in channels.items()}
        return replace(self, encoding={**self.encoding, **told})

    def transform_calculate(self, **fields: str) -> "Chart":
        """Adds fields that the viewer works out."""
        more = tuple({"calculate": text, "as": name} for name, text in fields.items())
        return replace(self, transform=self.transform + more)

    def mark_bar(self, **options: Any) -> "Chart":
        """Bars."""
        return self._marked("bar", options)

    def mark_line(self, **options: Any) -> "Chart":
        """A line."""
        return self._marked("line", options)

    def mark_point(self, **options: Any) -> "Chart":
        """Points."""
        return self._marked("point", options)

    def mark_rect(self, **options: Any) -> "Chart":
        """Rectangles."""
        return self._marked("rect", options)

    def mark_rule(self, **options: Any) -> "Chart":
        """Straight lines across."""
        return self._marked("rule", options)

    def mark_text(self, **options: Any) -> "Chart":
        """Texts."""
        return self._marked("text", options)

    def mark_tick(self, **options: Any) -> "Chart":
        """Short strokes."""
        return self._marked("tick", options)

    def specification(self, *, width: int, height: Any) -> Json:
        """The chart of that size as JSON."""
        return self.part() | {"height": height, "width": width, "$schema": SCHEMA}

    def part(self, shared: Data | None = None) -> Json:
        """The chart as a layer of one with those data."""
        told: Json = {"data": {"values": list(self.data.values)}} if self.data and self.data is not shared else {}
        told |= {"mark": self.mark, "encoding": dict(sorted(self.encoding.items()))}
        return told | ({"transform": list(self.transform)} if self.transform else {})

    def _marked(self, kind: str, options: Mapping[str, Any]) -> "Chart":
        return replace(self, mark={"type": kind, **dict(sorted(options.items()))})


@dataclass(frozen=True, eq=False)
class Layers:
    """Charts one over the other, with the data of those that bring none."""

    charts: tuple[Chart, ...]
    data: Data

    def specification(self, *, width: int, height: Any) -> Json:
        """The layers of that size as JSON."""
        shared = self.data if all(chart.data in (None, self.data) for chart in self.charts) else None
        layers = [chart.part(shared) for chart in self.charts]
        told = {"layer": layers, "data": {"values": list(self.data.values)}}
        return told | {"height": height, "width": width, "$schema": SCHEMA}


def layer(*charts: Chart, data: Data) -> Layers:
    """Puts charts one over the other."""
    return Layers(charts, data)


def _channel(name: str, value: Any) -> Json:
    told = X(value) if isinstance(value, str) else value
    return {"field": told["field"]} if name in SECOND else told
