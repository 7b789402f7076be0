from pathlib import Path

import pytest

from benchmarks.quality_hierarchy import row
from tests.mining.programs import KERNEL_NS, STEP, train
from tracelode.collect.ingest import read
from tracelode.mining.mine import find
from tracelode.store import Archive

SIZE = len(STEP)
JITTER = {at: at * 7 % 11 for at in range(20 * SIZE)}
"""A few nanoseconds for each kernel, so that times differ as they do."""


def test_what_stands_out_in_time_and_in_content_is_named(tmp_path: Path) -> None:
    units = [*[STEP] * 9, [*STEP[:3], "new", "new", *STEP[5:]], *[STEP] * 10]
    found = find(*train(tmp_path, *units, longer=JITTER | {4 * SIZE + 6: 60 * KERNEL_NS}), "outliers")
    assert found.rows.select("iteration", "why", "distance", "substitutions", "slow_operations").rows() == [
        (4, "slow, slow operation", 0, 0, 1),
        (9, "content", 2, 2, 0),
    ]
    assert found.sentence == ("2 iterations stand out: 1 in time: 4 (+36 µs, output_gemm); 1 in content: 9 (2 edits).")


def test_an_operation_may_be_slow_in_an_iteration_that_is_hardly_longer(tmp_path: Path) -> None:
    many = [name for name in STEP for _ in range(3)]
    longer = {at: at * 7 % 11 for at in range(60 * SIZE)} | {11 * 3 * SIZE + 6: 4 * KERNEL_NS + 30}
    found = find(*train(tmp_path, *[many] * 20, longer=longer), "outliers")
    assert found.rows.select("iteration", "why").rows() == [(11, "slow operation")]


def test_iterations_that_differ_by_jitter_do_not_stand_out(tmp_path: Path) -> None:
    found = find(*train(tmp_path, *[STEP] * 20, longer=JITTER), "outliers")
    assert len(found.rows) == 0
    assert found.sentence == "No iteration stands out in time or in content."


def test_content_that_always_varies_does_not_stand_out(tmp_path: Path) -> None:
    units = [[*STEP[:6], f"varies_{number}", *STEP[7:]] for number in range(12)]
    found = find(*train(tmp_path, *units), "outliers")
    assert len(found.rows) == 0


def test_of_operations_that_differ_alike_the_first_is_named(tmp_path: Path) -> None:
    longer = {4 * SIZE + at: 60 * KERNEL_NS for at in range(1, 13)}
    found = find(*train(tmp_path, *[STEP] * 20, longer=longer), "outliers")
    assert found.rows.select("iteration", "most_of", "slow_operations").rows() == [(4, "project_gemm", 12)]


def test_planted_anomalies_are_found_and_nothing_else() -> None:
    told = row(2e-4, [0], 60)
    assert (told["consensus exact"], told["loops found"], told["others found"]) == ("1 of 1", "5 of 5", 0)
    assert (told["precision"], told["recall"]) == ("1.000", "1.000")


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["hta-df-index", "hta-nccl", "hta-ns-resolution", "tracelens-mi300-resnet-checkpoint"])
def test_nothing_stands_out_in_public_traces_whose_steps_are_alike(corpus: Path, tmp_path: Path, name: str) -> None:
    (path,) = (corpus / "kineto" / name).iterdir()
    archive = Archive(tmp_path)
    assert len(find(read(path, archive)[0], archive, "outliers").rows) == 0
