import hashlib
from pathlib import Path

import pytest

from data.generator.defects import write_defect
from tests.building import build
from tests.samples import SAMPLES
from tracelode.collect.ingest import read
from tracelode.mining.analyses import diagnoses
from tracelode.mining.mine import find
from tracelode.mining.thresholds import PACKAGED
from tracelode.store import Archive, NotCollected


def test_findings_stand_by_saving_and_their_sql_gives_their_rows(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    trace, _ = read(SAMPLES / "train.json.gz", archive)
    found, evidence = find(trace, archive, "findings"), find(trace, archive, "evidence")
    mined = archive.open(trace.id)
    assert found.rows["name"].to_list() == ["slow_iterations", "data_starvation", "warm_up", "copy_stalls"]
    assert found.rows["saves_ns"].is_sorted(descending=True)
    assert found.sentence.endswith("could be saved. 3 other findings.")
    assert found.rows.equals(mined.sql(found.sql))
    assert evidence.rows.equals(mined.sql(evidence.sql))
    assert set(evidence.rows["finding"]) == {0, 1, 2, 3}


def test_the_planted_stall_and_late_batches_of_the_sample_are_told(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    trace, _ = read(SAMPLES / "train.json.gz", archive)
    find(trace, archive, "findings")
    told = archive.open(trace.id).sql("select name, what, count from evidence join finding using (finding)")
    assert ("data_starvation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 2) in told.rows()
    starved = archive.open(trace.id).sql(
        "select saves_ns, saves_per_iteration_ns from finding where name = 'data_starvation'"
    )
    assert starved.rows() == [(16_313_691, 1_631_369)]  # of twelve iterations two are warm-up
    slow = told.filter(told["name"] == "slow_iterations")["what"].to_list()
    assert sorted(slow) == ["iteration 10", "iteration 3", "iteration 5", "iteration 8"]


def test_a_trace_in_which_all_is_well_has_no_finding(tmp_path: Path) -> None:
    kernels = [{"start_ns": n * 10_000, "end_ns": n * 10_000 + 10_000, "name": f"k{n % 3}"} for n in range(30)]
    trace, archive = build(tmp_path, kernel=kernels)
    found = find(trace, archive, "findings")
    assert found.sentence == "No diagnosis finds anything that costs a device much time."
    assert (len(found.rows), found.notes) == (0, ())


def test_a_trace_without_device_work_says_what_is_missing(tmp_path: Path) -> None:
    trace, archive = build(tmp_path, api=[{"start_ns": 0, "end_ns": 5}])
    with pytest.raises(NotCollected):
        find(trace, archive, "findings")


def test_findings_can_be_asked_for_over_an_archive(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    for name in ("none", "host_late"):
        trace, _ = read(write_defect(name, 1, tmp_path), archive)
        find(trace, archive, "findings")
    assert archive.sql("select name, finding from finding").rows() == [("host_late", 0)]


def test_who_changes_a_threshold_raises_the_version_of_what_is_kept() -> None:
    known = hashlib.sha256(PACKAGED.read_bytes()).hexdigest()[:12]
    assert (diagnoses.VERSION, known) == (3, "b9e469b8de32")
