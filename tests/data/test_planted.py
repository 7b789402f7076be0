"""The planted truth holds of the arrays and files it is about."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.generator.planted import Planted, Serving, Training, label, plant, plant_ranks
from data.generator.planted_edits import edited, swapped
from data.generator.planted_times import LATENCY_NS, LAUNCH_NS, TURNOVER_NS, timeline
from data.generator.planted_trace import main
from tests.collect.reading import read
from tracelode.collect.readers import kineto

SMALL = Training(iterations=6, layers=3)


def _contents(planted: Planted, kind: str = "iteration") -> list[list[int]]:
    return [planted.symbols[one.first : one.stop].tolist() for one in planted.segments if one.kind == kind]


def test_an_iteration_of_24_layers_has_1245_operations() -> None:
    planted = plant(Training(iterations=3))
    assert len(planted.consensus) == 1245
    assert planted.starts.tolist() == [0, 1245, 2490]
    assert _contents(planted) == [planted.consensus.tolist()] * 3
    assert [(loop.offset, loop.period, loop.count) for loop in planted.loops] == [
        (13, 16, 24), (405, 33, 24), (1197, 1, 16), (1213, 1, 16), (1229, 2, 8),
    ]  # fmt: skip


@pytest.mark.parametrize("plan", [SMALL, replace(SMALL, accumulation=3), replace(SMALL, fused=True)])
def test_loops_repeat_as_often_as_they_say_and_not_once_more(plan: Training) -> None:
    planted = plant(plan)
    for loop in planted.loops:
        body = planted.consensus[loop.offset :][: loop.period]
        end = loop.offset + loop.period * loop.count
        assert np.array_equal(planted.consensus[loop.offset : end], np.tile(body, loop.count))
        assert not np.array_equal(planted.consensus[end : end + loop.period], body)


def test_segments_tile_the_sequence_and_iterations_are_numbered_through() -> None:
    planted = plant(Training(iterations=9, layers=2, warm_up=2, evaluate_every=3, checkpoint_every=4, noise=0.02))
    segments = planted.segments
    assert [one.first for one in segments] == [0, *(one.stop for one in segments[:-1])]
    assert segments[-1].stop == len(planted.symbols)
    assert [one.number for one in planted.iterations] == list(range(9))
    assert [one.kind for one in segments] == [
        "warm-up", "warm-up", "iteration", "evaluation", "iteration", "checkpoint", "iteration", "iteration",
        "evaluation", "iteration", "iteration", "checkpoint", "iteration", "evaluation",
    ]  # fmt: skip


def test_noise_edits_its_share_of_operations_a_third_each_way() -> None:
    clean, noisy = plant(Training(iterations=40)), plant(Training(iterations=40, noise=0.03))
    assert abs(len(noisy.symbols) - len(clean.symbols)) < 200  # as many go as come
    assert not np.array_equal(noisy.symbols, clean.symbols)
    assert len(noisy.starts) == 40


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(0, 5))
def test_edits_say_where_each_operation_has_gone(symbols: list[int], seed: int) -> None:
    before = np.array(symbols)
    protected = np.arange(len(before)) % 2 == 0
    found = edited(before, 0.5, np.random.default_rng(seed), protected)
    assert found.symbols[found.place[protected]].tolist() == before[protected].tolist()
    assert found.source[found.place[protected]].tolist() == np.flatnonzero(protected).tolist()
    assert len(found.symbols) == len(found.source)


@given(st.integers(1, 50), st.integers(0, 5))
def test_swaps_exchange_neighbours_and_lose_nothing(size: int, seed: int) -> None:
    order = swapped(np.arange(size), 0.7, np.random.default_rng(seed), np.arange(size) % 7 == 3)
    assert sorted(order.tolist()) == list(range(size))
    assert int(np.abs(order - np.arange(size)).max()) <= 1
    assert order[3::7].tolist() == list(range(3, size, 7))


def test_variants_and_phases_change_shapes_and_phases_the_layers_too() -> None:
    varied = _contents(plant(Training(iterations=20, layers=2, variants=3)))
    assert len({len(content) for content in varied}) == 1
    assert len(set(map(tuple, varied))) == 3
    phased = _contents(plant(Training(iterations=4, layers=4, phases=2)))
    assert [len(content) for content in phased] == [265, 265, 216, 216]


def test_an_outlier_is_one_slow_kernel_or_five_other_operations() -> None:
    planted = plant(Training(iterations=12, layers=3, slow=1, odd=3))
    usual = len(planted.consensus)
    length = {"slow": usual, "extra": usual + 5, "missing": usual - 5, "other": usual}
    assert sorted(one.kind for one in planted.outliers) == ["extra", "missing", "other", "slow"]
    for one in planted.outliers:
        segment = planted.iterations[one.iteration]
        assert segment.stop - segment.first == length[one.kind]
        assert all(segment.first <= at < segment.stop for at in one.operations)
        if one.kind == "slow":
            time = planted.end_ns - planted.start_ns
            same = planted.symbols == planted.symbols[one.operations[0]]
            assert time[one.operations[0]] > 20 * np.median(time[same])


def test_fusion_changes_what_it_says_and_nothing_else() -> None:
    plain, fused = plant(SMALL), plant(replace(SMALL, fused=True))
    assert [[list(map(label, part)) for part in (one.before, one.after)] for one in fused.fusions] == [
        [["forward_06"], ["part_00", "part_01", "part_02"]],
        [["backward_09", "backward_10", "backward_11"], ["fused_00"]],
    ]
    gone, new = ({symbol for one in fused.fusions for symbol in part} for part in _sides(fused))
    assert set(plain.symbols.tolist()) - set(fused.symbols.tolist()) == gone
    assert set(fused.symbols.tolist()) - set(plain.symbols.tolist()) == new


def _sides(planted: Planted) -> tuple[list[int], list[int]]:
    before = [symbol for one in planted.fusions for symbol in one.before]
    return before, [symbol for one in planted.fusions for symbol in one.after]


def test_streams_run_in_order_and_nothing_before_its_launch() -> None:
    planted = plant(Training(iterations=5, layers=4, noise=0.01))
    assert bool((planted.start_ns > planted.launch_ns).all())
    assert bool((np.diff(planted.launch_ns) > 0).all())
    compute = planted.stream == 7
    for one in (compute, ~compute):
        assert bool((planted.start_ns[one][1:] >= planted.end_ns[one][:-1]).all())
    assert set(map(label, set(planted.symbols[~compute].tolist()))) == {"backward_28"}


def test_a_slow_all_reduce_keeps_the_next_waiting_and_the_compute_stream_at_the_join() -> None:
    duration = np.array([10_000, 100_000, 10_000, 5_000, 10_000, 5_000, 10_000])
    reduces = np.array([False, True, False, True, False, True, False])
    joins = np.arange(7) == 5
    told = timeline(duration, np.array([0]), reduces, joins, np.zeros(7, np.bool_))
    assert (told.start_ns - told.launch_ns[0]).tolist() == [
        5_000, 15_900, 15_900, 116_800, 26_800, 122_700, 128_600,
    ]  # fmt: skip


@given(
    st.lists(st.tuples(st.integers(0, 60_000), st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=40),
    st.sets(st.integers(1, 39)),
)
def test_operations_start_when_launched_and_when_those_before_them_on_their_streams_are_done(
    rows: list[tuple[int, bool, bool, bool]], cuts: set[int]
) -> None:
    duration = np.array([row[0] for row in rows])
    reduces, replayed = np.array([row[1] for row in rows]), np.array([row[3] for row in rows])
    joins = reduces & np.array([row[2] for row in rows])
    first = np.array([0, *sorted(cut for cut in cuts if cut < len(rows))])
    told = timeline(duration, first, reduces, joins, replayed)
    for begin, stop in zip(first.tolist(), [*first[1:].tolist(), len(rows)], strict=True):
        launch, compute, reduced = 0, 0, 0
        starts: list[int] = []
        for at in range(begin, stop):
            launch += 0 if replayed[at] or at == begin else LAUNCH_NS
            start = max(launch + LATENCY_NS, compute, reduced if reduces[at] else 0)
            done = start + int(duration[at]) + TURNOVER_NS
            reduced = done if reduces[at] else reduced
            compute = done if joins[at] or not reduces[at] else compute
            starts.append(start)
        assert (told.start_ns[begin:stop] - told.launch_ns[begin]).tolist() == starts


def test_a_replayed_graph_has_one_launch_and_a_node_for_each_operation() -> None:
    planted = plant(Training(iterations=3, layers=2, graph=True))
    first = planted.segments[0]
    assert len(set(planted.launch_ns[first.first : first.stop].tolist())) == 6  # five eager ones and the graph
    nodes = planted.graph_node[first.first : first.stop].tolist()
    assert nodes == [0] * 5 + list(range(1, first.stop - 4))


def test_requests_of_a_serving_are_answered_in_as_many_steps_as_it_happens() -> None:
    planted = plant(Serving(requests=5, tokens=(2, 4), layers=2))
    kinds = [one.kind for one in planted.segments]
    assert planted.requests.tolist() == [one.first for one in planted.segments if one.kind == "prefill"]
    assert 10 <= kinds.count("token") <= 20
    assert set(map(tuple, _contents(planted, "token"))) == {tuple(planted.consensus.tolist())}


def test_ranks_end_their_iterations_together_and_the_straggler_waits_least() -> None:
    ranks = plant_ranks(Training(iterations=4, layers=2, ranks=3, straggler=1))
    ends = [[one.end_ns[segment.stop - 1] for segment in one.segments] for one in ranks]
    assert ends[0] == ends[1] == ends[2]
    waits = [int((one.end_ns - one.start_ns)[one.stream == 20].sum()) for one in ranks]
    assert min(waits) == waits[1]


@pytest.mark.parametrize("wrong", [{"layers": 0}, {"noise": 1.0}, {"iterations": 5, "odd": 4}])
def test_a_plan_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"at least one|no share|too many"):
        Training(**wrong)  # type: ignore[arg-type]  # as the command line could ask for


@settings(max_examples=20)
@given(st.integers(0, 3), st.sampled_from([0.0, 0.01]), st.integers(1, 3))
def test_equal_plans_give_equal_arrays(seed: int, noise: float, variants: int) -> None:
    plan = Training(iterations=3, layers=1, seed=seed, noise=noise, variants=variants)
    one, two = plant(plan), plant(plan)
    assert np.array_equal(one.symbols, two.symbols)
    assert np.array_equal(one.start_ns, two.start_ns)


def test_the_command_writes_a_trace_and_its_truth_for_each_rank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--iterations=4", "--layers=2", "--ranks=2", "--straggler=1", "--odd=1", "--warm-up=1", "--annotations")
    monkeypatch.setattr("sys.argv", ["planted_trace", str(tmp_path), *options])
    main()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "rank0.json", "rank0.truth.json", "rank1.json", "rank1.truth.json",
    ]  # fmt: skip
    truth = json.loads((tmp_path / "rank1.truth.json").read_text())
    told = read(kineto, tmp_path / "rank1.json", tmp_path / "read")
    kernels = sum(len(rows) for name, rows in told.tables.items() if name in ("kernel", "copy", "fill"))
    assert kernels == truth["operations"]
    assert [row["name"] for row in told.tables["range"] if row["kind"] == "annotation"] == [
        "ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3",
    ]  # fmt: skip
