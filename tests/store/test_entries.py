from pathlib import Path

import pytest

from tracelode.store import Error
from tracelode.store.entries import read_entries

EXAMPLE = "write [[row]] a = 1"


def _read(file: Path) -> list[object]:
    return read_entries(str(file), "row", variable="ROWS", example=EXAMPLE)


def test_entries_are_given_as_they_stand(tmp_path: Path) -> None:
    file = tmp_path / "rows.toml"
    file.write_text("[[row]]\na = 1\n[[row]]\nb = 'x'\n")
    assert _read(file) == [{"a": 1}, {"b": "x"}]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "holds nothing, not a list of [[row]]"),
        (b"row = 3", "holds row, not a list of [[row]]"),
        (b"other = 3\n[[row]]\n", "holds other, row, not a list of [[row]]"),
        (b"[[row", "is not TOML: "),
        (b"\xff", "is not TOML: "),
    ],
)
def test_a_file_of_anything_else_is_refused_with_an_example(tmp_path: Path, content: bytes, why: str) -> None:
    file = tmp_path / "rows.toml"
    file.write_bytes(content)
    with pytest.raises(Error) as caught:
        _read(file)
    assert caught.value.message.startswith(f"{file}: {why}")
    assert caught.value.hint == EXAMPLE


def test_a_file_that_cannot_be_read_names_the_variable(tmp_path: Path) -> None:
    with pytest.raises(Error, match="No such file") as caught:
        _read(tmp_path / "none.toml")
    assert caught.value.hint == "name a file with ROWS, or unset it"
