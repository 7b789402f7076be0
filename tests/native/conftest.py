"""The collector, the stubs and the program under test, built once a session."""

import os
from pathlib import Path

import pytest

from tests.native.programs import Programs, build_once, missing
from tests.native.replays import Layout, Replay


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of this session's builds, one for all of its processes."""
    lacking = missing()
    if lacking:
        pytest.skip(f"the event collector cannot be built: {lacking}")
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def programs(builds: Path) -> Programs:
    return build_once(builds / "native", "-O2")


@pytest.fixture(scope="session")
def layout(programs: Programs) -> Layout:
    return programs.layout()


@pytest.fixture
def replay(layout: Layout) -> Replay:
    return Replay(layout)
