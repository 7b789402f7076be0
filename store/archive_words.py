"""What a suggested command needs besides, to mean the archive that it is about."""

import shlex
from pathlib import Path

__all__ = ["DEFAULT_ARCHIVE", "archive_words", "words_of"]

DEFAULT_ARCHIVE = Path("traces")
"""The folder of the archive where a command is not told of another."""


def archive_words(path: Path) -> str:
    """The option that means the archive in that folder, with a space before it: nothing where it is the default."""
    return "" if path.absolute() == DEFAULT_ARCHIVE.absolute() else f" --archive {shlex.quote(str(path))}"


def words_of(file: Path) -> str:
    """The same for the archive that a file lies in, be it there or not: nothing where it lies in none."""
    found = next((folder for folder in file.parents if (folder / "archive.toml").is_file()), None)
    return "" if found is None else archive_words(found)
