from pathlib import Path

from tests.mining.programs import STEP, train
from tracelode.mining.mine import find
from tracelode.reports.report import Section, Table
from tracelode.reports.sections.remainder import section
from tracelode.store import Archive, Trace


def _section(trace: Trace, archive: Archive) -> Section:
    return section(trace, lambda analysis: find(trace, archive, analysis))


def test_operations_that_nothing_explains_are_listed(tmp_path: Path) -> None:
    found = _section(*train(tmp_path, ["only_once"], *[STEP] * 8))
    (table,) = found.blocks
    assert isinstance(table, Table)
    assert [row["name"] for row in table.rows] == ["only_once"]
    assert found.sentence.startswith("0.5 % (600 ns, 1 operation) is unexplained, before the first iteration; ")


def test_where_all_is_explained_there_is_a_sentence_alone(tmp_path: Path) -> None:
    found = _section(*train(tmp_path, *[STEP] * 8))
    assert found.blocks == ()
    assert found.sentence.startswith("Every operation is explained")
