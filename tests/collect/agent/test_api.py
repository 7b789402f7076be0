from pathlib import Path

from tests.collect.agent.spooled import recorded, run, spools

AGENT = "from tracelode.collect import agent\n"


def test_ranges_nest_and_end_before_what_encloses_them(folder: Path) -> None:
    program = """
with agent.range("outer"):
    with agent.range("first"):
        agent.mark("here")
    with agent.range("second"):
        pass
"""
    found = recorded(AGENT + program, folder)
    rows = [(row["name"], row["depth"], row["kind"]) for row in found.rows["range"]]
    assert rows == [("here", 2, 4), ("first", 1, 0), ("second", 1, 0), ("outer", 0, 0)]
    here, first, second, outer = found.rows["range"]
    assert outer["start"] <= first["start"] <= here["start"] == here["end"] <= first["end"]
    assert first["end"] <= second["start"] <= second["end"] <= outer["end"]
    assert {row["thread"] for row in found.rows["range"]} == {found.said("process")["pid"]}


def test_pushed_ranges_are_popped_in_turn_and_a_pop_too_many_is_counted(folder: Path) -> None:
    found = recorded(AGENT + 'agent.push("a"); agent.push("b"); agent.pop(); agent.pop(); agent.pop()', folder)
    assert [(row["name"], row["depth"]) for row in found.rows["range"]] == [("b", 1), ("a", 0)]
    assert found.said("state")["unmatched_pops"] == 1


def test_each_thread_has_its_own_depth_and_its_own_stack(folder: Path) -> None:
    program = """
import threading
shared, both = agent.range("shared"), threading.Barrier(2)
def work():
    with shared:
        agent.push("pushed")
        both.wait()
        agent.pop()
threads = [threading.Thread(target=work) for _ in range(2)]
for one in threads: one.start()
for one in threads: one.join()
"""
    rows = recorded(AGENT + program, folder).rows["range"]
    assert sorted((row["name"], row["depth"]) for row in rows) == [("pushed", 1)] * 2 + [("shared", 0)] * 2
    for name in ("pushed", "shared"):
        first, second = (row for row in rows if row["name"] == name)
        assert first["thread"] != second["thread"]
        assert first["start"] < second["end"]
        assert second["start"] < first["end"]


def test_an_exception_closes_a_range_and_goes_on(folder: Path) -> None:
    program = """
try:
    with agent.range("failed"):
        raise ValueError("mine")
except ValueError as error:
    assert str(error) == "mine"
with agent.range("after"):
    pass
"""
    rows = recorded(AGENT + program, folder).rows["range"]
    assert [(row["name"], row["depth"]) for row in rows] == [("failed", 0), ("after", 0)]


def test_tasks_of_one_thread_may_overlap(folder: Path) -> None:
    program = """
import asyncio
@agent.range("task")
async def task(own, other):
    own.set()
    await other.wait()
    return 7
async def main():
    first, second = asyncio.Event(), asyncio.Event()
    return await asyncio.gather(task(first, second), task(second, first))
assert asyncio.iscoroutinefunction(task)
assert asyncio.run(main()) == [7, 7]
with agent.range("after"):
    pass
"""
    first, second, after = recorded(AGENT + program, folder).rows["range"]
    assert [first["name"], second["name"], after["name"]] == ["task", "task", "after"]
    assert second["start"] < first["end"] <= second["end"]
    assert after["depth"] == 0


def test_a_generator_is_one_range_from_its_first_step_to_its_end_in_any_thread(folder: Path) -> None:
    program = """
import threading
@agent.range("generator")
def numbers():
    yield 1
    yield 2
    return 3
steps = numbers()
agent.mark("made")
assert next(steps) == 1
thread = threading.Thread(target=lambda: list(steps))
thread.start(); thread.join()
agent.mark("done")
with agent.range("after"):
    pass
"""
    rows = recorded(AGENT + program, folder).rows["range"]
    assert [(row["name"], row["depth"]) for row in rows] == [
        ("made", 0),
        ("generator", 0),
        ("done", 0),
        ("after", 0),
    ]
    assert rows[0]["end"] <= rows[1]["start"] < rows[1]["end"] <= rows[2]["start"]


def test_a_decorated_function_is_a_range_at_each_call_and_keeps_its_name(folder: Path) -> None:
    program = """
@agent.range("call")
def double(number, *, plus=0):
    "Says twice."
    return 2 * number + plus if number < 3 else double(1)
assert (double(2, plus=1), double(3), double.__name__, double.__doc__) == (5, 2, "double", "Says twice.")
@agent.range("class")
class Kept: pass
assert isinstance(Kept(), Kept)
class Methods:
    @agent.range("static")
    @staticmethod
    def one(): return 1
assert Methods().one() == 1
"""
    rows = recorded(AGENT + program, folder).rows["range"]
    assert [(row["name"], row["depth"]) for row in rows] == [("call", 0), ("call", 1), ("call", 0)]


def test_steps_follow_one_another_without_a_gap(folder: Path) -> None:
    first, second, third = recorded(AGENT + "agent.step(); agent.step(); agent.step()", folder).rows["range"]
    assert {row["kind"] for row in (first, second, third)} == {3}
    assert first["end"] == second["start"]
    assert second["end"] == third["start"]


def test_nothing_outside_start_and_stop_is_recorded(folder: Path) -> None:
    program = """
assert not agent.active()
with agent.range("before"): agent.start()
agent.start()
assert agent.active()
with agent.range("inside"): agent.mark("moment")
with agent.range("cut"): agent.stop()
agent.push("outside"); agent.pop(); agent.mark("outside"); agent.step()
assert not agent.active()
agent.start()
with agent.range("again"): pass
agent.step()
"""
    found = recorded(AGENT + program, folder, TRACELODE_RECORD_PAUSED="1")
    rows = found.rows["range"]
    assert [row["name"] for row in rows] == ["moment", "inside", "again", "step"]
    assert [row["depth"] for row in rows] == [1, 0, 0, 0]
    assert rows[3]["start"] > rows[1]["end"]
    assert found.said("state") == found.said("state") | {"open": 1, "final": True, "stopped": "exit"}


def test_without_a_recording_all_of_it_does_nothing(folder: Path) -> None:
    program = """
import os
del os.environ["TRACELODE_RECORD_DIR"]
import tracelode.collect.agent as agent
agent.start()
with agent.range("a"): agent.push("b"); agent.mark("c"); agent.step()
agent.pop(); agent.pop(); agent.stop()
assert not agent.active()
print("said")
"""
    done = run(program, folder, flags=("-S",), PYTHONPATH=str(Path(__file__).parents[3]))
    assert (done.returncode, done.stdout, done.stderr) == (0, "said\n", "")
    assert not folder.exists()


def test_names_may_be_anything(folder: Path) -> None:
    program = r"""
class Refusing(Exception):
    def __str__(self): raise RuntimeError("never")
class Untold:
    def __str__(self): raise Refusing
for name in (7, None, [1], "ünï\ud800", "x" * 20000, Untold()):
    with agent.range(name): pass
"""
    found = recorded(AGENT + program, folder)
    names = [row["name"] for row in found.rows["range"]]
    assert names == ["7", "None", "[1]", "ünï?", "x" * 16384, None]
    assert (found.said("state")["errors"], found.said("state")["error"]) == (1, "Refusing")


def test_every_form_of_import_gives_the_agent_that_was_started(folder: Path) -> None:
    program = """
import tracelode.collect.agent
import tracelode.collect.agent as renamed
from tracelode.collect import agent
from tracelode.collect.agent import active
assert tracelode.collect.agent is renamed is agent
assert active()
"""
    done = run(program, folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert spools(folder) == []
