import pytest

from tracelode.store import Error
from tracelode.store.parts import GROUPS, load, names


def test_every_kind_of_part_has_a_folder() -> None:
    assert set(GROUPS) == {"reader", "analysis", "comparison", "topic", "format", "command"}
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
    import subprocess
    import sys

    program = (
        "import sys; from tracelode.store.parts import names; names('analysis');"
        "print([m for m in sys.modules if m.startswith('tracelode.mining.analyses.')])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"
