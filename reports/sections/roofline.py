"""Which roof of the device bounds operators and modules, and how much of it they reach."""

from ...mining.finding import Finding
from ...store.errors import NotCollected
from ...store.trace import Trace
from ..charts.roofline import roofline
from ..known import known
from ..report import Block, Chart, Column, Section, Text
from ..shown import Ask, section_of, table

__all__ = ["section"]

MEASURES = (
    Column("calls", "Calls", "count"),
    Column("time_ns", "Kernel time", "ns"),
    Column("share", "Share of time", "share"),
    Column("bound", "Bound by"),
    Column("roof_share", "Of the roof", "share"),
    Column("intensity", "FLOPs a byte", "ratio"),
    Column("tflops_per_s", "TFLOP/s", "ratio"),
    Column("gb_per_s", "GB/s", "ratio"),
)


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("roofline", "Roofline", ask, "roofline", lambda found: _blocks(found, ask))


def _blocks(found: Finding, ask: Ask) -> tuple[Block, ...]:
    if found.rows["flops"].null_count() == found.rows["bytes"].null_count() == len(found.rows):
        return ()  # the sentence says why: tables would be empty
    kinds = (
        Column("kind", "Kind of operator"),
        Column("arithmetic", "Arithmetic"),
        *MEASURES,
        Column("ridge", "Ridge", "ratio"),
        Column("peak_tflops_per_s", "Peak TFLOP/s", "ratio"),
        Column("bandwidth_gb_per_s", "Peak GB/s", "ratio"),
    )
    by_kind = table("Roofline by kind of operator, the most time first", known(kinds, found), found)
    return (*_drawn(ask), by_kind, *_layers(ask), *_kernels(ask))


def _drawn(ask: Ask) -> tuple[Block, ...]:
    calls = ask("roofline_calls")
    rows = [row for row in calls.rows.to_dicts() if row["tflops_per_s"]]
    if not rows:
        return (Text(calls.sentence),)
    roofs = any(row["peak_tflops_per_s"] and row["bandwidth_gb_per_s"] for row in rows)
    lines = (
        "Lines: bandwidth times intensity up to the peak of each arithmetic."
        if roofs
        else "Without lines: peak or bandwidth of the device is not known."
    )
    shows = (
        "Calls of operators by FLOPs for each byte of their operands and by what they achieve, on logarithmic axes; "
        f"the larger a point, the more time. {lines} {calls.sentence}"
    )
    title = f"Operators {'under the roofs of the device' if roofs else 'by intensity and what they achieve'}"
    return (Chart(title, roofline(rows), shows, calls.sql),)


def _layers(ask: Ask) -> tuple[Block, ...]:
    """What there is to say of modules, where the trace tells them."""
    try:
        layers = ask("layer_roofline")
    except NotCollected as missing:
        return (Text(f"Nothing by module: {missing.message}; {missing.hint}."),)
    columns = (Column("layer", "Module"), *MEASURES)
    return (Text(layers.sentence), table("Roofline by module, the most time first", known(columns, layers), layers))


def _kernels(ask: Ask) -> tuple[Block, ...]:
    found = ask("kernel_roofline")
    columns = (
        Column("name", "Kernel"),
        *MEASURES,
        Column("without_flops", "Without FLOPs", "count"),
        *([Column("shared", "Of a part", "count")] if found.rows["shared"].sum() else []),
    )
    return (Text(found.sentence), table("Roofline by kernel, the most time first", known(columns, found), found))
