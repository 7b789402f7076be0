"""What the kernel driver told, in databases of rocprofv3 and rocprofiler-systems: regions of categories of its own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.collect.reading import Tables, Told, read, write
from tracelode.collect.readers import rocpd

Row = dict[str, Any]
CPU, GPU = 0, 2
"""Numbers of the nodes; the agents have other ids in the database."""

AGENTS = [
    {"id": 7, "nid": 1, "pid": 4, "type": "CPU", "absolute_index": CPU},
    {"id": 8, "nid": 1, "pid": 4, "type": "GPU", "absolute_index": GPU, "vendor_name": "AMD"},
]
FIRST, LAST = 0x10000, 0x14000
"""4 pages of 4,096 bytes: 16,384."""


@pytest.fixture
def tell(tmp_path: Path) -> Callable[..., Told]:
    """Reads regions given as category, name, start, end, JSON of the event, and arguments."""

    def tell(*regions: tuple[str, str, int, int, Any, dict[str, str]], **more: list[Row]) -> Told:
        strings, tables = [""], Tables()
        events: list[Row] = []
        rows: list[Row] = []
        passed: list[Row] = []
        for at, (category, name, start, end, said, arguments) in enumerate(regions, start=1):
            strings += [category, name]
            text = said if isinstance(said, str) else json.dumps(said)
            event = {"id": at, "category_id": 2 * at, "stack_id": 0, "parent_stack_id": 0, "correlation_id": 0}
            events.append({**event, "call_stack": "{}", "extdata": text})
            rows.append({"id": at, "nid": 1, "pid": 4, "tid": 70, "start": start, "end": end, "event_id": at})
            rows[-1] |= {"name_id": 2 * at + 1, "extdata": "{}"}
            told = enumerate(arguments.items())
            passed += [{"event_id": at, "position": n, "name": key, "value": value} for n, (key, value) in told]
        tables = {
            "rocpd_metadata": [{"id": 1, "tag": "schema_version", "value": "3"}],
            "rocpd_string": [{"id": n, "guid": "g", "string": text} for n, text in enumerate(strings, start=1)],
            "rocpd_info_process": [{"id": 4, "nid": 1, "pid": 70, "command": "./app", "environment": "{}"}],
            "rocpd_info_agent": AGENTS,
            "rocpd_event": events,
            "rocpd_region": rows,
            **({"rocpd_arg": passed} if passed else {}),
            **more,
        }
        path = write(tmp_path / "results.db", {f"{name}_aa": content for name, content in tables.items()})
        return read(rocpd, path, tmp_path)

    return tell


MOVED = {"start_address": FIRST, "end_address": LAST, "src_agent_id": CPU, "dst_agent_id": GPU, "error_code": 0}
FAULTED = {"agent_id": GPU, "address": 0x13000}
MOVE = {
    "process": 70, "device": GPU, "kind": "UVM_HtoD", "start_ns": 10, "end_ns": 16, "address": FIRST, "bytes": 16_384,
    "cause": "coherence",
}  # fmt: skip
FAULT = {
    "process": 70, "device": GPU, "processor": "gpu", "start_ns": 8, "end_ns": 20, "address": 0x13000, "pages": 1,
    "kind": "write", "args": '{"resolved": "migrated"}',
}  # fmt: skip


@pytest.mark.parametrize(
    "around",
    [
        lambda said: {"kfd": {"record": {"index": 6, "data": said}}},
        lambda said: {"kfd": {"kfd": {"index": 5, "data": said}}},
        lambda said: {"kfd": {"kfd": {name: str(value) for name, value in said.items()}}},
    ],
    ids=["record", "kfd", "texts"],
)
def test_records_of_every_release_of_rocprofv3_are_found(tell: Callable[..., Told], around: Any) -> None:
    told = tell(
        ("KFD_PAGE_FAULT", "ROCPROFILER_KFD_PAGE_FAULT_WRITE_FAULT_MIGRATED", 8, 20, around(FAULTED), {}),
        ("KFD_PAGE_MIGRATE", "ROCPROFILER_KFD_PAGE_MIGRATE_PAGEFAULT_GPU", 10, 16, around(MOVED), {}),
        ("KFD_QUEUE", "ROCPROFILER_KFD_QUEUE_EVICT_TTM", 30, 40, around({"agent_id": GPU}), {}),
    )
    assert told["fault"] == [FAULT]
    assert told["migration"] == [{**MOVE, "args": '{"trigger": "PAGEFAULT_GPU"}'}]
    assert [(r["name"], r["kind"], r["device"]) for r in told["range"]] == [("queues off: TTM", "queue_eviction", GPU)]
    assert [(r["process"], r["device"]) for r in told["device"]] == [(70, GPU)]
    assert [r["process"] for r in told["process"]] == [70]
    assert told.counts() == {}


def test_records_of_rocprofiler_systems_stand_in_the_arguments(tell: Callable[..., Told]) -> None:
    moved = {"start_address": "0x10000", "end_address": "0x14000", "src_agent": "0", "dst_agent": "2"}
    moved |= {"prefetch_agent": "null", "preferred_agent": "2", "error_code": "0"}
    told = tell(
        *[("rocm_kfd_page_fault", "PAGE_FAULT_WRITE_FAULT_MIGRATED", 8, 20, {}, {"address": "0x13000", "agent": "2"})],
        ("rocm_kfd_page_migrate", "PAGE_MIGRATE_PAGEFAULT_GPU", 10, 16, "{}", moved),
        ("rocm_kfd_event_dropped_events", "DROPPED_EVENTS", 50, 50, {}, {"count": "3"}),
    )
    assert told["fault"] == [FAULT]
    assert told["migration"] == [{**MOVE, "args": '{"preferred_agent": 2, "trigger": "PAGEFAULT_GPU"}'}]
    assert told.counts() == {"lost-events": 3}


def test_other_regions_stay_what_they_are_and_counters_beside_records_are_left_out(tell: Callable[..., Told]) -> None:
    info = [{"id": 1, "name": "KFD_PAGE_FAULT", "block": "KFD"}, {"id": 2, "name": "power", "block": "GPU"}]
    values = [{"event_id": 1, "pmc_id": 1, "value": 77824.0}, {"event_id": 2, "pmc_id": 2, "value": 3.5}]
    told = tell(
        ("KFD_PAGE_FAULT", "KFD_PAGE_FAULT_READ_FAULT_UPDATED", 8, 20, {"kfd": {"record": {"data": FAULTED}}}, {}),
        ("HIP_RUNTIME_API_EXT", "hipLaunchKernel", 1, 2, {}, {}),
        rocpd_info_pmc=info,
        rocpd_pmc_event=values,
    )
    assert [r["name"] for r in told["api"]] == ["hipLaunchKernel"]
    assert [r["kind"] for r in told["fault"]] == ["read"]
    assert told.counts() == {"no-time-of-counter": 1}  # of power alone, which has no sample


def test_a_record_that_says_nothing_or_is_of_an_unknown_kind_is_kept_and_counted(tell: Callable[..., Told]) -> None:
    told = tell(
        ("KFD_PAGE_MIGRATE", "KFD_PAGE_MIGRATE_PREFETCH", 10, 16, '{"kfd": [', {}),
        ("KFD_SOMETHING", "NEW", 20, 21, {"kfd": {"record": {"data": {"count": 4}}}}, {}),
    )
    assert "migration" not in told.tables
    assert sorted(r["kind"] for r in told["other"]) == ["KFD_SOMETHING", "migration"]
    assert told.counts() == {"incomplete": 1, "no-number": 2, "unread-record": 1}
