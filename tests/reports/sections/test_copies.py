from pathlib import Path
from typing import Any

from tests.building import build
from tracelode.mining.mine import find
from tracelode.reports.report import Section, Table, Text
from tracelode.reports.sections import copies


def _section(folder: Path, iterations: int, **tables: list[dict[str, Any]]) -> Section:
    """Iterations of 100 ns: a copy to the device, two kernels."""
    made: dict[str, list[dict[str, Any]]] = {"kernel": [], "copy": [], "api": []}
    for at in range(iterations):
        start = 1000 + 100 * at
        made["copy"].append({"start_ns": start, "end_ns": start + 20, "bytes": 64, "correlation": 3 * at})
        for place, name in enumerate("ab", 1):
            times = {"start_ns": start + 20 * place, "end_ns": start + 20 * place + 15}
            made["kernel"].append({**times, "name": name, "correlation": 3 * at + place})
        made["api"] += [{"start_ns": n, "end_ns": n + 1, "correlation": n} for n in range(3 * at, 3 * at + 3)]
    trace, archive = build(folder, **{name: rows for name, rows in {**made, **tables}.items() if rows})
    section = copies.section(trace, lambda analysis: find(trace, archive, analysis))
    mined = archive.open(trace.id)
    for block in section.blocks:
        if isinstance(block, Table):
            assert mined.sql(block.sql).to_dicts() == block.rows
            assert {column.key for column in block.columns} <= set(block.rows[0])
    return section


def test_all_copies_and_those_that_come_again_are_tables(tmp_path: Path) -> None:
    transfers, text, again = _section(tmp_path, 10).blocks
    assert isinstance(transfers, Table)
    assert isinstance(text, Text)
    assert text.text.startswith("1 size of copies between host and device recurs in every iteration")
    assert isinstance(again, Table)
    assert [(row["bytes"], row["copies"], row["copies_per_iteration"]) for row in again.rows] == [(64, 10, 1.0)]


def test_where_none_comes_again_the_sentence_stands_for_the_table(tmp_path: Path) -> None:
    blocks = _section(tmp_path, 1).blocks
    assert [type(block) for block in blocks] == [Table, Text]


def test_without_copies_it_is_said(tmp_path: Path) -> None:
    section = _section(tmp_path, 10, copy=[])
    assert section.sentence.startswith("Not collected: ")
    assert section.blocks == ()
