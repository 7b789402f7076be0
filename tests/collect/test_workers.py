import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tracelode.collect.workers import do_all
from tracelode.store import Error


def square(number: int) -> int:
    return number * number


def faulty(number: int) -> int:
    if number == 1:
        raise Error("one is refused", "take another")
    if number == 2:
        raise ZeroDivisionError
    return number


def once_killed(folder: Path, number: int) -> int:
    """Dies at its first try of task 3, and of each task that was in hand then says how often it was begun."""
    tries = folder / f"{number}-{time.monotonic_ns()}"
    tries.touch()
    if number == 3 and len(list(folder.glob("3-*"))) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def always_killed(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def told(work: Any, tasks: list[int], **where: Any) -> list[int | str]:
    """The answers in the order of the tasks, of those that failed what they raised."""
    answers = dict(do_all(work, tasks, **where))
    assert sorted(answers) == list(range(len(tasks)))
    errors = [answers[number].exception() for number in range(len(tasks))]
    return [
        answers[number].result() if error is None else f"{type(error).__name__}: {error}"
        for number, error in enumerate(errors)
    ]


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_task_is_answered_whatever_the_others_raise(jobs: int) -> None:
    assert told(square, [3, 1, 2], jobs=jobs) == [9, 1, 4]
    assert told(faulty, [0, 1, 2, 3], jobs=jobs) == [0, "Error: one is refused", "ZeroDivisionError: ", 3]
    assert told(square, [], jobs=jobs) == []


def test_a_task_whose_process_is_killed_is_done_again_with_those_it_took_along(tmp_path: Path) -> None:
    assert told(partial(once_killed, tmp_path), list(range(9)), jobs=2) == list(range(9))
    assert len(list(tmp_path.glob("3-*"))) == 2


def test_a_task_that_kills_every_process_fails_alone() -> None:
    *before, failed, last = told(always_killed, [0, 1, 2, 3, 4], jobs=2)
    assert (before, last) == ([0, 1, 2], 4)
    assert str(failed).startswith("Error: the process that worked on it was killed, and so was another one")


PARENT = """
import os, sys, time
from tracelode.collect.workers import do_all
def pid(number):
    print(os.getpid(), flush=True)
    time.sleep(60)
if __name__ == "__main__":
    list(do_all(pid, [1, 2], jobs=2))
"""


def runs(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_processes_end_with_the_one_that_started_them_however_it_ends(tmp_path: Path) -> None:
    (tmp_path / "parent.py").write_text(PARENT)
    parent = subprocess.Popen([sys.executable, str(tmp_path / "parent.py")], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    workers = [int(parent.stdout.readline()) for _ in range(2)]
    parent.kill()
    parent.wait()
    parent.stdout.close()
    for _ in range(200):
        if not any(runs(worker) for worker in workers):
            return
        time.sleep(0.05)
    pytest.fail("a process outlives the one that started it")


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A Dask cluster of two processes."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs="CRITICAL"
    ) as cluster:
        yield cluster


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_cluster_does_the_same_and_a_killed_worker_loses_nothing(tmp_path: Path, cluster: Any) -> None:
    address = cluster.scheduler_address
    assert told(faulty, [0, 1, 2, 3], dask=address) == [0, "Error: one is refused", "ZeroDivisionError: ", 3]
    assert told(partial(once_killed, tmp_path), list(range(9)), dask=address) == list(range(9))
    assert len(list(tmp_path.glob("3-*"))) == 2
    *before, failed, last = told(always_killed, [0, 1, 2, 3, 4], dask=address)
    assert (before, last) == ([0, 1, 2], 4)
    assert str(failed).startswith("Error: the process that worked on it was killed")


def test_where_no_scheduler_answers_is_told_in_words() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(Error, match="no Dask scheduler answers"):
        list(do_all(square, [1], dask="not an address"))
