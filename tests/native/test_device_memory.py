"""What recording takes of a device's memory is bounded, said, and refused where it cannot be bounded."""

from pathlib import Path

import numpy as np
import pytest

from tests.native.programs import Outcome, Programs
from tests.native.replays import KERNEL, Replay, recently

HARMLESS = (7, "the answer is 42\n")


@pytest.fixture
def replayed(replay: Replay, tmp_path: Path) -> Path:
    base = recently()
    replay.add(KERNEL, 100, start=base, end=base + 10, name=replay.text("gemm"), correlationId=np.arange(100))
    return replay.write(tmp_path / "replay")


def said(outcome: Outcome) -> dict[str, int]:
    (process,) = [text for text in outcome.spool.texts if text["what"] == "process"]
    return process["device_memory"]


@pytest.mark.parametrize(
    ("mib", "bytes", "buffers"),
    [
        ("", 3_200_000, (256 << 20) // 3_200_000),
        ("1024", 3_200_000, (1024 << 20) // 3_200_000),
        ("16", (16 << 20) // 8, 8),  # smaller buffers rather than so few that times get lost
    ],
)
def test_the_buffers_of_cupti_fit_into_what_is_allowed(
    programs: Programs, replayed: Path, tmp_path: Path, mib: str, bytes: int, buffers: int
) -> None:
    outcome = programs.run(tmp_path / "out", replayed, TRACELODE_RECORD_DEVICE=mib)
    assert (outcome.status, outcome.output, outcome.lines()) == (*HARMLESS, [])
    assert said(outcome) == {"buffer_bytes": bytes, "buffers": buffers, "most_bytes": bytes * buffers}
    assert said(outcome)["most_bytes"] <= int(mib or 256) << 20
    assert outcome.spool.rows("kernel") == 100


@pytest.mark.parametrize("how", [{"STUB_OWN_WAY": "1"}, {"STUB_FAIL": "cuptiActivitySetAttribute:1"}])
def test_a_cupti_that_would_take_more_is_told_before_anything_runs(
    programs: Programs, replayed: Path, tmp_path: Path, how: dict[str, str]
) -> None:
    outcome = programs.run(tmp_path / "out", replayed, **how)
    assert (outcome.status, outcome.output) == HARMLESS
    (line,) = outcome.lines()
    assert "up to 762 MiB of a device's memory, more than 256 MiB" in line
    assert said(outcome)["most_bytes"] == 800_000_000
    assert outcome.spool.rows("kernel") == 0
    assert [text["hint"] for text in outcome.spool.texts if text["what"] == "error"] == [
        "allow more: tracelode record --device-memory"
    ]


def test_a_cupti_that_does_not_say_is_recorded_and_no_number_is_made_up(
    programs: Programs, replayed: Path, tmp_path: Path
) -> None:
    outcome = programs.run(tmp_path / "out", replayed, STUB_FAIL="cuptiActivityGetAttribute:1")
    (process,) = [text for text in outcome.spool.texts if text["what"] == "process"]
    assert "device_memory" not in process
    assert outcome.spool.rows("kernel") == 100
