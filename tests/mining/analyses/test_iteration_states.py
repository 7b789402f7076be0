from pathlib import Path

import pytest

from tests.reports.independent import spent, within
from tests.reports.test_numbers import recorded
from tracelode.mining.mine import mine


@pytest.mark.parametrize("seed", [30, 31, 32])
def test_the_states_of_an_iteration_are_those_of_its_device_between_its_ends(seed: int, tmp_path: Path) -> None:
    trace, archive, events = recorded(seed, tmp_path)
    trace = mine(trace, archive, "iteration_states")
    stretches = spent(events)
    found: dict[int, dict[str, int]] = {}
    for _, _, _, iteration, state, time in trace.iteration_state.collect().rows():
        found.setdefault(iteration, {})[state] = time
    (level,) = set(trace.iteration_state.collect()["level"])
    steps = trace.sql(f"select iteration, from_ns, end_ns, time_ns from iteration where level = {level}").rows()
    assert len(steps) == len(found) >= 4
    for iteration, begin, end, time in steps:
        assert found[iteration] == within(stretches, begin, end)
        assert sum(found[iteration].values()) == time
