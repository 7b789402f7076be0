"""A real Chromium, offline, that reports everything a page does wrong."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tracelode.reports.formats import html
from tracelode.reports.report import Report

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-quic",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
)

DESKTOP = {"width": 1280, "height": 900}


@dataclass
class Opened:
    """A page and what went wrong in it: scripts, dialogs, console messages, requests for anything but the file."""

    page: Any
    faults: list[str] = field(default_factory=list)


Open = Callable[..., Opened]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser, started once; the tests are skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def context(chromium: Any) -> Iterator[Any]:
    """The context of all pages that ask for nothing special."""
    with chromium.new_context(offline=True, viewport=DESKTOP) as context:
        yield context


@pytest.fixture
def open_report(chromium: Any, context: Any, tmp_path: Path) -> Iterator[Open]:
    """Renders a report to a file and opens it; keyword arguments make a context of its own."""
    closed_later: list[Any] = []

    def open_it(report: Report, *, script: str = "", **options: Any) -> Opened:
        path = tmp_path / "report.html"
        path.write_bytes(html.render(report).encode())
        owner = chromium.new_context(offline=True, **({"viewport": DESKTOP} | options)) if options else context
        page = owner.new_page()
        closed_later.append(owner if options else page)
        page.set_default_timeout(20_000)
        opened = Opened(page)
        page.on("dialog", lambda dialog: (opened.faults.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("console", lambda message: opened.faults.append(f"console {message.text}"))
        page.on("pageerror", lambda error: opened.faults.append(f"error {error}"))
        page.on("request", lambda request: opened.faults.extend(_unwanted(request.url, path.as_uri())))
        if script:
            page.add_init_script(script)
        page.goto(path.as_uri())
        return opened

    yield open_it
    for thing in closed_later:
        thing.close()


def _unwanted(url: str, own: str) -> list[str]:
    return [] if url == own else [f"request {url}"]
