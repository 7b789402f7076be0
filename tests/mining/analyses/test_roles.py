from pathlib import Path

import pytest

from tests.building import build
from tests.samples import SAMPLES
from tracelode.collect.ingest import read
from tracelode.mining.analyses.labels import label
from tracelode.mining.mine import find, mine
from tracelode.mining.rules import Rule, read_rules
from tracelode.store import Archive, Trace


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trace, Archive]:
    archive = Archive(tmp_path_factory.mktemp("archive"))
    trace, _ = read(SAMPLES / "train.json.gz", archive)
    return mine(trace, archive, "labels"), archive


def test_forward_backward_and_optimizer_of_the_sample_stand_in_that_order(sample: tuple[Trace, Archive]) -> None:
    found = find(*sample, "roles")
    parts = {row["rule"]: row for row in found.rows.iter_rows(named=True)}
    assert (parts["forward"]["first"], parts["forward"]["last"]) == (0, 50)
    assert (parts["backward"]["first"], parts["backward"]["last"]) == (51, 159)
    assert (parts["optimizer"]["first"], parts["optimizer"]["sequence"]) == (160, "as usual")
    assert (parts["gradient_bucket"]["stretches"], parts["value_read"]["operations"]) == (4, 1)
    assert found.sentence.startswith("Of an iteration's device time: backward pass 60.3 %, forward pass and input 27.3")
    assert found.rows.equals(sample[0].sql(found.sql))


def test_shares_are_of_the_summed_time_of_the_iterations_operations(sample: tuple[Trace, Archive]) -> None:
    trace, _ = sample
    rows = trace.label.collect()
    chosen = trace.iteration.collect().filter(
        (trace.iteration.collect()["level"] == rows["level"][0])
        & (trace.iteration.collect()["iteration"] == rows["iteration"][0])
    )
    first, last = chosen.select("first", "last").row(0)
    members = trace.member.collect()
    own = members.filter((members["ordinal"] >= first) & (members["ordinal"] <= last))
    whole = int((own["end_ns"] - own["start_ns"]).sum())
    assert [row["time_ns"] for row in rows.iter_rows(named=True)] == pytest.approx(
        [row["share"] * whole for row in rows.iter_rows(named=True)]
    )


def test_rules_change_nothing_but_their_own_labels(sample: tuple[Trace, Archive]) -> None:
    trace, archive = sample
    before = {name: trace.arrow(name) for name in ("level", "iteration", "member")}
    all_rows = trace.label.collect()
    fewer = tuple(Rule(**{**vars(rule), "enabled": rule.name != "backward"}) for rule in read_rules())
    rows = label(trace, fewer)["label"]
    assert rows.to_pylist() == all_rows.filter(all_rows["rule"] != "backward").to_dicts()
    assert label(trace, ())["label"].num_rows == 0
    again = archive.open(trace.id)
    assert all(again.arrow(name).equals(table) for name, table in before.items())


def test_a_trace_without_iterations_has_nothing_to_label(tmp_path: Path) -> None:
    kernels = [{"start_ns": 10 * n, "end_ns": 10 * n + 5, "name": f"only once {n}"} for n in range(4)]
    trace, archive = build(tmp_path, kernel=kernels)
    assert find(trace, archive, "roles").sentence == "No rule of a framework names anything in an iteration."
