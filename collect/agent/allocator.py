"""Records what CUDA's caching allocator gives and takes, from the history that it keeps for PyTorch's snapshots.

The history is emptied into rows from time to time. Its times are microseconds of the wall clock; whose memory it is
follows from the module that ran then.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import TYPE_CHECKING, Any

from .chunks import NONE
from .process import clocks, now

if TYPE_CHECKING:
    from .recording import Recording
    from .session import Session

__all__ = ["Allocator"]

EVENTS = {"alloc": 0, "free_completed": 1}
MOST_ENTRIES = 50_000
MOST_MOMENTS = 100_000
PERIOD_NS = 2_000_000_000


class Allocator:
    """The allocator's history; `enabled` once CUDA is in use."""

    def __init__(self, session: Session, torch: Any, stacks: bool) -> None:
        self.enabled = False
        self._session = session
        self._cuda = torch.cuda
        self._options: dict[str, Any] = {
            "enabled": "all",
            "context": "alloc" if stacks else None,
            "stacks": "python",
            "max_entries": MOST_ENTRIES,
        }
        self._moments: deque[tuple[int, int]] = deque(maxlen=MOST_MOMENTS)
        self._due = now() + PERIOD_NS
        self._cuda._lazy_call(self._enable)  # waits until the program uses CUDA: starting it here would break forks

    def moved(self, owner: int) -> None:
        """Notes which module runs from now on."""
        if self.enabled:
            self._moments.append((now(), owner))

    def _enable(self) -> None:
        held = self._session.held
        if held is None:
            return
        try:
            self._restart()
        except Exception as error:  # noqa: BLE001 an allocator without a history: there are no rows of it
            held.trouble(error)
            return
        self.enabled = True
        held.sources.append(self._drain)

    def _restart(self) -> None:
        """Begins an empty history. Releases before `clear_history` begin one with each call."""
        record = self._cuda.memory._record_memory_history
        try:
            record(**self._options, clear_history=True)
        except TypeError:
            record(**self._options)

    def _drain(self, recording: Recording, final: bool) -> None:
        """Makes rows of the history since the last time."""
        if not final and now() < self._due:
            return
        self._due = now() + PERIOD_NS
        traces = self._cuda.memory._snapshot()["device_traces"]
        self._restart()
        moments = sorted(self._moments)
        self._moments.clear()
        self._moments.extend(moments[-1:])
        at = clocks()
        offset = int(str(at["realtime"])) - int(str(at["monotonic_raw"]))
        for device, entries in enumerate(traces):
            recording.counts["allocator_overruns"] += len(entries) >= MOST_ENTRIES
            for entry in entries:
                self._keep(recording, device, entry, offset, moments)
            if entries:
                recording.tell(
                    {
                        "what": "allocator",
                        "device": device,
                        "time": now(),
                        "allocated": self._cuda.memory_allocated(device),
                        "reserved": self._cuda.memory_reserved(device),
                    }
                )

    def _keep(self, recording: Recording, device: int, entry: Any, offset: int, moments: list[tuple[int, int]]) -> None:
        event = EVENTS.get(entry["action"])
        moment = entry.get("time_us", 0) * 1000 - offset
        if event is None or moment < recording.began:
            return
        before = bisect_right(moments, (moment, NONE)) - 1
        owner = moments[before][1] if event == 0 and before >= 0 else NONE
        frames = [f"{one['filename']}:{one['line']} {one['name']}" for one in reversed(entry.get("frames") or ())]
        stack = recording.name(";".join(frames)) if frames else NONE
        recording.hold("tensor", (moment, entry["addr"], entry["size"], device, event, NONE, owner, stack))
