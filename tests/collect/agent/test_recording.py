from pathlib import Path

import pytest

from tests.collect.agent.spooled import recorded, run, spools

AGENT = "from tracelode.collect import agent\n"


def test_a_hundred_thousand_ranges_are_all_there_in_little_memory(folder: Path) -> None:
    program = """
import resource
with agent.range("warm"): pass
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for number in range(100_000):
    with agent.range("ranged"): pass
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000  # KiB; all of them would be more
"""
    found = recorded(AGENT + program, folder)
    assert len(found.rows["range"]) == 100_001
    assert found.said("state")["kept"]["range"] == found.said("state")["records"]["range"] == 100_001
    assert found.said("state")["dropped"] == 0
    assert [row["end"] for row in found.rows["range"]] == sorted(row["end"] for row in found.rows["range"])


def test_rows_that_cannot_be_written_in_time_are_dropped_and_counted(folder: Path) -> None:
    program = """
import sys
recording = sys.modules["tracelode_agent.session"].SESSION.recording
with recording._writing:  # as if another thread were writing all the time
    for _ in range(70_000): agent.mark("m")
"""
    found = recorded(AGENT + program, folder)
    state = found.said("state")
    assert state["records"]["range"] == 70_000
    assert state["kept"]["range"] == len(found.rows["range"]) == 66_667
    assert state["dropped"] == 3_333


def test_more_names_than_are_kept_become_one(folder: Path) -> None:
    program = """
import sys
sys.modules["tracelode_agent.session"].SESSION.recording._room = 3 * (100 + len("name 0"))
for number in range(6): agent.mark(f"name {number}")
agent.mark("name 1")
"""
    names = recorded(AGENT + program, folder).ranges(4)
    assert names == ["name 0", "name 1", "name 2", *["(too many names)"] * 3, "name 1"]


def test_few_ranges_are_there_at_once_whatever_becomes_of_the_program(folder: Path) -> None:
    program = """
import os, signal, time
with agent.range("outer"):
    with agent.range("inner"): pass
time.sleep(0.2)
agent.mark("last")
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = run(AGENT + program, folder)
    assert (done.returncode, done.stdout, done.stderr) == (-9, "", "")
    (found,) = spools(folder)
    assert (found.ranges(0), found.ranges(4)) == (["inner", "outer"], ["last"])
    assert not [text for text in found.texts if text["what"] == "state"]


def test_of_many_ranges_those_of_a_tenth_of_a_period_may_be_lost_in_a_crash(folder: Path) -> None:
    program = """
import os, signal, time
for number in range(1000): agent.mark(number)
time.sleep(0.06)
agent.mark("late")
for number in range(1000): agent.mark(number)
os.kill(os.getpid(), signal.SIGKILL)
"""
    run(AGENT + program, folder)
    (found,) = spools(folder)
    marks = found.ranges(4)
    assert marks[:1000] == [str(number) for number in range(1000)]
    assert marks[1000] == "late"
    assert len(marks) < 2001


@pytest.mark.parametrize(("period", "told"), [("100", True), ("60000", False)])
def test_the_state_is_told_once_a_period(folder: Path, period: str, told: bool) -> None:
    program = """
import os, signal, time
agent.mark("first")
time.sleep(0.12)
agent.mark("second")
os.kill(os.getpid(), signal.SIGKILL)
"""
    run(AGENT + program, folder, TRACELODE_RECORD_FLUSH=period)
    (found,) = spools(folder)
    assert found.ranges(4) == ["first", "second"]
    assert any(text["what"] == "state" for text in found.texts) == told


def test_without_a_period_rows_are_written_when_there_are_many(folder: Path) -> None:
    program = """
import os, signal, sys, time
for _ in range(20_000): agent.mark("m")
time.sleep(0.1)
for _ in range(100): agent.mark("m")
os.kill(os.getpid(), signal.SIGKILL)
"""
    run(AGENT + program, folder, TRACELODE_RECORD_FLUSH="0")
    (found,) = spools(folder)
    assert 16_667 <= len(found.ranges(4)) < 20_000


def test_ranges_that_are_open_at_the_end_of_the_program_are_counted(folder: Path) -> None:
    program = """
import threading
opened = threading.Event()
def wait():
    with agent.range("never closed"):
        opened.set()
        threading.Event().wait()
def leave(): agent.push("left open")
threading.Thread(target=wait, daemon=True).start()
opened.wait()
other = threading.Thread(target=leave); other.start(); other.join()
agent.mark("m")
agent.push("closed with the program")
"""
    found = recorded(AGENT + program, folder)
    assert found.ranges(0) == ["closed with the program"]
    assert found.said("state")["open"] == 2


def test_a_range_that_is_popped_in_a_pause_is_not_popped_after_it(folder: Path) -> None:
    program = """
agent.push("a"); agent.stop(); agent.pop(); agent.pop(); agent.start()
agent.push("b"); agent.pop(); agent.pop()
"""
    found = recorded(AGENT + program, folder)
    assert [(row["name"], row["depth"]) for row in found.rows["range"]] == [("b", 0)]
    assert (found.said("state")["open"], found.said("state")["unmatched_pops"]) == (1, 1)


def test_numbers_that_fit_no_column_cost_their_own_rows_only(folder: Path) -> None:
    program = """
import sys
recording = sys.modules["tracelode_agent.session"].SESSION.recording
recording.hold("op", (1 << 64, 0, 0, 0, 0, 0, 0, 0, 0))
agent.mark("m")
"""
    found = recorded(AGENT + program, folder)
    state = found.said("state")
    assert (found.ranges(4), state["dropped"], state["errors"]) == (["m"], 1, 1)
    assert state["error"].startswith("OverflowError")


def test_nobody_else_may_read_a_recording(folder: Path) -> None:
    found = recorded(AGENT + "agent.mark('m')", folder)
    paths = folder, folder / found.folder, folder / found.folder / "python.spool"
    assert [path.stat().st_mode & 0o777 for path in paths] == [0o700, 0o700, 0o600]


def test_writing_stops_at_the_size_asked_for(folder: Path) -> None:
    program = """
for _ in range(10):
    for _ in range(1000): agent.mark("m")
    agent.stop(); agent.start()
"""
    found = recorded(AGENT + program, folder, TRACELODE_RECORD_STOP="100000")
    state = found.said("state")
    assert (state["stopped"], state["final"]) == ("limit", True)
    kept = len(found.rows["range"])
    assert (state["kept"]["range"], state["dropped"]) == (kept, 10_000 - kept)
    size = (folder / found.folder / "python.spool").stat().st_size
    assert 95_000 < size < 103_000  # rows up to the limit, then two states and a reading of the clocks
    ends = [text["final"] for text in found.texts if text["what"] == "state" and text["stopped"] == "limit"]
    assert ends == [False, True]


def test_a_folder_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    program = """
agent.mark("m"); agent.stop(); agent.start()
agent.mark("m")
print("still here")
raise SystemExit(5)
"""
    blocked = tmp_path / "file"
    blocked.write_text("")
    for folder in (blocked / "below", Path("/proc/nowhere"), Path("/dev/full")):
        done = run(AGENT + program, tmp_path / "x", TRACELODE_RECORD_DIR=str(folder))
        assert (done.returncode, done.stdout, done.stderr) == (5, "still here\n", "")


def test_a_disk_that_fills_up_ends_the_writing_and_nothing_else(folder: Path) -> None:
    program = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
for _ in range(5000): agent.mark("m")
agent.stop(); agent.start(); agent.mark("m")
print("done")
"""
    done = run(AGENT + program, folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    (path,) = folder.glob("*/python.spool")
    assert path.stat().st_size < 20_000
    (found,) = spools(folder)
    state = found.said("state")
    assert (state["stopped"], state["final"], state["error"]) == ("disk", True, f"{path}: File too large")
    assert state["kept"]["range"] == len(found.rows["range"]) == 5001 - state["dropped"]


def test_code_that_a_signal_runs_within_the_agent_may_use_it(folder: Path) -> None:
    program = """
import signal, time
seen = []
def handler(*_):
    seen.append(1)
    with agent.range(f"signal {len(seen)}"): agent.mark("moment")
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
end = time.monotonic() + 0.8
while time.monotonic() < end:
    with agent.range("outer"): pass
signal.setitimer(signal.ITIMER_REAL, 0)
assert len(seen) > 20
"""
    found = recorded(AGENT + program, folder)
    assert found.said("state")["errors"] == 0
    assert found.said("state")["open"] == 0


def test_clocks_are_told_and_agree_with_the_rows(folder: Path) -> None:
    found = recorded(AGENT + "import time\nagent.mark(time.time_ns())", folder)
    clocks, (row,) = found.said("clocks"), found.rows["range"]
    unix = row["end"] - clocks["monotonic_raw"] + clocks["realtime"]
    assert abs(unix - int(row["name"])) < 5_000_000_000  # another clock would be years away
    assert 0 <= clocks["spread"] < 1_000_000_000
    process = found.said("process")
    assert process["collector"] == "python"
    assert process["command"][-1].endswith("program.py")
    assert (process["clock"], process["torch"], process["hooks"]) == ("monotonic_raw", None, [])
    assert found.folder == f"{process['host']}-{process['pid']}-{found.folder.rsplit('-', 1)[1]}"
    assert abs(int(found.folder.rsplit("-", 1)[1], 16) - process["start_unix_ns"]) < 5_000_000_000


def test_what_was_pushed_and_never_popped_ends_with_the_program(folder: Path) -> None:
    found = recorded(AGENT + 'agent.push("outer"); agent.push("inner")', folder)
    assert [(row["name"], row["depth"]) for row in found.rows["range"]] == [("inner", 1), ("outer", 0)]
