"""The workload report of a sample, and of several traces, opened as a user opens them."""

from pathlib import Path

import pytest

from tests.browser.conftest import Open
from tracelode.collect.ingest import read
from tracelode.mining.mine import find
from tracelode.mining.rank_run import Member
from tracelode.reports.rank_group import Group
from tracelode.reports.report import Report
from tracelode.reports.workload_group import build
from tracelode.store import Archive
from tracelode.store.parts import load

pytestmark = pytest.mark.browser

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
LOGS = ("accelprof/net_app_analysis.log", "accelprof/hotness_net_2026-02-01_12-00-00")


@pytest.fixture(scope="module", params=["train.json.gz", LOGS[1], "several"])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Report:
    archive = Archive(tmp_path_factory.mktemp("archive"))
    if request.param == "several":
        members = [Member(read(SAMPLES / name, archive)[0], at, "order") for at, name in enumerate(LOGS)]
        return build(Group("logs", members, archive), lambda trace, analysis: find(trace, archive, analysis))
    trace, _ = read(SAMPLES / request.param, archive)
    return load("topic", "workload").build(trace, lambda analysis: find(trace, archive, analysis))


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)], ids=["desktop", "phone"])
def test_the_page_opens_offline_without_a_fault_and_fits_the_screen(
    report: Report, open_report: Open, width: int, height: int
) -> None:
    opened = open_report(report, viewport={"width": width, "height": height})
    page = opened.page
    assert page.locator("h1").inner_text() == report.title
    assert report.verdict in page.locator("body").inner_text()
    assert page.locator("section").count() >= len(report.sections)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator("svg:visible").count() >= 2
    assert opened.faults == []
