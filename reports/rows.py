"""Rows of data in the formats of the command line: table, json, jsonl, csv, parquet, md."""

import io
import json
import math
import re
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .text import clean, shorten

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FORMATS", "csv_cell", "finite", "markdown_cell", "render"]


def render(rows: "pl.DataFrame", format: str, *, width: int = 0) -> bytes:
    """The rows in that format, one of `FORMATS`. `width` limits a table's lines; 0 for no limit."""
    if format == "table":
        return _table(rows, width).encode()
    return FORMATS[format](rows)


def finite(value: Any) -> Any:
    """The value with NaN and infinities as null, as JSON takes it."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def _table(rows: "pl.DataFrame", width: int) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    longest = max(24, width // 2) if width else sys.maxsize  # on a terminal, names leave room for numbers
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, dtype in rows.schema.items():
        table.add_column(
            Text(clean(name)), justify="right" if dtype.is_numeric() else "left", overflow="fold", no_wrap=not width
        )
    for row in rows.iter_rows():
        table.add_row(*(Text(shorten(_cell(value), longest)) for value in row))
    out = io.StringIO()
    Console(file=out, width=width or 100_000, force_terminal=False, no_color=True, soft_wrap=False).print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.6g}"
    return clean(value if isinstance(value, str) else str(value))


def csv_cell(text: str) -> str:
    """The text as a CSV cell that no spreadsheet takes for a formula: before a leading = + - @ stands an apostrophe."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def markdown_cell(text: str) -> str:
    """The text as the cell of a Markdown table: no markup, no link, no mention, no end of the cell."""
    return re.sub(r"([\\`*_{}\[\]<>|#!~@&])", lambda m: f"&#{ord(m[0])};", clean(text))


def _json(rows: "pl.DataFrame") -> bytes:
    return (json.dumps(finite(rows.to_dicts()), ensure_ascii=False, default=str) + "\n").encode("utf-8", "replace")


def _jsonl(rows: "pl.DataFrame") -> bytes:
    lines = (json.dumps(finite(row), ensure_ascii=False, default=str) for row in rows.iter_rows(named=True))
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def _csv(rows: "pl.DataFrame") -> bytes:
    import csv

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows.columns)
    for row in rows.iter_rows():
        writer.writerow(
            [csv_cell(v) if isinstance(v, str) else json.dumps(v) if isinstance(v, list) else v for v in row]
        )
    return out.getvalue().encode("utf-8", "replace")


def _parquet(rows: "pl.DataFrame") -> bytes:
    out = io.BytesIO()
    rows.write_parquet(out)
    return out.getvalue()


def _markdown(rows: "pl.DataFrame") -> bytes:
    head = "| " + " | ".join(markdown_cell(name) for name in rows.columns) + " |"
    rule = "|" + "|".join("---:" if dtype.is_numeric() else "---" for dtype in rows.dtypes) + "|"
    lines = ("| " + " | ".join(markdown_cell(_cell(value)) for value in row) + " |" for row in rows.iter_rows())
    return ("\n".join((head, rule, *lines)) + "\n").encode("utf-8", "replace")


FORMATS: Mapping[str, Callable[["pl.DataFrame"], bytes]] = {
    "table": lambda rows: _table(rows, 0).encode(),
    "json": _json,
    "jsonl": _jsonl,
    "csv": _csv,
    "parquet": _parquet,
    "md": _markdown,
}
"""Format to the function that writes rows in it."""
