from pathlib import Path

from tests.building import build
from tests.mining.programs import STEP, train
from tracelode.mining.mine import find


def test_the_costliest_loop_is_named_with_its_share(tmp_path: Path) -> None:
    found = find(*train(tmp_path, *[STEP] * 12), "loops")
    assert found.sentence == (
        "An iteration of 25 operations folds into 8 positions; its costliest loop is 4 × 3 operations "
        "(gemm: project_gemm), 48.0 % of its device time."
    )
    assert found.rows.select("kind", "repeat", "period", "share", "iterations", "operations", "positions").rows() == [
        ("root", 1, 25, 1.0, 12, 25, 8),
        ("loop", 4, 3, 0.48, 12, 25, 8),
        ("loop", 5, 2, 0.4, 12, 25, 8),
    ]


def test_an_iteration_without_repetition_is_said_to_have_none(tmp_path: Path) -> None:
    found = find(*train(tmp_path, *[["a", "b", "c", "d", "e"]] * 12), "loops")
    assert found.sentence == "An iteration of 5 operations holds no repetition."


def test_without_iterations_there_is_nothing_to_fold(tmp_path: Path) -> None:
    found = find(*train(tmp_path, [f"kernel_{number}" for number in range(30)]), "loops")
    assert found.sentence == "No iterations were found in this trace."
    assert len(found.rows) == 0


def test_of_several_processes_the_sentence_says_which_it_is_about(tmp_path: Path) -> None:
    times = [{"start_ns": 10 * at, "end_ns": 10 * at + 4, "name": name} for at, name in enumerate(STEP * 12)]
    kernels = [{"process": process} | one for process in (3, 4) for one in times]
    found = find(*build(tmp_path, kernel=kernels), "loops")
    assert found.sentence.startswith("An iteration of 25 operations (process 3) folds into 8 positions;")
    assert found.rows["process"].unique().sort().to_list() == [3, 4]
