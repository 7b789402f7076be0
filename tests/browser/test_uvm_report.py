"""The report on managed memory, opened as a user opens it."""

from pathlib import Path

import pytest

from tests.browser.conftest import Open
from tests.mining.managed_made import BASE, fault, run
from tracelode.collect.ingest import read
from tracelode.mining.mine import find
from tracelode.reports.report import Report
from tracelode.store import Archive
from tracelode.store.parts import load

pytestmark = pytest.mark.browser

LOGS = Path(__file__).parents[2] / "data" / "samples" / "accelprof"
EVIL = "<img src=x onerror=alert(1)>\u202e"


@pytest.fixture(scope="module", params=["made", "hotness_net_2026-02-01_12-00-00"])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("archive")
    if request.param == "made":
        kernels = [{"start_ns": 100 + 200 * at, "end_ns": 200 + 200 * at, "name": EVIL} for at in range(3)]
        trace, archive = run(folder, kernel=kernels, fault=[fault(110, 190, BASE, kind=EVIL)])
    else:
        archive = Archive(folder)
        trace, _ = read(LOGS / request.param, archive)
    return load("topic", "uvm").build(trace, lambda analysis: find(trace, archive, analysis))


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)], ids=["desktop", "phone"])
def test_the_page_opens_offline_without_a_fault_and_fits_the_screen(
    report: Report, open_report: Open, width: int, height: int
) -> None:
    opened = open_report(report, viewport={"width": width, "height": height})
    page = opened.page
    assert page.locator("h1").inner_text() == report.title
    assert page.locator("section").count() >= len(report.sections)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator("svg:visible").count() >= 2
    assert page.locator("img[src=x]").count() == 0
    assert opened.faults == []


def test_rows_of_the_widest_table_are_two_lines_at_most(open_report: Open, tmp_path: Path) -> None:
    trace, archive = run(tmp_path, allocation=None)
    report = load("topic", "uvm").build(trace, lambda analysis: find(trace, archive, analysis))
    page = open_report(report).page
    table = page.locator("table", has_text="Advice on each range").first
    assert table.locator("th").count() >= 11
    assert max(row.bounding_box()["height"] for row in table.locator("tbody tr").all()) <= 52
    page.set_viewport_size({"width": 390, "height": 844})
    assert table.locator("th.t").first.bounding_box()["width"] <= 13 * 16  # on a phone columns stay narrow
