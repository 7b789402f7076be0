from dataclasses import replace

import numpy as np
import pytest

from tracelode.mining.cadence_level import Level, same_symbol
from tracelode.mining.iterations import levels
from tracelode.mining.passes import one_pass

LAYER = np.arange(20)
HEAD, TAIL = np.arange(100, 112), np.arange(200, 205)
PASS = np.concatenate([HEAD, np.tile(LAYER, 24), TAIL])


def _level(symbols: np.ndarray, first: int, count: int, period: int = 20) -> Level:
    begin = first + period * np.arange(count)
    return replace(
        same_symbol(2), period=period, count=count, begin=begin, stop=begin + period,
        first=first, last=first + period * count - 1, phase_confidence=0.3, phase_evidence="device waits",
    )  # fmt: skip


def test_layers_behind_a_short_head_are_those_of_one_pass() -> None:
    assert one_pass(_level(PASS, 12, 24), PASS)


def test_a_window_cut_out_of_iterations_begins_with_a_part_of_one() -> None:
    window = np.tile(LAYER, 26)[8:]
    assert not one_pass(_level(window, 12, 25), window)


@pytest.mark.parametrize(
    "known",
    [{"phase_evidence": "marks"}, {"phase_confidence": 0.9}, {"count": 500}, {"period": 400}],
    ids=["marks", "a clear beginning", "more than a model's layers", "more than a layer's operations"],
)
def test_what_layers_do_not_have_makes_iterations(known: dict[str, object]) -> None:
    assert not one_pass(replace(_level(PASS, 12, 24), **known), PASS)  # type: ignore[arg-type]  # one field at a time


def test_a_long_head_is_the_start_of_a_program() -> None:
    symbols = np.concatenate([np.arange(100, 150), np.tile(LAYER, 24)])
    assert not one_pass(_level(symbols, 50, 24), symbols)


def test_a_single_pass_has_levels_but_no_iterations() -> None:
    launch = np.arange(len(PASS)) * 50
    found = levels(PASS, launch + 20, launch + 60, launch)
    assert [(level.period, level.kind) for level in found] == [(20, "micro")]
