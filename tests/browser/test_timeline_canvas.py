import re
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from tests.browser.conftest import Open, Opened
from tracelode.reports.report import Lane, Overlay, Report, Section, Timeline

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
    assert [row.split("\t")[-4:] for row in rows.all_inner_texts()] == [
        ["copy", "2", "3.00\u202fµs", "85.7\u202f%"],
        ["gemm", "1", "500\u202fns", "14.3\u202f%"],
    ]
    page.evaluate("document.querySelector('figure.timeline').timeline.show(8000, 1000)")
    page.locator(".status", has_text="1 operation of").wait_for()
    assert [row.split("\t")[-4:] for row in rows.all_inner_texts()] == [["copy", "1", "1.00\u202fµs", "100.0\u202f%"]]
    assert page.locator(".status").text_content() == ("In view: 1.00\u202fµs from 8\u202fµs, 1 operation of 1 name")
    assert page.locator(".status").get_attribute("aria-live") == "polite"


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
