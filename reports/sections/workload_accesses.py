"""What memory kernels work with: working sets against the footprint, the kernel that refers to most, hot objects."""

from typing import Any

from ...mining.finding import Finding
from ...store.errors import NotCollected
from ...store.trace import Trace
from ..charts.matrix import matrix
from ..charts.memory import set_against_footprint
from ..report import Block, Chart, Column, Section
from ..shown import Ask, section_of, table
from ..units import show

__all__ = ["extremes", "hotness", "working_sets"]


def working_sets(trace: Trace, ask: Ask) -> Section:
    """Working sets of kernels."""
    return section_of(
        "workload_working_sets", "Working sets", ask, "working_sets", lambda found: _working_sets(found, ask)
    )


def extremes(trace: Trace, ask: Ask) -> Section:
    """The kernel called most, and the one that refers to most memory, with its stack."""

    def blocks(found: Finding) -> tuple[Block, ...]:
        columns = (
            Column("choice", "Which"),
            Column("launch", "Launch", "id"),
            Column("short", "Kernel"),
            Column("evidence", "Evidence"),
            Column("calls", "Launches", "count"),
            Column("full_names", "Full names", "count"),
            Column("accesses", "Accesses", "count"),
            Column("tensor_bytes", "Tensors", "bytes"),
            Column("outputs", "Outputs known by"),
            Column("object_bytes", "Objects", "bytes"),
        )
        return (table("Most called, and most memory referred to", columns, found), *_stack(ask))

    return section_of("workload_extremes", "Kernels that stand out", ask, "kernel_extremes", blocks)


def hotness(trace: Trace, ask: Ask) -> Section:
    """Accesses by object, over windows."""

    def blocks(found: Finding) -> tuple[Block, ...]:
        columns = (
            Column("process", "Process", "id"),
            Column("granularity", "Of"),
            Column("address", "Address"),
            Column("object_id", "Id", "id"),
            Column("bytes", "Size", "bytes"),
            Column("accesses", "Accesses", "count"),
            Column("share", "Share", "share"),
            Column("density", "Accesses a byte", "ratio"),
            Column("persistence", "Accessed in windows", "share"),
            Column("burst", "First to last", "share"),
        )
        return (_heat(ask), table("Accesses by object; what no object is charged with is a row", columns, found))

    return section_of("workload_hotness", "Hot memory", ask, "tensor_hotness", blocks)


def _working_sets(found: Finding, ask: Ask) -> tuple[Block, ...]:
    columns = (
        Column("process", "Process", "id"),
        Column("granularity", "Of"),
        Column("evidence", "Evidence"),
        Column("launches", "Launches", "count"),
        Column("known", "Known", "count"),
        Column("inputs_only", "Inputs only", "count"),
        Column("outputs_in_part", "Outputs in part", "count"),
        Column("max_bytes", "Working set (largest)", "bytes"),
        Column("min_bytes", "Smallest", "bytes"),
        Column("mean_bytes", "Mean", "bytes"),
        Column("median_bytes", "Median", "bytes"),
        Column("p90_bytes", "90 %", "bytes"),
        Column("footprint_bytes", "Mean footprint", "bytes"),
        Column("footprints", "Launches with a known footprint", "count"),
        Column("ratio", "Footprint / working set", "ratio"),
        Column("unused_bytes", "Footprint beyond it", "bytes"),
        Column("object_ratio", "Footprint of objects / working set", "ratio"),
        Column("accesses", "Accesses", "count"),
        Column("accesses_per_page", "Accesses a page of the peak", "ratio"),
    )
    return (*_points(ask), table("Working sets of kernel launches", columns, found))


def _points(ask: Ask) -> tuple[Block, ...]:
    try:
        found = ask("working_set_points")
    except NotCollected:
        return ()
    rows = found.rows.to_dicts()
    if not any(row["footprint_bytes"] and row["bytes"] for row in rows):
        return ()
    shows = (
        "Each point is a kernel with a working set: by what is allocated at its launches. Grey: where both are equal. "
        f"{' '.join((found.sentence, *found.notes))}"
    )
    return (Chart("Working sets against the footprint", set_against_footprint(rows), shows, found.sql),)


def _stack(ask: Ask) -> tuple[Block, ...]:
    try:
        found = ask("kernel_stack")
    except NotCollected:
        return ()
    columns = (Column("side", "Side"), Column("place", "Frame", "id"), Column("name", "Name"))
    return (table(f"Stack of the launch that refers to most memory. {found.sentence}", columns, found),)


def _heat(ask: Ask) -> Block:
    found = ask("hotness_windows")
    several = found.rows["process"].drop_nulls().n_unique() > 1
    rows = [_cell(row, several) for row in found.rows.iter_rows(named=True)]
    shows = f"Accesses to each object over the recording, the hottest first. {' '.join((found.sentence, *found.notes))}"
    picture = matrix(rows, x="Window, or launch where there are no windows", y="Address", what="Accesses")
    return Chart("Accesses by object and window", picture, shows, found.sql)


def _cell(row: dict[str, Any], several: bool) -> dict[str, Any]:
    """A cell of the picture; `several` processes may have objects at one address."""
    label = "all others" if row["rank"] is None else "no object" if row["object"] is None else f"{row['object']:#x}"
    if row["object_id"] is not None:
        label += f" ({row['object_id']})"
    if several and row["rank"] is not None:
        label += f", process {row['process']}"
    return {
        "label": label,
        "left": row["first_step"],
        "right": row["last_step"] + 1,
        "amount": row["accesses"],
        "tip": f"{label}, {row['first_step']} to {row['last_step']}: {show(row['accesses'], 'count')} accesses",
    }
