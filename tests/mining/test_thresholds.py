import re
from pathlib import Path

import pytest

from tracelode.mining.thresholds import PACKAGED, read_thresholds, thresholds
from tracelode.store import Error
from tracelode.store.parts import names


def test_every_diagnosis_has_a_share_from_which_on_it_speaks() -> None:
    assert set(read_thresholds(PACKAGED)) == {*names("diagnosis"), "waits"}
    assert all(0 < thresholds(name)["least_share"] <= 1 for name in names("diagnosis"))


def test_every_threshold_has_a_comment_right_above_it() -> None:
    lines = PACKAGED.read_text().splitlines()
    values = [number for number, line in enumerate(lines) if re.match(r"\w+ = ", line)]
    assert len(values) >= 15
    assert [lines[number] for number in values if not lines[number - 1].startswith("# ")] == []


@pytest.mark.parametrize(
    "text",
    [
        "least_share = 0.1",
        "[warm_up]\nleast_share = 1.5",
        "[warm_up]\nleast_share = 0",
        "[warm_up]\nleast_share = true",
        "[warm_up]\nlong_ns = 0",
        "[warm_up]\nlong_ns = 2.5",
        "[warm_up]\nlong_ms = 5",
        "[warm_up]\nleast_run_count = 'three'",
        "[warm_up",
    ],
)
def test_a_value_that_is_no_threshold_is_refused_with_its_place(tmp_path: Path, text: str) -> None:
    path = tmp_path / "thresholds.toml"
    path.write_text(text)
    with pytest.raises(Error, match=r"thresholds\.toml: ") as caught:
        read_thresholds(path)
    assert "_share (0 to 1)" in caught.value.hint


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(Error, match=r"none\.toml"):
        read_thresholds(tmp_path / "none.toml")
