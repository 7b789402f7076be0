from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.made_runs import add, members, operations
from tracelode.reports.comparison import METRICS, build, refused
from tracelode.reports.rank_group import Group
from tracelode.reports.report import Report, Table
from tracelode.store import Archive, Error

PAGE = 1 << 21


def _managed(moves: int, stall: int) -> dict[str, list[dict[str, Any]]]:
    """Ten iterations; in each of the first ones pages move to the device, and a fault stalls kernel `b` by so much."""
    tables = operations(10)
    work = [row for row in tables["kernel"] if row["name"] == "b"]
    tables["copy"] += [
        {
            "kind": "UVM_HtoD",
            "bytes": 4096,
            "start_ns": row["start_ns"],
            "end_ns": row["end_ns"],
            "address": PAGE,
            "stream": 0,
        }
        for row in work[:moves]
    ]
    tables["fault"] = [
        {
            "process": 1,
            "device": 0,
            "processor": "gpu",
            "kind": "read",
            "start_ns": row["start_ns"],
            "address": PAGE,
            "pages": 1,
        }
        | {"end_ns": row["start_ns"] + stall}
        for row in work
    ]
    return tables


def _group(archive: Archive, name: str, *ranks: dict[str, list[dict[str, Any]]]) -> Group:
    return Group(name, members(*(add(archive, f"{name}{at}", tables) for at, tables in enumerate(ranks))), archive)


def _runs(archive: Archive, name: str, *runs: dict[str, list[dict[str, Any]]]) -> list[Group]:
    return [_group(archive, f"{name}-{at}-", tables) for at, tables in enumerate(runs)]


def _checks(report: Report) -> dict[str, tuple[str, float | None, float | None]]:
    return {one.metric: (one.verdict, one.baseline, one.value) for one in report.checks}


def test_taken_advice_on_managed_memory_is_seen_in_bytes_and_stall(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    base = _runs(archive, "before", _managed(8, 20), _managed(9, 20), _managed(8, 20))
    report = build(base, _runs(archive, "after", *(_managed(1, 4) for _ in range(3))))
    told = _checks(report)
    assert told["uvm_bytes"] == ("improvement", 8 * 4096 / 10, 4096 / 10)
    assert told["uvm_stall_ns"] == ("improvement", 20, 4)
    one = build(base[:1], _runs(archive, "after", _managed(1, 4)))
    assert one.sections[-1].key == "uvm_effect"
    assert one.sections[-1].sentence.startswith("Stall 200 ns before, 40 ns after (-80.0 %), one value each; ")


def test_a_run_that_is_on_both_sides_decides_nothing(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    base = _runs(archive, "run", *(operations(10, length={"b": 10 + at}) for at in range(3)))
    report = build(base, base)
    assert {one.verdict for one in report.checks} == {"inconclusive"}
    assert "the same run is on both sides (run-0-)" in report.checks[0].sentence


def test_the_sections_are_in_the_order_a_reader_needs(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    report = build(_runs(archive, "one", operations(10)), _runs(archive, "two", operations(10)))
    assert [section.key for section in report.sections] == [
        "comparability",
        "metrics",
        "attribution",
        "aligned",
        "graph",
    ]
    assert (report.topic, report.title) == ("compare", "two-0- against one-0-")
    assert report.identity == (
        ("base", "1 run, 1 of them counted: one-0-"),
        ("candidate", "1 run, 1 of them counted: two-0-"),
    )


def test_ranks_count_alike_and_the_slowest_tells_the_time(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    base = [_group(archive, "base", operations(10), operations(10))]
    other = [_group(archive, "other", operations(10), operations(10, length={"a": 50}))]
    report = build(base, other)
    assert _checks(report)["iteration_p50_ns"] == ("inconclusive", 100, 140)
    (parts,) = [b for b in report.sections[2].blocks if isinstance(b, Table) and b.caption.endswith("and idle time")]
    assert [(row["name"], row["delta_ns"]) for row in parts.rows] == [("iteration", 20), ("a", 20)]


def test_what_is_shown_of_many_parts_adds_up_too(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    body = [f"kernel-{at}" for at in range(230)]
    slower = operations(8, body, dict.fromkeys(body, 11) | {"kernel-7": 60})
    report = build(_runs(archive, "one", operations(8, body)), _runs(archive, "two", slower))
    (parts,) = [b for b in report.sections[2].blocks if isinstance(b, Table) and b.caption.endswith("and idle time")]
    total, *rest = parts.rows
    assert (total["delta_ns"], sum(row["delta_ns"] for row in rest)) == (279, 279)
    assert (rest[0]["name"], rest[0]["delta_ns"]) == ("kernel-7", 50)
    assert (rest[-1]["name"], rest[-1]["delta_ns"]) == ("31 parts with smaller differences", 31)


def test_of_many_differences_in_an_iteration_it_is_said_how_many_are_not_shown(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    body = [f"kernel-{at}" for at in range(420)]
    other = [f"other-{name}" if at % 2 else name for at, name in enumerate(body)]
    report = build(_runs(archive, "one", operations(6, body)), _runs(archive, "two", operations(6, other)))
    aligned = report.sections[3]
    assert aligned.sentence == "210 operations inserted, 210 removed, 0 slower, 0 faster."
    (table,) = [block for block in aligned.blocks if isinstance(block, Table)]
    assert len(table.rows) == 400
    assert aligned.notes[-1] == "The table has the first 400 of 630 rows."


def test_the_rank_that_others_wait_for_is_named_before_their_waiting(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    base = [_group(archive, "base", *(operations(10) for _ in range(4)))]
    waits = [operations(10, length={"nccl_all_reduce": 60}) for _ in range(3)]
    late = build(base, [_group(archive, "late", *waits[:2], operations(10, length={"a": 50}), waits[2])])
    assert "The largest differences: +10 ns a, slower (most on rank 2: +40 ns); +30 ns nccl_all_reduce" in late.verdict
    slow = [operations(10, length={"nccl_all_reduce": 60, "a": 10 + at}) for at in range(4)]
    link = build(base, [_group(archive, "link", *slow)])
    assert "The largest differences: +40 ns nccl_all_reduce, slower; " in link.verdict


def test_sides_without_iterations_are_compared_as_wholes_and_decide_nothing(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    report = build(_runs(archive, "one", operations(1)), _runs(archive, "two", operations(1, length={"b": 40})))
    assert _checks(report)["iteration_p50_ns"] == ("inconclusive", 94, 104)
    assert "On average the whole recording takes 104 ns instead of 94 ns" in report.verdict
    assert report.sections[3].sentence == "Not shown: at least one side has no iterations."


def test_sides_without_work_of_devices_check_nothing(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    bare = {"op": [{"name": "add", "start_ns": 1, "end_ns": 2}]}
    report = build(_runs(archive, "one", bare), _runs(archive, "two", bare))
    assert report.checks == ()
    assert report.verdict.startswith("Inconclusive: nothing was checked.")


def test_what_one_side_alone_collected_is_inconclusive(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    memory = [{"process": 1, "device": 0, "name": "memory allocated", "time_ns": 1_000, "value": 5.0}]
    report = build(_runs(archive, "one", operations(10)), _runs(archive, "two", operations(10) | {"counter": memory}))
    assert _checks(report)["peak_memory_bytes"] == ("inconclusive", None, None)
    (check,) = [one for one in report.checks if one.metric == "peak_memory_bytes"]
    assert check.sentence == "collected in the candidate only; 0 runs against 1."


def test_what_only_a_run_that_does_not_count_collected_is_listed_and_not_checked(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    memory = [{"process": 1, "device": 0, "name": "memory allocated", "time_ns": 1_000, "value": 5.0}]
    base = _runs(archive, "one", operations(10), operations(3) | {"counter": memory})
    report = build(base, _runs(archive, "two", operations(10)))
    assert "peak_memory_bytes" not in _checks(report)
    assert "Peak of allocated device memory" in report.sections[1].notes[0]


def test_a_refusal_leaves_every_check_inconclusive() -> None:
    report = refused(Error("gone.json: no such file", "give another"))
    assert {one.verdict for one in report.checks} == {"inconclusive"}
    assert [one.metric for one in report.checks] == list(METRICS)
    assert report.verdict == "Inconclusive: nothing was compared: gone.json: no such file."


def test_runs_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    sides = [
        Group(
            "rank0.json",
            members(replace(add(archive, name, operations(10)), source=f"/data/{name}/rank0.json")),
            archive,
        )
        for name in ("monday", "tuesday")
    ]
    report = build(sides[:1], sides[1:])
    assert report.title == "tuesday/rank0.json against monday/rank0.json"
