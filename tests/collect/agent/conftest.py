from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a recording is put; the agent makes it."""
    return tmp_path / "recording"
