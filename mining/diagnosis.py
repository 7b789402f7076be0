"""What a diagnosis says: in words what holds the device up, the rows that show it, and a bound on what it costs."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ..store.trace import Trace
from .words import duration, percent

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Diagnoser", "Diagnosis", "Place"]


@dataclass(frozen=True)
class Place:
    """The device that loses most: what it could save in all and in an iteration (None: there are none), of what span.

    `count` is how often it loses time, `many` whether the trace has several devices, `others` how many of these lose
    enough to be told as well.
    """

    process: int
    device: int
    saves_ns: int
    saves_per_iteration_ns: int | None
    span_ns: int
    count: int
    many: bool
    others: int

    @property
    def where(self) -> str:
        """The device as the subject of a sentence."""
        return f"Device {self.device} of process {self.process}" if self.many else "The device"

    @property
    def saved(self) -> str:
        """The bound as a sentence."""
        each = f", {duration(self.saves_per_iteration_ns)} an iteration" if self.saves_per_iteration_ns else ""
        share = percent(self.saves_ns, self.span_ns)
        text = f"At most {duration(self.saves_ns)} ({share} of the device's time{each}) could be saved"
        also = "one other device" if self.others == 1 else f"{self.others} other devices"
        return f"{text}; {also} likewise." if self.others else f"{text}."


@dataclass(frozen=True)
class Diagnosis:
    """A cause of lost time, told of the device that loses most by it.

    `saves_ns` is the most that the device's span of `span_ns` could shrink by without it, by the rule that `bound`
    states: the sum of `saves_ns` over the rows of that process and device. `saves_per_iteration_ns` is the part of it
    within iterations for each of them, None without any. `advice` is what to try. `rows` are what `sql` gives:
    `process`, `device`, `what`, `detail`, `count`, `time_ns`, `saves_ns`, `saves_per_iteration_ns`, and `at_ns`, where
    the costliest begins; the most saving first.
    """

    name: str
    sentence: str
    process: int
    device: int
    saves_ns: int
    saves_per_iteration_ns: int | None
    span_ns: int
    bound: str
    advice: str
    rows: "pl.DataFrame"
    sql: str

    @property
    def share(self) -> float:
        """The saving as a share of the device's span: how severe it is."""
        return self.saves_ns / self.span_ns


class Diagnoser(Protocol):
    """A module in `mining/diagnoses/`: the first line of its docstring is the question it answers.

    `NEEDS` names the miners whose tables it reads.
    """

    NEEDS: tuple[str, ...]

    def diagnose(self, trace: Trace) -> tuple[Diagnosis, ...]:
        """What there is to say, nothing where all is well or the trace lacks what would tell."""
        ...
