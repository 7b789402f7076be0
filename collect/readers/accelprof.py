"""Logs of AccelProf (PASTA): app_metric, app_analysis, uvm_advisor, hot_analysis, time_hotness_cpu, event_trace.

They are texts without times, process, rank or stream: launches are numbered in their order, and all is of one process.
Launches that the tool skipped (sampling, whitelist) are not in the logs, nor counted by their numbers.

The form of every line is confirmed by the public source of the tools (github.com/AccelProf/AccelProf, MIT, revision
1eeb7af), and so is what the notes say of the tools: the misprinted peak, the 32-bit touched bytes and totals, counters
without a first value (older revisions), addresses charged to the object below them, the limits on objects and tensors,
cut names, lists without what the operator itself allocated, launches lumped into the next operator, every second MiB
lost by time_hotness_cpu, and file names that processes share. No log of a real run was at hand.
"""

from ...store.errors import UnreadableFile
from ...store.trace import Facts
from ..accelprof_analysis import APP_ANALYSIS
from ..accelprof_hotness import HOT_ANALYSIS
from ..accelprof_metric import APP_METRIC
from ..accelprof_text import Kind, beginning
from ..accelprof_totals import EVENT_TRACE
from ..accelprof_uvm import UVM_ADVISOR
from ..accelprof_windows import TIME_HOTNESS
from ..files import TraceFile
from ..sink import Sink

__all__ = ["VERSION", "read", "recognises"]

VERSION = 3

KINDS = (APP_METRIC, APP_ANALYSIS, UVM_ADVISOR, HOT_ANALYSIS, TIME_HOTNESS, EVENT_TRACE)


def recognises(file: TraceFile) -> bool:
    """Whether the lines are those of one of the logs; of `event_trace`, which is bare numbers, by its name too."""
    return _kind(file) is not None


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every event to the sink and returns the facts; what the tool got wrong is put right or noted."""
    kind = _kind(file)
    if kind is None:
        raise UnreadableFile(f"{file.path}: not a log of AccelProf", "give the log as the tool wrote it")
    return kind.read(file, sink)


def _kind(file: TraceFile) -> Kind | None:
    lines = beginning(file)
    return next((kind for kind in KINDS if kind.begins(file, lines)), None)
