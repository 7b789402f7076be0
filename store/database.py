"""Databases in memory for queries: one DuckDB instance for a process, which takes 20 ms to start, and many in it."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

__all__ = ["instance", "transient"]

_shared: dict[int, "duckdb.DuckDBPyConnection"] = {}
"""The instance of each process, by its id: a forked child has none of the threads of its parent's."""
_numbers = count()


def instance() -> "duckdb.DuckDBPyConnection":
    """A new instance with an empty database: nothing that is set in it has an effect elsewhere."""
    import duckdb

    return duckdb.connect(
        ":memory:", config={"autoinstall_known_extensions": "false", "enable_external_file_cache": "false"}
    )


@contextmanager
def transient() -> Generator["duckdb.DuckDBPyConnection"]:
    """An empty database in the process' instance, gone afterwards with all that was made in it.

    For statements that change no settings, as these are the instance's. After an error that an instance does not
    survive the next one is a new one.
    """
    import duckdb

    if os.getpid() not in _shared:
        _shared[os.getpid()] = instance()
    name = f"transient_{next(_numbers)}"
    with _shared[os.getpid()].cursor() as connection:
        try:
            connection.execute(f"attach ':memory:' as {name}; use {name}")
            yield connection
            connection.execute(f"use memory; detach {name}")
        except (duckdb.FatalException, duckdb.InternalException):
            _shared.pop(os.getpid(), None)
            raise
        except BaseException:
            connection.execute(f"use memory; detach {name}")
            raise
