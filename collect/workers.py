"""Work on tasks that share nothing: in this process, in others of this machine, or on a Dask cluster.

Each task is answered, whatever is killed: what a killed process had in hand is done again.
"""

import gc
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from ..store.errors import Error

__all__ = ["do_all"]

T = TypeVar("T")
R = TypeVar("R")
Done = tuple[int, Future[R]]
"""The number of a task, and its answer or what it raised."""
Outcome = tuple[R | None, Exception | None]
"""The same in a form that can be sent: one of the two."""

AHEAD = 2
"""Tasks handed out at once for each process: one waits while one is worked on."""
LEAST_AHEAD = 256
"""Tasks handed to a cluster at least: workers may join."""
ANSWERS_S = 10
"""How long a scheduler may take to answer."""


def do_all(work: Callable[[T], R], tasks: Sequence[T], *, jobs: int = 1, dask: str | None = None) -> Iterator[Done[R]]:
    """The tasks as they are done, in whatever order: in that many processes, or where the Dask scheduler has workers.

    A task during which its process is killed is done again, alone; one that is killed then, too, raises `Error`.
    """
    if dask is not None:
        return _on_dask(work, tasks, dask)
    if jobs == 1 or len(tasks) < 2:
        return ((number, _here(work, task)) for number, task in enumerate(tasks))
    return _in_processes(work, tasks, min(jobs, len(tasks)))


def _here(work: Callable[[T], R], task: T) -> Future[R]:
    answer = _answer(_outcome(work, task))
    gc.collect(1)  # what a task leaves in cycles would wait for those of dozens of others, and take their memory
    return answer


def _outcome(work: Callable[[T], R], task: T) -> Outcome[R]:
    try:
        return work(task), None
    except Exception as error:  # noqa: BLE001 - handed to the caller, as one of another process is
        return None, error


def _answer(outcome: Outcome[R]) -> Future[R]:
    answer = Future[Any]()
    result, error = outcome
    if error is None:
        answer.set_result(result)
    else:
        answer.set_exception(error)
    return answer


def _in_processes(work: Callable[[T], R], tasks: Sequence[T], jobs: int) -> Iterator[Done[R]]:
    left = deque(enumerate(tasks))
    while left:
        with _processes(jobs) as pool:
            lost = yield from _together(pool, work, left, jobs * AHEAD)
        for number, task in lost:
            yield number, _alone(work, task)


def _together(
    pool: Executor, work: Callable[[T], R], left: deque[tuple[int, T]], most: int
) -> Generator[Done[R], None, list[tuple[int, T]]]:
    """Works on what is left, that many at once, until it is done or a process is killed; what was in hand then."""
    in_hand: dict[Future[R], tuple[int, T]] = {}
    while left or in_hand:
        while left and len(in_hand) < most:
            try:
                answer = pool.submit(work, left[0][1])
            except BrokenExecutor:
                return list(in_hand.values())
            in_hand[answer] = left.popleft()
        ready, _ = wait(in_hand, return_when=FIRST_COMPLETED)
        for answer in ready:
            if not isinstance(answer.exception(), BrokenExecutor):
                yield in_hand.pop(answer)[0], answer
        if any(isinstance(answer.exception(), BrokenExecutor) for answer in ready):
            return list(in_hand.values())
    return []


def _alone(work: Callable[[T], R], task: T) -> Future[R]:
    """The task in a process of its own."""
    with _processes(1) as pool:
        answer = pool.submit(work, task)
        wait([answer])
    if not isinstance(answer.exception(), BrokenExecutor):
        return answer
    return _failed("try fewer --jobs")


def _failed(hint: str) -> Future[Any]:
    failed = Future[Any]()
    what = "the process that worked on it was killed, and so was another one, perhaps for want of memory"
    failed.set_exception(Error(what, hint))
    return failed


@contextmanager
def _processes(count: int) -> Generator[ProcessPoolExecutor]:
    # Spawned, not forked: Arrow and Numba hold threads that a fork would leave behind.
    pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), initializer=_end_with_parent)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _end_with_parent() -> None:
    """Ends this process when the one that started it is gone: killed, it tells nobody, and its pool would wait on."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        assert parent is not None
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _on_dask(work: Callable[[T], R], tasks: Sequence[T], address: str) -> Iterator[Done[R]]:
    """The tasks as the workers of that scheduler do them; it gives those of a lost worker to others.

    Raises `Error` where no scheduler answers, or Dask distributed is not installed.
    """
    try:
        from distributed import Client, KilledWorker
    except ImportError as error:
        raise Error("--dask needs Dask distributed", "pip install 'tracelode[dask]'") from error
    try:
        client: Any = Client(address, timeout=ANSWERS_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise Error(f"{address}: no Dask scheduler answers", "give its address, as in tcp://host:8786") from error
    with client:
        pool = client.get_executor(pure=False)
        most = max(LEAST_AHEAD, AHEAD * sum(client.nthreads().values()))
        try:
            blamed: list[int] = []
            for number, sent in _together(pool, partial(_outcome, work), deque(enumerate(tasks)), most):
                if sent.exception() is None:
                    yield number, _answer(sent.result())
                else:
                    blamed.append(number)
            # A scheduler blames all that a killed worker had: alone, only those that kill fail. And of an answer that
            # is lost while it is fetched the executor takes what it has for an error, and raises what comes of that.
            for number in blamed:
                sent = pool.submit(_outcome, work, tasks[number])
                wait([sent])
                raised = sent.exception()
                if isinstance(raised, KilledWorker):
                    yield number, _failed("give the workers more memory")
                else:
                    yield number, _answer(sent.result() if raised is None else (None, raised))
        except CancelledError as error:
            raise Error(f"{address}: the Dask scheduler is gone", "run it again: what is done is kept") from error
