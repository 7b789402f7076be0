from pathlib import Path

from data.generator.defects import write_defect
from tests.building import build
from tracelode.collect.ingest import read
from tracelode.mining.mine import compare, find
from tracelode.store import Archive, Trace


def _read(name: str, folder: Path) -> tuple[Trace, Archive]:
    archive = Archive(folder / "archive")
    return read(write_defect(name, 1, folder), archive)[0], archive


def test_of_two_measured_set_ups_the_quicker_is_named(tmp_path: Path) -> None:
    slow, archive = _read("exposed_communication", tmp_path)
    quick, _ = _read("none", tmp_path)
    found = compare((slow, archive), (quick, archive), "setups")
    assert found.sentence.startswith("none-1.json is the quickest set-up: the median iteration takes 1.5")
    assert found.rows["name"].to_list() == ["exposed_communication-1.json", "none-1.json"]
    assert set(found.rows["device"]) == {"NVIDIA H100 80GB HBM3"}
    assert found.rows.equals(archive.open(quick.id).sql(found.sql))
    assert found.notes == (
        "Whether an iteration handles as much data in both, for example the same batch size, is not recorded.",
    )


def test_iterations_of_other_content_are_told(tmp_path: Path) -> None:
    one, archive = _read("small_kernels", tmp_path)
    two, _ = _read("none", tmp_path)
    (note,) = compare((one, archive), (two, archive), "setups").notes
    assert note.endswith("they may not do the same work.")


def test_advice_takes_two_measurements(tmp_path: Path) -> None:
    one, archive = _read("none", tmp_path)
    two, other = build(tmp_path / "two", kernel=[{"start_ns": 0, "end_ns": 5, "name": "k"}])
    found = compare((one, archive), (two, other), "setups")
    assert found.sentence == "insufficient data"
    assert len(found.rows) == 1
    alone = find(one, archive, "setup")
    assert alone.sentence == "insufficient data"
    assert alone.rows["iterations"].to_list() == [12]
    assert alone.rows.equals(archive.open(one.id).sql(alone.sql))
