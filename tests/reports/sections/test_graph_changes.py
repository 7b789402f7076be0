from pathlib import Path

import pytest

from tests.mining.programs import KERNEL_NS, STEP, train
from tracelode.mining.mine import compare, mine
from tracelode.reports.report import Chart, Section, Table
from tracelode.reports.sections import graph_changes
from tracelode.store import Archive, Trace


def _side(folder: Path, longer: dict[int, int] | None = None) -> tuple[Trace, Archive]:
    trace, archive = train(folder, *[STEP] * 12, longer=longer)
    return mine(trace, archive, "performance_graph"), archive


@pytest.fixture(name="section")
def told(tmp_path: Path) -> Section:
    """Of twelve iterations in which one of the operations takes longer by ten kernels in the second run."""
    longer = {len(STEP) * iteration + 13: 10 * KERNEL_NS for iteration in range(12)}
    found = compare(_side(tmp_path / "base"), _side(tmp_path / "now", longer), "graphs")
    return graph_changes.section(found, ["base: monday", "candidate: tuesday"])


def test_the_nodes_of_both_graphs_are_a_picture_and_a_table(section: Section) -> None:
    chart, table = section.blocks
    assert isinstance(chart, Chart)
    assert isinstance(table, Table)
    assert {(v["name"], v["kind"]) for v in chart.specification["data"]["values"] if v["name"] == "loss"} == {
        ("loss", "slower by more than 20 %")
    }
    (loss,) = [row for row in table.rows if row["name"] == "loss"]
    assert (loss["base_time_per_unit_ns"], loss["time_per_unit_ns"]) == (KERNEL_NS, 11 * KERNEL_NS)
    assert loss["delta_ns"] == 12 * 10 * KERNEL_NS
    device = next(row for row in table.rows if row["kind"] == "device")
    assert sum(row["delta_ns"] for row in table.rows if row["kind"] == "operation") == device["delta_ns"]


def test_many_times_as_long_is_said_so(section: Section) -> None:
    assert section.sentence.endswith(
        "the operation that differs most, in all its places, is loss: 6.6 µs instead of 600 ns, 11 times as long."
    )


def test_the_runs_are_named(section: Section) -> None:
    assert section.notes[-1] == "The graphs are those of base: monday and candidate: tuesday."
