"""Measures how well the miner finds what is known to be there: `python -m benchmarks.quality [--seeds 0 1 2]`.

Every module `benchmarks/quality_<part>.py` is a section: its first docstring line is the heading, and its function
`rows(seeds)` gives the rows, each with the same columns. Sections that need the corpus of public traces say so where
TRACELODE_CORPUS does not name it.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from types import ModuleType

from benchmarks.setting import setting
from data.generator.planted import Serving, Training

__all__ = ["main", "sections"]

Row = dict[str, object]


def sections() -> dict[str, ModuleType]:
    """The sections by name, in the order of names."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("quality_*.py"))
    return {name.removeprefix("quality_"): import_module(f"benchmarks.{name}") for name in names}


def table(rows: Iterable[Row]) -> str:
    """Rows as lines of text, their columns aligned."""
    rows = list(rows)
    if not rows:
        return "(no rows)"
    cells = [list(rows[0]), *([_text(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in cells)


def _text(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else "–" if value is None else str(value)


def main() -> None:
    """Runs the sections and prints their tables."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=(__doc__ or "").splitlines()[0])
    options.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="default: 0 1 2")
    options.add_argument("--only", nargs="+", choices=sections(), default=list(sections()), help="names of sections")
    options.add_argument("--out", type=Path, help="JSON file for the results")
    given = options.parse_args()
    defaults = {plan.__name__: asdict(plan()) for plan in (Training, Serving)}
    for name, values in defaults.items():
        print(f"{name} unless a row says otherwise: {', '.join(f'{key} {value}' for key, value in values.items())}")
    report: dict[str, object] = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        **setting("tracelode", "numba", "numpy", "polars", "duckdb"),
        "seeds": given.seeds,
        "defaults": defaults,
    }
    for name, module in sections().items():
        if name not in given.only:
            continue
        begin = time.process_time()
        rows = module.rows(given.seeds)
        heading = (module.__doc__ or name).splitlines()[0]
        print(f"\n{heading} ({time.process_time() - begin:.1f} s CPU)\n\n{table(rows)}")
        sys.stdout.flush()
        report[name] = rows
    if given.out:
        given.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
