from pathlib import Path

from tests.collect.agent.models import FAKE_NET, FAKE_TRAINING
from tests.collect.agent.spooled import FAKE, recorded, run

ALLOCATED, FREED, NAMED = 0, 1, 2


def test_memory_has_its_life_and_its_owner(folder: Path) -> None:
    found = recorded(FAKE_TRAINING, folder, FAKE, TRACELODE_RECORD_HOOKS="tensor")
    assert (found.rows["op"], found.ranges(1), found.ranges(2)) == ([], [], [])
    rows = [(row["event"], row["owner"], row["bytes"]) for row in found.rows["tensor"]]
    weights = [(event, f"Net.{name}.weight", 64) for name in ("first", "second") for event in (ALLOCATED, NAMED)]
    forward = [(ALLOCATED, "Net.first", 32), (ALLOCATED, "Net.second", 32), (FREED, None, 32)]
    backward = [(ALLOCATED, "backward", 64)] * 2
    gradients = [(NAMED, f"gradient of Net.{name}.weight", 64) for name in ("first", "second")]
    states = [(ALLOCATED, "optimizer", 64)] * 2
    named = [(NAMED, f"momentum_buffer of Net.{name}.weight", 64) for name in ("first", "second")]
    assert rows[: len(weights) + 3] == weights + forward
    assert rows[7:16] == [*backward, *gradients, *states, *named, (FREED, None, 32)]
    assert {(row["device"], row["stack"]) for row in found.rows["tensor"]} == {(-1, None)}


def test_what_is_allocated_and_freed_is_what_lives(folder: Path) -> None:
    program = FAKE_TRAINING + "from tracelode.collect import agent\nagent.stop()\n"
    live: dict[int, int] = {}
    for row in recorded(program, folder, FAKE, TRACELODE_RECORD_HOOKS="tensor").rows["tensor"]:
        if row["event"] == ALLOCATED:
            assert row["address"] not in live
            live[row["address"]] = row["bytes"]
        elif row["event"] == FREED:
            assert live.pop(row["address"]) == row["bytes"]
    assert sorted(live.values()) == [64] * 6  # two weights, two gradients, two momentum buffers


def test_a_view_is_the_memory_that_it_shows(folder: Path) -> None:
    program = """
one = call("aten::empty", lambda: torch.Tensor(8))
view = one.view()
del one
from tracelode.collect import agent
agent.mark("base is gone")
del view
"""
    found = recorded(FAKE_NET + program, folder, FAKE, TRACELODE_RECORD_HOOKS="tensor")
    allocated, freed = found.rows["tensor"]
    assert (allocated["event"], freed["event"], freed["address"]) == (ALLOCATED, FREED, allocated["address"])
    assert allocated["time"] < found.rows["range"][0]["start"] < freed["time"]


def test_a_storage_that_grows_is_freed_and_allocated(folder: Path) -> None:
    program = """
one = call("aten::empty", lambda: torch.Tensor(8))
one.storage.resize_(400)
call("aten::resize_", lambda: one)
"""
    rows = recorded(FAKE_NET + program, folder, FAKE, TRACELODE_RECORD_HOOKS="tensor").rows["tensor"]
    assert [(row["event"], row["bytes"]) for row in rows] == [(ALLOCATED, 32), (FREED, 32), (ALLOCATED, 400)]
    assert rows[0]["address"] == rows[1]["address"] != rows[2]["address"]


def test_tensors_without_memory_of_their_own_are_left_out(folder: Path) -> None:
    program = """
class Wrapped(torch.Tensor): pass
sparse, nested, empty = torch.Tensor(1), torch.Tensor(1), torch.Tensor(1)
sparse.layout, nested.is_nested, empty.storage.address = "torch.sparse_coo", True, 0
call("aten::made", lambda: (Wrapped(1), sparse, nested, empty, None, 3))
"""
    done = run(FAKE_NET + program, folder, FAKE, TRACELODE_RECORD_HOOKS="tensor")
    assert (done.returncode, done.stderr) == (0, "")
    assert not folder.exists()
