from pathlib import Path
from typing import Any

from tests.building import build
from tracelode.mining.mine import find, mine
from tracelode.store import Archive, Trace

ADD, MUL = "vectorized_elementwise_kernel<Add>", "vectorized_elementwise_kernel<Mul>"
LAYER = ["gemm", ADD, MUL, "softmax"]
ITERATION = ["load", *LAYER * 3, "step"]


def _trace(folder: Path, names: list[str], *, calls: bool = True) -> tuple[Trace, Archive]:
    """Kernels of 10 ns (Mul: 30 ns) with 5 ns between them, each launched by a call of 2 ns."""
    kernels: list[dict[str, Any]] = []
    start = 1000
    for at, name in enumerate(names):
        length = 30 if name == MUL else 10
        kernels.append({"start_ns": start, "end_ns": start + length, "name": name, "correlation": at})
        start += length + 5
    if not calls:
        return build(folder, kernel=kernels)
    api = [{"start_ns": 4 * at, "end_ns": 4 * at + 2, "correlation": at} for at in range(len(kernels))]
    return build(folder, kernel=kernels, api=api)


def _mined(folder: Path, names: list[str], *, calls: bool = True) -> Trace:
    trace, archive = _trace(folder, names, calls=calls)
    return mine(trace, archive, "patterns")


def test_the_layer_stands_with_its_costs_and_what_could_be_saved(tmp_path: Path) -> None:
    trace = _mined(tmp_path, ITERATION * 10)
    row = trace.pattern.drop("process", "sequence").collect().row(0, named=True)
    # Ten iterations of three layers; the recording shows all of them.
    assert row == {
        "pattern": 0,
        "length": 4,
        "count": 30,
        "count_per_iteration": 3.0,
        "time_ns": 30 * 60,
        "marginal_time_ns": 30 * 60,
        "idle_ns": 30 * 15,
        "launch_overhead_ns": 30 * 4 * 2,
        "elementwise": 2,
        "saving_ns": 30 * (15 + 10),  # no waits, and Add within the kernel that takes as long as Mul
        "example_first": row["example_first"],
        "symbols": LAYER,
    }
    occurrences = trace.occurrence.filter(pattern=0).collect()
    assert row["example_first"] in occurrences["first"].to_list()
    assert occurrences["first"].to_list()[:4] == [1, 5, 9, 15]
    assert occurrences["time_ns"].sum() == row["time_ns"]


def test_where_no_calls_are_known_nothing_is_said_of_launches(tmp_path: Path) -> None:
    trace = _mined(tmp_path, ITERATION * 10, calls=False)
    assert trace.pattern.collect()["launch_overhead_ns"].to_list()[0] is None


def test_without_iterations_patterns_have_no_number_per_iteration(tmp_path: Path) -> None:
    trace = _mined(tmp_path, ["x", *LAYER, "y", "z", *LAYER, "w"])
    assert trace.iteration.collect().is_empty()
    assert trace.pattern.select("count", "count_per_iteration", "symbols").collect().rows() == [(2, None, LAYER)]


def test_marginal_times_add_up_to_no_more_than_all_time(tmp_path: Path) -> None:
    trace = _mined(tmp_path, (ITERATION + ["gemm", ADD, "other"] * 2) * 10)
    sums = trace.sql("select sum(marginal_time_ns), (select sum(duration_ns) from member) from pattern").row(0)
    assert 0 < sums[0] <= sums[1]
    assert trace.pattern.collect()["pattern"].to_list() == list(range(len(trace.pattern.collect())))


def test_the_answer_names_the_costliest_and_its_savings(tmp_path: Path) -> None:
    found = find(*_trace(tmp_path, ITERATION * 10), "repeats")
    assert found.sentence.startswith("1 pattern found; the costliest, 4 operations long, occurs 30 times: 1.8 µs, ")
    assert found.rows["saving_ns"].to_list() == [750]
    assert found.rows["marginal_time_ns"].to_list() == [1800]


def test_a_trace_without_repetition_or_work_has_no_pattern(tmp_path: Path) -> None:
    assert _mined(tmp_path / "one", ["a", "b", "c"]).pattern.collect().is_empty()
    trace, archive = build(tmp_path / "none", op=[{"start_ns": 0, "end_ns": 1, "name": "x"}])
    assert not mine(trace, archive, "patterns").has("pattern")
