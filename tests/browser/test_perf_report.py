"""The performance report of a sample, opened as a user opens it."""

from pathlib import Path

import pytest

from tests.browser.conftest import Open
from tracelode.collect.ingest import read
from tracelode.mining.mine import find
from tracelode.reports.report import Report
from tracelode.store import Archive
from tracelode.store.parts import load

pytestmark = pytest.mark.browser

SAMPLES = Path(__file__).parents[2] / "data" / "samples"


@pytest.fixture(scope="module", params=["train.json.gz", "train.sqlite"])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Report:
    archive = Archive(tmp_path_factory.mktemp("archive"))
    trace, _ = read(SAMPLES / request.param, archive)
    return load("topic", "perf").build(trace, lambda analysis: find(trace, archive, analysis))


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_opens_offline_without_a_fault_and_fits_the_screen(
    report: Report, open_report: Open, width: int, height: int, scheme: str
) -> None:
    opened = open_report(report, viewport={"width": width, "height": height}, color_scheme=scheme)
    page = opened.page
    page.locator("figure.timeline canvas").first.wait_for()
    assert page.locator("h1").inner_text() == report.title
    assert report.verdict in page.locator("body").inner_text()
    assert page.locator("section").count() >= len(report.sections)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator("svg:visible").count() >= 5
    assert opened.faults == []


def test_the_timeline_names_what_takes_most_time(report: Report, open_report: Open) -> None:
    opened = open_report(report)
    opened.page.locator(".top tbody tr").first.wait_for()
    assert "copy HtoD" in opened.page.locator(".top tbody tr").first.inner_text()
    assert opened.faults == []
