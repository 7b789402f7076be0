from dataclasses import replace
from pathlib import Path

import pytest

from tests.mining.histories import STEADY, entry, nights
from tracelode.mining import recorded as module
from tracelode.mining.recorded import decisions, entries, is_recorded, put_decision, put_run, recorded
from tracelode.mining.series import Accept, Pin
from tracelode.store.history import History


def test_a_run_comes_back_as_it_was_measured(tmp_path: Path) -> None:
    history = History(tmp_path)
    one = entry(1, {"iteration_p50_ns": 1.5, "kernels": 3}, kernels={"gemm\ud800": 7.25}, timed_by="file")
    one = replace(one, files={"/runs/a\udcff.json": 7, "/runs/b.json": 3})
    put_run(history, one)
    (found,) = entries(history)
    assert replace(found, key=one.key) == one
    assert is_recorded(one.run.traces, recorded(history))
    assert not is_recorded(("f" * 64,), recorded(history))


def test_the_same_run_twice_is_one_in_whatever_order_its_traces_are(tmp_path: Path) -> None:
    history = History(tmp_path)
    for traces in (["a" * 64, "b" * 64], ["b" * 64, "a" * 64]):
        put_run(history, entry(1, {"kernels": 3}, traces=traces))
    assert len(entries(history)) == 1


def test_a_value_that_is_no_number_was_not_collected(tmp_path: Path) -> None:
    put_run(History(tmp_path), entry(1, {"kernels": float("nan"), "idle_ns": float("inf")}))
    (found,) = entries(History(tmp_path))
    assert (found.run.values["kernels"], found.run.values["idle_ns"]) == (None, None)


@pytest.mark.parametrize(
    ("name", "value"),
    [("NEEDS", module.NEEDS[:-1]), ("VERSION", module.VERSION + 1), ("HEADLINE", module.HEADLINE[1:])],
)
def test_what_was_measured_otherwise_is_measured_anew_and_without_traces_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    history = History(tmp_path)
    old, gone = nights(STEADY)[:2]
    for one in (old, gone):
        put_run(history, one)
    monkeypatch.setattr(module, name, value)  # as in another version of tracelode
    assert not is_recorded(old.run.traces, recorded(history))
    put_run(history, replace(old, run=replace(old.run, values={**old.run.values, "iteration_p50_ns": 7.0})))
    found = {one.run.name: one.run for one in entries(history)}
    assert (found["night-01"].values["iteration_p50_ns"], found["night-01"].excluded) == (7.0, None)
    assert found["night-02"].excluded == (
        "another version of tracelode measured it; watch check measures it anew where its traces are there"
    )


def test_decisions_come_back_in_order_of_time(tmp_path: Path) -> None:
    history = History(tmp_path)
    told = [
        Accept("abc", {"kernels": 5}, "new model", 3),
        Pin("abc", {"kernels": ("k1", "k2")}, "", 1),
        Pin("abc", {"kernels": ()}, "no more", 2),
    ]
    for one in told:
        put_decision(history, one)
    assert decisions(history) == [told[1], told[2], told[0]]
