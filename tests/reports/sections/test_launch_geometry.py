import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.building import build
from tracelode.mining.mine import find
from tracelode.reports.report import Chart, Report, Section, Table
from tracelode.reports.sections import launch_geometry
from tracelode.reports.shown import Ask
from tracelode.store import Archive, Trace
from tracelode.store.parts import load

HOSTILE = "<script>alert(1)</script>\x1b[2J"
LIMITS = {
    "warpSize": 32,
    "maxThreadsPerMultiprocessor": 2048,
    "regsPerMultiprocessor": 65_536,
    "sharedMemPerMultiprocessor": 102_400,
}
DEVICE = {"process": 1, "device": 0, "vendor": "nvidia", "compute_units": 10, "args": json.dumps(LIMITS)}
SIZES = {"grid_x": 30, "grid_y": 1, "grid_z": 1, "block_x": 1024, "block_y": 1, "block_z": 1}
KERNEL = SIZES | {"name": HOSTILE, "start_ns": 0, "end_ns": 100, "registers": 32, "shared_bytes": 0}

Part = Callable[[Trace, Ask], Section]


def _made(folder: Path, part: Part, **tables: list[dict[str, Any]]) -> Section:
    trace, archive = build(folder, **tables)
    section = part(trace, lambda analysis: find(trace, archive, analysis))
    _holds(section, archive.open(trace.id))
    return section


def _holds(section: Section, mined: Trace) -> None:
    """Each table is what its SQL gives and has the columns that it shows; the SQL of each chart has rows."""
    for block in section.blocks:
        if isinstance(block, Table):
            assert mined.sql(block.sql).to_dicts() == block.rows
            assert {column.key for column in block.columns} <= set(block.rows[0])
        elif isinstance(block, Chart):
            assert len(mined.sql(block.sql))


def test_grids_and_blocks_are_two_pictures_and_a_table(tmp_path: Path) -> None:
    section = _made(tmp_path, launch_geometry.geometry, kernel=[KERNEL], device=[DEVICE])
    assert [type(block) for block in section.blocks] == [Chart, Chart, Table]
    assert [block.title for block in section.blocks if isinstance(block, Chart)] == [
        "Launches by blocks in a grid",
        "Launches by threads in a block",
    ]


def test_what_limits_occupancy_is_a_table(tmp_path: Path) -> None:
    (block,) = _made(tmp_path, launch_geometry.occupancy, kernel=[KERNEL], device=[DEVICE]).blocks
    assert isinstance(block, Table)
    assert [(row["limited_by"], row["occupancy"]) for row in block.rows] == [("nothing", 1.0)]


def test_waves_are_a_picture_a_table_and_the_kernels_with_the_longest_tails(tmp_path: Path) -> None:
    section = _made(tmp_path, launch_geometry.waves, kernel=[KERNEL], device=[DEVICE])
    picture, waves, tails = section.blocks
    assert isinstance(picture, Chart)
    assert isinstance(waves, Table)
    assert isinstance(tails, Table)
    # 30 blocks in waves of 20: a quarter of the time and places
    assert [(row["above_waves"], row["fill_from"], row["tail_ns"]) for row in waves.rows] == [(1, 0.5, 25)]
    assert [(row["rank"], row["waves"], row["last_fill"]) for row in tails.rows] == [(1, 1.5, 0.5)]


def test_untimed_launches_are_counted(tmp_path: Path) -> None:
    made = {"kernel": [KERNEL | {"end_ns": 0}], "device": [DEVICE]}
    section = _made(tmp_path, launch_geometry.waves, **made)
    assert section.sentence == ("0.0 % of the launches are some that fill less than 90 % of the device with blocks.")
    picture = section.blocks[0]
    assert isinstance(picture, Chart)
    assert "launches" in picture.specification["usermeta"]["terminal"]["title"]


@pytest.mark.parametrize("part", [launch_geometry.geometry, launch_geometry.occupancy, launch_geometry.waves])
def test_what_was_not_recorded_is_said(tmp_path: Path, part: Part) -> None:
    section = _made(tmp_path, part, kernel=[{"name": "a", "start_ns": 0, "end_ns": 1}])
    assert section.sentence == "Not collected: grids and blocks of kernels."
    assert section.blocks == ()
    assert section.notes[0].startswith("To see this, record ")


@pytest.mark.parametrize("part", [launch_geometry.occupancy, launch_geometry.waves])
def test_without_limits_of_the_device_it_is_said_what_to_record(tmp_path: Path, part: Part) -> None:
    section = _made(tmp_path, part, kernel=[KERNEL], device=[DEVICE | {"args": None}])
    assert section.sentence == "Not collected: how many blocks of a kernel a device runs at once."
    assert section.notes[0].startswith("To see this, record registers and shared memory of kernels")


@pytest.mark.parametrize("format_", ["html", "terminal", "md"])
def test_a_hostile_name_is_only_shown(tmp_path: Path, format_: str) -> None:
    trace, archive = build(tmp_path, kernel=[KERNEL], device=[DEVICE])
    section = launch_geometry.waves(trace, _asking(trace, archive))
    text = load("format", format_).render(Report("workload", "T", "V", "a" * 64, (), (), (section,)))
    assert "alert(1)" in text.replace("\\", "").replace("\n", "")
    assert "\x1b[2J" not in text
    if format_ != "terminal":
        assert "<script>alert" not in text


def _asking(trace: Trace, archive: Archive) -> Ask:
    return lambda analysis: find(trace, archive, analysis)
