"""The query of docs/sql.md that joins what was mined to the kernels it was mined from."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

from tests.building import build
from tracelode.mining.mine import mine

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"
(QUERY,) = re.findall(r"## Kernels of each iteration\n\n```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_each_iteration_has_its_kernels(tmp_path: Path) -> None:
    names = ["before", *["load", "a", "b", "a"] * 6]
    kernels: list[dict[str, Any]] = [
        {"start_ns": 20 * at, "end_ns": 20 * at + (9 if name == "a" else 5), "name": name, "stream": 7 + (name == "b")}
        for at, name in enumerate(names)
    ]
    for at, kernel in enumerate(kernels):
        kernel["correlation"] = at
    calls = [{"start_ns": at, "end_ns": at + 1, "correlation": at} for at in range(len(names))]
    trace, archive = build(tmp_path, kernel=kernels, api=calls)
    trace = mine(trace, archive, "iterations")
    (level,) = trace.level.filter(kind="iteration").collect().to_dicts()
    assert (level["period"], level["count"]) == (4, 6)
    expected: list[tuple[int, int, str, int, int]] = []
    for row in trace.iteration.filter(level=level["level"]).collect().to_dicts():
        inside = Counter(names[row["first"] : row["last"] + 1])
        times = {name: count * (9 if name == "a" else 5) for name, count in inside.items()}
        ordered = sorted(inside, key=lambda name: (-times[name], name))
        expected += [(1, row["iteration"], name, inside[name], times[name]) for name in ordered]
    assert trace.sql(QUERY).rows() == expected
    assert len({row[1] for row in expected}) == 6
