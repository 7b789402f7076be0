import pytest

from tests.browser.conftest import Open, Opened
from tracelode.reports.charts.bars import pareto
from tracelode.reports.charts.matrix import SHADES, matrix
from tracelode.reports.report import Chart, Column, Report, Section, Table, Text

pytestmark = pytest.mark.browser

COLUMNS = (Column("name", "Kernel"), Column("total_ns", "Total", "ns"), Column("calls", "Calls", "count"))
LONG = (
    "void at::native::vectorized_elementwise_kernel<4, float, std::array<char*, 3>>(int, float, std::array<char*, 3>)"
)


def of_table(rows: list[dict[str, object]], *, limit: int = 25, sql: str = "select 1") -> Report:
    table = Table("Kernels by time", COLUMNS, rows, sql, limit)
    return Report(
        "perf", "A trace", "It runs.", "0", (("host", "n1"),), (), (Section("k", "Kernels", "Two.", (table,)),)
    )


def column(opened: Opened, number: int) -> list[str]:
    """The texts of a column's rows that can be seen."""
    return opened.page.locator(f"tbody tr:visible td:nth-child({number})").all_inner_texts()


def press(opened: Opened, heading: str) -> None:
    opened.page.get_by_role("button", name=heading).click()


def test_a_click_on_a_heading_sorts_by_the_exact_values(open_report: Open) -> None:
    rows = [
        {"name": "b10", "total_ns": 1_234_001, "calls": 3},
        {"name": "b9", "total_ns": 1_234_002, "calls": None},
        {"name": "A1", "total_ns": 999, "calls": -20},
    ]
    opened = open_report(of_table(rows))
    assert column(opened, 1) == ["b10", "b9", "A1"]
    heading = opened.page.locator("th").nth(1)
    press(opened, "Total")
    assert (column(opened, 1), heading.get_attribute("aria-sort")) == (["b9", "b10", "A1"], "descending")
    press(opened, "Total")
    assert (column(opened, 1), heading.get_attribute("aria-sort")) == (["A1", "b10", "b9"], "ascending")
    press(opened, "Total")
    assert (column(opened, 1), heading.get_attribute("aria-sort")) == (["b10", "b9", "A1"], None)
    press(opened, "Kernel")
    assert column(opened, 1) == ["A1", "b9", "b10"]
    press(opened, "Calls")
    assert column(opened, 3) == ["3", "−20", "–"]
    assert opened.faults == []


def test_a_heading_sorts_by_keyboard(open_report: Open) -> None:
    opened = open_report(of_table([{"name": "a", "total_ns": 1, "calls": 1}, {"name": "b", "total_ns": 2, "calls": 1}]))
    opened.page.get_by_role("button", name="Total").focus()
    opened.page.keyboard.press("Enter")
    assert column(opened, 1) == ["b", "a"]


def test_rows_beyond_the_limit_are_counted_shown_on_demand_and_sorted_with_the_rest(open_report: Open) -> None:
    rows = [{"name": f"kernel {at}", "total_ns": at * 10_000, "calls": at} for at in range(600)]
    opened = open_report(of_table(rows, limit=5))
    count = opened.page.locator(".count")
    assert column(opened, 3) == ["0", "1", "2", "3", "4"]
    assert count.inner_text() == "5 of 600 rows; 500 of them in this page, all in the JSON report Show 500"
    press(opened, "Calls")
    assert column(opened, 3) == ["499", "498", "497", "496", "495"]
    press(opened, "Show 500")
    assert len(column(opened, 3)) == 500
    assert count.inner_text() == "all 500 rows of this page Show 5"
    press(opened, "Show 5")
    assert column(opened, 3) == ["499", "498", "497", "496", "495"]


def test_the_filter_finds_rows_beyond_the_limit(open_report: Open) -> None:
    rows = [{"name": f"kernel {at:03}", "total_ns": at, "calls": at} for at in range(60)]
    opened = open_report(of_table(rows))
    opened.page.get_by_label("Filter rows").fill("KERNEL 05")
    assert column(opened, 1) == [f"kernel 05{at}" for at in range(10)]
    assert opened.page.locator(".count").inner_text().strip() == "10 rows match in 60"
    opened.page.get_by_label("Filter rows").fill("")
    assert len(column(opened, 1)) == 25


def test_a_short_table_has_no_filter_and_an_empty_one_says_so(open_report: Open) -> None:
    opened = open_report(of_table([{"name": "a", "total_ns": 1, "calls": 1}]))
    assert opened.page.locator("input").count() == 0
    opened = open_report(of_table([]))
    assert opened.page.locator(".table .count").inner_text() == "no rows"
    assert opened.page.locator("table").count() == 0
    assert opened.faults == []


def test_pointing_at_a_rounded_number_tells_the_exact_one(open_report: Open) -> None:
    opened = open_report(of_table([{"name": "a", "total_ns": 1_234_567, "calls": 12}]))
    cell = opened.page.locator("td").nth(1)
    cell.hover()
    assert (cell.inner_text(), cell.get_attribute("title")) == ("1.23", "1\u202f234\u202f567\u202fns")
    opened.page.locator("td").nth(2).hover()
    assert opened.page.locator("td").nth(2).get_attribute("title") is None


def test_a_long_name_is_cut_until_it_is_opened(open_report: Open) -> None:
    opened = open_report(of_table([{"name": LONG, "total_ns": 1, "calls": 1}]))
    summary = opened.page.locator("td summary")
    assert summary.inner_text() == "void at::native::vectorized_elementw…>(int, float, std::array<char*, 3>)"
    assert opened.page.get_by_text(LONG, exact=True).is_hidden()
    summary.click()
    assert opened.page.get_by_text(LONG, exact=True).is_visible()


@pytest.mark.parametrize("clipboard", [True, False])
def test_a_query_is_copied_as_it_stands(open_report: Open, clipboard: bool) -> None:
    without = "" if clipboard else "Object.defineProperty(navigator, 'clipboard', {value: undefined})"
    opened = open_report(
        of_table([], sql="select 1\n  from kernel -- <b>"),
        script=without,
        permissions=["clipboard-read", "clipboard-write"],
    )
    opened.page.get_by_text("SQL", exact=True).click()
    press(opened, "Copy")
    opened.page.get_by_role("button", name="Copied").wait_for()
    opened.page.evaluate("document.body.append(Object.assign(document.createElement('textarea'), {id: 'target'}))")
    opened.page.locator("#target").focus()
    opened.page.keyboard.press("Control+v")
    assert opened.page.locator("#target").input_value() == "select 1\n  from kernel -- <b>"


WIDE_TABLE = [{"name": LONG.replace(" ", ""), "total_ns": 10**15 + at, "calls": 10**12} for at in range(40)]


@pytest.mark.parametrize("width", [320, 390, 560, 800, 1120, 1280, 2000])
def test_the_page_never_scrolls_sideways(open_report: Open, width: int) -> None:
    bars = [{"name": LONG, "total_ns": 5, "cumulative_share": 1.0}]
    report = of_table(WIDE_TABLE, sql=f"select '{LONG * 3}'")
    picture = Chart(LONG, pareto(bars), "", "select 1")
    section = Section("c", LONG.replace(" ", ""), LONG.replace(" ", ""), (picture, Text(LONG.replace(" ", ""))))
    whole = Report(
        "perf", LONG.replace(" ", ""), LONG, "0" * 64, (("x", "y" * 200),), ("z" * 300,), (*report.sections, section)
    )
    opened = open_report(whole, viewport={"width": width, "height": 800})
    for details in opened.page.locator(".sql").all():
        details.locator("summary").click()
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scrolled", [0, 200])
def test_the_caption_of_a_wide_table_stays_whole_on_a_phone(open_report: Open, scrolled: int) -> None:
    caption = "Allocations by who asked for them and their size; the rows of a device add up to its peak " * 2
    columns = tuple(Column(f"c{at}", f"Title{at}", "count") for at in range(12))
    wide = Table(caption, columns, [{f"c{at}": 10**9 for at in range(12)}], "select 1")
    report = Report("perf", "T", "V", "0", (), (), (Section("s", "S", "", (wide,)),))
    page = open_report(report, viewport={"width": 390, "height": 800}).page
    within = "node => [node.scrollWidth > node.clientWidth, node.clientWidth, (node.scrollLeft = %d, node.scrollLeft)]"
    wider, width, left = page.locator(".scroll").evaluate(within % scrolled)
    assert (wider, left) == (True, scrolled)
    box = page.locator("caption span").bounding_box()
    assert box["x"] >= 16
    assert box["x"] + box["width"] <= 16 + width
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_the_legend_of_a_matrix_is_whole_on_a_phone(open_report: Open) -> None:
    amounts = (10**6, 10**5, 10**4, 10**3, 10**2, 10, 1)
    cells = [
        {"label": "0x7f0000000000", "left": at, "right": at + 1, "amount": amount, "tip": ""}
        for at, amount in enumerate(amounts)
    ]
    picture = Chart("T", matrix(cells, x="Window", y="Blocks", what="Accesses"), "", "")
    report = Report("perf", "T", "V", "0", (), (), (Section("s", "S", "", (picture,)),))
    page = open_report(report, viewport={"width": 390, "height": 800}).page
    shown = page.locator("svg:visible").first
    right = shown.evaluate("node => node.getBoundingClientRect().right")
    ends = shown.locator("text").evaluate_all("all => all.map(one => one.getBoundingClientRect().right)")
    assert {text.text_content() for text in shown.locator("text").all()} >= {*SHADES}
    assert max(ends) <= right


def test_a_phone_gets_charts_drawn_for_its_width(open_report: Open) -> None:
    picture = Chart("T", pareto([{"name": "gemm", "total_ns": 5, "cumulative_share": 1.0}]), "", "")
    report = Report("perf", "T", "V", "0", (), (), (Section("s", "S", "", (picture,)),))
    opened = open_report(report, viewport={"width": 390, "height": 800})
    assert [opened.page.locator(f"svg.{kind}").is_visible() for kind in ("wide", "narrow")] == [False, True]
    opened = open_report(report)
    assert [opened.page.locator(f"svg.{kind}").is_visible() for kind in ("wide", "narrow")] == [True, False]


def test_without_scripts_every_row_of_the_page_is_there(open_report: Open) -> None:
    rows = [{"name": f"kernel {at}", "total_ns": at, "calls": at} for at in range(60)]
    opened = open_report(of_table(rows), java_script_enabled=False)
    assert len(column(opened, 1)) == 60


def test_the_page_follows_the_colours_of_the_system(open_report: Open) -> None:
    colours = []
    for scheme in ("light", "dark"):
        opened = open_report(of_table([]), color_scheme=scheme)
        colours.append(
            opened.page.evaluate(
                "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
            )
        )
    assert colours == [["rgb(255, 255, 255)", "rgb(27, 32, 39)"], ["rgb(19, 22, 27)", "rgb(227, 231, 236)"]]


def test_the_keyboard_reaches_the_findings_first_and_shows_where_it_is(open_report: Open) -> None:
    opened = open_report(of_table([{"name": "a", "total_ns": 1, "calls": 1}]))
    opened.page.keyboard.press("Tab")
    assert opened.page.evaluate("document.activeElement.textContent") == "Skip to the findings"
    assert opened.page.locator(".skip").bounding_box()["x"] >= 0
    assert opened.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    opened.page.keyboard.press("Enter")
    assert opened.page.url.endswith("#findings")


def test_the_page_has_landmarks_and_names_its_tables(open_report: Open) -> None:
    opened = open_report(of_table([{"name": "a", "total_ns": 1, "calls": 1}]))
    for role in ("banner", "navigation", "main", "contentinfo"):
        assert opened.page.get_by_role(role).count() == 1
    assert opened.page.get_by_role("table", name="Kernels by time").count() == 1
    assert opened.page.get_by_role("region", name="Kernels", exact=True).count() == 1
    assert opened.page.get_by_role("heading", level=1).inner_text() == "A trace"
    assert opened.page.locator("html").get_attribute("lang") == "en"


def test_the_page_prints(open_report: Open) -> None:
    opened = open_report(of_table(WIDE_TABLE))
    assert opened.page.pdf().startswith(b"%PDF")
    opened.page.emulate_media(media="print")
    assert opened.page.locator(".contents").is_hidden()
    assert opened.page.locator("tbody tr").first.is_visible()
