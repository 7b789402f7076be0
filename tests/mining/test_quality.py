"""Holds thresholds of docs/quality.md, mostly on sequences that are small enough for every run of the tests."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from benchmarks import quality_ranks
from benchmarks.quality import sections, table
from benchmarks.quality_iterations import CASES, EVERYTHING
from benchmarks.scores import rotated_f1, rotation, strict_f1
from data.generator.planted import Planted, Serving, Training, plant
from tracelode.mining.cadence_level import same_symbol
from tracelode.mining.iterations import Level, iterations, levels
from tracelode.mining.order import merge_order
from tracelode.mining.pattern import patterns
from tracelode.mining.sequence import Sequence
from tracelode.mining.typical import typical

ONE_CADENCE = (
    "clean", "noise 0.2 %", "noise 1 %", "noise 3 %", "noise 5 %", "12 layers, noise 1 %", "96 layers, noise 1 %",
    "4 variants", "4 variants, noise 1 %", "swaps 5 %", "accumulation 4", "warm-up 3", "evaluation every 20",
    "checkpoint every 20", "5 slow, 5 odd", "graph replay",
)  # fmt: skip


def _found(planted: Planted) -> list[Level]:
    found = levels(planted.symbols, planted.start_ns, planted.end_ns, planted.launch_ns)
    return [level for level in found if level.kind == "iteration"]


def _small(plan: Training) -> Training:
    return replace(plan, iterations=30, evaluate_every=plan.evaluate_every // 2, seed=1)


@pytest.mark.parametrize("name", ONE_CADENCE)
def test_iterations_of_one_cadence_are_found_to_99_in_100(name: str) -> None:
    plan = CASES[name]
    assert isinstance(plan, Training)
    planted = plant(_small(plan))
    assert rotated_f1(_found(planted), planted.starts) >= 0.99


def test_iterations_are_found_to_92_in_100_with_everything_on() -> None:
    planted = plant(Training(**(EVERYTHING | {"iterations": 60, "evaluate_every": 10})))
    assert rotated_f1(_found(planted), planted.starts) >= 0.92


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_iterations_of_the_benchmark_are_found_to_92_in_100_with_everything_on(seed: int) -> None:
    planted = plant(replace(CASES["all on"], seed=seed))
    assert rotated_f1(_found(planted), planted.starts) >= 0.92


@pytest.mark.parametrize("layers", [12, 24])
@pytest.mark.parametrize("noise", [0.02, 0.05])
def test_the_layers_are_the_first_two_sequences_of_iterations_that_noise_takes_to_pieces(
    layers: int, noise: float
) -> None:
    planted = plant(Training(iterations=60, layers=layers, noise=noise))
    (level,) = _found(planted)
    usual = typical(planted.symbols, level.begin, level.stop - 1)
    times = planted.start_ns, planted.end_ns, planted.launch_ns
    sequence = Sequence(0, 1, 0, None, planted.symbols, *times, [], pl.DataFrame())
    found = patterns(sequence, iterations=level.count, typical=usual, longest=level.period // 2)
    layer = [planted.consensus[loop.offset :][: loop.period].tolist() for loop in planted.loops[:2]]
    assert [list(one.symbols) for one in found[:2]] == layer[::-1]


def test_periods_of_clean_iterations_are_exact_and_their_starts_too() -> None:
    planted = plant(Training(iterations=20))
    (level,) = _found(planted)
    assert (level.period, level.count) == (1245, 20)
    assert level.begin.tolist() == planted.starts.tolist()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_waits_of_the_host_say_where_noisy_iterations_begin(seed: int) -> None:
    planted = plant(Training(iterations=50, noise=0.01, seed=seed))
    whole = slice(700, int(planted.starts[-1]) + 500)  # cut, so that the ends of the recording say nothing
    columns = (planted.symbols, planted.start_ns, planted.end_ns, planted.launch_ns)
    (level,) = (one for one in levels(*(column[whole] for column in columns)) if one.kind == "iteration")
    assert level.phase_confidence > 0.5
    assert strict_f1([level], planted.starts[1:-1] - 700) >= 0.97


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_warm_up_is_told_and_evaluations_and_checkpoints_belong_to_no_iteration(noise: float) -> None:
    planted = plant(Training(iterations=40, warm_up=3, evaluate_every=10, checkpoint_every=16, noise=noise))
    (level,) = _found(planted)
    phases = iterations(level, planted.symbols, planted.start_ns, planted.end_ns).phase.tolist()
    assert phases == ["warm-up"] * 3 + ["steady"] * 37
    for segment in planted.segments:
        if segment.kind in ("evaluation", "checkpoint"):
            inside = np.minimum(level.stop, segment.stop) - np.maximum(level.begin, segment.first)
            assert int(inside.max()) <= 20  # a few operations, where noise blurs the border


@pytest.mark.parametrize("graph", [False, True])
def test_tokens_are_the_iterations_of_requests_of_any_length(graph: bool) -> None:
    planted = plant(Serving(requests=12, tokens=(5, 30), layers=8, graph=graph))
    (level,) = _found(planted)
    assert level.period == len(planted.consensus)
    assert strict_f1([level], planted.starts) >= 0.97


def test_layers_inside_a_replayed_graph_are_no_iterations() -> None:
    planted = plant(Serving(requests=1, tokens=(1, 1), layers=24, graph=True))
    token = slice(planted.segments[1].first, planted.segments[1].stop)
    found = levels(planted.symbols[token], planted.start_ns[token], planted.end_ns[token], planted.launch_ns[token])
    assert [(level.period, level.count, level.kind) for level in found] == [(13, 24, "micro")]


def test_streams_of_a_graph_that_race_are_ordered_by_node() -> None:
    planted = plant(Training(iterations=6, layers=4, graph=True))
    jitter = np.random.default_rng(0).integers(0, 4_000, len(planted.symbols)) * (planted.stream == 20)
    start = planted.start_ns + jitter
    (ordered,) = merge_order(planted.launch_ns, start, planted.stream, planted.graph_node).sequences
    assert planted.symbols[ordered.index].tolist() == planted.symbols.tolist()
    (raced,) = merge_order(planted.launch_ns, start, planted.stream).sequences
    assert planted.symbols[raced.index].tolist() != planted.symbols.tolist()


def _level(begin: list[int], period: int) -> Level:
    first = np.array(begin)
    one = same_symbol(2)
    return replace(one, period=period, count=len(first), begin=first, stop=first + period)


def test_a_constant_rotation_costs_only_the_iteration_at_the_end() -> None:
    starts = np.arange(10) * 100
    rotated = _level([100 * n + 40 for n in range(9)], 100)
    assert rotation(rotated, starts) == -40
    assert strict_f1([rotated], starts) == 0
    assert rotated_f1([rotated], starts) == pytest.approx(2 * 9 / 19)


def test_starts_agree_within_a_fiftieth_of_the_period_and_count_once() -> None:
    starts = np.array([0, 100, 200])
    assert strict_f1([_level([2, 98, 203], 100)], starts) == pytest.approx(2 * 2 / 6)
    assert strict_f1([_level([100, 101], 100)], starts) == pytest.approx(2 * 1 / 5)
    assert rotated_f1([], starts) == 0


def test_stages_may_be_rotated_each_by_its_own() -> None:
    starts = np.array([0, 100, 200, 300, 400, 450, 500, 550])
    found = [_level([30, 130, 230, 330], 100), _level([410, 460, 510, 560], 50)]
    assert rotated_f1(found, starts) == 1


def test_the_iterations_of_ranks_are_matched_and_the_slow_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = "2 ranks, the second slow"
    monkeypatch.setattr(quality_ranks, "CASES", {slow: quality_ranks.CASES[slow]})
    (row,) = quality_ranks.rows([0])
    assert row == {"case": slow, "iterations": 12, "matched": 12, "rightly": 12, "straggler": 1, "named": "1"}


def test_the_benchmark_has_a_section_for_each_module_and_prints_aligned_rows() -> None:
    assert {"iterations", "corpus", "absent"} <= set(sections())
    assert all(callable(module.rows) for module in sections().values())
    assert table([{"case": "a", "F1": 1.0}, {"case": "bcdef", "F1": None}]) == "case   F1\na      1.0000\nbcdef  –"
