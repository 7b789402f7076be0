from pathlib import Path

import pytest

from tests.collect.small_traces import trace
from tracelode.collect.ingest import read
from tracelode.collect.ranks import natural, place_in_order, rank_in, remarks
from tracelode.store import Archive


@pytest.mark.parametrize(
    ("place", "rank"),
    [
        ("train_rank0.json", 0),
        ("rank-12.json.gz", 12),
        ("rank_007_trace.json", 7),
        ("Rank3.pt.trace.json.gz", 3),
        ("trace[rank=5].json", 5),
        ("globalrank9.json", 9),
        ("rank2_of_8.json", 2),
        ("node1_local_rank3_rank11.json", 11),
        ("local_rank3.json", None),
        ("localrank3.json", None),
        ("tp_rank1_rank2.json", 2),
        ("rank1_rank2.json", None),
        ("frank3.json", None),
        ("ranking.json", None),
        ("dp0_pp0_tp0_dcp0_ep0_rank4.172.pt.trace.json.gz", 4),
        ("dp0_pp0_tp3.json", 3),
        ("dp1_pp0_tp3.json", None),
        ("1711-TP-2-DP-0-PP-0-EP-0.trace.json.gz", 2),
        ("1711-TP-0-DP-0.trace.json.gz", 0),
        ("1711-TP-1-DP-1-PP-0-EP-1.trace.json.gz", None),
        ("host_81.1712195495505582988.pt.trace.json.gz", None),
        ("report.3.nsys-rep", 3),
        ("report.3.sqlite", 3),
        ("report.3.sqlite.gz", 3),
        ("report.48213.sqlite", None),
        ("report3.sqlite", None),
        ("48213_results.db", None),
        ("worker3_step_12.pt.trace.json.gz", 3),
        ("jax-proc2", 2),
        ("proc48213.json", None),
        ("/data/run/rank6/profile.json", 6),
        ("s3://bucket/run/rank_6/profile.json", 6),
        ("/data/a.tar!/rank6/profile.json", 6),
        ("/data/a.tar!/x/rank1.json", 1),
        ("/data/rank6.tar!/profile.json", None),
        ("/data/rank6/run/profile.json", None),
        ("http-1.json", None),
    ],
)
def test_the_rank_in_a_name(place: str, rank: int | None) -> None:
    assert rank_in(place) == rank


def test_numbers_sort_by_their_value() -> None:
    assert sorted(["p10", "p9", "p", "p09x", "a2"], key=natural) == ["a2", "p", "p9", "p09x", "p10"]


def ranks(archive: Archive) -> dict[str, tuple[int | None, str | None]]:
    return {Path(one.source.path).name: (one.rank, one.rank_from) for one in archive.memberships()}


def lay(folder: Path, run: str = "r", **files: bytes) -> Archive:
    archive = Archive(folder / "t")
    for name, content in files.items():
        (folder / f"{name}.json").write_bytes(content)
        read(folder / f"{name}.json", archive, run=run)
    return archive


def test_traces_without_a_rank_take_the_numbers_left_over_in_the_order_of_their_names(tmp_path: Path) -> None:
    archive = lay(tmp_path, h10=trace("a"), h9=trace("b"), rank1=trace("c"), h8=trace("d", rank=0), h7=trace("e"))
    place_in_order(archive, "r")
    wanted = {
        "h7.json": (2, "order"),
        "h8.json": (0, "file"),
        "h9.json": (3, "order"),
        "h10.json": (4, "order"),
        "rank1.json": (1, "name"),
    }
    assert ranks(archive) == wanted
    place_in_order(archive, "r")
    assert ranks(archive) == wanted
    assert remarks(archive, ["r"]) == []


def test_the_ranks_of_each_run_are_counted_apart(tmp_path: Path) -> None:
    lay(tmp_path, a=trace("a"), b=trace("b"))
    archive = lay(tmp_path, "s", c=trace("c"))
    place_in_order(archive, "r", "s")
    assert ranks(archive) == {"a.json": (0, "order"), "b.json": (1, "order"), "c.json": (0, "order")}


def test_a_rank_that_two_traces_claim_is_kept_for_both_and_told(tmp_path: Path) -> None:
    archive = lay(tmp_path, rank0=trace("a"), other=trace("b", rank=0))
    lay(tmp_path, "s", rank0_again=trace("c"))
    place_in_order(archive, "r")
    assert ranks(archive) == {"rank0.json": (0, "name"), "other.json": (0, "file"), "rank0_again.json": (0, "name")}
    assert remarks(archive, ["r", "s"]) == [
        f"run r: rank 0 is claimed by 2 traces, all are kept: {tmp_path}/other.json, {tmp_path}/rank0.json"
    ]


def test_a_remark_names_some_files_and_counts_the_others(tmp_path: Path) -> None:
    archive = lay(tmp_path, **{f"x{n}": trace(f"k{n}", rank=0) for n in range(10)})
    (remark,) = remarks(archive, ["r"])
    assert remark.endswith(f"{tmp_path}/x7.json and 2 more")


def test_two_ranks_with_the_same_content_are_told(tmp_path: Path) -> None:
    archive = lay(tmp_path, rank0=trace(), rank1=trace())
    (manifest,) = archive.manifests()
    assert remarks(archive, ["r"]) == [
        f"run r: 2 files have the same content and are one trace, {manifest.id[:12]}: "
        f"{tmp_path}/rank0.json, {tmp_path}/rank1.json"
    ]
    assert remarks(archive, ["s"]) == []


def test_a_trace_of_several_ranks_has_none_of_its_own(tmp_path: Path) -> None:
    from tests.building import build
    from tracelode.collect.ranks import rank_of

    trace, _ = build(tmp_path, process=[{"process": 1, "rank": 0}, {"process": 2, "rank": 1}, {"process": 3}])
    assert rank_of(trace, "rank5.json") == (None, "file")
