"""How an object is used over a run: the four classes of Forest (ISCA'25), and whether to pin or to offload it."""

from dataclasses import dataclass
from statistics import median

from ..store.errors import Error
from .uvm_rules import RULES, uvm_rules

__all__ = ["Rules", "Use", "Verdict", "judged", "use_rules"]


@dataclass(frozen=True)
class Rules:
    """The thresholds of section `use` in mining/uvm.toml."""

    pin_share: float
    evict_share: float
    dense_share: float


@dataclass(frozen=True)
class Use:
    """What is known of one object: `accesses` to its `bytes` in so many of all `windows`, from `first` to `last`.

    `covered_bytes` are those that were touched, None where not known. `once` says that each part was used in one window
    only, and `in_order` that the parts came in the order of their addresses.
    """

    bytes: int
    accesses: int
    used: int
    first: int
    last: int
    windows: int
    covered_bytes: int | None
    once: bool
    in_order: bool

    @property
    def persistence(self) -> float:
        """The share of all windows in which it is used."""
        return self.used / self.windows

    @property
    def span(self) -> float:
        """The share of the run from its first window of use to its last."""
        return (self.last - self.first + 1) / self.windows

    @property
    def density(self) -> float:
        """Accesses for each byte."""
        return self.accesses / self.bytes

    @property
    def coverage(self) -> float | None:
        """The share of its bytes that are touched."""
        return None if self.covered_bytes is None else min(self.covered_bytes / self.bytes, 1.0)


@dataclass(frozen=True)
class Verdict:
    """The class of use (streaming, dense hot, dense cool, sparse; None: coverage unknown), and pin, evict or keep."""

    kind: str | None
    role: str


def use_rules() -> Rules:
    """The thresholds as the file has them; an `Error` where an object could be pinned and evicted."""
    said = uvm_rules("use")
    if said["pin_share"] <= said["evict_share"]:
        raise Error(f"{RULES}: use.pin_share is not above use.evict_share", "an object would be pinned and evicted")
    return Rules(said["pin_share"], said["evict_share"], said["dense_share"])


def judged(uses: list[Use], rules: Rules) -> list[Verdict]:
    """The class and the role of each object; density is compared with the median of all of them.

    Used in the share `pin_share` of the windows or more, an object spans at least that share of the run, so none is
    both pinned and evicted.
    """
    middle = median(use.density for use in uses) if uses else 0.0
    return [Verdict(_kind(use, rules, middle), _role(use, rules, middle)) for use in uses]


def _kind(use: Use, rules: Rules, middle: float) -> str | None:
    if use.coverage is None:
        return None
    if use.coverage < rules.dense_share:
        return "sparse"
    if use.once and use.in_order and use.used > 1:
        return "streaming"
    return "dense hot" if use.density >= middle else "dense cool"


def _role(use: Use, rules: Rules, middle: float) -> str:
    if use.persistence >= rules.pin_share and use.density >= middle:
        return "pin"
    if use.span <= rules.evict_share and use.last < use.windows - 1:
        return "evict"
    return "keep"
