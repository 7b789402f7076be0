"""The order in which a program runs with and without each tool, and what follows for the tools' costs.

Each tool runs twice between two runs without any, A B B A, so that a machine that slowly gets faster or slower counts
for nothing. Neighbours share the run between them: A B B A C C A. What was measured until the time is up is whole.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from benchmarks.gpu.running import LeftOut

__all__ = ["NO_TOOL", "compare", "in_turns", "table"]

NO_TOOL = "no tool"
Sections = Mapping[str, Mapping[str, Any]]
"""What a run says of itself, by section: figures such as `total_us`, of which `median` is compared."""

Run = TypeVar("Run")
Four = tuple[Run, Run, Run, Run]


def in_turns(
    tools: Sequence[str], start: Callable[[str], Run], enough_time: Callable[[], bool]
) -> Iterator[tuple[str, Four[Run] | str]]:
    """Runs without a tool and with each in turn; of each tool its four runs, or why there are none.

    A tool under which the program fails is told with the reason, and the next one comes; so is one for whose three
    runs there is not enough time. `LeftOut` where the program fails without a tool.
    """
    before = start(NO_TOOL)
    for tool in tools:
        if not enough_time():
            yield tool, "there was no time for it"
            continue
        try:
            first, second = start(tool), start(tool)
        except LeftOut as reason:
            yield tool, str(reason)
            continue
        after = start(NO_TOOL)
        yield tool, (before, first, second, after)
        before = after


def compare(before: float, first: float, second: float, after: float) -> dict[str, float | bool | None]:
    """What a tool adds, of the figures of its two runs and of those before and after, which are without it.

    `drift` is how much the figure without the tool changed meanwhile, `spread` how much that with it. `seen` is
    whether the tool adds or saves more than either: if not, all that is known is that it costs less than can be seen.
    """
    base, tool = (before + after) / 2, (first + second) / 2
    added, drift, spread = tool - base, after - before, second - first
    return {
        "base": round(base, 4),
        "with_tool": round(tool, 4),
        "added": round(added, 4),
        "added_percent": round(100 * added / base, 4) if base else None,
        "drift": round(drift, 4),
        "drift_percent": round(100 * drift / base, 4) if base else None,
        "spread": round(spread, 4),
        "seen": abs(added) > max(abs(drift), abs(spread)),
    }


def table(
    runs: Sequence[Sections], figures: Sequence[str], per: Callable[[str], float | None] = lambda _: None
) -> dict[str, Any]:
    """For one tool, of its four runs, what it adds to each of the figures of each section that all four have.

    `per` gives how many launches one operation of a section is, if that is known: then `added_us_per_launch` is told.
    """
    found: dict[str, Any] = {}
    for section in runs[0]:
        if not all(section in run for run in runs):
            continue
        found[section] = {}
        for figure in figures:
            before, first, second, after = (float(run[section][figure]["median"]) for run in runs)
            compared: dict[str, Any] = dict(compare(before, first, second, after))
            if launches := per(section):
                compared["added_us_per_launch"] = round(((first + second) - (before + after)) / 2 / launches, 4)
            found[section][figure] = compared
    return found
