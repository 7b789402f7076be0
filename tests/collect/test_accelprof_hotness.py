import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from data.generator.accelprof import BLOCK, MIB, hotness_launch, hotness_totals
from tests.collect.reading import Told, read
from tracelode.collect.files import open_file
from tracelode.collect.readers import accelprof

Tell = Callable[[Mapping[str, str]], Told]
A, B, C = 1 << 40, (1 << 40) + 5 * MIB, 2 << 40
OBJECTS = {A: 5 * MIB, B: 2 * MIB, C: MIB}  # A and B touch each other
TENSORS = {A: 4 * MIB, C: 512}
FIRST, SECOND = {A: 7, A + BLOCK: 0, A + 2 * BLOCK: 5, B: 11, C: 3}, {A + BLOCK: 2, C: 1}


@pytest.fixture
def tell(tmp_path: Path) -> Tell:
    def told(files: Mapping[str, str]) -> Told:
        folder = tmp_path / "hotness_app_2026-02-01_12-00-00"
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text)
        return read(accelprof, folder if len(files) > 1 else folder / next(iter(files)), tmp_path)

    return told


def run(*launches: Mapping[int, int]) -> dict[str, str]:
    files = {f"kernel_{n}.txt": hotness_launch(OBJECTS, TENSORS, counts) for n, counts in enumerate(launches)}
    return files | {"all_kernels.txt": hotness_totals(OBJECTS, launches)}


def test_a_launch_is_its_blocks_with_accesses_and_its_sums(tell: Tell) -> None:
    told = tell({"kernel_4.txt": hotness_launch(OBJECTS, TENSORS, FIRST)})
    blocks = [(row["launch"], row["object"], row["object_bytes"], row["accesses"]) for row in told["access"]]
    assert blocks == [(4, A, BLOCK, 7), (4, A + 2 * BLOCK, MIB, 5), (4, B, BLOCK, 11), (4, C, MIB, 3)]
    assert told["launch_memory"] == [
        {
            "process": 0,
            "launch": 4,
            "accesses": 26,
            "objects": 3,
            "memory_working_set_bytes": 8 * MIB,
            "memory_footprint_bytes": 8 * MIB,
            "tensor_footprint_bytes": 4 * MIB + 512,
        }
    ]
    assert [(row["kind"], row["address"], row["bytes"]) for row in told["allocation"]] == [
        ("object", A, 5 * MIB), ("object", B, 2 * MIB), ("object", C, MIB), ("tensor", A, 4 * MIB), ("tensor", C, 512)
    ]  # fmt: skip


def test_blocks_before_a_gap_may_be_charged_for_what_lies_in_it(tell: Tell) -> None:
    # The end of A is the beginning of B: only B and C have a gap behind them.
    assert tell({"kernel_0.txt": hotness_launch(OBJECTS, TENSORS, FIRST)}).notes["lower-neighbour"].count == 2


def test_a_folder_is_one_trace_of_all_its_launches(tell: Tell) -> None:
    told = tell(run(FIRST, SECOND))
    assert [(row["launch"], row["accesses"]) for row in told["launch_memory"]] == [(0, 26), (1, 3)]
    assert sum(row["accesses"] for row in told["access"]) == 29
    assert told["launch_memory"][1]["memory_working_set_bytes"] == 6 * MIB
    assert told.counts() == {"lower-neighbour": 3}
    assert told.facts.clock == "ordinal"


def test_launches_are_in_the_order_of_their_numbers(tell: Tell) -> None:
    told = tell(run(*({A: n + 1} for n in range(11))))
    assert [row["accesses"] for row in told["launch_memory"]] == list(range(1, 12))


def test_lives_are_told_in_launches(tell: Tell) -> None:
    later = {A: 5 * MIB, C: 2 * MIB}
    files = run(FIRST) | {"kernel_1.txt": hotness_launch(later, {}, {}), "kernel_2.txt": hotness_launch(later, {}, {})}
    lives = {
        (row["kind"], row["address"], row["bytes"]): (row.get("birth_ns"), row.get("death_ns"))
        for row in tell(files)["allocation"]
    }
    assert lives == {
        ("object", A, 5 * MIB): (None, None),
        ("object", B, 2 * MIB): (None, 1),
        ("object", C, MIB): (None, 1),
        ("object", C, 2 * MIB): (1, None),
        ("tensor", A, 4 * MIB): (None, 1),
        ("tensor", C, 512): (None, 1),
    }


def test_totals_cut_to_32_bits_are_made_good_by_the_launches(tell: Tell) -> None:
    told = tell(run({A: 3 << 30}, {A: 2 << 30}))
    assert told.notes["wrapped-totals"].example == f"block {A}: {1 << 30}, by its launches {5 << 30}"
    assert sum(row["accesses"] for row in told["access"]) == 5 << 30


def test_totals_of_another_run_are_noted(tell: Tell) -> None:
    told = tell(run(FIRST) | {"all_kernels.txt": hotness_totals(OBJECTS, [SECOND])})
    assert told.counts()["totals-differ"] == 5


def test_a_run_without_totals_was_stopped(tell: Tell) -> None:
    files = run(FIRST, SECOND)
    del files["all_kernels.txt"]
    assert "more than 16,384 blocks" in tell(files).notes["no-totals"].meaning


def test_a_launch_without_a_file_is_noted(tell: Tell) -> None:
    files = run(FIRST, SECOND, FIRST)
    del files["kernel_1.txt"]
    assert tell(files).counts()["missing-launches"] == 1


def test_a_first_launch_that_finds_nothing_allocated_is_a_launch(tell: Tell) -> None:
    files = {"kernel_0.txt": hotness_launch({}, {}, {}), "kernel_1.txt": hotness_launch(OBJECTS, TENSORS, FIRST)}
    told = tell(files)
    assert [row["memory_footprint_bytes"] for row in told["launch_memory"]] == [0, 8 * MIB]
    assert {row.get("birth_ns") for row in told["allocation"]} == {1}


def test_the_totals_alone_are_accesses_of_no_launch(tell: Tell) -> None:
    told = tell({"all_kernels.txt": hotness_totals(OBJECTS, [FIRST, SECOND])})
    assert all("launch" not in row for row in told["access"])
    assert sum(row["accesses"] for row in told["access"]) == 29
    assert "launch_memory" not in told.tables
    assert told.notes["no-launches"].count == 5


def test_a_file_cut_before_its_objects_has_no_working_set(tell: Tell) -> None:
    text = hotness_launch(OBJECTS, TENSORS, FIRST)
    told = tell({"kernel_0.txt": text[: text.index("\n\n") + 5], "kernel_1.txt": text, "kernel_2.txt": ""})
    assert told["launch_memory"][0] == {"process": 0, "launch": 0, "accesses": 26}
    assert told.notes["truncated"].count == 3  # the last line, the parts that are missing, the empty file


def test_a_line_that_is_none_of_the_tools_is_kept(tell: Tell) -> None:
    text = hotness_launch(OBJECTS, TENSORS, FIRST)
    told = tell({"kernel_0.txt": text, "kernel_1.txt": text.replace(f"\n{B} ", "\nDumping traces ", 1)})
    assert [json.loads(row["json"])["line"] for row in told["other"]] == [f"Dumping traces {B + BLOCK} 11"]


@pytest.mark.parametrize(
    "text",
    [
        "1 2 3\n4 5 6\n",
        f"{A} {A + BLOCK + 1} 5\n",  # larger than a block
        f"{C} {C + BLOCK} 5\n{A} {A + BLOCK} 5\n",  # not in order
        hotness_launch(OBJECTS, TENSORS, FIRST).replace(f"{5 * MIB}\n", f"{6 * MIB}\n"),  # blocks of other objects
        hotness_launch(OBJECTS, TENSORS, FIRST) + "\n1 2\n",
        "\n\n",
        f"{A} {1 << 62}\n",
        "1764443800123 1764443800456 5\n1764443801001 1764443801450 7\n",  # times in ms
        hotness_launch(OBJECTS, TENSORS, FIRST).split("\n\n")[0] + f"\n\n{A} {6 * MIB}\n",
    ],
)
def test_other_numbers_are_not_taken_for_blocks(text: str, tmp_path: Path) -> None:
    (tmp_path / "kernel_0.txt").write_text(text)
    assert not accelprof.recognises(open_file(tmp_path / "kernel_0.txt"))
    assert not accelprof.recognises(open_file(tmp_path))


def test_an_object_of_absurd_size_is_no_object(tmp_path: Path) -> None:
    (tmp_path / "kernel_0.txt").write_text(f"{A} {A + BLOCK} 1\n\n{A} {1 << 66}\n\n")
    assert not accelprof.recognises(open_file(tmp_path))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"{A + BLOCK} {A + 2 * BLOCK} 0\n", ""),  # a block that nothing accessed, but of an object that is there
        (f"{A + BLOCK} {A + 2 * BLOCK} 0\n", f"{A + BLOCK} {A + 2 * BLOCK - 1} 0\n"),
        (f"Tensor start {'-' * 42}{A}", f"Tensor start {'-' * 42}{A + 512}"),
        (f"Tensor end {'-' * 42}{A + 4 * MIB}\n", ""),
        (f"{A} {4 * MIB}\n", f"{A} {4 * MIB - 1}\n"),  # a tensor
        (f"\n{C} {MIB}\n", "\n"),  # an object
    ],
)
def test_parts_of_a_file_that_contradict_each_other_are_noted(old: str, new: str, tell: Tell) -> None:
    files = run(SECOND, FIRST)
    assert old in files["kernel_1.txt"]
    told = tell(files | {"kernel_1.txt": files["kernel_1.txt"].replace(old, new, 1)})
    assert (told.notes["parts-differ"].count, told.notes["parts-differ"].example) == (1, "kernel_1.txt")
    assert sum(row["accesses"] for row in told["access"]) == 29


def test_an_address_that_is_there_twice_has_its_first_size(tell: Tell) -> None:
    files = run(SECOND, FIRST)
    told = tell(
        files | {"kernel_1.txt": files["kernel_1.txt"].replace(f"\n{B} {2 * MIB}\n", f"\n{A} 512\n{B} {2 * MIB}\n")}
    )
    assert told.counts() == {"lower-neighbour": 3, "unread-line": 1}


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        (f"{A + BLOCK} {A + 2 * BLOCK} 0\n", "", "totals-differ"),
        (f"{A + BLOCK} {A + 2 * BLOCK} 0\n", f"{A + BLOCK} {A + BLOCK + 1} 0\n", "totals-differ"),
        (f"{A + BLOCK} {A + 2 * BLOCK} 0\n", f"{A + BLOCK} {A + 2 * BLOCK} 0\n\n", "unread-line"),
    ],
)
def test_totals_have_every_block_of_the_launches_and_no_other(old: str, new: str, note: str, tell: Tell) -> None:
    files = run(FIRST)
    assert old in files["all_kernels.txt"]
    told = tell(files | {"all_kernels.txt": files["all_kernels.txt"].replace(old, new, 1)})
    assert told.counts() == {"lower-neighbour": 2, note: 1}
