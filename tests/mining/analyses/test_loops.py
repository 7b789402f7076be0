from pathlib import Path

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
