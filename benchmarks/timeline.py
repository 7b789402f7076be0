"""Measures the timeline in Chromium: `python -m benchmarks.timeline [--operations 2e5 1e6] [--rounds 5]`.

Planted operations (lognormal durations, short gaps, a few streams, 200 iterations) are packed and opened in a headless
browser without a GPU, offline. "ready" is from the start of the navigation to the first complete drawing, "redraw" one
drawing of everything, "detail" one of a tenth of the time: the least of the rounds, in milliseconds as the page
measures them. It needs Chromium and the extra `dev`.
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.setting import tell
from tracelode.reports.formats import html
from tracelode.reports.report import Lane, Overlay, Report, Section, Timeline
from tracelode.reports.timeline import pack

STREAMS, NAMES, ITERATIONS = 3, 60, 200
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run", "--disable-sync")
REDRAW = """([share, times]) => {
  const { view, show, draw } = document.querySelector("figure.timeline").timeline;
  show(view.left, view.span * share);
  const from = performance.now();
  for (let at = 0; at < times; at++) draw();
  const spent = (performance.now() - from) / times;
  document.querySelector("figure.timeline").timeline.show(-Infinity, Infinity);
  return spent;
}"""


def planted(operations: int, seed: int = 0) -> Timeline:
    """A timeline of about so many operations."""
    random = np.random.default_rng(seed)
    lanes = list[Lane]()
    for stream in range(STREAMS):
        size = operations // STREAMS
        duration = random.lognormal(9, 1.2, size).astype(np.int64)
        start = np.cumsum(duration + random.exponential(3000, size).astype(np.int64)) - duration
        lanes.append(Lane(f"stream {stream}", start, duration, random.integers(0, NAMES, size), "select * from kernel"))
    edges = np.linspace(0, int(lanes[0].start_ns[-1]), ITERATIONS + 1).astype(int).tolist()
    spans = [(edges[at], edges[at + 1], f"iteration {at}") for at in range(ITERATIONS)]
    wanted = [
        (*spans[at][:2], f"{kind} iteration {at}") for kind, at in (("typical", 90), ("slow", 150), ("last", 199))
    ]
    names = [f"kernel_{at}" for at in range(NAMES)]
    return Timeline(
        "Operations", 0, names, lanes, "select 1", (Overlay("iterations", spans, "iterations"),), wanted=wanted
    )


def measure(operations: int, rounds: int) -> dict[str, Any]:
    """Size of the page, CPU seconds to make it, and the browser's times."""
    timeline = planted(operations)
    begin = time.process_time()
    packed = pack(timeline)
    packing = time.process_time() - begin
    report = Report("perf", "T", "V", "0", (), (), (Section("t", "Timeline", "", (timeline,)),))
    page = html.render(report).encode()
    held = sum(row["count"] for row in packed.header["rows"] if row["kind"] == "lane")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.html")
        path.write_bytes(page)
        times = [_open(path.as_uri()) for _ in range(rounds)]
    return {
        "operations": packed.header["operations"],
        "held one by one": held,
        "packing s": packing,
        "page MB": len(page) / 1e6,
        "bytes each": len(packed.data) / packed.header["operations"],
        **{f"{name} ms": min(one[name] for one in times) for name in times[0]},
    }


def _open(url: str) -> dict[str, float]:
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        page = browser.new_context(offline=True, viewport={"width": 1280, "height": 900}).new_page()
        page.goto(url)
        figure = page.locator("figure.timeline[data-ready]")
        figure.wait_for(timeout=60_000)
        found = {"ready": float(figure.get_attribute("data-ready") or "nan")}
        for name, share in (("redraw", 1), ("detail", 0.1)):
            found[name] = page.evaluate(REDRAW, [share, 10])
        browser.close()
    return found


def main() -> None:
    """Prints the figures, and keeps them where asked."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--operations", type=float, nargs="*", default=[2e5, 1e6])
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("-o", "--output", type=Path, help="JSON file for the results")
    given = options.parse_args()
    figures = [measure(int(operations), given.rounds) for operations in given.operations]
    tell(figures, given.output, "tracelode", "numpy")


if __name__ == "__main__":
    main()
