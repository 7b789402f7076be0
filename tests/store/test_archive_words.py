from pathlib import Path

import pytest

from tracelode.store.archive_words import archive_words, words_of


def test_the_default_archive_needs_no_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert archive_words(Path("traces")) == archive_words(tmp_path / "traces") == ""
    assert archive_words(Path("my traces")) == " --archive 'my traces'"


def test_a_file_means_the_archive_that_it_lies_in(tmp_path: Path) -> None:
    (tmp_path / "archive.toml").touch()
    assert words_of(tmp_path / "derived" / "patterns@1" / "abc" / "gone.parquet") == f" --archive {tmp_path}"
    assert words_of(Path("/nowhere/kernel.parquet")) == ""
