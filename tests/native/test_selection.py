"""What is left out by range, name, sample and size is left out of the rows, counted, and still in the totals."""

from pathlib import Path

import numpy as np
import pytest

from tests.native.programs import Outcome, Programs
from tests.native.replays import COPY, KERNEL, Replay, recently


def loop(replay: Replay, kernels: int, names: tuple[str, ...] = ("gemm", "relu", "norm")) -> None:
    """Kernels that come again and again in one order; each has its ordinal as correlation and as duration."""
    ordinal, base = np.arange(kernels), recently()
    texts = np.array([replay.text(name) for name in names])
    name = texts[ordinal % len(names)]
    replay.add(KERNEL, kernels, start=base, end=base + ordinal, name=name, correlationId=ordinal)


def kept(outcome: Outcome) -> list[int]:
    """The ordinals of the kernels that have a row."""
    return sorted(outcome.spool.tables["kernel"]["correlation"].tolist())


def totals(outcome: Outcome) -> dict[str, tuple[int, int, int, int]]:
    """Count, time, shortest and longest by name."""
    total = outcome.spool.tables["total"]
    numbers = zip(*(total[column].tolist() for column in ("count", "time", "shortest", "longest")), strict=True)
    return {str(name): row for name, row in zip(outcome.spool.named(total["name"]), numbers, strict=True)}


@pytest.mark.parametrize(
    ("asked", "expected"), [("2:5", [2, 3, 4]), (":2", [0, 1]), ("8:", [8, 9]), (":", list(range(10))), ("5:2", [])]
)
def test_launches_outside_the_range_are_counted_only(
    programs: Programs, replay: Replay, tmp_path: Path, asked: str, expected: list[int]
) -> None:
    loop(replay, 10, ("gemm",))
    outcome = programs.run(tmp_path / "out", replay.write(tmp_path / "r"), TRACELODE_RECORD_LAUNCHES=asked)
    assert ("kernel" in outcome.spool.tables) == bool(expected)
    assert not expected or kept(outcome) == expected
    assert outcome.spool.state["records"] == {"kernel": 10}
    assert outcome.spool.state["outside_range"] == 10 - len(expected)
    length = len(expected)
    gemm = {"gemm": (length, sum(expected), min(expected, default=0), max(expected, default=0))} if expected else {}
    assert not gemm or totals(outcome) == gemm


def test_a_sample_meets_each_kernel_of_a_loop_and_leaves_the_totals_exact(
    programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    loop(replay, 6000)
    outcome = programs.run(tmp_path / "out", replay.write(tmp_path / "r"), TRACELODE_RECORD_SAMPLE="6")
    rows = kept(outcome)
    assert [row // 6 for row in rows] == list(range(1000))
    assert {row % 3 for row in rows} == {0, 1, 2}
    assert outcome.spool.state["sampled_out"] == 5000
    assert totals(outcome) == {
        "gemm": (2000, sum(range(0, 6000, 3)), 0, 5997),
        "relu": (2000, sum(range(1, 6000, 3)), 1, 5998),
        "norm": (2000, sum(range(2, 6000, 3)), 2, 5999),
    }


def test_only_kernels_whose_names_have_a_part_are_kept(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    loop(replay, 9)
    replay.add(COPY, start=recently(), end=recently())
    outcome = programs.run(tmp_path / "out", replay.write(tmp_path / "r"), TRACELODE_RECORD_NAMES="gem\nnor")
    assert kept(outcome) == [0, 2, 3, 5, 6, 8]
    assert set(totals(outcome)) == {"gemm", "norm"}
    assert outcome.spool.state["filtered"] == 3
    assert outcome.spool.state["kept"] == {"kernel": 6, "copy": 1}


def test_totals_alone_have_a_histogram_and_no_rows(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    base = recently()
    durations = [0, 1, 2, 3, 4, 1023, 1024, 1_000_000]
    replay.add(KERNEL, 8, start=base, end=base + np.array(durations), name=replay.text("gemm"), deviceId=2)
    replay.add(KERNEL, 1, start=base, end=base + 9, name=replay.text("gemm"), deviceId=3)
    outcome = programs.run(tmp_path / "out", replay.write(tmp_path / "r"), TRACELODE_RECORD_DETAIL="totals")
    assert set(outcome.spool.tables) == {"name", "total", "histogram"}
    assert outcome.spool.tables["total"]["device"].tolist() == [2, 3]
    assert outcome.spool.tables["total"]["time"].tolist() == [sum(durations), 9]
    histogram = outcome.spool.tables["histogram"]
    counts = zip(*(histogram[column].tolist() for column in ("device", "bucket", "count")), strict=True)
    assert list(counts) == [(2, 0, 2), (2, 1, 2), (2, 2, 1), (2, 9, 1), (2, 10, 1), (2, 19, 1), (3, 3, 1)]
    assert outcome.spool.state["reduced"] == 9


def test_recording_ends_at_the_size_and_the_totals_hold_what_was_recorded(
    programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    loop(replay, 100_000, ("gemm",))
    file = replay.write(tmp_path / "r")
    outcome = programs.run(
        tmp_path / "out",
        file,
        file,
        APP_CALLS="work,flush,active,start,state,work,1500,flush,work",
        TRACELODE_RECORD_STOP="1000000",
        TRACELODE_RECORD_BUFFER="256",
        TRACELODE_RECORD_FLUSH="50",
    )
    told = [line for line in outcome.told.splitlines() if not line.startswith("state")]
    assert told == ["flush 0", "active 0", "start -1", "flush 0"]
    state = outcome.spool.state
    assert (state["stopped"], state["final"], outcome.states()[0]["stopped"]) == ("size", True, "size")
    assert state["records"]["kernel"] == state["kept"]["kernel"] + state["beyond_limit"]
    assert state["kept"]["kernel"] == outcome.spool.rows("kernel")
    assert totals(outcome)["gemm"][0] == state["records"]["kernel"]
    (path,) = outcome.folders[0].iterdir()
    assert 900_000 < path.stat().st_size < 1_010_000
    assert [one["final"] for one in outcome.spool.told("state") if one["stopped"] == "size"] == [False, True]


def test_only_the_kinds_asked_for_are_recorded(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    loop(replay, 3)
    replay.add(COPY, 2, start=recently(), end=recently())
    outcome = programs.run(tmp_path / "out", replay.write(tmp_path / "r"), TRACELODE_RECORD_EVENTS="copy,nonsense")
    assert outcome.spool.state["records"] == {"copy": 2}
    assert outcome.lines() == ["tracelode: TRACELODE_RECORD_EVENTS=nonsense is not a kind of event: ignored"]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("SAMPLE", "0", "such a number"),
        ("SAMPLE", "-2", "such a number"),
        ("BUFFERS", "99999999999999999999", "such a number"),
        ("LAUNCHES", "7", "first:last"),
        ("LAUNCHES", "a:b", "first:last"),
        ("GRAPHS", "leaf", "graph or node"),
    ],
)
def test_what_cannot_be_understood_is_said_and_ignored(
    programs: Programs, replay: Replay, tmp_path: Path, name: str, value: str, told: str
) -> None:
    loop(replay, 3)
    outcome = programs.run(tmp_path / "out", replay.write(tmp_path / "r"), **{f"TRACELODE_RECORD_{name}": value})
    assert outcome.lines() == [f"tracelode: TRACELODE_RECORD_{name}={value} is not {told}: ignored"]
    assert kept(outcome) == [0, 1, 2]


def test_what_happens_between_stop_and_start_is_not_recorded(
    programs: Programs, replay: Replay, tmp_path: Path
) -> None:
    loop(replay, 10)
    file = replay.write(tmp_path / "r")
    calls = "work,active,stop,active,stop,work,state,start,start,active,work"
    outcome = programs.run(tmp_path / "out", file, file, file, APP_CALLS=calls)
    told = [line for line in outcome.told.splitlines() if not line.startswith("state")]
    assert told == ["active 1", "stop 0", "active 0", "stop 0", "start 0", "start 0", "active 1"]
    (state,) = outcome.states()
    assert (state["stopped"], state["records"], state["active"]) == ("pause", {"kernel": 10}, False)
    assert outcome.spool.state["records"] == {"kernel": 20}


def test_a_recording_that_begins_paused_waits_for_the_start(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    loop(replay, 10)
    file = replay.write(tmp_path / "r")
    calls = "active,work,start,work"
    outcome = programs.run(tmp_path / "out", file, file, APP_CALLS=calls, TRACELODE_RECORD_PAUSED="1")
    assert outcome.told.splitlines() == ["active 0", "start 0"]
    assert outcome.spool.state["records"] == {"kernel": 10}


def test_a_flush_before_a_sudden_end_saves_the_totals(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    loop(replay, 10, ("gemm",))
    outcome = programs.run(
        tmp_path / "out",
        replay.write(tmp_path / "r"),
        APP_CALLS="work,flush",
        APP_END="_exit",
        TRACELODE_RECORD_DETAIL="totals",
    )
    assert totals(outcome) == {"gemm": (10, 45, 0, 9)}


def test_totals_of_a_crash_are_those_of_the_last_report(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    loop(replay, 10, ("gemm",))
    outcome = programs.run(
        tmp_path / "out",
        replay.write(tmp_path / "r"),
        APP_END="kill",
        APP_SLEEP="800",
        TRACELODE_RECORD_FLUSH="50",
        TRACELODE_RECORD_DETAIL="totals",
    )
    assert totals(outcome) == {"gemm": (10, 45, 0, 9)}
