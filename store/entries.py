"""Files that people write for tracelode: a list of entries in TOML, read whole, each fault with its place."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import Error

__all__ = ["keys_of", "read_entries"]


def read_entries(path: str, name: str, *, variable: str, example: str) -> list[Any]:
    """The entries `[[name]]` of a file that holds nothing else; what is in them is not checked.

    Raises `Error` that names the file and the fault; its hint is the environment variable that named the file, or the
    example of an entry.
    """
    try:
        told = tomllib.loads(Path(path).read_bytes().decode("utf-8"))
    except OSError as error:
        raise Error(f"{path}: {error.strerror}", f"name a file with {variable}, or unset it") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Error(f"{path}: is not TOML: {' '.join(str(error).split())}", example) from error
    entries = told.get(name)
    if set(told) != {name} or not isinstance(entries, list):
        raise Error(f"{path}: holds {keys_of(told) or 'nothing'}, not a list of [[{name}]]", example)
    return entries


def keys_of(entry: Any) -> str:
    """The names in an entry, for a message; of what has none the thing itself."""
    return ", ".join(map(str, entry)) if isinstance(entry, Mapping) else repr(entry)
