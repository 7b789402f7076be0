from pathlib import Path

import pyarrow as pa

from tests.mining.programs import train
from tracelode.mining.mine import mine
from tracelode.mining.programs import programs
from tracelode.store import TABLES

STEP = ["read", "gemm", "gelu", "adam"]
LEVEL = {
    "sequence": 0, "process": 1, "kind": "iteration", "coverage": 1.0, "confidence": 1.0, "phase_confidence": 1.0,
}  # fmt: skip
ITERATION = {"sequence": 0, "process": 1, "start_ns": 0, "from_ns": 0, "end_ns": 1, "phase": "steady"}


def test_units_are_iterations_and_what_lies_around_them(tmp_path: Path) -> None:
    trace = mine(*train(tmp_path, ["warm"] * 3, *[STEP] * 6), "iterations")
    (program,) = programs(trace)
    assert program.level.tolist() == [-1] + [0] * 6
    assert program.iteration.tolist() == [-1, *range(6)]
    assert program.first.tolist() == [0, *range(3, 27, 4)]
    assert program.stop.tolist() == [*range(3, 28, 4)]
    assert [(one.number, one.level, len(one.symbols)) for one in program.contents] == [(0, 0, 4), (1, -1, 3)]


def test_of_levels_that_overlap_the_main_one_is_kept(tmp_path: Path) -> None:
    trace, archive = train(tmp_path, *[STEP] * 6)
    trace = mine(trace, archive, "iterations")
    # One level has more operations, the other covers more by its period and count: so the main level is chosen.
    rows = {
        "level": [
            LEVEL | {"level": 0, "period": 4, "count": 3, "first": 0, "last": 14},
            LEVEL | {"level": 1, "period": 7, "count": 2, "first": 10, "last": 23},
        ],
        "iteration": [
            ITERATION | {"level": level, "iteration": number, "first": first, "last": last, "operations": 0}
            for level, number, first, last in [
                (0, 0, 0, 4),
                (0, 1, 5, 9),
                (0, 2, 10, 14),
                (1, 0, 10, 16),
                (1, 1, 17, 23),
            ]
        ],
    }
    tables = {name: pa.Table.from_pylist(part, schema=TABLES[name].schema) for name, part in rows.items()}
    (program,) = programs(archive.put_derived(trace, "made", 1, tables))
    assert list(zip(program.level.tolist(), program.first.tolist(), program.stop.tolist(), strict=True)) == [
        (-1, 0, 10), (1, 10, 17), (1, 17, 24),
    ]  # fmt: skip
