import json
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from data.generator import Run, Workload, write_kineto
from tests.building import build
from tests.reports.independent import Event, at_once, by_device, kernels, spent, union, within
from tracelode.collect.ingest import read
from tracelode.mining.mine import find
from tracelode.reports.report import Chart, Report
from tracelode.reports.units import NUMERIC
from tracelode.store import Archive, Trace
from tracelode.store.parts import load

pytestmark = pytest.mark.exhaustive

MADE, RECORDED, DRAWN = 18, 10, 4  # traces made at random, traces of a program; those whose charts are drawn as well
Told = tuple[Report, Trace, list[Event], dict[str, Any]]
"""A report, its trace, the trace's operations by other means than ours, and the report's JSON."""
KERNELS = {
    "gemm_kernel": "compute",
    "void at::native::reduce_kernel<512, 1>(float*)": "compute",
    "<b>bold</b> & co": "compute",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "communication",
    "__amd_rocclr_copyBuffer": "copy",
}


def at_random(seed: int, folder: Path) -> tuple[Trace, Archive, list[Event]]:
    """Operations that overlap, last no time, start together, or leave gaps, on some streams, devices and processes."""
    random = Random(seed)
    tables: dict[str, list[dict[str, Any]]] = {"kernel": [], "copy": [], "fill": []}
    events: list[Event] = []
    for process in range(1, random.choice((2, 2, 3))):
        for device in range(random.choice((1, 2))):
            at = random.randrange(10**9)
            free = [0] * 4  # when each stream's last operation ends: a stream does one thing at a time
            for link in range(1, random.randrange(4, 120)):
                at += random.choice((0, 1, 40, 3000, 200_000))
                stream = random.randrange(1, 4)
                start = max(at, free[stream])
                end = free[stream] = start + random.choice((0, 1, 50, 2500, 70_000))
                place = {"process": process, "device": device, "stream": stream}
                kind = random.choice(("kernel", "kernel", "kernel", "copy", "fill"))
                row = {**place, "start_ns": start, "end_ns": end, "correlation": link}
                if kind == "kernel":
                    name = random.choice(list(KERNELS))
                    events.append(Event(*place.values(), start, end, name, KERNELS[name]))
                    row["name"] = name
                elif kind == "copy":
                    row |= {"kind": (way := random.choice(("HtoD", "DtoH"))), "bytes": random.choice((4, 4096))}
                    events.append(Event(*place.values(), start, end, f"copy {way}", "copy"))
                else:
                    events.append(Event(*place.values(), start, end, "fill", "copy"))
                tables[kind].append(row)
    return *build(folder, **{name: rows for name, rows in tables.items() if rows}), events


def recorded(seed: int, folder: Path) -> tuple[Trace, Archive, list[Event]]:
    """A training run as a Kineto file, whose events are read by the standard library."""
    random = Random(seed)
    iterations = random.randrange(4, 9)
    workload = Workload(
        iterations=iterations, layers=random.randrange(1, 4), seed=seed, world_size=random.choice((1, 8)),
        warm_up=random.randrange(3), outlier=random.choice((None, iterations - 1)), noise=random.choice((0, 0.05)),
        stall=random.choice((None, iterations - 2)), late=(), insert_rate=random.choice((0, 0.02)),
    )  # fmt: skip
    path = folder / "trace.json"
    write_kineto(Run(workload), path)
    document = json.loads(path.read_text())
    base = document["baseTimeNanoseconds"]
    events: list[Event] = []
    for one in document["traceEvents"]:
        if one.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset"):
            continue
        start = base + round(one["ts"] * 1000)
        end = start + round(one["dur"] * 1000)
        name, state = one["name"], "compute"
        if one["cat"] != "kernel":
            name, state = ("copy " if one["cat"] == "gpu_memcpy" else "fill ") + name, "copy"
        elif "nccl" in name:
            state = "communication"
        args = one["args"]
        events.append(Event(one["pid"], args["device"], args["stream"], start, end, name, state))
    archive = Archive(folder / "archive")
    trace, _ = read(path, archive)
    offset = trace.facts.base_unix_ns or 0
    process = trace.process.collect()["process"][0]
    moved = [replace(e, process=process, start=e.start - offset, end=e.end - offset) for e in events]
    return trace, archive, moved


@pytest.fixture(scope="module", params=range(MADE + RECORDED))
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Told:
    seed: int = request.param
    folder = tmp_path_factory.mktemp("numbers")
    trace, archive, events = at_random(seed, folder) if seed < MADE else recorded(seed, folder)
    report = load("topic", "perf").build(trace, lambda analysis: find(trace, archive, analysis))
    if seed % MADE >= DRAWN // 2:  # drawing takes most of the time, and a chart shows the rows of a table
        sections = [replace(s, blocks=tuple(b for b in s.blocks if not isinstance(b, Chart))) for s in report.sections]
        report = replace(report, sections=tuple(sections))
    return report, archive.open(trace.id), events, json.loads(load("format", "json").render(report))


def tables(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The tables of a report's JSON, in order."""
    for section in document["sections"]:
        yield from (block for block in section["blocks"] if block["type"] == "table")


def shown(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The tables that the page has: those of the JSON, and what a timeline says of its lanes."""
    units = {"label": "text", "operations": "count", "busy_ns": "ns", "share": "share"}
    columns = [{"key": key, "unit": unit} for key, unit in units.items()]
    for section in document["sections"]:
        for block in section["blocks"]:
            if block["type"] == "table":
                yield block
            elif block["type"] == "timeline":
                yield {"caption": "Time in which something runs, by lane", "columns": columns, "rows": block["lanes"]}


def rows(document: dict[str, Any], caption: str) -> list[dict[str, Any]]:
    """The rows of the table whose caption begins so; none where the report has no such table."""
    found = [table["rows"] for table in tables(document) if table["caption"].startswith(caption)]
    return found[0] if found else []


def test_every_number_of_the_json_equals_its_sql(told: Told) -> None:
    _, trace, _, document = told
    found = list(tables(document))
    assert len(found) >= 3
    for table in found:
        again = trace.sql(table["sql"]).to_dicts()
        assert len(again) == len(table["rows"]), table["caption"]
        for row, other in zip(table["rows"], again, strict=True):
            assert row.keys() == other.keys()
            assert all(_same(row[key], other[key]) for key in row), (table["caption"], row, other)


def _same(told: Any, computed: Any) -> bool:
    if isinstance(computed, float) and not np.isfinite(computed):
        return told is None
    return told == computed or told == str(computed)


class Page(HTMLParser):
    """The tables of a page as it is read by the standard library: caption, and of each cell text and exact value."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[tuple[str, list[list[tuple[str, str | None]]]]] = []
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append(("", []))
        elif tag == "tr" and "tbody" in self._open:
            self.tables[-1][1].append([])
        elif tag == "td":
            self.tables[-1][1][-1].append(("", dict(attrs).get("data-v")))
        if tag not in ("meta", "link", "br", "img"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "caption" in self._open:
            caption, cells = self.tables[-1]
            self.tables[-1] = (caption + data, cells)
        elif "td" in self._open:
            line = self.tables[-1][1][-1]
            line[-1] = (line[-1][0] + data, line[-1][1])


def test_every_number_of_the_page_is_in_the_json(told: Told) -> None:
    report, _, _, document = told
    page = Page(load("format", "html").render(report))
    expected = [table for table in shown(document) if table["rows"]]
    assert [caption for caption, _ in page.tables] == [table["caption"] for table in expected]
    compared = 0
    for (_, lines), table in zip(page.tables, expected, strict=True):
        assert len(lines) == min(len(table["rows"]), 500)
        for line, row in zip(lines, table["rows"], strict=False):
            for (text, exact), column in zip(line, table["columns"], strict=True):
                value = row[column["key"]]
                if column["unit"] in NUMERIC and value is not None:
                    assert (exact or text) == str(value), (table["caption"], column["key"], text, exact, value)
                    compared += 1
    assert compared > 20


def test_time_by_state_is_what_a_sweep_over_the_moments_gives(told: Told) -> None:
    _, _, events, document = told
    expected: dict[tuple[Any, ...], int] = {}
    for place, work in by_device(events).items():
        stretches = spent(work)
        if stretches:
            times = within(stretches, stretches[0][0], stretches[-1][1])
            expected |= {(*place, state): time for state, time in times.items()}
    found = {
        (row["process"], row["device"], row["state"]): row["time_ns"]
        for row in rows(document, "Time by state")
        if row["time_ns"]
    }
    assert found == expected


def test_each_iteration_is_spent_as_the_sweep_says(told: Told) -> None:
    _, trace, events, document = told
    if not trace.has("iteration"):
        return
    main = {(row["process"], row["iteration"]): row for row in rows(document, "Iterations")}
    stretches = {place: spent(work) for place, work in by_device(events).items()}
    found: dict[tuple[int, int, int], dict[str, int]] = {}
    for row in rows(document, "Time of each iteration"):
        if row["time_ns"]:
            place = (row["process"], row["device"], row["iteration"])
            found.setdefault(place, {})[row["state"]] = row["time_ns"]
    assert bool(found) == bool(main)
    for (process, device, number), parts in found.items():
        one = main[process, number]
        begin = one["start_ns"] - one["wait_ns"]
        assert parts == within(stretches[process, device], begin, one["end_ns"])
        assert sum(parts.values()) == one["duration_ns"]


def test_kernels_are_counted_and_summed_as_the_events_are(told: Told) -> None:
    _, _, events, document = told
    expected = kernels(events)
    found = rows(document, "Kernels by name")
    assert {row["name"]: row["calls"] for row in found} == {name: each[0] for name, each in expected.items()}
    for row in found:
        _, whole, mean, middle, high, variation = expected[row["name"]]
        assert row["total_ns"] == whole
        told_ = [row["mean_ns"], row["p50_ns"], row["p95_ns"]]
        assert told_ == pytest.approx([mean, middle, high])
        assert (row["variation"] is None) == bool(np.isnan(variation))
        assert row["variation"] is None or row["variation"] == pytest.approx(variation)


def test_idle_time_has_causes_places_and_lengths_that_add_up_to_the_gaps(told: Told) -> None:
    _, _, events, document = told
    gaps = [
        last - first for work in by_device(events).values() for first, last, state in spent(work) if state == "idle"
    ]
    causes = rows(document, "Idle time by cause")
    assert sum(row["time_ns"] for row in causes) == sum(gaps)
    assert sum(row["gaps"] for row in causes) == len(gaps)
    assert max((row["longest_ns"] for row in causes), default=0) == max(gaps, default=0)
    places = rows(document, "Places with the most idle time")
    if len(places) < 50:
        assert sum(row["time_ns"] for row in places) == sum(gaps)


def test_each_moment_counts_once_to_what_runs_at_once(told: Told) -> None:
    _, _, events, document = told
    expected = {
        (*place, running): time
        for place, work in by_device(events).items()
        for running, time in at_once(work).items()
        if time
    }
    found = {
        (row["process"], row["device"], row["running"]): row["time_ns"]
        for row in rows(document, "What runs at once")
        if row["time_ns"]
    }
    assert found == expected


def test_streams_are_as_busy_as_the_union_of_their_events(told: Told) -> None:
    _, _, events, document = told
    streams: dict[tuple[int, int, int], list[Event]] = {}
    for event in events:
        streams.setdefault((event.process, event.device, event.stream), []).append(event)
    found = {(row["process"], row["device"], row["stream"]): row for row in rows(document, "Streams, the busiest")}
    assert found.keys() == streams.keys()
    for place, work in streams.items():
        whole = max(event.end for event in work) - min(event.start for event in work)
        assert found[place]["operations"] == len(work)
        assert found[place]["busy_ns"] == union(work)
        assert found[place]["gap_ns"] == whole - union(work)
        assert found[place]["computing"] == sum(event.state == "compute" for event in work)


def test_the_nodes_of_the_performance_graph_add_up_to_the_busy_time(told: Told) -> None:
    _, trace, events, document = told
    nodes = trace.performance_node.collect().to_dicts()
    busy = {place: union(work) for place, work in by_device(events).items()}
    roots = {(node["process"], node["device"]): node["time_ns"] for node in nodes if node["parent"] is None}
    assert {place: time for place, time in roots.items() if time} == {p: t for p, t in busy.items() if t}
    inside: dict[int, int] = {}
    for node in nodes:
        if node["parent"] is not None:
            inside[node["parent"]] = inside.get(node["parent"], 0) + node["time_ns"]
    assert all(inside[node["node"]] == node["time_ns"] for node in nodes if node["node"] in inside)
    shown = {row["node"]: row["time_ns"] for row in rows(document, "Nodes of the performance graph")}
    assert shown.items() <= {node["node"]: node["time_ns"] for node in nodes}.items()
