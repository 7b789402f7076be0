"""The charts of a report as files: SVG or PNG, one for each chart."""

import re
from collections.abc import Iterator
from typing import Literal

from .pictures import WIDE, draw
from .report import Chart, Report

__all__ = ["figures"]

_SCALE = 2
"""Pixels of a PNG for each pixel of the drawing."""
_NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'
_LOOK = ' color="#1a1a1a" font-family="sans-serif"'
_GROUND = '<rect width="100%" height="100%" fill="#fff"/>'


def figures(report: Report, form: Literal["svg", "png"]) -> Iterator[tuple[str, bytes]]:
    """Each chart as the name of its file and the content: dark on white, whatever shows it."""
    number = 0
    for section in report.sections:
        for block in section.blocks:
            if isinstance(block, Chart):
                number += 1
                svg = _standing_alone(block)
                yield f"{number:02}-{_slug(f'{section.key} {block.title}')}.{form}", _as(form, svg)


def _standing_alone(chart: Chart) -> str:
    """The drawing with what a file needs that a page gives: the namespace, a colour to draw in, a ground."""
    label = f"{chart.title}. {chart.description}"
    svg = draw(chart.specification, width=WIDE, label=label, name="figure", class_="figure").text
    head, mark, rest = svg.partition(">")
    return f"{head.replace('<svg', '<svg' + _NAMESPACE, 1)}{_LOOK}{mark}{_GROUND}{rest}\n"


def _as(form: str, svg: str) -> bytes:
    if form == "svg":
        return svg.encode("utf-8", "replace")
    import vl_convert

    return vl_convert.svg_to_png(svg, scale=_SCALE)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60].strip("-") or "figure"
