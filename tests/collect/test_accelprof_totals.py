import json
from collections.abc import Callable
from pathlib import Path

import pytest

from data.generator.accelprof import MIB, totals
from tests.collect.reading import Told, read
from tracelode.collect.files import open_file
from tracelode.collect.readers import accelprof

Tell = Callable[[str, str], Told]


@pytest.fixture
def tell(tmp_path: Path) -> Tell:
    def told(name: str, text: str) -> Told:
        path = tmp_path / name
        path.write_text(text)
        return read(accelprof, path, tmp_path)

    return told


def test_each_total_is_a_sample_at_the_ordinal_of_its_event(tell: Tell) -> None:
    told = tell("memory_gpu.txt", totals([2 * MIB, 20 * MIB, -2 * MIB]))
    sample = {"process": 0, "name": "device_memory_bytes", "unit": "bytes"}
    assert told["counter"] == [
        {**sample, "time_ns": 0, "value": 2.0 * MIB},
        {**sample, "time_ns": 1, "value": 22.0 * MIB},
        {**sample, "time_ns": 2, "value": 20.0 * MIB},
    ]
    assert told.facts.clock == "ordinal"
    assert told.facts.labels["peak_device_memory_bytes"] == str(22 * MIB)
    assert told.counts() == {"fixed-name": 1, "ordinal-times": 3}


def test_the_name_says_what_is_counted_and_of_which_device(tell: Tell) -> None:
    told = tell("tensor_gpu_3.txt", totals([512]))
    assert (told["counter"][0]["name"], told["counter"][0]["device"]) == ("tensor_bytes", 3)
    assert tell("rank1-memory_gpu.txt", totals([512]))["counter"][0]["name"] == "device_memory_bytes"


def test_with_a_device_the_list_of_memory_has_the_events_of_tensors_too(tell: Tell) -> None:
    assert tell("memory_gpu_0.txt", totals([512, 0, 0])).notes["mixed-events"].count == 3
    assert "mixed-events" not in tell("tensor_gpu_0.txt", totals([512])).notes


def test_ranks_that_shared_one_name_are_noted(tell: Tell) -> None:
    assert tell("tensor_gpu.txt", totals([512])).notes["fixed-name"].example == "tensor_gpu.txt"
    assert "fixed-name" not in tell("rank0_tensor_gpu.txt", totals([512])).notes


def test_totals_below_zero_tell_that_the_profiler_came_late(tell: Tell) -> None:
    assert tell("tensor_gpu.txt", totals([512, -1024, 512])).notes["negative-total"].count == 1


def test_the_last_line_without_an_end_is_left_out(tell: Tell) -> None:
    told = tell("memory_gpu.txt", "2097152\n41943")
    assert [row["value"] for row in told["counter"]] == [2097152.0]
    assert "truncated" in told.notes


def test_a_number_that_no_memory_can_have_is_kept_as_text(tell: Tell) -> None:
    told = tell("memory_gpu.txt", f"512\n{10**18}\n1024\n")
    assert [(row["time_ns"], row["value"]) for row in told["counter"]] == [(0, 512.0), (1, 1024.0)]
    assert json.loads(told["other"][0]["json"]) == {"line": str(10**18)}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("numbers.txt", "1\n2\n"),
        ("memory_gpu.csv", "1\n2\n"),
        ("memory_gpu.txt", "1\n2 MiB\n"),
        ("memory_gpu.txt", "1"),
    ],
)
def test_bare_numbers_need_the_tools_name_and_nothing_but_numbers(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert not accelprof.recognises(open_file(tmp_path / name))
