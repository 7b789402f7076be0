"""Draws a chart as SVG that is safe to place in a page: offline, the same bytes each time, nothing but shapes."""

import re
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any
from xml.etree import ElementTree

from .markup import Markup, element, fragment
from .text import clean
from .units import plain

__all__ = ["NARROW", "WIDE", "draw"]

WIDE = 900
"""Width in pixels of a chart on a desktop."""
NARROW = 340
"""Width in pixels of a chart on a phone, drawn anew so that its letters stay legible."""

_NAMESPACE = "{http://www.w3.org/2000/svg}"
_GROUPS = frozenset({"svg", "g", "defs", "clipPath", "linearGradient"})
_SHAPES = frozenset({"path", "rect", "line", "circle", "text", "tspan", "stop"})
_KEPT = (
    "clip-path", "d", "dx", "dy", "fill", "fill-opacity", "font-size", "font-style", "font-weight", "gradientUnits",
    "height", "id", "offset", "opacity", "r", "rx", "ry", "stop-color", "stroke", "stroke-dasharray",
    "stroke-dashoffset", "stroke-linecap", "stroke-linejoin", "stroke-opacity", "stroke-width", "text-anchor",
    "transform", "viewBox", "width", "x", "x1", "x2", "y", "y1", "y2", "cx", "cy",
)  # fmt: skip
_IMPLIED = {"opacity": "1", "transform": "translate(0,0)", "stroke-dashoffset": "0"}
_LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}(e-?\d+)?")  # a tenth of a pixel is enough
_LOOK: dict[str, Any] = {
    "background": None,
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {
        "domainColor": "currentColor",
        "domainOpacity": 0.4,
        "gridColor": "currentColor",
        "gridOpacity": 0.12,
        "labelColor": "currentColor",
        "labelFontSize": 11,
        "labelLimit": 260,
        "ticks": False,
        "labelPadding": 6,
        "titleColor": "currentColor",
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "titlePadding": 10,
    },
    "axisX": {"grid": False},
    "legend": {
        "labelColor": "currentColor",
        "labelFontSize": 11,
        "orient": "top",
        "offset": 8,
        "padding": 0,
        "columnPadding": 18,
        "symbolType": "square",
        "title": None,
    },
    "header": {"labelColor": "currentColor", "titleColor": "currentColor"},
    "title": {"color": "currentColor", "fontSize": 12, "anchor": "start"},
    "text": {"color": "currentColor", "fontSize": 11},
}


def draw(specification: Mapping[str, Any], *, width: int, label: str, name: str, class_: str) -> Markup:
    """The specification as an inline SVG `width` pixels wide (facets and concatenations keep their own).

    `label` is read to those who do not see it. `name` keeps the ids of several drawings in a page apart. Marks carry
    their values as a tooltip on wide drawings only. A `ValueError` where the specification is not valid or wants the
    network.
    """
    import vl_convert

    wanted = _cleaned(dict(specification))
    if "mark" in wanted or "layer" in wanted:
        wanted |= {"width": width, "autosize": {"type": "fit-x", "contains": "padding"}}
    svg = vl_convert.vegalite_to_svg(wanted, config=_LOOK, allowed_base_urls=[])
    root = ElementTree.fromstring(svg)  # from our own converter, without entities
    ids = {old: f"{name}-{at}" for at, old in enumerate(e.get("id", "") for e in root.iter() if e.get("id"))}
    attributes = {a: root.get(a, "") for a in ("width", "height", "viewBox")}
    children = list(_children(root, ids, tooltips=width > NARROW))
    return element("svg", *children, class_=class_, role="img", aria_label=label, **attributes)


def _children(node: ElementTree.Element, ids: Mapping[str, str], *, tooltips: bool) -> Iterator[Markup]:
    for child in node:
        tag = child.tag.removeprefix(_NAMESPACE)
        if tag not in _GROUPS | _SHAPES:  # a link among them: what it holds is drawn, the link is not
            yield from _children(child, ids, tooltips=tooltips)
        elif not _empty(child, tag):
            yield from _copied(child, tag, ids, tooltips=tooltips)


def _copied(node: ElementTree.Element, tag: str, ids: Mapping[str, str], *, tooltips: bool) -> Iterator[Markup]:
    kept = {a: node.get(a, "") for a in _KEPT if node.get(a) is not None and node.get(a) != _IMPLIED.get(a)}
    inner = fragment(*_children(node, ids, tooltips=tooltips))
    if tag == "g" and not inner.text:
        return
    if tag == "g" and not kept:
        yield inner
        return
    for at in ("d", "transform"):
        if at in kept:
            kept[at] = _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.1f}", kept[at])
    if "id" in kept:
        kept["id"] = ids[kept["id"]]
    for at in ("clip-path", "fill", "stroke"):
        if kept.get(at, "").startswith("url("):
            kept[at] = f"url(#{ids[kept[at][5:-1]]})"
    tip = (
        node.get("aria-label")
        if tooltips and node.get("role") == "graphics-symbol" and tag in ("path", "line")
        else None
    )
    title = element("title", tip) if tip else None
    yield element(tag, title, node.text if tag in ("text", "tspan") else None, inner, **kept)


def _empty(node: ElementTree.Element, tag: str) -> bool:
    return node.get("display") == "none" or (tag == "path" and node.get("d") in ("", "M0,0h0v0h0Z", None))


def _cleaned(value: Any) -> Any:
    """The specification as JSON holds it, every text made visible: a raw control character would break the SVG."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        if isinstance(data := value.get("data"), Mapping) and "url" in data:
            raise ValueError("a chart brings its data with it and fetches none")
        return {key: _cleaned(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_cleaned(inner) for inner in value]
    number = plain(value)
    return None if isinstance(number, float) and not isfinite(number) else number
