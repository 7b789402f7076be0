import os
from pathlib import Path

import pytest

from tracelode.store import version


def test_the_mark_tells_times_apart_the_hash_only_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "store").mkdir()
    file = tmp_path / "store" / "a.py"
    file.write_text("one = 1")
    monkeypatch.setattr(version, "ROOT", tmp_path)
    mark, content = version.code_mark(), version.code_hash.__wrapped__()
    os.utime(file, ns=(1, 1))
    assert version.code_mark() != mark
    assert version.code_hash.__wrapped__() == content
    file.write_text("one = 2")
    assert version.code_hash.__wrapped__() != content
    assert len(version.code_hash()) == 16
