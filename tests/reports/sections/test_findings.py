from pathlib import Path

from tests.building import build
from tests.samples import SAMPLES
from tracelode.collect.ingest import read
from tracelode.mining.mine import find
from tracelode.reports.report import Section, Table, Text
from tracelode.reports.sections.findings import section
from tracelode.store import Archive, Trace


def _section(trace: Trace, archive: Archive) -> Section:
    return section(trace, lambda analysis: find(trace, archive, analysis))


def test_each_finding_stands_in_words_above_the_rows_that_show_it(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    trace, _ = read(SAMPLES / "train.json.gz", archive)
    shown = _section(trace, archive)
    assert shown.sentence.startswith("4 iterations of process 41200 take 35 ms longer than usual in sum: iteration 5 ")
    table, *told = shown.blocks
    assert isinstance(table, Table)
    assert [column.title for column in table.columns] == [
        "Finding",
        "Saves at most",
        "An iteration",
        "Share of the device's time",
    ]
    assert [row["title"] for row in table.rows] == ["Slow iterations", "Data starvation", "Warm up", "Copy stalls"]
    texts, tables = told[::2], told[1::2]
    assert [text.text[:20] for text in texts if isinstance(text, Text)] == [
        "1. Slow iterations. ",
        "2. Data starvation. ",
        "3. Warm up. Process ",
        "4. Copy stalls. The ",
    ]
    assert len(tables) == 4
    each = ["An iteration" in [column.title for column in one.columns] for one in tables if isinstance(one, Table)]
    assert each == [True, True, False, True]
    mined = archive.open(trace.id)
    for one in (table, *tables):
        assert isinstance(one, Table)
        assert list(one.rows) == mined.sql(one.sql).to_dicts()
        assert one.rows


def test_a_trace_in_which_all_is_well_gets_a_sentence_alone(tmp_path: Path) -> None:
    kernels = [{"start_ns": n * 10_000, "end_ns": n * 10_000 + 10_000, "name": f"k{n % 3}"} for n in range(30)]
    shown = _section(*build(tmp_path, kernel=kernels))
    assert shown.sentence == "No diagnosis finds anything that costs a device much time."
    assert shown.blocks == ()
