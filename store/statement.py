"""What a statement asks for, by its text: which tables, and whether it needs the categories of kernels."""

import re
from typing import Literal

from .tables import TABLES

__all__ = ["LOOKING", "Categories", "categories", "tables", "words"]

Categories = Literal["none", "by name", "by row"]
"""How the categories of kernels are found: not at all, once for each name before they are read, or for each row."""

LOOKING = frozenset({"show", "describe", "summarize", "information_schema", "duckdb_views", "duckdb_columns"})
"""Words of a query that looks at the catalogue."""
UNNAMED = frozenset(
    {"columns", "natural", "pivot", "pivot_wider", "unpivot", "pivot_longer", "table", "query", "query_table"}
)
"""Words of a query that may use columns without naming them."""
AFTER = (
    "join|left|right|inner|full|cross|semi|anti|asof|positional|on|using|where|group|having|qualify|window|order|limit|"
    "offset|sample|union|except|intersect"
)
"""What may follow a table in a query; any other word is its name in the query."""
BEHIND = re.compile(r"(?:^|[,(]|\b(?:select|distinct|all)|\bkernel\s*\.)\s*$")
BEFORE = re.compile(r"\s*(?:$|[,);]|(?:from|exclude|replace|rename|like|ilike|not|glob|similar)\b)")
"""What stands before and after a star that means columns: between two values it multiplies."""
PLACE = re.compile(
    rf"\b(?:from|join)\s+kernel\b(?:\s+(?:as\s+)?(?!(?:as|{AFTER})\b)([a-z_]\w*))?(?=\s*(?:$|[),;]|(?:{AFTER})\b))"
)
TEXT = re.compile(r"'(?:[^']|'')*'")
COUNT = re.compile(r"\bcount\s*\(\s*\*\s*\)")
FROM_FIRST = re.compile(r"(?:\(|\bas|\bby\s+name|\b(?:union|except|intersect)(?:\s+(?:all|distinct))?)\s*from\b")


def words(query: str) -> set[str]:
    """The words of a query, in lower case."""
    return set(re.findall(r"[a-z_]+", query.lower()))


def tables(query: str) -> frozenset[str]:
    """The tables that a query can mean: those it names, or all where it looks at the catalogue or names none."""
    found = words(query)
    named = frozenset(found & TABLES.keys())
    return named if named and not found & LOOKING else frozenset(TABLES)


def categories(query: str) -> Categories:
    """How a query needs the categories of kernels: a view that has them takes far longer to be made and read.

    "none" only where it is plain that no column is used without its name. A query is text: where this is in doubt (a
    star, a row as a value, `from` without `select`) the answer is "by row", which is never wrong.
    """
    found = words(query)
    if "category" in found and not found & LOOKING:
        return "by name"
    text = COUNT.sub(" ", TEXT.sub("''", query.lower()))
    if found & (LOOKING | UNNAMED) or not re.match(r"\s*(?:select|with)\b", text) or _has_star(text):
        return "by row"
    called = {"kernel", *(place[1] for place in PLACE.finditer(text) if place[1])}
    whole = rf"\b(?:{'|'.join(sorted(called))})\b(?!\s*\.\s*[a-z_\"])"
    return "by row" if FROM_FIRST.search(text) or re.search(whole, PLACE.sub(" ", text)) else "none"


def _has_star(text: str) -> bool:
    """Whether a star may mean the columns of `kernel`; those of another table by its name do not."""
    return any(
        BEHIND.search(text, 0, star.start())
        or (BEFORE.match(text, star.end()) and not text[: star.start()].rstrip().endswith("."))
        for star in re.finditer(r"\*", text)
    )
