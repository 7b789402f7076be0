"""Text for a terminal, as wide as it is; colour only where it is one."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

from ..blocks import bars, sparkline
from ..checks import sections
from ..report import Block, Chart, Column, Report, Section, Table, Text, Timeline, Unit
from ..text import clean, shorten
from ..timeline import busy_ns, busy_shares
from ..units import NUMERIC, column, show

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["SUFFIX", "fitted", "render"]

SUFFIX = ".txt"
_JOINT, _KEPT = "\u202f", "\ufdd0"
"""What stands between the digits of a number, and what does so for rich, which would end a line there: no character."""
_WITHIN = ".,\u202f"
_NUMBER = "0123456789" + _WITHIN
_LEAST_NAME = 12  # a column of names narrower than this tells nothing: the rows are then set one value a line


def render(report: Report, *, width: int | None = None, color: bool | None = None) -> str:
    """The report as text of at most `width` columns.

    Without `width`, that of the terminal (or `COLUMNS`, or 80); without `color`, colour if the output is a terminal
    that has it and `NO_COLOR` is not set.
    """
    out = StringIO()
    console = _console(out, width or shutil.get_terminal_size().columns, _colored() if color is None else color)
    for part in _parts(report, console.width):
        console.print(part)
    text = out.getvalue().replace(_KEPT, _JOINT)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def fitted() -> str:
    """What the text is made to fit if nothing else is asked for: the terminal's width, and whether it has colour."""
    return f"{shutil.get_terminal_size().columns}{'-colour' if _colored() else ''}"


def _console(out: StringIO, width: int, color: bool) -> "Console":
    from rich.console import Console

    return Console(
        file=out,
        width=width,
        color_system="standard" if color else None,
        force_terminal=color,
        force_jupyter=False,
        no_color=not color,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
        _environ={},
    )


def _colored() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _parts(report: Report, width: int) -> Iterator["RenderableType"]:
    yield _text(report.title, "bold")
    for remark in report.health:
        yield _bulleted("! ", remark, "yellow")
    yield ""
    yield _text(report.verdict)
    yield ""
    yield from _pairs(report.identity, width)
    for section in sections(report):
        yield from _section(section, width)
    if report.glossary:
        yield ""
        yield _text("Glossary", "bold")
        yield from _pairs(tuple(report.glossary.items()), width)


def _section(section: Section, width: int) -> Iterator["RenderableType"]:
    yield ""
    yield _text(section.heading, "bold")
    yield _text(section.sentence)
    for block in section.blocks:
        yield ""
        yield from _block(block, width)
    if section.notes:
        yield ""
    for note in section.notes:
        yield _bulleted("- ", note)


def _block(block: Block, width: int) -> Iterator["RenderableType"]:
    match block:
        case Text():
            for paragraph in block.text.split("\n\n"):
                yield _text(" ".join(paragraph.split()))
        case Table():
            yield _text(block.caption, "italic")
            yield from _table(block, width)
        case Chart():
            yield _text(block.title, "italic")
            yield from _chart(block, width)
        case Timeline():
            yield _text(block.title, "italic")
            yield from _timeline(block, width)


@dataclass(frozen=True)
class _Shown:
    """A column of a table as text. `least` is the width at which it still tells something."""

    title: str
    texts: tuple[str, ...]
    numeric: bool
    natural: int
    least: int


def _table(table: Table, width: int) -> Iterator["RenderableType"]:
    rows = table.rows[: table.limit]
    if not rows:
        yield _text("no rows", "dim")
        return
    shown = [_shown(c, [row.get(c.key) for row in rows]) for c in table.columns]
    if sum(c.least for c in shown) + 2 * (len(shown) - 1) <= width:
        yield _grid(shown, width)
    else:
        yield from _records(shown)
    if len(table.rows) > len(rows):
        yield _text(f"{show(len(rows), 'count')} of {show(len(table.rows), 'count')} rows", "dim")


def _shown(column_: Column, values: list[Any]) -> _Shown:
    from rich.cells import cell_len

    shown = column(values, column_.unit)
    texts = tuple(clean(text) for text in shown.texts)
    title = clean(column_.title) + (f" ({shown.unit})" if shown.unit else "")
    natural = max(cell_len(title), *map(cell_len, texts))
    numeric = column_.unit in NUMERIC
    whole = numeric or column_.unit == "id"
    return _Shown(title, texts, numeric, natural, natural if whole else max(min(natural, _LEAST_NAME), cell_len(title)))


def _grid(columns: list[_Shown], width: int) -> "RenderableType":
    from rich import box
    from rich.table import Table as Grid

    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False, header_style="bold")
    for shown in columns:
        justify = "right" if shown.numeric else "left"
        grid.add_column(_text(shown.title), justify=justify, no_wrap=True, overflow="ellipsis")
    widths = _widths(columns, width - 2 * (len(columns) - 1))
    for row in zip(*(shown.texts for shown in columns), strict=True):
        grid.add_row(*(_text(_cut(text, room)) for text, room in zip(row, widths, strict=True)))
    return grid


def _cut(text: str, length: int) -> str:
    """The text without its middle where it is too long; a number that would lose digits goes as a whole."""
    if len(text) <= length:
        return text
    head, _, tail = shorten(text, length).partition("…")
    lost = text[len(head) : len(text) - len(tail)]
    if lost[:1].isdecimal() or (lost[:1] in _WITHIN and lost[1:2].isdecimal()):
        head = head.rstrip(_NUMBER)
    if lost[-1:].isdecimal() or (lost[-1:] in _WITHIN and lost[-2:-1].isdecimal()):
        tail = tail.lstrip(_NUMBER)
    return f"{head}…{tail}"


def _widths(columns: list[_Shown], width: int) -> list[int]:
    """A width for each column: all have their least, and share what is left as far as they need it."""
    widths = [shown.least for shown in columns]
    spare = width - sum(widths)
    by_need = sorted(range(len(columns)), key=lambda at: columns[at].natural - columns[at].least)
    for done, at in enumerate(by_need):
        more = min(columns[at].natural - columns[at].least, spare // (len(columns) - done))
        widths[at] += more
        spare -= more
    return widths


def _records(columns: list[_Shown]) -> Iterator["RenderableType"]:
    """One row a paragraph, for terminals too narrow for the table."""
    first, rest = columns[0], columns[1:]
    for at, name in enumerate(first.texts):
        yield _text(name)
        if rest:
            yield _bulleted("  ", " · ".join(f"{shown.title} {shown.texts[at]}" for shown in rest), "dim")


def _chart(chart: Chart, width: int) -> Iterator["RenderableType"]:
    """What `reports.charts` left for a terminal in the specification: a line of blocks, or bars."""
    drawn: Mapping[str, Any] = chart.specification.get("usermeta", {}).get("terminal", {})
    values: Sequence[float] = drawn.get("values", ())
    unit: Unit = drawn.get("unit", "ns")
    if not values:
        yield _text("see the chart in the HTML report", "dim")
    elif "labels" in drawn:
        yield _bar_grid(drawn["labels"], values, unit, width)
        yield _text(drawn["title"], "dim")
    else:
        yield _text(sparkline(values, width), "blue")
        yield _text(f"{drawn['title']}: {show(min(values), unit)} to {show(max(values), unit)}", "dim")


def _bar_grid(labels: Sequence[str], values: Sequence[float], unit: Unit, width: int) -> "RenderableType":
    from rich.table import Table as Grid

    numbers = [show(value, unit) for value in values]
    room = max(width - max(map(len, numbers)) - 2, 2)
    name = max(min(max(map(len, labels)), room // 2), 1)
    grid = Grid.grid(padding=(0, 1))
    for justify in ("left", "right", "left"):
        grid.add_column(justify=justify, no_wrap=True, overflow="crop")
    for label, text, bar in zip(labels, numbers, bars(values, max(room - name, 1)), strict=True):
        grid.add_row(_text(_cut(clean(label), name)), _text(text), _text(bar, "blue"))
    return grid


def _timeline(timeline: Timeline, width: int) -> Iterator["RenderableType"]:
    """Each lane as a line of blocks: how busy it was along the time all lanes share."""
    import numpy as np

    lanes = [lane for lane in timeline.lanes if len(lane.start_ns)]
    if not lanes:
        yield _text("no operations", "dim")
        return
    first = min(int(lane.start_ns[0]) for lane in lanes)
    last = max(int(np.max(np.asarray(lane.start_ns) + np.asarray(lane.duration_ns))) for lane in lanes)
    for lane in lanes:
        busy = busy_ns(lane.start_ns, lane.duration_ns)
        share = show(busy / max(last - first, 1), "share")
        count = len(lane.start_ns)
        operations = f"{show(count, 'count')} operation{'s' * (count != 1)}"
        yield _text(f"{lane.label}: busy {share} of {show(last - first, 'ns')}, {operations}")
        yield _text(sparkline(busy_shares(lane, first, last, width), width, top=1), "blue")
    if timeline.left_out:
        yield _text(f"{show(timeline.left_out, 'count')} operations left out", "dim")
    yield _text("see the timeline in the HTML report", "dim")


def _pairs(pairs: Sequence[tuple[str, str]], width: int) -> Iterator["RenderableType"]:
    from rich.table import Table as Grid

    if not pairs:
        return
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(style="dim", max_width=max(width // 2 - 2, 1), overflow="fold")
    grid.add_column(overflow="fold")
    for label, value in pairs:
        grid.add_row(_text(label), _text(value))
    yield grid


def _bulleted(bullet: str, text: str, style: str = "") -> "RenderableType":
    from rich.padding import Padding
    from rich.table import Table as Grid

    grid = Grid.grid()
    grid.add_column(width=len(bullet), no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(_text(bullet, style), _text(text, style))
    return Padding(grid, 0)


def _text(text: str, style: str = "") -> "RenderableType":
    from rich.text import Text as Rich

    return Rich(clean(text).replace(_JOINT, _KEPT), style=style, overflow="fold")
