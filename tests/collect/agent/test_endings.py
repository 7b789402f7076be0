from pathlib import Path

from tests.collect.agent.spooled import run, spools

AGENT = "from tracelode.collect import agent\n"


def test_another_end_than_pythons_own_loses_nothing(folder: Path) -> None:
    program = """
import os, sys
agent.push("pushed")
for number in range(100): agent.mark(number)
try: os.execv("/nowhere", ["nowhere"])
except FileNotFoundError: agent.mark("still here")
assert os.execve in os.supports_fd and os._exit.__name__ == "_exit"
{}
"""
    ends = "os._exit(3)", 'os.execlp("sh", "sh", "-c", "exit 3")', "os.kill(os.fork() and os.getpid(), 0); os._exit(3)"
    for number, end in enumerate(ends):
        done = run(AGENT + program.format(end), folder.with_name(str(number)))
        assert (done.returncode, done.stdout, done.stderr) == (3, "", "")
        (found,) = spools(folder.with_name(str(number)))
        assert found.ranges(4) == [*map(str, range(100)), "still here"]
        state = found.said("state")
        assert (state["final"], state["stopped"], state["dropped"]) == (True, "exit", 0)
        assert (state["open"], found.ranges(0)) == ((1, []) if "exec" in end else (0, ["pushed"]))


def test_the_functions_are_otherwise_those_of_python(folder: Path) -> None:
    program = """
import inspect, os, pickle
assert pickle.loads(pickle.dumps(os._exit)) is os._exit
assert (os.execv.__name__, os.execv.__module__, os.execv.__doc__[:7]) == ("execv", "posix", "Execute")
assert os.execve in os.supports_fd
for wrong in (lambda: os._exit("x"), lambda: os.execv("x")):
    try: wrong()
    except TypeError: print("as ever")
"""
    done = run(AGENT + program, folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "as ever\nas ever\n", "")
