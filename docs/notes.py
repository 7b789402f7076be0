"""Finds in the sources which notes there are: docs/health.md is made from it."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tracelode.collect.flaws import MEANINGS as FLAWS_MEAN
from tracelode.store.columns import FLAWS
from tracelode.store.health import COVERED, LOSES, UNRELIABLE

ROOT = Path(__file__).parents[1]
NOTING = {"note": 1, "_note": 1, "_odd": 2}
"""Functions that make notes of the kind given first, and at which place they are given the meaning."""
TABLES_OF_MEANINGS = frozenset({"MEANINGS", "FAULTS", "meanings"})


def kinds() -> dict[str, str]:
    """Every kind of note the readers make, and its meaning (empty where it is put together when it is made).

    A part of either that is known only then stands as `…`.
    """
    found = {flaw.replace(" ", "-"): meaning for flaw, meaning in FLAWS_MEAN.items()}
    for path in sorted((ROOT / "collect").rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef | ast.Module):
                for kind, meaning in _noted(function):
                    found[kind] = found.get(kind) or meaning
    return dict(sorted(found.items()))


def health_page() -> str:
    """docs/health.md: what a trace's health says, and every kind of note."""
    lines = [
        "# Health of a trace",
        "",
        "Made from the code by `make docs`. `tracelode info` and every report begin with the health of the trace: what "
        "is unreliable and because of which notes, which rows no sum uses, what was not collected and how to record "
        "it, and of how many rows something is known. `info --format json` has it under `health` and `notes`.",
        "",
        "What has one right answer is repaired and counted; what has none is left as it is and marked. Nothing is "
        "dropped without a note.",
        "",
        "## Flaws",
        "",
        "The column `flaw` of kernel, copy, fill, api, op and range says why the times of a row are not to be trusted. "
        "Its end is then its start, `args` keeps `recorded_end_ns`, and the view's `duration_ns` is null: no sum, mean "
        f"or percentile uses it. It says one of: {', '.join(FLAWS)}. The note of the same words says how many.",
        "",
        "## Coverage",
        "",
        *(f"- of how many rows of `{table}` is known: {', '.join(wanted)}" for table, wanted in COVERED.items()),
        "",
        "## Not collected",
        "",
        "| without the table | there is no |",
        "|---|---|",
        *(f"| `{table}` | {what} |" for table, what in LOSES.items()),
        "",
        "## Notes",
        "",
        "A note has a kind, a count, its first example, and its meaning: what was found and what was done about it.",
        "",
        "| kind | meaning | makes unreliable |",
        "|---|---|---|",
    ]
    for kind, meaning in kinds().items():
        lines.append(f"| {kind} | {meaning.replace('|', '/')} | {'; '.join(UNRELIABLE.get(kind, ()))} |")
    return "\n".join(lines) + "\n"


def _noted(scope: ast.FunctionDef | ast.Module) -> Iterator[tuple[str, str]]:
    """Kinds and meanings in a function, or in the tables of a module."""
    said: dict[str, str] = {}
    for node in _own(scope):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            yield from _assigned(target, node.value, said)
        elif isinstance(node, ast.Call) and len(node.args) > (place := NOTING.get(_name(node.func), len(node.args))):
            kind, meaning = _text(node.args[0], said), node.args[place]
            if kind and "\n" not in kind:
                yield kind, _text(meaning, said)


def _assigned(target: ast.expr, value: ast.expr, said: dict[str, str]) -> Iterator[tuple[str, str]]:
    if isinstance(target, ast.Name) and target.id in TABLES_OF_MEANINGS and isinstance(value, ast.Dict):
        for key, meaning in zip(value.keys, value.values, strict=True):
            kind = _text(key, said).replace(" ", "-") if isinstance(key, ast.Constant) else ""
            if kind:
                yield kind, _text(meaning, said)
    elif isinstance(target, ast.Name) and isinstance(value, ast.Constant | ast.JoinedStr):
        said[target.id] = _text(value, said)
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        names = [name.id for name in target.elts if isinstance(name, ast.Name)]
        if names == ["kind", "meaning"]:
            kind, meaning = (_text(part, said) for part in value.elts)
            yield kind, meaning


def _own(scope: ast.FunctionDef | ast.Module) -> Iterator[ast.AST]:
    """The nodes of a function in the order of the text; of a module only its assignments."""
    if isinstance(scope, ast.Module):
        yield from (node for node in scope.body if isinstance(node, ast.Assign | ast.AnnAssign))
    else:
        yield from sorted(
            (node for node in ast.walk(scope) if hasattr(node, "lineno")),
            key=lambda node: (node.lineno, isinstance(node, ast.Call)),
        )


def _name(function: ast.expr) -> str:
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _text(node: ast.expr | None, said: dict[str, str]) -> str:
    """The text that an expression gives, as far as it can be read; empty where it is none."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.Name):
        return said.get(node.id, "")
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part, said) or "…" for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return _text(node.value, said)
    return ""
