"""Holds the generator's Nsight Systems exports against the truth, the Kineto file of the same run and real exports."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from data.generator import Run, Workload, truth, write_nsys

Event = dict[str, Any]


def test_the_nsys_export_tells_the_same_truth(made: Path, told: Any) -> None:
    with closing(sqlite3.connect(made / "run.sqlite")) as database:
        kernels = database.execute(
            "SELECT value, count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL "
            "JOIN StringIds ON id = demangledName GROUP BY value"
        ).fetchall()
        assert {name: {"count": number, "time_ns": time} for name, number, time in kernels} == told["kernel_names"]
        copies = database.execute(
            "SELECT copyKind, count(*), sum(bytes), sum(end - start) FROM CUPTI_ACTIVITY_KIND_MEMCPY GROUP BY 1"
        ).fetchall()
        assert copies == [(1, *told["copies"]["HtoD"].values()), (2, *told["copies"]["DtoH"].values())]
        fills = "SELECT count(*), sum(bytes), sum(end - start) FROM CUPTI_ACTIVITY_KIND_MEMSET"
        assert database.execute(fills).fetchone() == tuple(told["fills"].values())
        calls = database.execute(
            "SELECT value, count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId GROUP BY 1"
        ).fetchall()
        assert {name.split("_v")[0]: number for name, number in calls} == told["calls"]
        waits = database.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION").fetchone()
        assert waits == (sum(told["waits"].values()),)
        ranges = "SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 59"
        assert database.execute(ranges).fetchone() == (told["host_events"]["user_annotation"],)


def test_the_nsys_export_links_kernels_to_launches_within_the_process(
    made: Path, operations: list[Event], told: Any
) -> None:
    query = """
        SELECT k.start, k.end, r.start, r.globalTid & 0xFFFFFF, k.globalPid >> 24 & 0xFFFFFF, k.globalPid >> 48
        FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r
        ON r.correlationId = k.correlationId AND r.globalTid >> 24 = k.globalPid >> 24 ORDER BY r.start
    """
    with closing(sqlite3.connect(made / "run.sqlite")) as database:
        rows = database.execute(query).fetchall()
    offset = told["clock"]["kineto"]["offset_ns"]
    kernels = [one for one in operations if one["cat"] == "kernel"]
    assert rows == [
        (
            one["start_ns"] - offset,
            one["end_ns"] - offset,
            one["call"]["start_ns"] - offset,
            one["call"]["tid"],
            41200,
            1,
        )
        for one in kernels
    ]


def test_several_processes_fit_into_one_nsys_export(tmp_path: Path) -> None:
    pair = Workload(iterations=2, layers=1, world_size=2, ranks=2)
    runs = [Run(replace(pair, rank=rank)) for rank in range(2)]
    write_nsys(runs[0], tmp_path / "both.sqlite", others=runs[1:])
    with closing(sqlite3.connect(tmp_path / "both.sqlite")) as database:
        found = database.execute(
            "SELECT pid, deviceId, count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN PROCESSES USING (globalPid) GROUP BY 1"
        ).fetchall()
    told = [truth(run) for run in runs]
    assert found == [(one["process"], one["device"], one["kernels"]) for one in told]
    assert (told[0]["process"], told[1]["process"], told[1]["device"]) == (41200, 41350, 1)


@pytest.mark.corpus
def test_the_nsys_tables_and_columns_are_those_of_real_exports(made: Path, corpus: Path) -> None:
    def columns(path: Path) -> dict[str, list[str]]:
        with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as database:
            tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            return {t: [row[1] for row in database.execute(f"PRAGMA table_info({t})")] for (t,) in tables}

    exports = (corpus / "nsys-sqlite").glob("*/*.sqlite")
    real = [columns(path) for path in exports]
    for table, ours in columns(made / "run.sqlite").items():
        assert ours in [one[table] for one in real if table in one], table
