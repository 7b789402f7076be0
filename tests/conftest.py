"""Fixtures every test may use."""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("suite", deadline=None)  # how long an example takes depends on what else the machine does
settings.load_profile("suite")

EXHAUSTIVE = ("browser", "corpus", "mutation", "oracle")
"""Folders whose tests go through many cases."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of those folders."""
    for item in items:
        if item.path.relative_to(Path(__file__).parent).parts[0] in EXHAUSTIVE:
            item.add_marker(pytest.mark.exhaustive)


def pytest_collection_finish() -> None:
    """Spares Python from looking for cycles among the tests themselves, which takes a twentieth of the suite's time."""
    gc.set_threshold(50_000, 20, 20)
    gc.freeze()


@pytest.fixture
def corpus() -> Path:
    """The corpus of public traces, where the machine has it."""
    folder = os.environ.get("TRACELODE_CORPUS")
    if not folder:
        pytest.skip("TRACELODE_CORPUS does not name the corpus of public traces")
    return Path(folder)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps tests away from the user's cache and archive."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TRACELODE_ARCHIVE", raising=False)
