from pathlib import Path

import pytest

from tests.collect.agent.spooled import run, spools

AGENT = "from tracelode.collect import agent\n"


def test_a_forked_child_has_a_folder_of_its_own_and_none_of_its_parents_rows(folder: Path) -> None:
    program = """
import os, sys, threading
agent.mark("before")
with agent.range("across"):
    child = os.fork()
    agent.mark("child" if child == 0 else "parent")
if child == 0:
    sys.exit(4)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4
"""
    done = run(AGENT + program, folder)
    assert (done.returncode, done.stderr) == (0, "")
    parent, child = spools(folder)
    assert [row["name"] for row in parent.rows["range"]] == ["before", "parent", "across"]
    assert [row["name"] for row in child.rows["range"]] == ["child"]
    assert child.said("process")["ppid"] == parent.said("process")["pid"]
    assert child.rows["range"][0]["thread"] == child.said("process")["pid"]
    assert child.said("state")["open"] == 1


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_multiprocessing_are_recorded_to_their_end(folder: Path, method: str) -> None:
    program = f"""
import multiprocessing
def work(name):
    agent.mark(name)
    print("worked", flush=True)
if __name__ == "__main__":
    agent.mark("main")
    context = multiprocessing.get_context({method!r})
    workers = [context.Process(target=work, args=(f"worker {{number}}",)) for number in range(2)]
    for worker in workers: worker.start(); worker.join()
    print([worker.exitcode for worker in workers])
"""
    done = run(AGENT + program, folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "worked\nworked\n[0, 0]\n", "")
    found = spools(folder)
    assert sorted(name for one in found for name in one.ranges(4)) == ["main", "worker 0", "worker 1"]
    assert [one.said("state")["final"] for one in found] == [True] * 3
    assert len({one.said("process")["pid"] for one in found}) == 3


def test_a_child_program_is_a_process_of_its_own_and_a_process_without_events_leaves_nothing(folder: Path) -> None:
    program = """
import subprocess, sys
child = "import sys; from tracelode.collect import agent; [agent.mark(a) for a in sys.argv[1:]]"
for names in ([], ["child"]):
    subprocess.run([sys.executable, "-c", child, *names], check=True)
"""
    done = run(AGENT + program, folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert [one.ranges(4) for one in spools(folder)] == [["child"]]
    assert len(list(folder.iterdir())) == 1


def test_the_process_shares_its_folder_with_the_event_collector_that_came_first(folder: Path) -> None:
    program = """
import os, time
name, = [one for one in [os.environ["TRACELODE_RECORD_PROCESS"]]]
pid, _, mine = name.partition(":")
assert int(pid) == os.getpid()
host = mine.rsplit("-", 2)[0]
for start in (1, time.time_ns()):  # of an earlier process with this number, and of this one
    other = os.path.join(os.environ["TRACELODE_RECORD_DIR"], f"{host}-{pid}-{start:x}")
    os.makedirs(other)
    open(other + "/events.spool", "w").close()
agent.mark("m")
"""
    done = run(AGENT + program, folder)
    assert (done.returncode, done.stderr) == (0, "")
    (spool,) = folder.glob("*/python.spool")
    assert (spool.parent / "events.spool").exists()
    assert len(list(folder.iterdir())) == 2
    assert int(spool.parent.name.rsplit("-", 1)[1], 16) > 1


def test_the_programs_output_and_status_are_those_without_a_recording(folder: Path) -> None:
    program = """
import sys, atexit, threading
print(sys.argv, __name__, threading.active_count(), [type(one).__name__ for one in sys.meta_path[:1]])
atexit.register(lambda: print("last words"))
with agent.range("a"):
    raise {}
"""
    for raised, status in (("ValueError(1)", 1), ("SystemExit(9)", 9), ("KeyboardInterrupt", -2)):
        text = AGENT + program.format(raised)
        plain = run(text, folder, PYTHONPATH="", TRACELODE_RECORD_DIR="")
        told = run(text, folder)
        assert told.returncode == plain.returncode == status
        assert (told.stdout, told.stderr) == (plain.stdout, plain.stderr)
    assert [one.ranges(0) for one in spools(folder)] == [["a"]] * 3


def test_a_daemon_that_closes_all_its_files_is_not_written_into(folder: Path, tmp_path: Path) -> None:
    program = f"""
import os
agent.mark("before"); agent.stop(); agent.start()
os.closerange(3, 100)
mine = open({str(tmp_path / "mine")!r}, "w")
agent.mark("after"); agent.stop(); agent.start()
os.chdir("/")
agent.mark("elsewhere")
mine.write("mine"); mine.close()
"""
    done = run(AGENT + program, folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "mine").read_text() == "mine"
    assert [one.ranges(4) for one in spools(folder)] == [["before", "after", "elsewhere"]]
