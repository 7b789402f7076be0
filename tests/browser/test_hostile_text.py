from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from tests.browser.conftest import Open, Opened
from tests.browser.hostile import HOSTILE, INVISIBLE
from tracelode.reports.charts.bars import pareto, pattern_bars
from tracelode.reports.charts.gaps import gap_histogram
from tracelode.reports.charts.iterations import iteration_series
from tracelode.reports.report import Chart, Column, Lane, Overlay, Report, Section, Table, Text, Timeline

pytestmark = pytest.mark.browser

SHOWN = {text: text for text in HOSTILE} | INVISIBLE
CUT = 72
"""A longer name in a table is cut until it is opened."""


def everywhere(text: str) -> Report:
    """A report with the text in every place that takes text, but for pictures."""
    rows = [{"a": text, "b": 1}, {"a": "x", "b": text}]
    blocks = (Text(text), Table(text, (Column("a", text), Column("b", text, "count")), rows, text))
    return Report(
        text, text, text, text, ((text, text),), (text,), (Section(text, text, text, blocks, (text,)),), {text: text}
    )


def of_blocks(*blocks: Chart | Timeline) -> Report:
    return Report("perf", "T", "V", "0", (), (), (Section("s", "S", "", blocks),))


def harmless(opened: Opened) -> bool:
    """Whether nothing ran, nothing was asked for, and the page is still there."""
    assert opened.faults == []
    assert opened.page.evaluate("window.hacked") is None
    assert opened.page.url.startswith("file:")
    return True


def in_lines(text: str) -> str:
    """A query as shown: it keeps its lines."""
    return SHOWN[text] if text not in INVISIBLE or "\n" not in text else text.replace("\r", "␍")


@pytest.mark.parametrize("text", SHOWN, ids=range(len(SHOWN)))
def test_hostile_text_is_shown_as_it_is_and_does_nothing(open_report: Open, text: str) -> None:
    opened = open_report(everywhere(text))
    page, shown = opened.page, SHOWN[text]
    assert page.title() == shown.strip()
    cell = shown if len(shown) <= CUT else f"{shown[:36]}…{shown[-35:]}{shown}"
    words = " ".join(text.split()) if text in INVISIBLE else shown
    wanted = {
        "h1": shown,
        ".verdict": shown,
        ".topic": f"{shown} report",
        ".identity dt": shown,
        ".identity dd": shown,
        ".health li": shown,
        ".contents a": shown,
        "section h2": shown,
        ".sentence": shown,
        ".notes li": shown,
        "caption": shown,
        "th button": shown,
        "td": cell,
        "tr:nth-child(2) .n": shown,
        ".sql code": in_lines(text),
        "footer dt": shown,
        "footer dd": shown,
        ".about code": shown,
    }
    found = page.evaluate(
        "(places) => Object.fromEntries(places.map((at) => [at, document.querySelector(at).textContent]))", list(wanted)
    )
    assert found == wanted
    if text in HOSTILE:
        assert page.locator("section > p:not(.sentence)").first.text_content() == words
    assert harmless(opened)


def drawn(opened: Opened, kind: str) -> Sequence[str]:
    return opened.page.locator(f"svg.{kind} text").all_text_contents()


def test_hostile_names_are_drawn_in_charts_as_they_are_and_do_nothing(open_report: Open) -> None:
    texts = list(SHOWN)
    specifications: list[Mapping[str, Any]] = []
    for at in range(0, len(texts), 15):
        part = texts[at : at + 15]
        specifications.append(pareto([{"name": t, "total_ns": 5, "cumulative_share": 0.5} for t in part]))
        specifications.append(pattern_bars([{"pattern": t, "total_ns": 5, "occurrences": 2} for t in part]))
    for at in range(0, len(texts), 5):
        part = texts[at : at + 5]
        marked = [{"iteration": i, "duration_ns": 10 + i, "mark": t} for i, t in enumerate(part)]
        specifications.append(iteration_series(marked))
        specifications.append(gap_histogram([{"duration_ns": 7, "cause": t} for t in part]))
    opened = open_report(of_blocks(*(Chart(texts[1], s, texts[0], texts[2]) for s in specifications)))
    seen = drawn(opened, "wide")
    for text, shown in SHOWN.items():
        wanted = 4 if len(shown) <= 20 else 2 if len(shown) <= 90 else 0  # two bars, and legends where there is room
        assert sum(piece == shown for piece in seen) >= wanted, text
    label = opened.page.locator("svg.wide").first.get_attribute("aria-label")
    assert label == f"{texts[1]}. {texts[0]}"
    assert opened.page.locator("svg :is(script, style, a, image, use, foreignObject, animate, set)").count() == 0
    assert harmless(opened)


def test_hostile_names_on_the_timeline_are_shown_as_they_are_and_do_nothing(open_report: Open) -> None:
    texts = list(SHOWN)
    count = len(texts)
    lanes = [Lane(text, np.array([at * 100]), np.array([100]), np.array([at]), text) for at, text in enumerate(texts)]
    overlays = (Overlay(texts[0], [(at * 100, at * 100 + 100, text) for at, text in enumerate(texts)]),)
    opened = open_report(of_blocks(Timeline(texts[2], 0, texts, lanes, texts[1], overlays)))
    page = opened.page
    page.locator("figure.timeline[data-ready]").wait_for()
    layout = page.evaluate("document.querySelector('figure.timeline').timeline.layout()")
    room = layout["width"] - layout["gutter"]
    for at, text in enumerate(texts):
        x = layout["gutter"] + room * (at + 0.5) / count
        for row, label in ((0, texts[0]), (at + 1, text)):
            page.locator("canvas").hover(position={"x": x, "y": layout["boxes"][row]["y"] + 4})
            assert page.locator(".tip b").text_content() == SHOWN[text]
            assert page.locator(".tip span").text_content().endswith(f"ns · {SHOWN[label]}") or at * 100 >= 1000
        page.locator("canvas").click(position={"x": x, "y": layout["boxes"][at + 1]["y"] + 4})
        assert page.locator(".picked b").text_content() == SHOWN[text]
        assert in_lines(text).rstrip(";") in page.locator(".picked pre").text_content()
    assert harmless(opened)
