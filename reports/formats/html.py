"""One HTML file that needs no network: tables to sort, charts, and a timeline to walk through."""

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from ...store.version import VERSION
from ..checks import sections
from ..markup import Markup, element, fragment, raw
from ..pictures import NARROW, WIDE, draw
from ..report import Block, Chart, Column, Report, Section, Table, Text, Timeline
from ..still import still
from ..text import clean, shorten
from ..timeline import Packed, busy_ns, pack, span
from ..units import NUMERIC, column, plain, show

__all__ = ["MOST_ROWS", "SUFFIX", "render"]

SUFFIX = ".html"
MOST_ROWS = 500
"""Rows of a table that the page holds; JSON has all of them."""

_LONG_NAME = 72  # a name with more letters is cut
_WORD = 18  # a column of more letters is a column of names, and gets room


def render(report: Report) -> str:
    """The report as a page. The same report gives the same bytes."""
    style = _asset("html.css")
    has_timeline = any(isinstance(block, Timeline) for section in report.sections for block in section.blocks)
    scripts = ("html.js", "columns.js", "panel.js", "timeline.js") if has_timeline else ("html.js",)
    script = "\n".join(map(_asset, scripts))
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("link", rel="icon", href="data:,"),
        element("title", clean(report.title)),
        element("style", raw(style)),
    )
    body = element("body", *_body(report), element("script", raw(script)))
    return "<!doctype html>\n" + element("html", head, raw("\n"), body, lang="en").text + "\n"


def _body(report: Report) -> Iterator[Markup]:
    numbers = count(1)
    shown = sections(report)
    ids = [f"{at}-{_slug(section.key)}" for at, section in enumerate(shown, 1)]
    yield element("a", "Skip to the findings", class_="skip", href="#findings")
    yield _header(report)
    yield element(
        "div",
        _contents(report, ids),
        element("main", *(_section(s, i, numbers) for s, i in zip(shown, ids, strict=True)), id="findings"),
        class_="page",
    )
    yield _footer(report)


def _header(report: Report) -> Markup:
    identity = [element("div", element("dt", clean(k)), element("dd", clean(v))) for k, v in report.identity]
    remarks = [element("li", clean(remark)) for remark in report.health]
    return element(
        "header",
        element("p", f"{clean(report.topic)} report", class_="topic"),
        element("h1", clean(report.title)),
        element("aside", element("h2", "Data quality"), element("ul", *remarks), class_="health") if remarks else None,
        element("p", clean(report.verdict), class_="verdict"),
        element("dl", *identity, class_="identity") if identity else None,
    )


def _contents(report: Report, ids: Sequence[str]) -> Markup:
    links = [
        element("li", element("a", clean(s.heading), href="#" + i)) for s, i in zip(sections(report), ids, strict=True)
    ]
    if report.glossary:
        links.append(element("li", element("a", "Glossary", href="#glossary")))
    return element("nav", element("h2", "Contents"), element("ol", *links), class_="contents", aria_label="Contents")


def _footer(report: Report) -> Markup:
    words = [element("div", element("dt", clean(k)), element("dd", clean(v))) for k, v in report.glossary.items()]
    return element(
        "footer",
        element("section", element("h2", "Glossary", id="glossary"), element("dl", *words)) if words else None,
        element(
            "p",
            f"tracelode {VERSION} · {'runs' if report.checks else 'trace'} ",
            element("code", clean(report.trace_id)),
            class_="about",
        ),
    )


def _section(section: Section, identifier: str, numbers: "count[int]") -> Markup:
    notes = [element("li", clean(note)) for note in section.notes]
    return element(
        "section",
        element("h2", clean(section.heading), id=identifier),
        element("p", clean(section.sentence), class_="sentence") if section.sentence else None,
        *(_block(block, f"b{next(numbers)}") for block in section.blocks),
        element("ul", *notes, class_="notes") if notes else None,
        aria_labelledby=identifier,
    )


def _block(block: Block, name: str) -> Markup:
    match block:
        case Text():
            return fragment(*(element("p", clean(" ".join(p.split()))) for p in re.split(r"\n\s*\n", block.text)))
        case Table():
            return _table(block, name)
        case Chart():
            return _chart(block, name)
        case Timeline():
            return _timeline(block, name)


def _table(table: Table, name: str) -> Markup:
    rows = table.rows[:MOST_ROWS]
    columns = [_Cells(c, [row.get(c.key) for row in rows]) for c in table.columns]
    body = [
        element("tr", *(cells.at(row) for cells in columns), class_="more" if row >= table.limit else None)
        for row in range(len(rows))
    ]
    grid = element(
        "table",
        element("caption", element("span", clean(table.caption), id=name)),
        element("thead", element("tr", *(cells.head() for cells in columns))),
        element("tbody", *body),
        data_limit=table.limit,
        class_="short" if len(rows) > table.limit else None,
    )
    return element(
        "div",
        element("div", grid, class_="scroll", tabindex=0, role="region", aria_label=f"Table: {clean(table.caption)}")
        if rows
        else element("p", clean(table.caption), class_="caption"),
        element("p", _how_many(table, len(rows)), class_="count"),
        _sql(table.sql),
        class_="table",
    )


def _how_many(table: Table, held: int) -> str:
    total = len(table.rows)
    if not total:
        return "no rows"
    seen = min(table.limit, held)
    text = f"{show(seen, 'count')} of {show(total, 'count')} rows"
    return text if held == total else f"{text}; {show(held, 'count')} of them in this page, all in the JSON report"


class _Cells:
    """A column of a table: its heading and its cells."""

    def __init__(self, column_: Column, values: list[Any]) -> None:
        self._column = column_
        self._values = [plain(v) for v in values]
        self._numeric = column_.unit in NUMERIC
        shown = column(values, column_.unit)
        self._unit = shown.unit
        self._texts = [clean(text) for text in shown.texts]
        self._long = not self._numeric and any(len(text) > _WORD for text in self._texts)

    def head(self) -> Markup:
        """The heading, with the unit where all values share it."""
        unit = element("span", f" ({self._unit})", class_="unit") if self._unit else None
        kind = "n" if self._numeric else "t" if self._long else None
        return element("th", clean(self._column.title), unit, scope="col", class_=kind, data_unit=self._column.unit)

    def at(self, row: int) -> Markup:
        """One cell; a number carries its exact value, to sort by and to show when pointed at."""
        text, value = self._texts[row], self._values[row]
        if not self._numeric:
            return element("td", _name(text), class_="none" if value is None else None if self._long else "w")
        tenths = round(min(max(value, 0), 1) * 20) if self._column.unit == "share" and _finite(value) else None
        exact = value if _finite(value) and str(value) != text else None
        return element("td", text, class_="n", data_v=exact, data_bar=tenths or None)


def _finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and abs(value) < float("inf")


def _name(text: str) -> str | Markup:
    """A name; a long one is cut in the middle until it is opened."""
    if len(text) <= _LONG_NAME:
        return text
    return element("details", element("summary", shorten(text, _LONG_NAME)), element("span", text), class_="name")


def _chart(chart: Chart, name: str) -> Markup:
    label = f"{chart.title}. {chart.description}"
    return element(
        "figure",
        element("figcaption", clean(chart.title)),
        element("p", clean(chart.description), class_="what"),
        draw(chart.specification, width=WIDE, label=label, name=f"{name}w", class_="wide"),
        draw(chart.specification, width=NARROW, label=label, name=f"{name}n", class_="narrow"),
        _sql(chart.sql),
        class_="chart",
    )


def _timeline(timeline: Timeline, name: str) -> Markup:
    packed = pack(timeline)
    operations = packed.header["operations"]
    lanes = f"{operations} operations on {len(timeline.lanes)} lane{'s' * (len(timeline.lanes) != 1)}"
    label = f"{timeline.title}: {lanes}. The tables below name them and say how busy each lane is."
    return element(
        "figure",
        element("figcaption", clean(timeline.title), id=name),
        element(
            "div",
            element(
                "canvas",
                tabindex=0,
                role="application",
                aria_roledescription="timeline",
                aria_label=label,
                aria_describedby=f"{name}h",
            ),
            element("div", class_="tip", hidden=True),
            class_="view",
        ),
        element("div", still(timeline) if operations else None, class_="still"),
        *_what_is_missing(timeline, packed),
        element("p", class_="help", id=f"{name}h"),
        element("p", class_="status", aria_live="polite"),
        element("p", class_="said", role="status"),
        element("noscript", element("p", "Moving about in the timeline needs JavaScript.", class_="count")),
        _data("application/json", json.dumps(packed.header, separators=(",", ":"))),
        _data("application/octet-stream", packed.data),
        _busy(timeline, name) if operations else None,
        _sql(timeline.sql),
        class_="timeline",
        aria_labelledby=name,
    )


def _what_is_missing(timeline: Timeline, packed: Packed) -> Iterator[Markup]:
    """What the page does not hold one by one, and how to get it."""
    if timeline.left_out:
        left_out = f"{show(timeline.left_out, 'count')} operations have no recorded start and are left out."
        yield element("p", left_out, class_="count")
    large = [row for row in packed.header["rows"] if "levels" in row]
    if not large:
        return
    held = show(sum(row["count"] for row in large), "count")
    whole = show(sum(row["whole"] for row in large), "count")
    which = "one lane" if len(large) == 1 else f"{show(len(large), 'count')} lanes"
    stretches = "; ".join(
        f"{label} ({show(last - first, 'ns')} from {show(first, 'ns')})"
        for first, last, label in packed.header["stretches"]
    )
    yield element(
        "p",
        f"Of the {whole} operations of {which} the page holds {held} one by one, where a line "
        f"stands above the lane: {stretches or 'nowhere'}. Elsewhere it "
        f"knows for every {show(packed.header['bins']['width'], 'ns')} how busy the lane is, how many operations "
        "begin and which name takes most of the time; choose such a part for the query that gives its operations "
        "(tracelode sql). tracelode export writes all of them for other viewers.",
        class_="count",
    )


def _busy(timeline: Timeline, name: str) -> Markup:
    """The timeline as a table, for those who do not see it."""
    columns = (
        Column("lane", "Lane"),
        Column("operations", "Operations", "count"),
        Column("busy_ns", "Busy", "ns"),
        Column("share", "Share of the time shown", "share"),
    )
    first, last = span(timeline)
    rows = [
        {"lane": lane.label, "operations": len(lane.start_ns), "busy_ns": busy, "share": busy / max(last - first, 1)}
        for lane in timeline.lanes
        for busy in (busy_ns(lane.start_ns, lane.duration_ns),)
    ]
    grid = _table(Table("Time in which something runs, by lane", columns, rows, timeline.busy_sql), f"{name}t")
    return element("details", element("summary", "Busy time of each lane as a table"), grid, class_="lanes")


def _data(kind: str, text: str) -> Markup:
    """Text for the script to read. Without a < in it, nothing can end the element early."""
    return element("script", raw(text.replace("<", "\\u003c")), type=kind)


def _sql(sql: str) -> Markup | None:
    if not sql:
        return None
    code = element("pre", element("code", sql.strip(" \n")), tabindex=0)
    return element("details", element("summary", "SQL"), code, class_="sql")


def _slug(key: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-") or "section"


def _asset(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
