"""The sums of rocprofiler-systems; the numbers of the first tests are those of the example in its manual."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.collect.reading import Told, damaged, read
from tests.samples import sample
from tracelode.collect.files import open_file
from tracelode.collect.readers import unified_memory
from tracelode.store.errors import UnreadableFile


def moves(count: int, size: int, time: int) -> dict[str, Any]:
    sizes = {"avg_size_bytes": 12024035.55, "min_size_bytes": 4096, "max_size_bytes": size, "total_size_bytes": size}
    return {"count": count, **sizes, "total_time_ns": time, "migration_throughput_gbps": 0.52}


DEVICE = {
    "device_id": 2,
    "device_name": "gfx950",
    "migrations": {
        "host_to_device": moves(36, 432865280, 827859200),
        "device_to_host": moves(32, 65011712, 39135300),
        "device_to_device": moves(0, 0, 0),
    },
}
SUMMARY = {
    "total_page_faults": 33,
    "xnack_enabled": True,
    "migration_triggers": {"gpu_page_fault": 30, "cpu_page_fault": 2, "prefetch": 1, "ttm_eviction": 0, "unknown": 0},
}
TRIGGERS = ("gpu_page_fault", "cpu_page_fault", "prefetch", "ttm_eviction", "unknown")


@pytest.fixture
def tell(tmp_path: Path) -> Callable[..., Told]:
    def tell(*devices: Any, summary: Any = SUMMARY) -> Told:
        path = tmp_path / "unified_memory-70.json"
        path.write_text(json.dumps({"devices": devices, "summary": summary}, indent=2))
        return read(unified_memory, path, tmp_path)

    return tell


def test_faults_triggers_and_moves_are_totals(tell: Callable[..., Told]) -> None:
    told = tell(DEVICE)
    assert [(r["name"], r["kind"], r["count"]) for r in told["total"]] == [
        ("page faults", "page faults", 33),
        ("gpu_page_fault", "triggers of page moves", 30),
        ("cpu_page_fault", "triggers of page moves", 2),
        ("prefetch", "triggers of page moves", 1),
        ("ttm_eviction", "triggers of page moves", 0),
        ("unknown", "triggers of page moves", 0),
        ("HtoD", "page moves", 36),
        ("DtoH", "page moves", 32),
        ("DtoD", "page moves", 0),
    ]
    there = [(r["device"], r["time_ns"], json.loads(r["args"])["total_size_bytes"]) for r in told["total"][6:]]
    assert there == [(2, 827859200, 432865280), (2, 39135300, 65011712), (2, 0, 0)]
    assert told["device"] == [{"process": 0, "device": 2, "name": "gfx950", "vendor": "amd"}]
    assert told.facts.labels == {"xnack": "true"}
    assert json.loads(told["total"][6]["args"])["avg_size_bytes"] == "12024035.55"
    assert told.counts() == {"summary": 9}


def test_memory_that_host_and_device_share_has_faults_and_no_moves(tell: Callable[..., Told]) -> None:
    told = tell(summary=SUMMARY | {"total_page_faults": 100, "migration_triggers": dict.fromkeys(TRIGGERS, 0)})
    assert [(r["name"], r["count"]) for r in told["total"]] == [("page faults", 100), *((n, 0) for n in TRIGGERS)]
    assert told.counts() == {"summary": 6}


def test_sums_that_are_no_numbers_are_null_and_counted(tell: Callable[..., Told]) -> None:
    odd = moves(1, 2, 3) | {"count": "many", "total_time_ns": -1, "min_size_bytes": None, "x": [1, 0.5]}
    device = DEVICE | {"migrations": DEVICE["migrations"] | {"host_to_device": odd}}
    told = tell(device, DEVICE | {"device_id": -1}, summary=SUMMARY | {"total_page_faults": -4})
    assert [(r["name"], r.get("count"), r.get("time_ns"), r.get("device")) for r in told["total"][6:10]] == [
        ("HtoD", None, None, 2), ("DtoH", 32, 39135300, 2), ("DtoD", 0, 0, 2), ("HtoD", 36, 827859200, None)
    ]  # fmt: skip
    args = json.loads(told["total"][6]["args"])
    assert (args["min_size_bytes"], args["max_size_bytes"], args["x"]) == (None, 2, "[1, 0.5]")
    assert "count" not in told["total"][0]
    assert told["device"] == [{"process": 0, "device": 2, "name": "gfx950", "vendor": "amd"}]
    assert told.counts() == {"no-number": 5, "summary": 12}


@pytest.mark.parametrize(
    ("old", "new", "example"),
    [
        ('"migration_triggers"', '"migration_trigger"', "summary: migration_triggers"),
        ('"xnack_enabled": true', '"xnack_enabled": null', "summary: xnack_enabled"),
        ('"ttm_eviction": 0', '"ttm_eviktion": 0', "migration_triggers: ttm_eviction"),
        ('"gfx950"', "950", "device: device_name"),
        ('"migrations"', '"migration"', "device: migrations"),
        ('"host_to_device"', '"host_2_device"', "migrations: host_to_device"),
        ('"total_size_bytes"', '"total_size"', "host_to_device: total_size_bytes"),
        ('"summary": {', '"sum": {', "summary: total_page_faults"),
        ('], "summary"', ', 7], "summary"', "device: device_id"),
    ],
)
def test_a_member_that_is_not_there_is_noted(old: str, new: str, example: str, tmp_path: Path) -> None:
    path = tmp_path / "unified_memory-70.json"
    content = json.dumps({"devices": [DEVICE], "summary": SUMMARY})
    assert old in content
    path.write_text(content.replace(old, new, 1))
    assert read(unified_memory, path, tmp_path).notes["missing-member"].example == example


def test_members_that_are_not_known_are_kept(tell: Callable[..., Told]) -> None:
    told = tell(DEVICE | {"node": 7}, summary=SUMMARY | {"retries": 5})
    assert [(row["kind"], row["json"]) for row in told["other"]] == [
        ("summary", '{"retries": 5}'),
        ("device", '{"node": 7}'),
    ]
    assert told.counts() == {"summary": 9}


@pytest.mark.parametrize(
    "content",
    [
        '{"devices": []}',
        '{"devices": [1], "summary": {"total_page_faults": 1}}',
        '{"summary": {"total_page_faults": 1}}',
    ],
)
def test_other_json_is_not_taken_for_it(content: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    assert not unified_memory.recognises(open_file(path))


def test_damaged_files_are_read_with_a_note_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "unified_memory.json"
    path.write_bytes(sample("unified_memory").read_bytes())
    outcomes: set[str] = set()
    for content in damaged(path, 40):
        path.write_bytes(content)
        if not unified_memory.recognises(open_file(path)):
            continue
        try:
            told = read(unified_memory, path, tmp_path)
        except UnreadableFile as error:
            assert "unified_memory.json: JSON that is cut off or damaged" in error.message
            outcomes.add("refused")
        else:
            assert len(told["total"]) <= 9
            outcomes.add("read")
    assert outcomes == {"refused", "read"}
