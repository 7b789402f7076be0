import subprocess
import sys

import numpy as np
import pyarrow as pa

from tracelode.collect.memory import give_back
from tracelode.collect.ordering import in_order

LOADED = """
import os
import sys

if sys.argv[1] == "arrow first":
    import pyarrow
import tracelode.collect.ingest
import pyarrow as pa

print(pa.default_memory_pool().backend_name, "ARROW_DEFAULT_MEMORY_POOL" in os.environ)
"""


def loaded(order: str) -> list[str]:
    """What Arrow takes memory from by itself, and whether the environment says so to later programs."""
    done = subprocess.run([sys.executable, "-c", LOADED, order], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_arrow_takes_memory_from_the_system_and_programs_started_later_are_not_told() -> None:
    assert loaded("ingest first") == ["system", "False"]


def test_an_arrow_that_is_loaded_already_stays_as_it_is() -> None:
    found = loaded("arrow first")
    assert found[0] in pa.supported_memory_backends()
    assert found[1] == "False"


def test_compiled_and_library_code_runs_on_when_memory_was_given_back() -> None:
    lane, start = np.array([1, 0, 1], np.int32), np.array([5, 9, 4])
    before = in_order(lane, start).tolist()
    give_back(1_000_000)
    assert in_order(lane, start).tolist() == before == [1, 2, 0]
    assert pa.array([3, 1, 2]).dictionary_encode().dictionary.to_pylist() == [3, 1, 2]
