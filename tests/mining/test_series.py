from dataclasses import replace

import pytest

from tests.mining.histories import DAY_NS, STEADY, entry, nights
from tracelode.mining.series import Accept, Entry, Pin, Series, Track, all_series


def track(found: Series, metric: str = "iteration_p50_ns") -> Track:
    return next(one for one in found.tracks if one.metric.name == metric)


def only(entries: list[Entry], *decisions: Accept | Pin) -> Track:
    found = all_series(entries, decisions)
    assert len(found) == 1
    return track(found[0])


SERIES = all_series(nights(STEADY))[0].id


def test_runs_of_one_fingerprint_are_a_series_in_order_of_time() -> None:
    entries = nights(STEADY)
    (found,) = all_series(reversed(entries))
    assert [one.run.name for one in found.entries] == [f"night-{number:02d}" for number in range(1, 11)]
    assert [one.metric.name for one in found.tracks] == ["iteration_p50_ns"]  # nothing else was collected
    assert track(found).verdict == "neutral"
    assert found.last == entries[-1]


def test_another_driver_is_another_series_that_takes_over() -> None:
    old, new = nights(STEADY, driver="1"), nights(STEADY, first=11, driver="2")
    found = all_series([*old, *new])
    assert [one.fingerprint["driver"] for one in found] == ["2", "1"]
    assert [one.replaced_by for one in found] == [None, found[0].id]


def test_a_series_left_with_a_regression_is_not_replaced_until_that_is_accepted() -> None:
    slow, new = nights([*STEADY, 110, 110, 110], driver="1"), nights(STEADY, first=14, driver="2")
    assert [one.replaced_by for one in all_series([*slow, *new])] == [None, None]
    (old,) = all_series(slow)
    accepted = Accept(old.id, {"iteration_p50_ns": slow[-3].unix_ns}, "meant", 30 * DAY_NS)
    found = all_series([*slow, *new], [accepted])
    assert [one.replaced_by for one in found] == [None, found[0].id]
    assert found[1].id == old.id


def test_series_that_take_turns_and_other_models_replace_nothing() -> None:
    turns = [replace(one, unix_ns=one.unix_ns + DAY_NS // 2) for one in nights(STEADY, node="b")]
    assert [one.replaced_by for one in all_series([*nights(STEADY, node="a"), *turns])] == [None, None]
    other = nights(STEADY, first=11, model="b")
    assert [one.replaced_by for one in all_series([*nights(STEADY, model="a"), *other])] == [None, None]


def test_one_odd_night_is_replaced_after_three_others_unless_it_was_a_regression() -> None:
    odd = entry(11, {"iteration_p50_ns": 100e6}, ranks="7 of 8")
    for after, replaced in ((2, 0), (3, 1)):
        usual = [*nights(STEADY, ranks="8 of 8"), *nights([100.0] * after, first=12, ranks="8 of 8")]
        assert sum(one.replaced_by is not None for one in all_series([*usual, odd])) == replaced
    slow = nights([*STEADY, 110, 110, 110], node="b")
    usual = [*nights([100.0], node="a"), *nights([100.0] * 9, first=14, node="a")]
    assert [one.replaced_by for one in all_series([*usual, *slow])] == [None, None]


def test_of_runs_at_one_time_the_second_comes_before_the_tenth() -> None:
    entries = [replace(one, unix_ns=5) for one in nights([100.0] * 12)]
    named = [replace(one, run=replace(one.run, name=f"run{at}")) for at, one in enumerate(entries, start=1)]
    (found,) = all_series(reversed(named))
    assert [one.run.name for one in found.entries] == [f"run{at}" for at in range(1, 13)]


@pytest.mark.parametrize("left", [2, 0])
def test_of_a_pinned_baseline_that_is_gone_nothing_is_told(left: int) -> None:
    entries = nights(STEADY)
    keys = (*(one.key for one in entries[:left]), *(f"gone-{at}" for at in range(20 - left)))
    pinned = Pin(SERIES, {"iteration_p50_ns": keys}, "", 1)
    later = [*entries, *nights([100.0], first=11)]
    found = only(later, pinned)
    assert (found.verdict, found.why, found.pinned) == (
        "inconclusive", f"{20 - left} of the runs that its baseline is pinned to are gone: pin it anew", (),
    )  # fmt: skip
    assert only(later, pinned, Pin(SERIES, {"iteration_p50_ns": ()}, "", 2)).verdict == "neutral"
    assert only(later, pinned, Accept(SERIES, {"iteration_p50_ns": DAY_NS}, "", 2)).verdict == "neutral"


def test_a_change_is_seen_with_its_runs_and_its_baseline() -> None:
    found = only(nights([*STEADY, 110, 111, 109]))
    assert found.verdict == "regression"
    assert [one.run.name for one in found.seen] == ["night-11", "night-12", "night-13"]
    assert [one.run.name for one in found.baseline] == [f"night-{number:02d}" for number in range(1, 11)]


def test_an_accepted_change_is_the_new_baseline() -> None:
    slow = [110.0, 111, 109, 110, 110, 109, 111, 110]
    entries = nights([*STEADY, *slow])
    accepted = Accept(SERIES, {"iteration_p50_ns": 11 * DAY_NS}, "meant", 20 * DAY_NS)
    assert only(entries).verdict == "regression"
    assert only(entries, accepted).verdict == "inconclusive"  # eight runs are a baseline for the ninth
    later = [*entries, *nights([110.0], first=19)]
    assert only(later, accepted).verdict == "neutral"
    assert only([*later, *nights([100.0] * 3, first=20)], accepted).verdict == "improvement"


def test_accepting_concerns_the_metrics_that_are_named() -> None:
    accepted = Accept(SERIES, {"kernels": 11 * DAY_NS}, "meant", 20 * DAY_NS)
    assert only(nights([*STEADY, 110, 111, 109]), accepted).verdict == "regression"


def test_a_pinned_baseline_stays_until_it_is_unpinned() -> None:
    creeping = [100 * 1.002**at for at in range(40)]
    entries = nights([*STEADY, *creeping])
    pinned = Pin(SERIES, {"iteration_p50_ns": tuple(one.key for one in entries[:10])}, "", 1)
    assert only(entries).verdict == "neutral"
    found = only(entries, pinned)
    assert (found.verdict, found.pinned, found.baseline) == ("regression", tuple(entries[:10]), tuple(entries[:10]))
    assert only(entries, pinned, Pin(SERIES, {"iteration_p50_ns": ()}, "", 2)).verdict == "neutral"
    begun = Accept(SERIES, {"iteration_p50_ns": 11 * DAY_NS}, "meant", 3)
    assert only(entries, pinned, begun).pinned == ()


def test_with_no_run_since_the_pin_the_runs_are_judged_as_ever() -> None:
    entries = nights(STEADY)
    pinned = Pin(SERIES, {"iteration_p50_ns": tuple(one.key for one in entries)}, "", 1)
    found = only(entries, pinned)
    assert (found.verdict, found.pinned, len(found.told)) == ("neutral", (), 10)


def test_a_last_run_that_does_not_count_is_no_pass() -> None:
    lost = entry(11, {"iteration_p50_ns": 100e6}, excluded="events are missing: lost-events")
    found = only([*nights(STEADY), lost])
    assert found.verdict == "inconclusive"
    assert found.why == "the last run, night-11, does not count: events are missing: lost-events"
    assert len(found.entries) == 10
    assert only([*nights([*STEADY, 110, 110, 110]), replace(lost, unix_ns=20 * DAY_NS)]).verdict == "regression"


def test_a_metric_that_the_last_run_lacks_is_no_pass() -> None:
    both = [entry(at, {"iteration_p50_ns": 100e6, "kernels": 5}) for at in range(1, 11)]
    (found,) = all_series([*both, entry(11, {"iteration_p50_ns": 100e6})])
    assert track(found, "kernels").verdict == "inconclusive"
    assert track(found, "kernels").why == "Kernels per iteration was not collected in the last run, night-11"
    assert track(found).verdict == "neutral"


def test_a_series_of_which_no_run_counts_has_nothing_to_judge() -> None:
    (found,) = all_series([entry(1, {"iteration_p50_ns": 1.0}, excluded="3 steady iterations, fewer than 5")])
    assert (found.tracks, found.entries, len(found.excluded)) == ((), (), 1)


def test_a_run_that_got_more_ranks_counts_once() -> None:
    half = entry(1, {"iteration_p50_ns": 1.0}, traces=["a" * 64], ranks="1")
    whole = entry(2, {"iteration_p50_ns": 1.0}, traces=["a" * 64, "b" * 64], ranks="2")
    (found,) = all_series([half, whole])
    assert found.fingerprint["ranks"] == "2"


def test_of_a_file_that_was_written_over_the_newest_content_counts() -> None:
    first, second, third = nights([100.0, 101, 102])

    def named(one: Entry, name: str, **files: int) -> Entry:
        return replace(one, run=replace(one.run, name=name), files=files)

    over = named(first, "night", a=1, b=1), named(second, "night", a=2, b=1)
    for history in (over, over[::-1]):
        (series,) = all_series(history)
        assert [one.key for one in series.entries] == [second.key]
    (series,) = all_series([*over, named(third, "another night", a=3)])  # one file for all nights, told apart by name
    assert [one.key for one in series.entries] == [second.key, third.key]


@pytest.mark.parametrize(("idle", "verdict"), [(2.9, "neutral"), (3.1, "regression")])
def test_a_part_of_an_iteration_matters_from_one_percent_of_it_on(idle: float, verdict: str) -> None:
    values = [2.0] * 10 + [idle] * 3  # of an iteration of 100 ms
    entries = [
        entry(at, {"iteration_p50_ns": 100e6, "idle_ns": value * 1e6}) for at, value in enumerate(values, start=1)
    ]
    assert track(all_series(entries)[0], "idle_ns").verdict == verdict


def test_more_busy_is_better() -> None:
    entries = [entry(at, {"busy_share": value}) for at, value in enumerate([0.8] * 10 + [0.7] * 3, start=1)]
    assert track(all_series(entries)[0], "busy_share").verdict == "regression"
