import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.browser.conftest import Open, Opened
from tests.building import build
from tracelode.mining.mine import find
from tracelode.reports.lanes import timeline as timeline_of
from tracelode.reports.report import Curve, Lane, Overlay, Report, Section, Timeline

pytestmark = pytest.mark.browser

BASE = 1_700_000_000_000_000_000
PAINTED = """([x, y, width]) => {
  const context = document.querySelector("canvas").getContext("2d");
  return [...context.getImageData(x, y, width, 1).data].filter((_, at) => at % 4 === 0);
}"""
REDRAWN = """() => {
  const from = performance.now();
  document.querySelector("figure.timeline").timeline.draw();
  return performance.now() - from;
}"""
UNPACKED = """() => document.querySelector("figure.timeline").timeline.rows
  .map((row) => [[...row.start], [...row.end], [...row.name]])"""
SOFT_RED, BLUE_RED = 0xF4, 0x1B
"""The red parts of the empty lane's colour and of the name with most time."""


def report_of(timeline: Timeline) -> Report:
    section = Section("timeline", "Timeline", "All operations.", (timeline,))
    return Report("perf", "A trace", "It runs.", "0" * 64, (), (), (section,))


def one_lane(start: list[int], duration: list[int], name: list[int], *, sql: str = "select * from kernel") -> Timeline:
    lane = Lane("stream 7", np.array(start) + BASE, np.array(duration), np.array(name), sql)
    return Timeline("Kernels", BASE, ["gemm", "copy", "add"], [lane], "select * from kernel")


def many(seed: int, *, overlaps: bool) -> Lane:
    """5,000 operations, a third of the time busy, a few of them long."""
    random = np.random.default_rng(seed)
    duration = random.integers(1, 400, 5000)
    duration[::500] = 20_000
    gap = random.integers(1, 800, 5000)
    start = np.cumsum(gap) if overlaps else np.cumsum(gap + duration) - duration
    return Lane(f"stream {seed}", start, duration, np.zeros(5000, dtype=np.int64))


def ready(opened: Opened) -> Opened:
    opened.page.locator("figure.timeline[data-ready]").wait_for()
    return opened


def view(opened: Opened) -> tuple[float, float]:
    left, span = opened.page.locator("figure.timeline").get_attribute("data-view").split(",")
    return float(left), float(span)


def settled(opened: Opened) -> tuple[float, float]:
    """The view once the next frame is drawn."""
    opened.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return view(opened)


def painted_pixels(opened: Opened, row: int) -> tuple[float, int]:
    """How many pixels of a row are painted, added up from how strongly each is; and how many there are."""
    layout = opened.page.evaluate("document.querySelector('figure.timeline').timeline.layout()")
    scale, box = layout["scale"], layout["boxes"][row]
    x, width = round(layout["gutter"] * scale), round(layout["width"] * scale) - round(layout["gutter"] * scale)
    reds = opened.page.evaluate(PAINTED, [x, round((box["y"] + 4) * scale), width])
    shares = (np.array(reds) - SOFT_RED) / (BLUE_RED - SOFT_RED)
    return float(np.clip(shares, 0, 1).sum()), width


def blank_decoration(opened: Opened) -> None:
    """Takes away what is drawn over the rows: grid lines and labels."""
    opened.page.evaluate(
        """() => {
        const prototype = CanvasRenderingContext2D.prototype, fill = prototype.fillRect;
        prototype.fillText = () => {};
        prototype.fillRect = function (x, y, width, height) { if (width !== 1) fill.call(this, x, y, width, height); };
        document.querySelector("figure.timeline").timeline.draw();
        }"""
    )


@pytest.mark.parametrize("scale", [1, 2])
@pytest.mark.parametrize("zooms", [0, 5, 12, 22])
def test_the_busy_share_painted_is_that_of_the_data_at_every_zoom(open_report: Open, scale: int, zooms: int) -> None:
    lanes = [many(1, overlaps=False), many(2, overlaps=True)]
    opened = ready(open_report(report_of(Timeline("K", 0, ["gemm"], lanes, "")), device_scale_factor=scale))
    blank_decoration(opened)
    opened.page.locator("canvas").focus()
    for _ in range(zooms):
        opened.page.keyboard.press("w")
    left, span = settled(opened)
    for row, lane in enumerate(lanes):
        painted, width = painted_pixels(opened, row)
        begin = np.maximum(
            lane.start_ns, np.concatenate([[0], np.maximum.accumulate(lane.start_ns + lane.duration_ns)[:-1]])
        )
        end = np.maximum.accumulate(lane.start_ns + lane.duration_ns)
        busy = np.clip(np.minimum(end, left + span) - np.maximum(begin, left), 0, None).sum()
        assert painted == pytest.approx(busy / span * width, abs=1)


def test_the_columns_unpacked_are_those_packed_with_times_beyond_32_bits(open_report: Open) -> None:
    start = [0, 5, 2**32 + 4, 2**33 + 3, 2**33 + 10]
    duration = [5, 2**32 - 1, 7, 0, 2**34]
    opened = ready(open_report(report_of(one_lane(start, duration, [0, 1, 2, 0, 1]))))
    rows = opened.page.evaluate(UNPACKED)
    assert rows == [[start, [s + d for s, d in zip(start, duration, strict=True)], [0, 1, 2, 0, 1]]]


def test_the_tip_names_the_operation_under_the_pointer(open_report: Open) -> None:
    opened = ready(open_report(report_of(one_lane([0, 1000, 3_000_123], [800, 1500, 1_234_567], [0, 1, 2]))))
    page = opened.page
    layout = page.evaluate("document.querySelector('figure.timeline').timeline.layout()")
    box = page.locator("canvas").bounding_box()
    width = layout["width"] - layout["gutter"]
    x = box["x"] + layout["gutter"] + width * (3_500_000 / (3_000_123 + 1_234_567))
    page.mouse.move(x, box["y"] + layout["boxes"][0]["y"] + 5)
    assert page.locator(".tip").inner_text().split("\n") == [
        "add",
        "1.234567\u202fms from 3.000123\u202fms · stream 7",
    ]
    page.mouse.move(box["x"] + layout["gutter"] + width / 2, box["y"] + layout["boxes"][0]["y"] + 5)
    assert page.locator(".tip").is_hidden()


def test_of_several_operations_in_a_pixel_the_tip_names_the_longest_and_counts_them(open_report: Open) -> None:
    timeline = one_lane([0, 100, 500, 10_000_000], [50, 300, 20, 1], [0, 1, 2, 0])
    opened = ready(open_report(report_of(timeline)))
    layout = opened.page.evaluate("document.querySelector('figure.timeline').timeline.layout()")
    box = opened.page.locator("canvas").bounding_box()
    opened.page.mouse.move(box["x"] + layout["gutter"] + 0.6, box["y"] + layout["boxes"][0]["y"] + 5)
    assert opened.page.locator(".tip").inner_text().split("\n") == [
        "copy",
        "300\u202fns from 100\u202fns · stream 7",
        "the longest of 3 here: zoom in for the others",
    ]


def test_a_click_shows_the_operation_with_the_query_that_finds_it(open_report: Open) -> None:
    timeline = one_lane([0, 1000], [500, 1000], [0, 1], sql="select * from kernel\nwhere stream = 7;")
    opened = ready(open_report(report_of(timeline)))
    box = opened.page.locator("canvas").bounding_box()
    opened.page.mouse.click(box["x"] + box["width"] - 20, box["y"] + 25)
    assert opened.page.locator(".picked b").text_content() == "copy"
    assert opened.page.locator(".picked pre").text_content() == (
        "select *\nfrom (\nselect * from kernel\nwhere stream = 7\n)\n"
        "where start_ns = 1700000000000001000 and end_ns = 1700000000000002000"
    )
    groups = "1 700 000 000 000 001 000".replace(" ", "\u202f")
    assert opened.page.locator(".picked div").first.text_content() == (
        f"stream 7: starts at {groups} ns, lasts 1\u202f000 ns"
    )
    opened.page.keyboard.press("Escape")
    assert opened.page.locator(".picked").is_hidden()


def test_keys_move_zoom_and_reset_within_the_data(open_report: Open) -> None:
    opened = ready(open_report(report_of(Timeline("K", 0, ["gemm"], [many(1, overlaps=False)], ""))))
    whole = view(opened)
    opened.page.locator("canvas").focus()
    spans = [whole[1]]
    for key in ("w", "+", "w"):
        opened.page.keyboard.press(key)
        spans.append(settled(opened)[1])
    assert [b / a for a, b in pairwise(spans)] == pytest.approx([0.7, 0.7, 0.7])
    left, span = view(opened)
    opened.page.keyboard.press("d")
    assert settled(opened) == pytest.approx((left + 0.15 * span, span))
    opened.page.keyboard.press("ArrowLeft")
    assert settled(opened) == pytest.approx((left, span))
    opened.page.keyboard.press("s")
    assert settled(opened)[1] == pytest.approx(span / 0.7)
    for _ in range(60):
        opened.page.keyboard.press("w")
    assert settled(opened)[1] == 20
    opened.page.keyboard.press("Home")
    assert settled(opened) == whole
    opened.page.keyboard.press("a")
    assert settled(opened) == whole
    opened.page.keyboard.press("-")
    assert settled(opened) == whole


def test_keys_step_from_operation_to_operation_and_bring_them_into_view(open_report: Open) -> None:
    start = [at * 1_000_000 for at in range(100)]
    opened = ready(open_report(report_of(one_lane(start, [500_000] * 100, [at % 3 for at in range(100)]))))
    opened.page.locator("canvas").focus()
    for _ in range(14):
        opened.page.keyboard.press("w")
    starts = []
    for key in (".", ".", ".", ","):
        opened.page.keyboard.press(key)
        text = opened.page.locator(".picked div").first.text_content()
        starts.append(int(re.sub(r"\D", "", re.search(r"starts at (.*) ns,", text)[1])) - BASE)
    assert [b - a for a, b in pairwise(starts)] == [1_000_000, 1_000_000, -1_000_000]
    left, span = settled(opened)
    assert left <= starts[-1] <= left + span


def test_the_wheel_scrolls_the_page_and_zooms_only_with_control(open_report: Open) -> None:
    opened = ready(open_report(report_of(Timeline("K", 0, ["gemm"], [many(1, overlaps=False)], ""))))
    whole = view(opened)
    box = opened.page.locator("canvas").bounding_box()
    opened.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 30)
    opened.page.mouse.wheel(0, -100)
    assert settled(opened) == whole
    opened.page.keyboard.down("Control")
    opened.page.mouse.wheel(0, -100)
    opened.page.keyboard.up("Control")
    assert settled(opened)[1] < whole[1]


def test_dragging_moves_the_data_with_the_pointer(open_report: Open) -> None:
    opened = ready(open_report(report_of(Timeline("K", 0, ["gemm"], [many(1, overlaps=False)], ""))))
    opened.page.locator("canvas").focus()
    for _ in range(6):
        opened.page.keyboard.press("w")
    left, span = settled(opened)
    layout = opened.page.evaluate("document.querySelector('figure.timeline').timeline.layout()")
    box = opened.page.locator("canvas").bounding_box()
    opened.page.mouse.move(box["x"] + 600, box["y"] + 30)
    opened.page.mouse.down()
    opened.page.mouse.move(box["x"] + 590, box["y"] + 30)
    opened.page.mouse.move(box["x"] + 500, box["y"] + 30)
    opened.page.mouse.up()
    assert settled(opened) == pytest.approx((left + span * 100 / (layout["width"] - layout["gutter"]), span))
    assert opened.page.locator(".picked").is_hidden()


def test_a_tap_on_a_phone_shows_the_operation(open_report: Open) -> None:
    opened = ready(
        open_report(
            report_of(one_lane([0, 1000], [500, 1000], [0, 1])),
            viewport={"width": 390, "height": 844},
            is_mobile=True,
            has_touch=True,
        )
    )
    box = opened.page.locator("canvas").bounding_box()
    opened.page.touchscreen.tap(box["x"] + box["width"] - 20, box["y"] + box["height"] - 15)
    assert opened.page.locator(".picked b").text_content() == "copy"


def test_the_table_names_what_is_in_view_and_follows_the_zoom(open_report: Open) -> None:
    opened = ready(open_report(report_of(one_lane([0, 1000, 8000], [500, 1000, 2000], [0, 1, 1]))))
    page = opened.page
    rows = page.locator(".top tbody tr")
    assert [row.locator("td").all_text_contents()[-4:] for row in rows.all()] == [
        ["copy", "2", "3.00\u202fµs", "85.7\u202f%"],
        ["gemm", "1", "500\u202fns", "14.3\u202f%"],
    ]
    page.evaluate("document.querySelector('figure.timeline').timeline.show(8000, 1000)")
    page.locator(".status", has_text="1 operation of").wait_for()
    (row,) = rows.all()
    assert row.locator("td").all_text_contents()[-4:] == ["copy", "1", "1.00\u202fµs", "100.0\u202f%"]
    assert page.locator(".status").text_content() == ("In view: 1.00\u202fµs from 8\u202fµs, 1 operation of 1 name")
    assert page.locator(".status").get_attribute("aria-live") == "polite"


def layout_of(opened: Opened) -> Any:
    return opened.page.evaluate("document.querySelector('figure.timeline').timeline.layout()")


def click_at(opened: Opened, row: int, share: float) -> None:
    """Clicks on a row, at that share of the time in view."""
    layout = layout_of(opened)
    x = layout["gutter"] + (layout["width"] - layout["gutter"]) * share
    opened.page.locator("canvas").click(position={"x": x, "y": layout["boxes"][row]["y"] + 6})


def see(opened: Opened, left: float, span: float) -> None:
    opened.page.evaluate("([a, b]) => document.querySelector('figure.timeline').timeline.show(a, b)", [left, span])
    settled(opened)


def crowded(seed: int = 3) -> tuple[Lane, Timeline]:
    """300,000 operations, more than a page carries; a typical iteration in the middle."""
    random = np.random.default_rng(seed)
    duration = random.integers(1, 2000, 300_000)
    start = np.cumsum(random.integers(500, 1500, 300_000))
    lane = Lane("stream 7", start, duration, np.arange(300_000) % 5, "select * from kernel")
    middle = (int(start[290_000]), int(start[290_500]), "typical iteration 9")
    return lane, Timeline("K", 0, list("abcde"), [lane], "select 1", wanted=(middle,))


@pytest.mark.parametrize("stretch", [(0.0, 1.0), (0.1, 0.5), (0.97, 0.02), (0.9, 0.0002)])
def test_the_busy_share_painted_is_that_of_the_data_on_levels_too(
    open_report: Open, stretch: tuple[float, float]
) -> None:
    lane, timeline = crowded()
    opened = ready(open_report(report_of(replace(timeline, names=["a"], lanes=[replace(lane, name=lane.name * 0)]))))
    blank_decoration(opened)
    whole = view(opened)
    see(opened, whole[0] + stretch[0] * whole[1], stretch[1] * whole[1])
    left, span = view(opened)
    painted, width = painted_pixels(opened, 0)
    end = np.maximum.accumulate(lane.start_ns + lane.duration_ns)
    begin = np.maximum(lane.start_ns, np.concatenate([[0], end[:-1]]))
    busy = np.clip(np.minimum(end, left + span) - np.maximum(begin, left), 0, None).sum()
    assert painted == pytest.approx(busy / span * width, abs=1)
    assert opened.faults == []


def test_where_the_page_holds_no_single_operations_it_says_what_it_knows_and_gives_the_query(open_report: Open) -> None:
    lane, timeline = crowded()
    opened = ready(open_report(report_of(timeline)))
    at = int(lane.start_ns[280_000])
    see(opened, at, 100_000)
    click_at(opened, 0, 0.5)
    lines = opened.page.locator(".picked > div").all_text_contents()
    assert re.fullmatch(r"takes most of [\d.]+.µs from [\d.]+.ms · stream 7", lines[0])
    assert re.fullmatch(r"busy \d+.%, \d+ operations? begin here, not in this page one by one", lines[1])
    sql = opened.page.locator(".picked code").text_content()
    first, last = re.search(r"start_ns < (\d+) and \(end_ns > (\d+)", sql).groups()[::-1]
    began = int(((lane.start_ns >= int(first)) & (lane.start_ns < int(last))).sum())
    assert f" {began} operation" in lines[1]
    assert "about " in opened.page.locator(".status", has_text="about").text_content()
    assert "300\u202f000 operations of one lane the page holds" in opened.page.locator("figure > .count").inner_text()
    assert opened.faults == []


def test_a_wanted_stretch_is_a_button_away_and_its_operations_are_there_one_by_one(open_report: Open) -> None:
    lane, timeline = crowded()
    opened = ready(open_report(report_of(timeline)))
    opened.page.get_by_role("button", name="typical iteration 9").click()
    left, span = settled(opened)
    assert left < lane.start_ns[290_000] < lane.start_ns[290_500] < left + span
    see(opened, int(lane.start_ns[290_100]), 100)
    click_at(opened, 0, 0.001)
    shown = re.findall(r"_ns = (\d+)", opened.page.locator(".picked code").text_content())
    at = int(np.searchsorted(lane.start_ns, int(shown[0])))
    assert 290_090 <= at <= 290_100
    assert (int(shown[0]), int(shown[1])) == (lane.start_ns[at], lane.start_ns[at] + lane.duration_ns[at])


SAME_TIMES = [
    {"start_ns": 100, "end_ns": 100, "name": "zero", "correlation": 1},
    {"start_ns": 100, "end_ns": 100, "name": "also zero", "correlation": 2},
    {"start_ns": 100, "end_ns": 400, "name": "long", "correlation": 3},
    {"start_ns": 100, "end_ns": 400, "name": "<b>'; drop table kernel; --", "correlation": 4},
    {"start_ns": 100, "end_ns": 400, "name": "long", "correlation": 5},
    {"start_ns": 300, "end_ns": 350, "name": "under", "correlation": 6},
    {"start_ns": 500, "end_ns": 600, "name": None, "correlation": 7},
]


def test_the_query_shown_for_each_operation_gives_exactly_its_row(open_report: Open, tmp_path: Path) -> None:
    copies = [{"start_ns": 500, "end_ns": 600, "bytes": 1, "correlation": 8}]
    trace, archive = build(tmp_path, kernel=SAME_TIMES, copy=copies)
    opened = ready(open_report(report_of(timeline_of(trace, lambda name: find(trace, archive, name)))))
    opened.page.locator("canvas").focus()
    opened.page.keyboard.press("ArrowDown")
    opened.page.keyboard.press("ArrowDown")
    opened.page.keyboard.press(".")
    for _ in range(9):
        opened.page.keyboard.press(",")
    found = []
    for _ in range(8):
        rows = trace.sql(opened.page.locator(".picked code").text_content())
        assert len(rows) == 1
        row = rows.row(0, named=True)
        assert opened.page.locator(".picked b").text_content() == row["name"]
        words = opened.page.locator(".said").text_content()
        assert words == (
            f"{row['name']}, process 1 device 0 stream 7, starts at {row['start_ns'] - 100}\u202fns, "
            f"lasts {row['end_ns'] - row['start_ns']}\u202fns"
        )
        found.append(row["correlation"])
        opened.page.keyboard.press(".")
    assert sorted(found) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert opened.faults == []


def test_an_operation_without_length_leaves_a_mark_and_can_be_pointed_at(open_report: Open) -> None:
    opened = ready(open_report(report_of(one_lane([0, 5000, 9000], [1000, 0, 1000], [0, 1, 2]))))
    blank_decoration(opened)
    layout = layout_of(opened)
    box = layout["boxes"][0]
    foot = [round(layout["gutter"]), box["y"] + box["height"] - 1, round(layout["width"] - layout["gutter"])]
    reds = opened.page.evaluate(PAINTED, foot)
    marked = [at for at, red in enumerate(reds) if red != SOFT_RED and 0.3 < at / len(reds) < 0.7]
    assert len(marked) == 1
    assert marked[0] / len(reds) == pytest.approx(0.5, abs=0.002)
    click_at(opened, 0, 0.5005)
    assert opened.page.locator(".picked b").text_content() == "copy"


def rows_with(opened: Opened) -> list[str]:
    return opened.page.evaluate("document.querySelector('figure.timeline').timeline.rows.map((row) => row.label)")


def mixed() -> Timeline:
    lane = Lane("stream 7", np.arange(10) * 1000, np.full(10, 800), np.arange(10) % 2)
    iterations = Overlay(
        "iterations", [(at * 2000, at * 2000 + 1900, f"iteration {at}") for at in range(5)], "iterations"
    )
    faults = Overlay("page faults", [(2500, 2600, "<i>3 faults")], "page faults")
    memory = Curve("memory", np.array([0, 2000, 8000]), np.array([0, 4_000_000, 1_000_000]), "bytes")
    return Timeline("K", 0, ["a", "b"], [lane], "", (iterations, faults), curves=(memory,))


def test_rows_of_a_kind_are_hidden_and_shown_by_a_tick(open_report: Open) -> None:
    opened = ready(open_report(report_of(mixed())))
    assert len(layout_of(opened)["boxes"]) == 4
    height = layout_of(opened)["height"]
    opened.page.get_by_label("page faults").uncheck()
    opened.page.get_by_label("counters").uncheck()
    assert len(layout_of(opened)["boxes"]) == 2
    assert layout_of(opened)["height"] < height
    click_at(opened, 1, 0.01)
    assert opened.page.locator(".picked b").text_content() == "a"
    opened.page.get_by_label("page faults").check()
    click_at(opened, 1, 0.2604)
    assert opened.page.locator(".picked b").text_content() == "<i>3 faults"
    assert opened.faults == []


def test_a_curve_is_drawn_from_its_least_to_its_most_and_tells_its_values(open_report: Open) -> None:
    opened = ready(open_report(report_of(mixed())))
    layout = layout_of(opened)
    box, room = layout["boxes"][2], layout["width"] - layout["gutter"]
    opened.page.locator("canvas").hover(position={"x": layout["gutter"] + room * 0.5, "y": box["y"] + 5})
    assert opened.page.locator(".tip").inner_text().split("\n") == [
        "4\u202f000\u202f000 bytes",
        "from 2\u202fµs · memory",
    ]
    column = """([x, y, height]) => {
      const data = document.querySelector("canvas").getContext("2d").getImageData(x, y, 1, height).data;
      const reds = [...data].filter((_, at) => at % 4 === 0);
      return reds.indexOf(Math.min(...reds)) / height;
    }"""
    at = [
        opened.page.evaluate(column, [round(layout["gutter"] + room * share), box["y"], box["height"]])
        for share in (0.1, 0.5)
    ]
    assert at[0] > 0.8
    assert at[1] < 0.2


def test_keys_go_from_iteration_to_iteration(open_report: Open) -> None:
    opened = ready(open_report(report_of(mixed())))
    opened.page.locator("canvas").focus()
    seen = []
    for key in "nnnp":
        opened.page.keyboard.press(key)
        left, span = settled(opened)
        seen.append((opened.page.locator(".picked b").text_content(), round(left + span / 2), round(span)))
    assert [(name, span) for name, _, span in seen] == [(f"iteration {at}", 2014) for at in (0, 1, 2, 1)]
    assert seen[1][1] == 2950
    assert opened.page.locator(".said").text_content().startswith("iteration 1, iterations, starts at 2\u202fµs")


def test_a_question_mark_lists_the_keys_and_escape_goes_back_to_the_timeline(open_report: Open) -> None:
    opened = ready(open_report(report_of(mixed())))
    opened.page.locator("canvas").focus()
    assert opened.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    opened.page.keyboard.press("?")
    dialog = opened.page.get_by_role("dialog", name="Keys of the timeline")
    assert dialog.is_visible()
    assert "next or the previous iteration" in dialog.inner_text()
    opened.page.keyboard.press("Escape")
    assert dialog.is_hidden()
    assert opened.page.evaluate("document.activeElement.tagName") == "CANVAS"
    opened.page.get_by_role("button", name="Keys").click()
    opened.page.get_by_role("button", name="Close").click()
    assert dialog.is_hidden()


def test_those_who_do_not_see_it_get_names_words_and_a_table(open_report: Open) -> None:
    opened = ready(open_report(report_of(mixed())))
    label = "K: 10 operations on 1 lane. The tables below name them and say how busy each lane is."
    assert opened.page.get_by_role("application", name=label).count() == 1
    assert opened.page.locator("canvas").get_attribute("aria-roledescription") == "timeline"
    assert opened.page.locator(".said").get_attribute("role") == "status"
    opened.page.get_by_text("Busy time of each lane as a table").click()
    cells = opened.page.locator(".lanes tbody tr").first.locator("td").all_text_contents()
    assert cells == ["stream 7", "10", "8.00", "81.6"]
    opened.page.locator("canvas").focus()
    opened.page.keyboard.press("ArrowDown")
    assert opened.page.locator(".said").text_content() == "iterations"


PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


def touch(opened: Opened, *moments: list[tuple[float, float]]) -> None:
    """Fingers at these places, one moment after the other; then lifted."""
    session = opened.page.context.new_cdp_session(opened.page)
    for kind, fingers in zip(["touchStart"] + ["touchMove"] * (len(moments) - 1), moments, strict=True):
        points = [{"x": x, "y": y, "id": at} for at, (x, y) in enumerate(fingers)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_two_fingers_zoom_and_one_moves_on_a_phone(open_report: Open) -> None:
    opened = ready(open_report(report_of(Timeline("K", 0, ["gemm"], [many(1, overlaps=False)], "")), **PHONE))
    whole = view(opened)
    opened.page.locator("canvas").scroll_into_view_if_needed()
    box = opened.page.locator("canvas").bounding_box()
    y = box["y"] + box["height"] / 2
    touch(opened, [(150, y), (230, y)], [(140, y), (240, y)], [(110, y), (270, y)])
    left, span = settled(opened)
    assert span == pytest.approx(whole[1] / 2, rel=0.05)
    touch(opened, [(300, y)], [(290, y)], [(200, y)])
    moved = settled(opened)
    assert moved[1] == span
    assert moved[0] == pytest.approx(left + span * 100 / box["width"], rel=0.02)
    assert opened.faults == []


def test_a_phone_shows_the_whole_timeline_without_scrolling_sideways(open_report: Open) -> None:
    opened = ready(open_report(report_of(replace(mixed(), wanted=((0, 900, "typical iteration 0"),))), **PHONE))
    assert opened.page.evaluate("document.documentElement.scrollWidth") == 390
    opened.page.get_by_role("button", name="Keys").click()
    box = opened.page.get_by_role("dialog").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390


def test_in_print_and_without_scripts_a_still_picture_stands_for_the_canvas(open_report: Open) -> None:
    opened = ready(open_report(report_of(mixed())))
    still = opened.page.locator(".still svg")
    assert (still.is_visible(), opened.page.locator("canvas").is_visible()) == (False, True)
    opened.page.emulate_media(media="print")
    assert (still.is_visible(), opened.page.locator("canvas").is_visible()) == (True, False)
    assert opened.page.pdf().startswith(b"%PDF")
    assert opened.faults == []
    bare = open_report(report_of(mixed()), java_script_enabled=False)
    assert bare.page.locator(".still svg").is_visible()
    assert bare.page.locator("canvas").is_hidden()


def test_the_canvas_follows_the_colours_of_the_system(open_report: Open) -> None:
    empty = []
    for scheme in ("light", "dark"):
        opened = ready(open_report(report_of(mixed()), color_scheme=scheme))
        layout = layout_of(opened)
        empty.append(opened.page.evaluate(PAINTED, [round(layout["gutter"]) + 5, layout["boxes"][1]["y"] + 5, 1]))
    assert empty == [[0xF4], [0x1B]]


def test_overlays_are_rows_with_their_labels(open_report: Open) -> None:
    overlay = Overlay("iterations", [(BASE + 5000, BASE + 10_000, "iteration 1"), (BASE, BASE + 4000, "iteration 0")])
    lane = Lane("stream 7", np.array([BASE]), np.array([10_000]), np.array([0]))
    opened = ready(open_report(report_of(Timeline("K", BASE, ["gemm"], [lane], "", (overlay,)))))
    box = opened.page.locator("canvas").bounding_box()
    opened.page.mouse.move(box["x"] + box["width"] - 30, box["y"] + 25)
    assert opened.page.locator(".tip").inner_text().split("\n") == [
        "iteration 1",
        "5\u202fµs from 5\u202fµs · iterations",
    ]


def test_an_empty_timeline_says_so_and_breaks_nothing(open_report: Open) -> None:
    opened = ready(open_report(report_of(Timeline("K", 0, [], [], "select 1"))))
    assert "0 operations" in opened.page.locator(".status").text_content()
    assert opened.faults == []


def test_a_browser_that_cannot_unpack_says_what_it_needs(open_report: Open) -> None:
    opened = open_report(report_of(one_lane([0], [1], [0])), script="delete window.DecompressionStream")
    opened.page.locator(".status", has_text="it needs Chrome 103").wait_for()
    assert opened.page.locator("canvas").is_hidden()
    assert opened.page.locator(".still svg").is_visible()
    assert opened.faults == []


def test_200_000_operations_are_drawn_and_counted(
    open_report: Open, record_property: Callable[[str, object], None]
) -> None:
    random = np.random.default_rng(5)
    duration = random.lognormal(9, 1.2, 200_000).astype(np.int64)
    start = np.cumsum(duration + random.exponential(3000, 200_000).astype(np.int64)) - duration
    lane = Lane("stream 7", start, duration, random.integers(0, 40, 200_000))
    opened = ready(open_report(report_of(Timeline("K", 0, [f"kernel {at}" for at in range(40)], [lane], ""))))
    assert "200\u202f000 operations of 40 names" in opened.page.locator(".status").text_content()
    assert opened.faults == []
    record_property("ready_ms", opened.page.locator("figure.timeline").get_attribute("data-ready"))
    record_property("redraw_ms", opened.page.evaluate(REDRAWN))
