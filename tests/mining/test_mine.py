import itertools
from pathlib import Path

import pytest

from tests.building import build
from tracelode.collect.ingest import read
from tracelode.mining.mine import Scratch, compare, find, mine, version
from tracelode.store import Archive, Trace
from tracelode.store.parts import load

SAMPLES = Path(__file__).parents[2] / "data" / "samples" / "two-ranks"


def _kernels(count: int) -> list[dict[str, object]]:
    return [
        {"start_ns": 100 * at, "end_ns": 100 * at + 50, "name": "abcde"[at % 5], "grid_x": 1 + at % 2}
        for at in range(count)
    ]


def _written(archive: Archive) -> dict[str, int]:
    """When each derived file was written."""
    files = sorted((archive.path / "derived").glob("*/*/*.parquet"))
    return {f"{file.parts[-3]}/{file.name}": file.stat().st_mtime_ns for file in files}


def test_results_are_made_once_and_again_when_what_they_need_has_a_new_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace, archive = build(tmp_path, kernel=_kernels(40))
    before = version("patterns")
    mine(trace, archive, "patterns")
    first = _written(archive)
    assert {name.partition("/")[0] for name in first} == {
        f"iterations@{version('iterations')}",
        f"patterns@{before}",
    }
    mine(trace, archive, "patterns")
    assert _written(archive) == first
    iterations = load("analysis", "iterations")
    monkeypatch.setattr(iterations, "VERSION", iterations.VERSION + 1)
    assert version("patterns") > before
    mine(trace, archive, "patterns")
    again = _written(archive)
    assert {name: again[name] for name in first} == first
    assert f"patterns@{version('patterns')}/pattern.parquet" in again


def test_results_of_other_versions_are_never_taken_for_these(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [load("analysis", name) for name in ("iterations", "hierarchy", "edits")]
    numbers: dict[tuple[int, ...], int] = {}
    for versions in itertools.product(range(1, 6), repeat=3):
        for part, number in zip(parts, versions, strict=True):
            monkeypatch.setattr(part, "VERSION", number)
        numbers[versions] = version("edits")
    assert len(set(numbers.values())) == 5**3
    for versions, number in numbers.items():
        risen = [tuple(v + (at == place) for at, v in enumerate(versions)) for place in range(3)]
        assert all(numbers[one] > number for one in risen if one in numbers)


def test_other_options_leave_the_archive_alone(tmp_path: Path) -> None:
    trace, archive = build(tmp_path, kernel=_kernels(40))
    usual = mine(trace, archive, "patterns")
    written = _written(archive)
    scratch = Scratch(tmp_path / "scratch")
    other = mine(scratch.bare(usual), scratch, "patterns", symbols="name")
    assert usual.member.collect()["symbol"].n_unique() == 10
    assert other.member.collect()["symbol"].n_unique() == 5
    assert other.sql("select distinct trace_id from member").rows() == [(trace.id,)]
    assert find(other, scratch, "repeats", symbols="name").rows.equals(other.sql(find(other, scratch, "repeats").sql))
    assert _written(archive) == written
    assert archive.open(trace.id).member.collect()["symbol"].n_unique() == 10
    assert scratch.bare(usual).files == scratch.open(trace.id).files  # a trace that is given again is mined already


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Archive, Trace, Trace]:
    archive = Archive(tmp_path_factory.mktemp("ranks") / "archive")
    one, two = (read(SAMPLES / f"rank{rank}.json.gz", archive)[0] for rank in (0, 1))
    return archive, one, two


def test_comparisons_with_several_bases_stand_beside_each_other(ranks: tuple[Archive, Trace, Trace]) -> None:
    archive, one, two = ranks
    same = compare((two, archive), (two, archive), "differences")
    other = compare((one, archive), (two, archive), "differences")
    assert set(same.rows["change"]) <= {"same"}
    assert "slower" in set(other.rows["change"])
    bases = archive.open(two.id).sql("select base, count(*) > 0 from pattern_diff group by base order by base").rows()
    assert bases == sorted([(one.id, True), (two.id, True)])
    assert not archive.open(one.id).has("pattern_diff")


def test_comparisons_in_a_scratch_stand_beside_each_other_too(
    ranks: tuple[Archive, Trace, Trace], tmp_path: Path
) -> None:
    archive, *traces = ranks
    scratch = Scratch(tmp_path / "scratch")
    one, two = ((scratch.bare(trace), scratch) for trace in traces)
    for base in (two, one):
        compare(base, two, "differences", symbols="grid")
    bases = scratch.open(traces[1].id).sql("select distinct base from pattern_diff order by base").rows()
    assert bases == sorted((trace.id,) for trace in traces)
    assert not archive.open(traces[0].id).has("pattern_diff")


def test_a_comparison_is_made_once(ranks: tuple[Archive, Trace, Trace]) -> None:
    archive, one, two = ranks
    found = compare((two, archive), (one, archive), "differences")
    written = _written(archive)
    again = compare((two, archive), (one, archive), "differences")
    assert again.rows.equals(found.rows)
    assert _written(archive) == written
    assert archive.open(one.id).sql(found.sql).equals(found.rows)
