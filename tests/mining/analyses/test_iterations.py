from pathlib import Path

from tests.building import build
from tracelode.mining.mine import mine


def test_iterations_last_from_the_end_of_the_one_before_and_a_level_tells_their_median_time(tmp_path: Path) -> None:
    kernels = [{"start_ns": 10 * at, "end_ns": 10 * at + 4, "name": f"k{at % 20}"} for at in range(120)]
    kernels[-1]["end_ns"] = 1224  # the last iteration takes 30 ns longer
    trace = mine(*build(tmp_path, kernel=kernels), "iterations")
    (level,) = trace.level.collect().select("kind", "period", "count", "period_ns").rows()
    assert level == ("iteration", 20, 6, 200)
    assert trace.iteration.collect().select("first", "last", "from_ns", "end_ns").rows() == [
        (0, 19, 0, 194), (20, 39, 194, 394), (40, 59, 394, 594), (60, 79, 594, 794), (80, 99, 794, 994),
        (100, 119, 994, 1224),
    ]  # fmt: skip
