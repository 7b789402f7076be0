"""A still picture of a timeline: what is printed, and what is there where no script runs."""

from collections import defaultdict

import numpy as np

from .charts.style import PALETTE
from .levels import FULL, Grid, levels
from .markup import Markup, element
from .report import Lane, Timeline
from .text import clean, shorten
from .timeline import busy_ns, span
from .units import show

__all__ = ["still"]

COLUMNS, MARGIN = 680, 20
LABEL, STRIP, STEP = 14, 16, 36
MOST_LANES = 16
SHADES = 8
"""Opacities told apart: each is a path of its own."""


def still(timeline: Timeline) -> Markup:
    """The lanes as strips: opacity says how busy each part of the time is, colour which name has most of it."""
    first, last = span(timeline)
    lanes = [lane for lane in timeline.lanes if len(lane.start_ns)][:MOST_LANES]
    width = max(-((first - last) // COLUMNS), 1)
    colours = _colours(timeline)
    grid = Grid(first, width, max(-((first - last) // width), 1))
    parts = [part for at, lane in enumerate(lanes) for part in _strip(lane, at * STEP, grid, last - first, colours)]
    height = len(lanes) * STEP + MARGIN
    parts.append(_text(0, height - 6, f"{show(first - timeline.base_ns, 'ns')} after the beginning"))
    parts.append(_text(COLUMNS, height - 6, f"{show(last - timeline.base_ns, 'ns')}", "end"))
    label = f"{timeline.title}, from the first operation to the last, {show(last - first, 'ns')} later."
    hidden = len(timeline.lanes) - len(lanes)
    return element(
        "svg",
        *parts,
        class_="picture",
        viewBox=f"0 0 {COLUMNS} {height}",
        role="img",
        aria_label=label + (f" {hidden} more lanes are not shown." if hidden else ""),
    )


def _strip(lane: Lane, y: int, grid: Grid, whole_ns: int, colours: list[str]) -> list[Markup]:
    start, duration, name = (np.asarray(a, dtype=np.int64) for a in (lane.start_ns, lane.duration_ns, lane.name))
    found = levels(start, duration, name, grid)
    paths: dict[tuple[str, int], list[str]] = defaultdict(list)
    shades = np.ceil(found.busy / FULL * SHADES).astype(int)
    for at in np.flatnonzero(found.name[0]).tolist():
        paths[colours[found.name[0][at] - 1], max(int(shades[at]), 1)].append(f"M{at} {y + LABEL}h1v{STRIP}h-1z")
    share = show(busy_ns(start, duration) / max(whole_ns, 1), "share")
    wider = None if grid.count == COLUMNS else f"scale({COLUMNS / grid.count:.4f} 1)"
    return [
        _text(0, y + LABEL - 4, f"{shorten(clean(lane.label), 60)}: busy {share}"),
        element("rect", x=0, y=y + LABEL, width=COLUMNS, height=STRIP, fill="none", stroke="currentColor"),
        *(
            element("path", d="".join(marks), fill=colour, opacity=shade / SHADES, transform=wider)
            for (colour, shade), marks in sorted(paths.items())
        ),
    ]


def _colours(timeline: Timeline) -> list[str]:
    """A colour for each name: one of its own for those with most time, as on the canvas."""
    time = np.zeros(len(timeline.names))
    for lane in timeline.lanes:
        time += np.bincount(np.asarray(lane.name), weights=np.asarray(lane.duration_ns), minlength=time.size)
    colours = [PALETTE[-1]] * time.size
    for rank, at in enumerate(np.lexsort((np.arange(time.size), -time))[: len(PALETTE) - 1].tolist()):
        colours[at] = PALETTE[rank]
    return colours


def _text(x: int, y: int, text: str, anchor: str = "start") -> Markup:
    return element("text", text, x=x, y=y, fill="currentColor", font_size=11, text_anchor=anchor)
