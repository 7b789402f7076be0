"""Markdown as GitHub shows it, for pull requests and job summaries: tables, and charts in block characters."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..blocks import bars, sparkline
from ..checks import sections
from ..report import Block, Chart, Report, Section, Table, Text, Timeline, Unit
from ..rows import markdown_cell
from ..text import clean, shorten
from ..timeline import busy_ns, busy_shares
from ..units import NUMERIC, column, show

__all__ = ["MOST_BYTES", "SUFFIX", "render"]

SUFFIX = ".md"
MOST_BYTES = 900 * 1024
"""GitHub shows nothing of a job summary above 1 MiB."""

_LONGEST = 160
"""Letters of a name in a table; a longer one is cut in the middle."""
_WIDTH = 40
"""Blocks of a drawing."""
_BLOCK = re.compile(r"(\d*)([-+=.)>])")
"""How a line begins that begins a list, a quotation or a rule."""
_LINK = re.compile(r"://|www\.", re.IGNORECASE)
_LARGEST_CUT = 120
"""Bytes that the note of what was cut takes at most."""


def render(report: Report, *, most_bytes: int = MOST_BYTES) -> str:
    """The report as text of at most so many bytes: what does not fit is left out from the end, and said."""
    pieces = list(_pieces(report))
    sizes = [len(piece.encode("utf-8", "replace")) + 1 for piece in pieces]
    if sum(sizes) <= most_bytes:
        return "\n".join(pieces)
    kept, room = 0, most_bytes - _LARGEST_CUT
    while kept < len(pieces) and room >= sizes[kept]:
        room -= sizes[kept]
        kept += 1
    note = f"**Cut here**: {len(pieces) - kept} of {len(pieces)} parts did not fit. The HTML report has them all.\n"
    return "\n".join([*pieces[:kept], note])


def _pieces(report: Report) -> Iterator[str]:
    """The parts of the page, each ending in an empty line."""
    yield f"# {_inline(report.title)}\n"
    if report.health:
        yield "> **Data quality**\n>\n" + "".join(f"> - {_inline(remark)}\n" for remark in report.health)
    yield f"{_inline(report.verdict)}\n"
    if report.identity:
        yield _grid(("", ""), [(label, value) for label, value in report.identity], (False, False))
    for section in sections(report):
        yield from _section(section)
    if report.glossary:
        yield "## Glossary\n"
        yield _list([f"{word}: {meaning}" for word, meaning in report.glossary.items()])


def _section(section: Section) -> Iterator[str]:
    yield f"## {_inline(section.heading)}\n"
    if section.sentence:
        yield f"{_inline(section.sentence)}\n"
    for block in section.blocks:
        yield from _block(block)
    if section.notes:
        yield _list(section.notes)


def _block(block: Block) -> Iterator[str]:
    match block:
        case Text():
            for paragraph in block.text.split("\n\n"):
                yield f"{_inline(' '.join(paragraph.split()))}\n"
        case Table():
            yield from _table(block)
        case Chart():
            yield from _chart(block)
        case Timeline():
            yield from _timeline(block)


def _table(table: Table) -> Iterator[str]:
    yield f"**{_inline(table.caption)}**\n"
    rows = table.rows[: table.limit]
    if not rows:
        yield "no rows\n"
        return
    shown = [column([row.get(c.key) for row in rows], c.unit) for c in table.columns]
    titles = [c.title + (f" ({s.unit})" if s.unit else "") for c, s in zip(table.columns, shown, strict=True)]
    texts = list(zip(*(s.texts for s in shown), strict=True))
    yield _grid(titles, texts, [c.unit in NUMERIC for c in table.columns])
    if len(table.rows) > len(rows):
        yield f"{show(len(rows), 'count')} of {show(len(table.rows), 'count')} rows\n"
    yield from _sql(table.sql)


def _chart(chart: Chart) -> Iterator[str]:
    """What the chart draws, in blocks where it left something to draw so."""
    yield f"**{_inline(chart.title)}**\n"
    drawn: Mapping[str, Any] = chart.specification.get("usermeta", {}).get("terminal", {})
    values: Sequence[float] = drawn.get("values", ())
    unit: Unit = drawn.get("unit", "ns")
    if not values:
        yield f"{_inline(chart.description)}\n"
    elif "labels" in drawn:
        numbers = [show(value, unit) for value in values]
        rows = list(zip(drawn["labels"], numbers, bars(values, _WIDTH // 2), strict=True))
        yield _grid(("", drawn["title"], ""), rows, (False, True, False))
    else:
        yield f"`{sparkline(values, _WIDTH)}`\n"
        yield f"{_inline(drawn['title'])}: {show(min(values), unit)} to {show(max(values), unit)}\n"


def _timeline(timeline: Timeline) -> Iterator[str]:
    """Each lane as the share of time it is busy."""
    yield f"**{_inline(timeline.title)}**\n"
    lanes = [lane for lane in timeline.lanes if len(lane.start_ns)]
    if not lanes:
        return
    first = min(int(lane.start_ns[0]) for lane in lanes)
    last = max(int((lane.start_ns + lane.duration_ns).max()) for lane in lanes)
    span = max(last - first, 1)
    rows = [
        (
            lane.label,
            show(busy_ns(lane.start_ns, lane.duration_ns) / span, "share"),
            f"`{sparkline(busy_shares(lane, first, last, _WIDTH), _WIDTH, top=1)}`",
        )
        for lane in lanes
    ]
    head = f"| Lane | Busy | {show(span, 'ns')} |\n|---|---:|---|\n"
    yield head + "".join(f"| {_cell(label)} | {busy} | {line} |\n" for label, busy, line in rows)


def _sql(sql: str) -> Iterator[str]:
    """A query to unfold; its fence is longer than any run of backticks in it."""
    if sql:
        text = clean(sql.strip(" \n"), keep="\n")
        fence = "`" * (max(map(len, _runs(text)), default=0) + 1)
        fence = fence if len(fence) > 3 else "```"
        yield f"<details><summary>SQL</summary>\n\n{fence}sql\n{text}\n{fence}\n\n</details>\n"


def _runs(text: str) -> list[str]:
    return [run for run in "".join(c if c == "`" else " " for c in text).split() if run]


def _grid(titles: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    head = "| " + " | ".join(_cell(title) for title in titles) + " |\n"
    rule = "|" + "|".join("---:" if one else "---" for one in numeric) + "|\n"
    return head + rule + "".join("| " + " | ".join(map(_cell, row)) + " |\n" for row in rows)


def _list(lines: Sequence[str]) -> str:
    return "".join(f"- {_inline(line)}\n" for line in lines)


def _cell(text: str) -> str:
    return _escaped(shorten(text, _LONGEST))


def _inline(text: str) -> str:
    """The text with nothing that is markup, a link or a mention; at the beginning, nothing that begins a block."""
    escaped = _escaped(" ".join(text.split()))
    begin = _BLOCK.match(escaped)
    return f"{begin[1]}&#{ord(begin[2])};{escaped[begin.end() :]}" if begin else escaped


def _escaped(text: str) -> str:
    """A cell's text, without what GitHub turns into a link of itself."""
    return _LINK.sub(lambda found: found[0].replace(":", "&#58;").replace(".", "&#46;"), markdown_cell(text))
