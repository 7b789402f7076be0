"""What rocprofv3's JSON says of the kernel driver: its records, whose members are those of rocprofiler-sdk."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.collect.reading import Told, read
from tracelode.collect.kfd_records import is_of_driver
from tracelode.collect.readers import rocprofv3_json

Record = dict[str, Any]
OPERATIONS = {
    "KFD_EVENT_PAGE_FAULT": ("START",),
    "KFD_EVENT_QUEUE": ("EVICT_SVM", "RESTORE_RESCHEDULED"),
    "KFD_EVENT_UNMAP_FROM_GPU": ("MMU_NOTIFY", "MMU_NOTIFY_MIGRATE", "UNMAP_FROM_CPU"),
    "KFD_EVENT_DROPPED_EVENTS": ("",),
    "KFD_PAGE_MIGRATE": ("PREFETCH", "PAGEFAULT_GPU", "PAGEFAULT_CPU", "TTM_EVICTION"),
    "KFD_PAGE_FAULT": ("READ_FAULT_MIGRATED", "READ_FAULT_UPDATED", "WRITE_FAULT_MIGRATED", "WRITE_FAULT_UPDATED"),
    "KFD_QUEUE": ("EVICT_SVM", "EVICT_USERPTR", "EVICT_TTM", "EVICT_SUSPEND"),
}
KINDS = [
    {"kind": kind, "operations": [f"ROCPROFILER_{kind}_{name}".rstrip("_") for name in names]}
    for kind, names in OPERATIONS.items()
]
AGENTS = [
    {"id": {"handle": 500}, "type": 1, "node_id": 0},
    {"id": {"handle": 501}, "type": 2, "node_id": 2, "vendor_name": "AMD"},
    {"id": {"handle": 502}, "type": 2, "node_id": 3, "vendor_name": "AMD"},
]
NOBODY, CPU, GPU, OTHER = ({"handle": number} for number in (0, 500, 501, 502))


def record(kind: str, operation: int, start: int, end: int | None = None, **more: Any) -> Record:
    times = {"timestamp": start} if end is None else {"start_timestamp": start, "end_timestamp": end}
    return {"size": 88, "kind": [*OPERATIONS].index(kind), "operation": operation, **times, "pid": 70, **more}


def move(operation: int, start: int, end: int, source: Record, target: Record, **more: Any) -> Record:
    places = {"src_agent": source, "dst_agent": target, "prefetch_agent": NOBODY, "preferred_agent": NOBODY}
    pages = {"start_address": {"handle": 0x10000}, "end_address": {"handle": 0x14000}}
    return record("KFD_PAGE_MIGRATE", operation, start, end, **pages, **places, error_code=0) | more


def fault(operation: int, start: int, end: int, agent: Record = GPU, address: Any = 0x13000) -> Record:
    return record("KFD_PAGE_FAULT", operation, start, end, agent_id=agent, address={"handle": address})


@pytest.fixture
def tell(tmp_path: Path) -> Callable[..., Told]:
    def tell(*records: Record, section: str = "kfd") -> Told:
        value = {"metadata": {"pid": 70}, "agents": AGENTS, "strings": {"buffer_records": KINDS}}
        path = tmp_path / "70_results.json"
        path.write_text(json.dumps({"rocprofiler-sdk-tool": [{**value, "buffer_records": {section: records}}]}))
        return read(rocprofv3_json, path, tmp_path)

    return tell


def test_faults_have_their_device_address_access_and_how_they_were_resolved(tell: Callable[..., Told]) -> None:
    told = tell(*(fault(number, 10 * number, 10 * number + 7) for number in range(4)))
    shared = {"process": 70, "device": 2, "processor": "gpu", "address": 0x13000, "pages": 1}
    said = [("read", "migrated"), ("read", "updated"), ("write", "migrated"), ("write", "updated")]
    assert told["fault"] == [
        {**shared, "start_ns": 10 * at, "end_ns": 10 * at + 7, "kind": access, "args": f'{{"resolved": "{how}"}}'}
        for at, (access, how) in enumerate(said)
    ]
    assert told.counts() == {}


def test_moves_have_direction_device_bytes_cause_and_trigger(tell: Callable[..., Told]) -> None:
    told = tell(
        move(0, 0, 5, CPU, GPU, prefetch_agent=GPU, preferred_agent=OTHER),
        move(1, 10, 16, CPU, GPU),
        move(2, 20, 27, GPU, CPU),
        move(3, 30, 38, GPU, CPU),
        move(1, 40, 49, GPU, OTHER),
    )
    shared = {"process": 70, "address": 0x10000, "bytes": 0x4000}  # from 0x10000 up to 0x14000: 4 pages, 16,384 bytes
    assert told["migration"] == [
        {**shared, "device": device, "kind": f"UVM_{kind}", "start_ns": 10 * at, "end_ns": 11 * at + 5, "cause": cause}
        | {"args": json.dumps(args)}
        for at, (device, kind, cause, args) in enumerate(
            [
                (2, "HtoD", "user", {"prefetch_agent": 2, "preferred_agent": 3, "trigger": "PREFETCH"}),
                (2, "HtoD", "coherence", {"trigger": "PAGEFAULT_GPU"}),
                (2, "DtoH", "coherence", {"trigger": "PAGEFAULT_CPU"}),
                (2, "DtoH", "eviction", {"trigger": "TTM_EVICTION"}),
                (3, "DtoD", "coherence", {"trigger": "PAGEFAULT_GPU", "from_device": 2}),
            ]
        )
    ]
    assert told.counts() == {}


def test_times_in_which_queues_were_off_are_ranges_of_their_device(tell: Callable[..., Told]) -> None:
    told = tell(record("KFD_QUEUE", 2, 100, 160, agent_id=GPU), record("KFD_QUEUE", 3, 200, 210, agent_id=OTHER))
    assert [(r["name"], r["kind"], r["device"], r["start_ns"], r["end_ns"]) for r in told["range"]] == [
        ("queues off: TTM", "queue_eviction", 2, 100, 160),
        ("queues off: SUSPEND", "queue_eviction", 3, 200, 210),
    ]


def test_what_no_table_holds_is_kept_whole_and_what_is_unknown_is_counted(tell: Callable[..., Told]) -> None:
    unmapped = record("KFD_EVENT_UNMAP_FROM_GPU", 1, 30, agent_id=GPU, start_address={"handle": 0})
    restored = record("KFD_EVENT_QUEUE", 1, 31, agent_id=GPU)
    half = record("KFD_EVENT_PAGE_FAULT", 0, 32, agent_id=GPU)
    told = tell(unmapped, restored, half)
    assert [(r["kind"], r.get("time_ns"), json.loads(r["json"])) for r in told["other"]] == [
        ("ROCPROFILER_KFD_EVENT_UNMAP_FROM_GPU_MMU_NOTIFY_MIGRATE", 30, unmapped),
        ("ROCPROFILER_KFD_EVENT_QUEUE_RESTORE_RESCHEDULED", 31, restored),
        ("kfd", None, half),
    ]
    assert told.counts() == {"unread-record": 1}


def test_dropped_events_and_failed_moves_are_noted(tell: Callable[..., Told]) -> None:
    told = tell(record("KFD_EVENT_DROPPED_EVENTS", 0, 5, count=9), move(1, 10, 16, CPU, GPU, error_code=-12))
    assert told.counts() == {"failed-move": 1, "lost-events": 9}
    assert "migration" not in told.tables


def test_an_agent_that_is_none_or_unknown_makes_no_direction(tell: Callable[..., Told]) -> None:
    told = tell(move(1, 10, 16, NOBODY, GPU), move(1, 20, 26, {"handle": 900}, GPU), fault(0, 30, 31, NOBODY))
    assert "migration" not in told.tables
    assert [r.get("device") for r in told["fault"]] == [None]
    assert told.counts() == {"fault-without-device": 1, "incomplete": 2, "unknown-agent": 1}


def test_a_kind_of_its_own_section_needs_no_names(tell: Callable[..., Told]) -> None:
    told = tell({**fault(2, 10, 20), "kind": 99}, section="kfd_page_fault")
    assert [(r["kind"], r["args"]) for r in told["fault"]] == [("write", '{"resolved": "migrated"}')]
    told = tell({**move(0, 10, 20, CPU, GPU), "kind": None}, section="kfd_page_migrate")
    assert [r["cause"] for r in told["migration"]] == ["user"]


@pytest.mark.parametrize("odd", [None, -1, 2**63, "x", [], {"handle": -5}, 1.5, {"value": 0x10000}])
@pytest.mark.parametrize("member", ["start_address", "end_address", "src_agent", "pid", "start_timestamp", "rows"])
def test_odd_members_do_no_harm(odd: Any, member: str, tell: Callable[..., Told]) -> None:
    told = tell(move(1, 10, 16, CPU, GPU, **{member: odd}))
    assert len(told.tables.get("migration", [])) + len(told.tables.get("other", [])) == 1
    for row in told.tables.get("migration", []):
        assert row["bytes"] is None or 0 < row["bytes"] <= 1 << 44


def test_kinds_of_all_tools_are_told_from_others() -> None:
    assert all(map(is_of_driver, ("KFD_PAGE_FAULT", "rocm_kfd_page_migrate", "kfd_queue")))
    assert not any(map(is_of_driver, ("", "HIP_RUNTIME_API", "rocm", "not_kfd_page", "KFD")))
