from dataclasses import replace
from xml.etree import ElementTree

import pytest

from tests.browser.hostile import HOSTILE, INVISIBLE
from tests.reports.formats.small import small
from tracelode.reports.figures import figures
from tracelode.reports.report import Chart, Report, Section

SVG = "{http://www.w3.org/2000/svg}"


def one_chart(text: str) -> Report:
    values = [{"name": text, "value": 1}]
    mark = {"data": {"values": values}, "mark": "bar", "title": text}
    encoding = {"x": {"field": "value", "type": "quantitative"}, "y": {"field": "name", "type": "nominal"}}
    chart = Chart(text, mark | {"encoding": encoding}, text, "")
    return replace(small(), sections=(Section(text, text, "", (chart,)),))


def test_each_chart_is_a_file_named_by_its_section_and_title() -> None:
    assert [name for name, _ in figures(small(), "svg")] == [
        "01-iterations-six-iterations.svg",
        "02-kernels-kernels-by-time.svg",
    ]


def test_a_picture_stands_alone_dark_on_white() -> None:
    for _, content in figures(small(), "svg"):
        root = ElementTree.fromstring(content)
        assert root.tag == f"{SVG}svg"
        assert root.get("color") == "#1a1a1a"
        assert root.get("font-family") == "sans-serif"
        assert root[0].get("fill") == "#fff"
        assert list(root.iter(f"{SVG}text"))


def test_png_is_drawn_at_twice_the_size() -> None:
    name, content = next(figures(small(), "png"))
    assert name.endswith(".png")
    assert content.startswith(b"\x89PNG\r\n")
    assert int.from_bytes(content[16:20], "big") == 1800


@pytest.mark.parametrize("text", [*HOSTILE[::4], *INVISIBLE])
def test_no_text_of_a_trace_is_more_than_text(text: str) -> None:
    ((name, content),) = figures(one_chart(text), "svg")
    assert "/" not in name
    assert name.isascii()
    tags = {node.tag.removeprefix(SVG) for node in ElementTree.fromstring(content).iter()}
    assert tags <= {"svg", "g", "path", "rect", "line", "text", "tspan", "title", "defs", "clipPath", "circle"}
