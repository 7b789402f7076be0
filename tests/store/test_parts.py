import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracelode.store import Error
from tracelode.store.parts import GROUPS, load, names


def test_every_kind_of_part_has_a_folder() -> None:
    assert set(GROUPS) == {"reader", "analysis", "comparison", "diagnosis", "topic", "format", "export", "command"}
    for kind in GROUPS:
        assert all(part.origin == "tracelode" for part in names(kind).values())


def test_a_built_in_part_is_a_file_of_the_folder() -> None:
    assert "info" in names("command")
    assert load("command", "info").__name__ == "tracelode.reports.commands.info"


def test_an_unknown_part_is_refused_with_what_there_is() -> None:
    with pytest.raises(Error, match="there is no command named nonsense") as caught:
        load("command", "nonsense")
    assert "info" in caught.value.hint


def test_listing_parts_imports_none_of_them() -> None:
    program = (
        "import sys; from tracelode.store.parts import names; names('analysis');"
        "print([m for m in sys.modules if m.startswith('tracelode.mining.analyses.')])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"


def test_a_strangers_part_comes_in_by_its_entry_point_and_replaces_none_of_ours(tmp_path: Path) -> None:
    (tmp_path / "stranger.py").write_text('"""Counts the kernels by hand."""\nNEEDS = ()\n')
    info = tmp_path / "stranger-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    group = "[tracelode.mining.analyses]\n"
    (info / "entry_points.txt").write_text(f"{group}by_hand = stranger\nkernels = stranger\n")
    program = (
        "from tracelode.store.parts import load, names; parts = names('analysis');"
        "print(parts['by_hand'].origin, load('analysis', 'by_hand').__doc__, parts['kernels'].origin)"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "stranger Counts the kernels by hand. tracelode\n"
