from pathlib import Path

from tests.mining.operators.traces import DEVICE, Op, made
from tracelode.mining.mine import find
from tracelode.reports.report import Chart, Section, Table, Text
from tracelode.reports.sections import memory_bound, operator_flops, precision, roofline
from tracelode.store import Archive, Trace

SUM = [[1024, 1024], [1024, 1024], None]
OPS = [
    Op("aten::mm", [[1024, 1024], [1024, 1024]], [5000], module="Linear_0"),
    Op("aten::add", SUM, [4000]),
    Op("aten::relu", [[1024, 1024]], [4000]),
]
PARTS = (operator_flops, roofline, memory_bound, precision)


def _section(part: object, trace: Trace, archive: Archive) -> Section:
    found: Section = part.section(trace, lambda analysis: find(trace, archive, analysis))  # type: ignore[attr-defined]  # a section's module
    return found


def test_every_number_is_what_its_sql_gives(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, *OPS)
    shown: list[str] = []
    for part in PARTS:
        for block in _section(part, trace, archive).blocks:
            if isinstance(block, Table):
                shown.append(block.caption)
                assert archive.open(trace.id).sql(block.sql).to_dicts() == block.rows
                assert {column.key for column in block.columns} <= set(block.rows[0])
    assert shown == [
        "Work by kind of operator, the most FLOPs first",
        "Roofline by kind of operator, the most time first",
        "Roofline by module, the most time first",
        "Roofline by kernel, the most time first",
        "Chains of operators bound by memory",
        "Kernel time and FLOPs by type, the most time first",
    ]


def test_the_roofline_is_drawn(tmp_path: Path) -> None:
    chart = _section(roofline, *made(tmp_path, *OPS)).blocks[0]
    assert isinstance(chart, Chart)
    assert len(chart.specification["data"]["values"]) == 3
    assert chart.description.endswith("calls whose FLOPs and bytes are known.")
    assert "Lines: bandwidth times intensity" in chart.description


def test_without_peaks_nothing_is_said_of_roofs_and_bounds(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, *OPS, device=DEVICE | {"name": "Something"})
    chart = _section(roofline, trace, archive).blocks[0]
    assert isinstance(chart, Chart)
    assert chart.title == "Operators by intensity and what they achieve"
    assert "Without lines: peak or bandwidth of the device is not known." in chart.description
    assert "roof" not in chart.specification["usermeta"]["terminal"]["title"]
    (table,) = _section(memory_bound, trace, archive).blocks
    assert isinstance(table, Table)
    assert table.caption == "Chains of operators with little arithmetic, whose bound is not known"
    assert "intensity" in {column.key for column in table.columns}


def test_what_there_is_not_is_said(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, Op("aten::copy_", [[8], [8]], [100]), device=DEVICE | {"name": "Something"})
    text, _, layers, *_ = _section(roofline, trace, archive).blocks
    assert isinstance(text, Text)
    assert text.text == "No call has both FLOPs and bytes that are known."
    assert isinstance(layers, Text)
    assert layers.text == (
        "Nothing by module: the trace tells no modules of the model; record them: with_stack=True or "
        "with_modules=True in the profiler."
    )
    assert _section(memory_bound, trace, archive).blocks == ()


def test_columns_that_say_nothing_are_left_out(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, *OPS[1:], device=None)
    (table,) = _section(memory_bound, trace, archive).blocks
    assert isinstance(table, Table)
    assert not {"module", "saving_ns"} & {column.key for column in table.columns}
    (types,) = _section(precision, trace, archive).blocks
    assert isinstance(types, Table)
    assert "tf32" not in {column.key for column in types.columns}


def test_without_shapes_there_is_no_empty_table(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, Op("aten::mm", None, [100]))
    assert _section(roofline, trace, archive).blocks == ()
    (work,) = _section(operator_flops, trace, archive).blocks
    assert isinstance(work, Table)
    assert not {"gflop", "tflops_per_s", "bytes"} & {column.key for column in work.columns}


def test_without_operators_nothing_was_collected(tmp_path: Path) -> None:
    trace, archive = made(tmp_path, Op("aten::mm", [[8, 8], [8, 8]]))
    for part in PARTS:
        section = _section(part, trace, archive)
        assert section.sentence == "Not collected: no operator of the framework is known to launch a kernel."
        assert section.blocks == ()
