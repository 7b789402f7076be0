from pathlib import Path

from tests.building import build
from tests.mining.programs import KERNEL_NS, STEP, train
from tracelode.mining.mine import find
from tracelode.reports.report import Chart, Section, Table, Text
from tracelode.reports.sections.positions import section
from tracelode.store import Archive, Trace


def _section(trace: Trace, archive: Archive) -> Section:
    return section(trace, lambda analysis: find(trace, archive, analysis))


def test_places_are_a_picture_and_a_table_of_the_largest_excess(tmp_path: Path) -> None:
    trace, archive = train(tmp_path, *[STEP] * 12, longer={25 * 7 + 13: 1_200, 25 * 3: 400})
    picture, table = _section(trace, archive).blocks
    assert isinstance(picture, Chart)
    assert len(picture.specification["data"]["values"]) == 12 * 25
    assert isinstance(table, Table)
    assert [(row["longest_iteration"], row["first_position"]) for row in table.rows] == [(7, 13), (3, 0)]
    trace = archive.open(trace.id)
    assert trace.sql(table.sql).to_dicts() == list(table.rows)
    assert len(trace.sql(picture.sql)) == 12 * 25


def test_what_is_within_noise_is_left_out(tmp_path: Path) -> None:
    """Four in a hundred more than usual is noise, and so is what a place that varies much has more."""
    little = {25 * 7 + 13: KERNEL_NS // 25}
    varying = {25 * number + 5: KERNEL_NS * (number % 4) // 10 for number in range(12)} | {25 * 9 + 5: KERNEL_NS // 2}
    for folder, longer in (("little", little), ("varying", varying)):
        picture, text = _section(*train(tmp_path / folder, *[STEP] * 12, longer=longer)).blocks
        assert isinstance(picture, Chart)
        assert text == Text("No place takes longer than its median by more than noise.")


def test_without_iterations_there_is_no_picture(tmp_path: Path) -> None:
    found = _section(*train(tmp_path, [f"kernel_{number}" for number in range(30)]))
    assert (found.sentence, found.blocks) == ("No iterations of equal content were found.", ())


def test_what_was_not_collected_is_said(tmp_path: Path) -> None:
    found = _section(*build(tmp_path, api=[{"start_ns": 0, "end_ns": 1}]))
    assert found.sentence.startswith("Not collected: ")
