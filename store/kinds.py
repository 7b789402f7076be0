"""The kind of work a kernel does, by its name: ordered rules, the first with a pattern in the name decides.

The rules are data: `store/categories.toml`, which says how they are tried, and before them those of the file that the
environment variable `TRACELODE_CATEGORIES` names. What is derived under a user's rules is kept apart from what is
derived under others (`rules_mark`), so that no result is older than the rules.
"""

import hashlib
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from .database import transient
from .entries import keys_of, read_entries
from .errors import Error

__all__ = ["VARIABLE", "Rule", "categories_of", "category_sql", "rules_mark", "user_rules"]

VARIABLE = "TRACELODE_CATEGORIES"
"""The environment variable that names a file with a user's rules."""

EXAMPLE = """write rules as in: [[rule]] category = "moe" patterns = ['expert', 'topk_gating']"""
WORD = re.compile(r"[a-z][a-z0-9_-]{0,23}")
RESERVED = frozenset({"idle", "compute"})
"""Words that reports use for what is no category."""
MOST_NAMES = 200_000
"""Names whose category is kept for the next time: many times those of a trace."""


@dataclass(frozen=True)
class Rule:
    """A category and the patterns, regular expressions of RE2, that names of its kernels have."""

    category: str
    patterns: tuple[str, ...]


def category_sql(column: str) -> str:
    """A SQL expression that gives the category of the kernel name in that column, by the rules in force.

    Raises `Error` where the user's file of rules is not one.
    """
    bare = f"regexp_replace(replace({column}, '(anonymous namespace)', ''), '[<(].*$', '')"
    own = user_rules()
    first = [_first_match(own, column)] if own else []
    return (
        f"coalesce({', '.join([*first, _first_match(_built_in(), bare), _first_match(_built_in(), column)])}, 'other')"
    )


def categories_of(names: Iterable[str | None]) -> dict[str | None, str]:
    """The category of each of the names, by the rules in force; those of names that were judged before are kept.

    Planning the expression takes DuckDB longer than it takes to judge the names of a trace.
    """
    import pyarrow as pa

    asked, known = list(dict.fromkeys(names)), _judged(rules_mark())
    if len(known) > MOST_NAMES:
        known.clear()
    if new := [name for name in asked if name not in known]:
        with transient() as database:
            database.register("asked", pa.table({"name": pa.array(new, pa.string())}))
            query = f"select name, {category_sql('name')} as category from asked"
            known |= dict(database.execute(query).fetchall())
    return {name: known[name] for name in asked}


def user_rules() -> tuple[Rule, ...]:
    """The rules of the file that `TRACELODE_CATEGORIES` names, checked; none where it is not set.

    A change of the file counts from the next start of the program on.

    Raises `Error` that says which entry of the file is wrong, and why.
    """
    path = os.environ.get(VARIABLE)
    return _read(path) if path else ()


def rules_mark() -> str:
    """What tells results under the user's rules from those under others: empty without any, else a part of a name."""
    own = user_rules()
    return "+" + hashlib.sha256(repr(own).encode()).hexdigest()[:12] if own else ""


@lru_cache(maxsize=2)
def _judged(mark: str) -> dict[str | None, str]:
    """The categories known so far under the rules with that mark: filled by `categories_of`."""
    return {}


@lru_cache(maxsize=1)
def _built_in() -> tuple[Rule, ...]:
    told = tomllib.loads((Path(__file__).parent / "categories.toml").read_text(encoding="utf-8"))
    return tuple(Rule(rule["category"], tuple(rule["patterns"])) for rule in told["rule"])


@lru_cache(maxsize=8)
def _read(path: str) -> tuple[Rule, ...]:
    """The rules of a file. A process reads it once: results under one mark are of one state of the file."""
    entries = read_entries(path, "rule", variable=VARIABLE, example=EXAMPLE)
    return tuple(_rule(f"{path}: rule {number}", entry) for number, entry in enumerate(entries, 1))


def _rule(place: str, entry: Any) -> Rule:
    if not isinstance(entry, Mapping) or set(entry) != {"category", "patterns"}:
        raise Error(f"{place}: has {keys_of(entry) or 'nothing'}, not category and patterns", EXAMPLE)
    category, patterns = entry["category"], entry["patterns"]
    if not isinstance(category, str) or not WORD.fullmatch(category) or category in RESERVED:
        hint = "use a word of at most 24 small letters, digits, _ and -, but not compute or idle"
        raise Error(f"{place}: category {category!r} is not a short word", hint)
    if not isinstance(patterns, list) or not patterns or not all(isinstance(one, str) for one in patterns):
        raise Error(f"{place} ({category}): patterns is not a list of strings", EXAMPLE)
    for pattern in patterns:
        _check(f"{place} ({category}): pattern {pattern!r}", pattern)
    return Rule(category, tuple(patterns))


def _check(place: str, pattern: str) -> None:
    """Raises `Error` for what DuckDB, which matches the patterns, does not take, and for what every name matches."""
    import duckdb

    try:
        with duckdb.connect(":memory:") as database:
            row = database.execute("select regexp_matches('', ?, 'i')", [pattern]).fetchone()
    except duckdb.Error as error:
        why = " ".join(str(error).split()).removeprefix("Invalid Input Error: ")
        hint = "write it in the syntax of RE2, which has no look-around and no back-references"
        raise Error(f"{place}: {why}", hint) from error
    if row is not None and row[0]:
        raise Error(f"{place}: matches every name", "ask for at least one letter: an empty alternative matches all")


def _first_match(rules: Sequence[Rule], text: str) -> str:
    """A SQL expression: the category of the first rule with a pattern in the text, else null."""
    cases = " ".join(
        f"when regexp_matches({text}, {_quoted(_any_of(rule.patterns))}, 'i') then '{rule.category}'" for rule in rules
    )
    return f"case {cases} end"


def _any_of(patterns: Sequence[str]) -> str:
    """One pattern for several. A group keeps the flags that one of them may set from the others."""
    return "|".join(f"(?:{one})" if "(?" in one else one for one in patterns)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
