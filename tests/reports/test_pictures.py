import re
from typing import Any
from xml.etree import ElementTree

import pytest

from tracelode.reports.pictures import draw

HOSTILE = "</text><script>alert(1)</script>\"'&]]>\x1b\u202e"


def bars(values: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A bar for each row, with its name on the axis and, as a trap, a link."""
    encoding = {
        "x": {"field": "v", "type": "quantitative", "title": "time (ms)"},
        "y": {"field": "n", "type": "nominal"},
        "href": {"field": "n"},
        "color": {"field": "n", "type": "nominal"},
    }
    return {"data": {"values": values}, "mark": {"type": "bar", "clip": True}, "encoding": encoding} | more


def drawn(specification: dict[str, Any], width: int = 900) -> str:
    return draw(specification, width=width, label="A chart", name="b1", class_="wide").text


def test_a_drawing_holds_shapes_and_text_only() -> None:
    root = ElementTree.fromstring(drawn(bars([{"n": HOSTILE, "v": 1}, {"n": "b", "v": 2}])))
    assert {node.tag for node in root.iter()} <= {
        "svg",
        "g",
        "path",
        "rect",
        "line",
        "text",
        "title",
        "defs",
        "clipPath",
    }
    names = {name for node in root.iter() for name in node.attrib}
    assert not {name for name in names if name.startswith("on") or "href" in name or name in ("style", "class")} - {
        "class"
    }
    assert [node for node in root.iter() if "class" in node.attrib] == [root]


def test_hostile_names_are_drawn_as_text_with_the_invisible_made_visible() -> None:
    texts = [node.text for node in ElementTree.fromstring(drawn(bars([{"n": HOSTILE, "v": 1}]))).iter("text")]
    assert "</text><script>alert(1)</script>\"'&]]>␛\\u202e" in texts


def test_a_drawing_is_an_image_with_a_description_that_scales() -> None:
    svg = drawn(bars([{"n": "a", "v": 1}]), width=340)
    root = ElementTree.fromstring(svg)
    assert (root.get("role"), root.get("aria-label"), root.get("class")) == ("img", "A chart", "wide")
    width, height = root.get("width"), root.get("height")
    assert width == "340"
    assert root.get("viewBox") == f"0 0 {width} {height}"


def test_text_takes_the_colour_of_the_page_and_no_background_is_drawn() -> None:
    svg = drawn(bars([{"n": "a", "v": 1}]))
    assert set(re.findall(r'<text[^>]* fill="([^"]*)"', svg)) == {"currentColor"}
    assert 'fill="white"' not in svg


def test_marks_carry_their_values_as_tooltips_where_there_is_a_pointer() -> None:
    values = [{"n": "a", "v": 1}, {"n": "b", "v": 2}]
    assert re.findall(r"<title>([^<]*)</title>", drawn(bars(values))) == ["time (ms): 1; n: a", "time (ms): 2; n: b"]
    assert "<title>" not in drawn(bars(values), width=340)


def test_ids_differ_between_drawings_and_are_found() -> None:
    specification = bars([{"n": "a", "v": 1}])
    svg = drawn(specification)
    ids = re.findall(r' id="([^"]*)"', svg)
    assert ids
    assert set(re.findall(r"url\(#([^)]*)\)", svg)) == set(ids)
    assert all(name.startswith("b1-") for name in ids)


def test_the_same_chart_gives_the_same_bytes() -> None:
    specification = bars([{"n": str(at), "v": at} for at in range(20)])
    assert drawn(specification) == drawn(specification)


def test_numbers_that_json_does_not_know_are_left_out_of_the_drawing() -> None:
    assert drawn(bars([{"n": "a", "v": float("nan")}, {"n": "b", "v": 2}])).startswith("<svg")


@pytest.mark.parametrize("url", ["http://tracelode.invalid/x.json", "file:///etc/passwd", "x.csv"])
def test_a_chart_never_fetches_data(url: str) -> None:
    with pytest.raises(ValueError, match="fetches none"):
        drawn(bars([]) | {"data": {"url": url}})
    with pytest.raises(ValueError, match="fetches none"):
        drawn({"layer": [bars([]) | {"data": {"url": url}}]})


def test_an_invalid_chart_is_refused() -> None:
    with pytest.raises(ValueError, match="failed"):
        drawn({"data": {"values": []}, "mark": "no such mark"})
