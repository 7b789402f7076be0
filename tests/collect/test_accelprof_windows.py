from collections.abc import Callable
from pathlib import Path

import pytest

from data.generator.accelprof import MIB, time_hotness
from tests.collect.reading import Told, read
from tracelode.collect.files import open_file
from tracelode.collect.readers import accelprof

Tell = Callable[[str], Told]
OBJECTS = {1 << 40: 4 * MIB}
BLOCK = (1 << 40) >> 20


@pytest.fixture
def tell(tmp_path: Path) -> Tell:
    def told(text: str) -> Told:
        path = tmp_path / "app.time_hotness_cpu.log"
        path.write_text(text)
        return read(accelprof, path, tmp_path)

    return told


def test_the_accesses_of_a_window_are_a_million_with_those_the_tool_lost(tell: Tell) -> None:
    even = {BLOCK + offset: 250_000 for offset in range(4)}
    told = tell(time_hotness(OBJECTS, [even, {BLOCK: 1_000_000}]))
    rows = [(row["window"], row.get("object"), row.get("object_bytes"), row["accesses"]) for row in told["access"]]
    assert rows == [
        (0, 1 << 40, MIB, 250_000),
        (0, (1 << 40) + 2 * MIB, MIB, 250_000),
        (0, None, None, 500_000),  # of the MiB in between
        (1, 1 << 40, MIB, 1_000_000),
    ]
    assert told.notes["lost-accesses"].count == 500_000
    assert told.notes["lost-accesses"].example == "500000 of 2000000"
    assert "launch" not in told["access"][0]


def test_the_last_window_is_never_whole_and_never_there(tell: Tell) -> None:
    told = tell(time_hotness(OBJECTS, [{BLOCK: 1_000_000}]))
    assert "fewer than a million" in told.notes["last-window"].meaning
    assert "lost-accesses" not in told.notes
    assert told.facts.labels["windows"] == "1"


def test_a_window_cut_at_the_end_of_the_file_is_left_out(tell: Tell) -> None:
    told = tell(time_hotness(OBJECTS, [{BLOCK: 1_000_000}, {BLOCK: 999_999}])[:-3])
    assert {row["window"] for row in told["access"]} == {0}
    assert "truncated" in told.notes


@pytest.mark.parametrize(
    "text",
    [
        "1048576 1048578 \n",  # no window
        "1048578 1048576 \n1 2 \n",  # not in order
        "1048576 1048578 \n1 2\n",  # without the space at the end
        "1048576 1048578 \n1 2 3 \n",
        "1048576 1048578 \n600000 600000 \n",  # more than a window holds
        "1 2 \n3 4 \n",  # too low for memory of a device
    ],
)
def test_other_matrices_are_not_taken_for_one(text: str, tmp_path: Path) -> None:
    path = tmp_path / "app.time_hotness_cpu.log"
    path.write_text(text)
    assert not accelprof.recognises(open_file(path))


@pytest.mark.parametrize("blocks", [25_000, 30_000])
def test_a_row_of_blocks_may_be_longer_than_what_is_looked_at(blocks: int, tell: Tell) -> None:
    # Blocks of 52 and 63 GB: of the first the row of the window is longer, of the others their own.
    told = tell(time_hotness({1 << 46: blocks * 2 * MIB}, [{(1 << 26) + 2 * blocks - 2: 1_000_000}]))
    assert [(row["object"], row["accesses"]) for row in told["access"]] == [
        ((1 << 46) + (blocks - 1) * 2 * MIB, 1_000_000)
    ]
    assert "unread-line" not in told.notes


def test_a_long_line_of_other_numbers_is_not_taken_for_blocks(tmp_path: Path) -> None:
    path = tmp_path / "app.time_hotness_cpu.log"
    path.write_text("67108864 " * 30_000 + "\n1 \n")
    assert not accelprof.recognises(open_file(path))
