"""What is written down both in the collector and in Python is the same there."""

import re
from pathlib import Path

from tests.native.programs import COLLECTOR
from tracelode.collect.agent.process import TOLD
from tracelode.collect.record import EVENTS


def listed(file: Path, name: str) -> list[str]:
    """The texts in an array of the collector's sources."""
    (body,) = re.findall(rf"{name}\[\] = {{(.*?)}}", file.read_text(), re.DOTALL)
    return re.findall(r'"([^"]*)"', body)


def test_the_collector_and_the_agent_tell_the_same_variables_of_the_environment() -> None:
    assert listed(COLLECTOR / "process.cpp", "environment") == list(TOLD)


def test_the_collector_records_by_itself_what_the_recorder_asks_for_by_default() -> None:
    assert listed(COLLECTOR / "options.cpp", "by_default") == list(EVENTS)
