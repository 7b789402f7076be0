from pathlib import Path
from typing import Any

from tests.building import build
from tracelode.mining.mine import find
from tracelode.reports.report import Chart, Section, Table
from tracelode.reports.sections import workload_lifetimes, workload_memory, workload_reserve


def _totals(device: int, *moments: tuple[int, int, int]) -> list[dict[str, Any]]:
    row = {"process": 1, "device": device, "unit": "bytes"}
    return [
        row | {"name": f"memory {name}", "time_ns": time, "value": float(value)}
        for time, *both in moments
        for name, value in zip(("reserved", "allocated"), both, strict=True)
    ]


def _made(folder: Path, part: Any, **tables: list[dict[str, Any]]) -> Section:
    """The section; each table is what its SQL gives, and the SQL of each chart has rows."""
    trace, archive = build(folder, **tables)
    section = part(trace, lambda analysis: find(trace, archive, analysis))
    mined = archive.open(trace.id)
    for block in section.blocks:
        if isinstance(block, Table):
            assert mined.sql(block.sql).to_dicts() == block.rows
            assert {column.key for column in block.columns} <= set(block.rows[0])
        else:
            assert len(mined.sql(block.sql))
    return section


def test_what_is_reserved_and_allocated_is_drawn_over_time(tmp_path: Path) -> None:
    picture, table = _made(
        tmp_path, workload_reserve.section, counter=_totals(0, (0, 2048, 1024), (2_000_000, 4096, 3072))
    ).blocks
    assert isinstance(table, Table)
    assert "process" not in {column.key for column in table.columns}
    assert isinstance(picture, Chart)
    assert picture.title == "Reserved and allocated memory over time"
    assert "Evidence C" in picture.description
    terminal = picture.specification["usermeta"]["terminal"]
    assert (terminal["labels"], terminal["values"]) == (["reserved", "allocated"], [4096, 3072])
    layer = picture.specification["layer"][0]
    titles = [layer["encoding"][axis]["title"] for axis in "xy"]
    assert titles == ["Time from the first change (ms)", "Reserved or allocated (KiB)"]
    assert [value["position"] for value in layer["data"]["values"]] == [0.0, 2.0]


def test_the_four_devices_with_most_reserved_are_drawn(tmp_path: Path) -> None:
    counters = [row for device in range(5) for row in _totals(device, (0, 10 + device, 5), (9, 10 + device, 7))]
    section = _made(tmp_path, workload_reserve.section, counter=counters)
    assert [block.title[-8:] for block in section.blocks if isinstance(block, Chart)] == [
        f"device {device}" for device in (4, 3, 2, 1)
    ]


def test_one_moment_is_a_table_alone(tmp_path: Path) -> None:
    section = _made(tmp_path, workload_reserve.section, counter=_totals(0, (0, 10, 5)))
    assert [type(block) for block in section.blocks] == [Table]


def test_tensors_alone_are_not_set_against_anything(tmp_path: Path) -> None:
    life = {"process": 1, "device": 0, "kind": "tensor", "address": 1, "bytes": 8, "birth_ns": 1, "death_ns": 3}
    section = _made(tmp_path, workload_reserve.section, allocation=[life])
    assert section.sentence.startswith("Not collected: what is reserved and what is allocated")
    assert section.blocks == ()


def test_lifetimes_are_drawn_where_there_are_bytes(tmp_path: Path) -> None:
    life = {"process": 1, "device": 0, "kind": "tensor", "address": 1, "bytes": 8, "birth_ns": 1, "death_ns": 3}
    section = _made(tmp_path / "some", workload_lifetimes.section, allocation=[life])
    assert [type(block) for block in section.blocks] == [Chart, Table]
    assert section.notes[0] == "Evidence C: lifetimes of allocations only."
    none = _made(tmp_path / "none", workload_lifetimes.section, allocation=[life | {"bytes": 0}])
    assert [type(block) for block in none.blocks] == [Table]
    assert _made(tmp_path / "no", workload_lifetimes.section, fill=[{"start_ns": 0, "end_ns": 1}]).blocks == ()


def test_sizes_are_drawn_of_the_finest_that_is_known(tmp_path: Path) -> None:
    life = {"process": 1, "device": 0, "address": 1, "birth_ns": 1, "death_ns": 3}
    lives = [life | {"kind": "pool", "bytes": 4096}, life | {"kind": "tensor", "bytes": 1024}]
    section = _made(tmp_path, workload_memory.sizes, allocation=lives)
    picture = section.blocks[0]
    assert isinstance(picture, Chart)
    assert picture.title == "Allocations of tensors by size"
    assert picture.specification["usermeta"]["terminal"]["labels"] == ["1\u202fKiB"]
