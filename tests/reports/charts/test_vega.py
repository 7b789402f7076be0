import json
from typing import Any

import altair
import pytest

from tracelode.reports.charts import vega

ROWS = [{"a": 1, "b": 2.5, "c": "x", "d": 4}]


def _single(api: Any) -> Any:
    x = api.X("a:Q", title="A", bin="binned", axis=api.Axis(values=[0, 1], format="d", labelOverlap=True))
    y = api.Y("c:O", sort=None, axis=None)
    scale = api.Scale(range=["red", "blue"], domain=["x", "y"])
    colour = api.Color("c:N", scale=scale, legend=api.Legend(labelLimit=9, columns=2))
    chart = api.Chart(api.Data(values=ROWS)).mark_rect(width=3, color="red", aria=False)
    return chart.encode(x=x, y=y, color=colour, order=api.Order("d:Q"), description="c:N").encode(x2="b:Q")


def _layered(api: Any) -> Any:
    data = api.Data(values=ROWS)
    base = api.Chart(data).transform_calculate(part="datum.a").encode(y=api.Y("d:O", axis=None))
    bar = base.transform_calculate(one="1", two="2").mark_bar(yOffset=1, height=2).encode(x=api.X("a:Q"), x2="b:Q")
    strength = api.Opacity("b:Q", scale=api.Scale(type="log", nice=False), legend=None)
    own = api.Chart(api.Data(values=[{"a": 7}])).mark_point(size=5, filled=True)
    marks = [
        base.mark_text(dy=1, align="left").encode(x=api.datum(0), text="part:N"),
        own.encode(y="a:Q", shape=api.Shape("a:N", scale=api.Scale(domain=[7], range=["cross"]))),
        base.mark_rule(strokeDash=[5, 3]).encode(opacity=strength),
        base.mark_tick(thickness=2),
        base.mark_line(point=False),
    ]
    return api.layer(bar, *marks, data=data)


@pytest.mark.parametrize("build", [_single, _layered])
@pytest.mark.parametrize("height", [220, {"step": 34}])
def test_a_chart_is_what_altair_makes_of_the_same_words_down_to_the_order_of_keys(build: Any, height: Any) -> None:
    theirs = build(altair).properties(width=640, height=height).to_dict()
    theirs.pop("config")
    assert json.dumps(build(vega).specification(width=640, height=height)) == json.dumps(theirs)


def test_parts_of_a_chart_stay_as_they_are_when_more_is_made_of_them() -> None:
    base = vega.Chart(vega.Data(values=ROWS)).mark_bar()
    base.encode(x="a:Q").transform_calculate(one="1")
    assert base.specification(width=1, height=1)["encoding"] == {}
