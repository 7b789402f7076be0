"""Events of PyTorch traces for these tests, and what is asked of what was read."""

from collections.abc import Sequence
from typing import Any

from tests.collect.kineto_traces import duration
from tracelode.store import Trace

PROCESS, THREAD = 10, 11


def launch(ts: float, correlation: int, name: str = "cudaLaunchKernel", pid: int = PROCESS) -> dict[str, Any]:
    """A call of 3 microseconds that launches what has that correlation."""
    return duration("cuda_runtime", name, pid, THREAD, ts, 3, cbid=211, correlation=correlation)


def kernel(name: str, ts: float, dur: float, correlation: int, *, device: int = 0, stream: int = 7) -> dict[str, Any]:
    """A kernel execution."""
    place = {"device": device, "stream": stream, "correlation": correlation}
    return duration("kernel", name, device, stream, ts, dur, **place)


def launched(name: str, ts: float, dur: float, correlation: int) -> Sequence[dict[str, Any]]:
    """A kernel, and the call that launched it 10 microseconds before."""
    return launch(ts - 10, correlation), kernel(name, ts, dur, correlation)


def notes(trace: Trace) -> dict[str, int]:
    """How often each kind of note was made."""
    return {note.kind: note.count for note in trace.notes}


def example(trace: Trace, kind: str) -> str:
    """The example of a kind of note."""
    (text,) = [note.example for note in trace.notes if note.kind == kind]
    return text or ""


def kernels(trace: Trace) -> list[tuple[str, int | None]]:
    """Name and trusted duration in nanoseconds of each kernel, by start."""
    return trace.sql("select name, duration_ns from kernel order by start_ns").rows()
