"""What GitHub's runner obeys in the output of a step."""

import re
from typing import NamedTuple


class Command(NamedTuple):
    """What the runner makes of a line: the command, its properties, its message."""

    name: str
    properties: dict[str, str]
    message: str


def obeyed(text: str) -> list[Command]:
    """The commands in the output of a step, by the rules of GitHub's runner (`ActionCommand.cs`), its old form too."""
    return [command for line in re.split(r"\r\n|\r|\n", text) if (command := _command(line)) is not None]


def _command(line: str) -> Command | None:
    line = line.lstrip()
    if not line.startswith("::"):
        assert "##[" not in line  # obeyed wherever it stands in a line
        return None
    head, _, message = line[2:].partition("::")
    name, _, properties = head.partition(" ")
    pairs = [pair.partition("=") for pair in properties.split(",") if pair]
    return Command(
        name, {key.strip(): _unescaped(value, property=True) for key, _, value in pairs}, _unescaped(message)
    )


def _unescaped(text: str, *, property: bool = False) -> str:
    for escape, sign in (("%0D", "\r"), ("%0A", "\n"), *((("%3A", ":"), ("%2C", ",")) if property else ())):
        text = text.replace(escape, sign)
    return text.replace("%25", "%")
