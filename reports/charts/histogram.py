"""Histograms over sizes that go by powers of two: two amounts of each, as shares."""

from collections.abc import Sequence
from typing import Any

from ..report import Unit
from ..units import scale, show
from .style import BLUE, RED, Specification, finished, some

__all__ = ["begins", "edge", "size_histogram"]

Bin = tuple[int, float, float]
"""Where the bin begins (0 or a power of two), and its two amounts."""


def size_histogram(bins: Sequence[Bin], *, x: str, unit: Unit, bars: str, ticks: str) -> Specification:
    """The share of each bin in the first amount as a bar, in the second as a tick; bins without any are there too.

    `x` is the title of the axis, `unit` that of sizes; `bars` and `ticks` say what the amounts are. An amount that is 0
    in all bins is not drawn; one of them must be more.
    """
    import altair as alt

    some([{"from": one[0]} for one in bins], "size_histogram")
    amounts = {begin: (first, second) for begin, first, second in bins}
    sizes = begins(list(amounts))
    sums = [sum(pair[at] for pair in amounts.values()) for at in range(2)]
    if not any(sums):
        raise ValueError("size_histogram: nothing in any bin")
    values = [_bin(begin, amounts.get(begin, (0, 0)), sums, unit, (bars, ticks)) for begin in sizes]
    labels = [value["size"] for value in values]
    drawn = [name for name, whole in zip((bars, ticks), sums, strict=True) if whole]
    across = alt.X("size:O", title=x, scale=alt.Scale(domain=labels), axis=alt.Axis(labelAngle=-40))
    title = f"Share (%): bars {bars}, lines {ticks}" if len(drawn) == 2 else f"Share of {drawn[0]} (%)"
    base = alt.Chart().encode(x=across)
    layers: list[alt.Chart] = []
    if sums[0]:
        bar = base.mark_bar(color=BLUE, opacity=0.75)
        layers.append(bar.encode(y=alt.Y("bar:Q", title=title), description=alt.Description("tip:N")))
    if sums[1]:
        tick = base.mark_tick(color=RED, thickness=3, aria=False)
        layers.append(tick.encode(y=alt.Y("tick:Q", title=title)))
    of = 0 if sums[0] else 1
    terminal = {
        "title": f"Share of {drawn[0]} by {x[:1].lower()}{x[1:]}",
        "unit": "share",
        "labels": labels,
        "values": [value[("bar", "tick")[of]] / 100 for value in values],
    }
    return finished(alt.layer(*layers, data=alt.Data(values=values)), height=200, terminal=terminal)


def edge(size: int, unit: Unit) -> str:
    r"""The edge of a bin, which is a round number in its unit.

    >>> edge(4096, "bytes"), edge(100_000, "ns"), edge(8, "count")
    ('4\u202fKiB', '100\u202fµs', '8')
    """
    if unit not in ("bytes", "ns"):
        return show(size, unit)
    factor, name = scale(size, unit)
    return f"{size / factor:g}\u202f{name}"


def begins(there: Sequence[int]) -> list[int]:
    """Where bins begin (0 or a power of two), from the first to the last, those between them included."""
    sizes = [begin for begin in there if begin > 0]
    powers = range(min(sizes).bit_length() - 1, max(sizes).bit_length()) if sizes else ()
    return [*([0] if len(sizes) < len(there) else []), *(1 << power for power in powers)]


def _bin(
    begin: int, amounts: tuple[float, float], sums: Sequence[float], unit: Unit, names: tuple[str, str]
) -> dict[str, Any]:
    shares = [amount / whole if whole else 0.0 for amount, whole in zip(amounts, sums, strict=True)]
    size = edge(begin, unit)
    told = [
        f"{show(share, 'share')} of {name}" for share, name, whole in zip(shares, names, sums, strict=True) if whole
    ]
    return {"size": size, "bar": 100 * shares[0], "tick": 100 * shares[1], "tip": f"From {size}: {', '.join(told)}"}
