from pathlib import Path

from tests.building import build
from tests.mining.programs import STEP, train
from tracelode.mining.mine import find


def test_every_occurrence_of_a_pattern_is_told_from_its_first_start_to_its_last_end(tmp_path: Path) -> None:
    trace, archive = train(tmp_path, *[STEP] * 12)
    found = find(trace, archive, "occurrences")
    patterns = find(trace, archive, "repeats").rows.head(3)
    counts = found.rows.group_by("pattern", maintain_order=True).len()
    assert counts["pattern"].to_list() == patterns["pattern"].to_list()
    assert counts["len"].to_list() == patterns["count"].to_list()
    assert found.rows.group_by("pattern", maintain_order=True).sum()["time_ns"].to_list() == (
        patterns["time_ns"].to_list()
    )
    assert (found.rows["end_ns"] - found.rows["start_ns"] >= found.rows["time_ns"]).all()  # one stream: no overlap
    assert found.sentence == f"The {len(counts)} costliest patterns occur {len(found.rows)} times."


def test_without_patterns_it_says_so(tmp_path: Path) -> None:
    found = find(*build(tmp_path, kernel=[{"start_ns": 1, "end_ns": 2, "name": "a"}]), "occurrences")
    assert found.sentence == "No pattern was found in this trace."
    assert len(found.rows) == 0
