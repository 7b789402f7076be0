"""What the framework was doing when something was asked for: operator, module or layer, and phase of a step.

Of what recordings say, the phase is taken from what is surest: the operator's own phase, a span of a phase, the
autograd engine (a backward operator knows the thread of its forward one; forward is what has a backward operator of
equal sequence number), the names of annotations such as `Optimizer.step`, and last the thread of the autograd engine,
which adds gradients up between the backward operators.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..store.trace import Trace
from .nested import NONE, Nested, nearest, nest
from .sorting import Ints
from .spans import NAMED

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Asked", "Site", "sites"]

Texts = npt.NDArray[np.object_]

SOURCES = ("operator", "span", "autograd", "sequence", "annotation", "thread")
"""What tells a phase, the surest first."""

OPERATORS = """
select
    id,
    process,
    thread,
    start_ns,
    end_ns,
    parent,
    name,
    sequence,
    coalesce(phase, case when name like 'Optimizer.%' then 'optimizer' end) as phase,
    forward_thread is not null or name like 'autograd::engine::evaluate_function:%' as backward
from op
order by id
"""
MODULES = """
select process, thread, start_ns, end_ns, substr(name, 12) as name
from range
where kind = 'python' and name like 'nn.Module: %' and thread is not null
"""
ANNOTATIONS = f"""
select process, thread, start_ns, end_ns, {NAMED.format(name="name")} as name
from range
where kind in ('annotation', 'nvtx') and name not like 'nccl:%' and thread is not null
"""
SPANS_OF_PHASES = """
select process, thread, start_ns, end_ns, lower(name) as name
from range
where kind = 'phase' and lower(name) in ('forward', 'backward', 'optimizer') and thread is not null
"""
NAMED_PHASES = r"""
select process, thread, start_ns, end_ns, case
    when regexp_matches(name, '(?i)^optimizer\.|\boptim(izer)?([ _.-]?step)?\b') then 'optimizer'
    when regexp_matches(name, '(?i)\b(backward|bwd)\b') then 'backward'
    when regexp_matches(name, '(?i)\b(forward|fwd)\b') then 'forward'
end as name
from range
where kind in ('annotation', 'nvtx') and thread is not null
"""


@dataclass(frozen=True, eq=False)
class Asked:
    """What something was asked for in: for each text or None; `module_from` and `phase_from` say what tells it."""

    operator: Texts
    outermost: Texts
    module: Texts
    path: Texts
    module_from: Texts
    phase: Texts
    phase_from: Texts


@dataclass(frozen=True, eq=False)
class _Named:
    """Named spans of threads, which are numbered in `lanes`; how they nest is worked out when it is asked for."""

    lanes: "pl.DataFrame"
    rows: "pl.DataFrame"

    @cached_property
    def names(self) -> Texts:
        """The name of each span."""
        return np.array(self.rows["name"].to_list(), object)

    @cached_property
    def spans(self) -> Nested:
        """The spans with what is around each."""
        lane = self._lane(self.rows["process"].to_numpy(), self.rows["thread"].fill_null(NONE).to_numpy())
        return nest(lane, self.rows["start_ns"].to_numpy(), self.rows["end_ns"].to_numpy())

    def within(self, process: Ints, thread: Ints, moment_ns: Ints) -> Ints:
        """The number of the innermost span at each moment; none on a thread that is not known (`NONE`)."""
        lane = self._lane(process, thread)
        return self.spans.innermost(np.where(thread == NONE, NONE, lane), moment_ns)

    def _lane(self, process: Ints, thread: Ints) -> Ints:
        import polars as pl

        asked = pl.DataFrame({"process": process, "thread": thread})
        found = asked.join(self.lanes, on=["process", "thread"], how="left", maintain_order="left")
        return found["lane"].fill_null(NONE).to_numpy()

    def paths(self) -> Texts:
        """For each span the names of those around it and its own, from the outermost on, with slashes between."""
        place = np.argsort(self.spans.order)
        found: list[str] = []
        names = self.names[self.spans.order]
        for name, parent in zip(names.tolist(), self.spans.parent.tolist(), strict=True):  # parents come first
            own = str(name).replace("/", "_")
            found.append(f"{found[parent]}/{own}" if parent != NONE else own)
        return np.array(found, object)[place]


class Site:
    """Tells what something was asked for in, from operators and ranges."""

    def __init__(self, trace: Trace) -> None:
        self._operators = _read(trace, "op", OPERATORS)
        self._modules, self._module_from = _read(trace, "range", MODULES), "module"
        if self._modules is None:
            self._modules, self._module_from = _read(trace, "range", ANNOTATIONS), "annotation"
        self._phases = {
            "span": _read(trace, "range", SPANS_OF_PHASES),
            "annotation": _read(trace, "range", NAMED_PHASES),
        }

    def asked(self, process: Ints, thread: Ints, moment_ns: Ints, op: Ints | None = None) -> Asked:
        """Where the moments of threads lie; `op` has the innermost operators as `op.id`, or `NONE`, where known."""
        at = self._place(process, thread, moment_ns, op)
        operator, outermost = self._named(at)
        module, path, module_from = self._module(process, thread, moment_ns, at)
        phase, phase_from = self._phase(process, thread, moment_ns, at)
        return Asked(operator, outermost, module, path, module_from, phase, phase_from)

    def _place(self, process: Ints, thread: Ints, moment_ns: Ints, op: Ints | None) -> Ints:
        """The row of the innermost operator of each, or `NONE`."""
        if self._operators is None:
            return np.full(len(process), NONE, np.int64)
        if op is None:
            return self._operators.within(process, thread, moment_ns)
        ids = self._operators.rows["id"].to_numpy()
        at = np.searchsorted(ids, op)
        known = (op != NONE) & (ids[np.minimum(at, len(ids) - 1)] == op)
        return np.where(known, at, NONE)

    def _named(self, at: Ints) -> tuple[Texts, Texts]:
        """The names of the innermost operators and of the outermost around them."""
        if self._operators is None:
            return _none(len(at)), _none(len(at))
        names, parent = self._operators.names, _parents(self._operators.rows)
        return _taken(names, at), _taken(names[nearest(parent, parent == NONE)], at)

    def _module(self, process: Ints, thread: Ints, moment_ns: Ints, at: Ints) -> tuple[Texts, Texts, Texts]:
        """Module, its path and what tells it: the span around the call, or around the forward operator's start."""
        size = len(process)
        if self._modules is None:
            return _none(size), _none(size), _none(size)
        held = self._modules.within(process, thread, moment_ns)
        told = _where(held != NONE, self._module_from)
        if self._operators is not None:
            rows = self._operators.rows
            columns = (rows[name].fill_null(NONE).to_numpy() for name in ("process", "thread", "start_ns"))
            of_operator = self._modules.within(*columns)
            forward = self._forward_of(rows, at)
            found = np.where(forward != NONE, of_operator[forward], NONE)
            told[(held == NONE) & (found != NONE)] = "sequence"
            held = np.where(held == NONE, found, held)
        return _taken(self._modules.names, held), _taken(self._modules.paths(), held), told

    @staticmethod
    def _forward_of(rows: "pl.DataFrame", at: Ints) -> Ints:
        """The row of the forward operator of the backward ones, by sequence number; `NONE` for others."""
        own = nearest(_parents(rows), rows["backward"].to_numpy() & rows["sequence"].is_not_null().to_numpy())
        chosen = np.where(own != NONE, _makers(rows)[own], NONE)
        return np.where(at != NONE, chosen[at], NONE)

    def _phase(self, process: Ints, thread: Ints, moment_ns: Ints, at: Ints) -> tuple[Texts, Texts]:
        """The phase by the surest source that tells it, and that source."""
        told = {
            source: self._of_span(named, process, thread, moment_ns)
            for source, named in self._phases.items()
            if named is not None
        }
        if self._operators is not None:
            told |= _phases(self._operators.rows, at)
        phase, phase_from = _none(len(at)), _none(len(at))
        for source in (source for source in SOURCES if source in told):
            free = _is_none(phase) & ~_is_none(told[source])
            phase[free], phase_from[free] = told[source][free], source
        return phase, phase_from

    @staticmethod
    def _of_span(named: _Named, process: Ints, thread: Ints, moment_ns: Ints) -> Texts:
        held = named.within(process, thread, moment_ns)
        place = np.argsort(named.spans.order)
        parent = np.where(named.spans.parent == NONE, NONE, named.spans.order[named.spans.parent])[place]
        about = nearest(parent, ~_is_none(named.names))
        return _taken(named.names, np.where(held != NONE, about[held], NONE))


def sites(trace: Trace) -> Site | None:
    """What tells where things were asked for; None where a trace has neither operators nor ranges."""
    return Site(trace) if trace.has("op") or trace.has("range") else None


def _read(trace: Trace, table: str, sql: str) -> _Named | None:
    """The spans that a query gives; None where the trace lacks the table, or has none of these."""
    if not trace.has(table):
        return None
    import polars as pl

    rows = trace.sql(sql)
    if not len(rows):
        return None
    threads = rows.select(pl.col("process", "thread").fill_null(NONE).cast(pl.Int64)).unique(maintain_order=True)
    return _Named(threads.with_columns(lane=pl.int_range(pl.len())), rows)


def _parents(rows: "pl.DataFrame") -> Ints:
    """The row of the operator around each, or `NONE`."""
    ids, parent = rows["id"].to_numpy(), rows["parent"].fill_null(NONE).to_numpy()
    at = np.searchsorted(ids, parent)
    return np.where((parent != NONE) & (ids[np.minimum(at, len(ids) - 1)] == parent), at, NONE)


def _makers(rows: "pl.DataFrame") -> Ints:
    """For each operator with a sequence number the forward one that took it, or `NONE`.

    Operators that need no gradient carry the number that the next one will take: the last to start took it.
    """
    pairs = list(zip(rows["process"].to_list(), rows["sequence"].to_list(), strict=True))
    ahead = ~rows["backward"].to_numpy() & rows["sequence"].is_not_null().to_numpy()
    by_start = np.flatnonzero(ahead)[np.argsort(rows["start_ns"].to_numpy()[ahead], kind="stable")]
    last = {pairs[row]: row for row in by_start.tolist()}
    return np.fromiter((last.get(pair, NONE) for pair in pairs), np.int64, len(pairs))


def _phases(rows: "pl.DataFrame", at: Ints) -> dict[str, Texts]:
    """By the operators' own phases, by the autograd engine, by its sequence numbers, and by its thread."""
    parent, backward = _parents(rows), rows["backward"].to_numpy()
    sequence = rows["sequence"].fill_null(NONE).to_numpy()
    alike = np.where((parent != NONE) & (sequence[parent] == sequence) & ~backward, parent, NONE)
    top = nearest(alike, alike == NONE)
    makers = np.where(backward & (sequence != NONE), _makers(rows), NONE)
    made = np.unique(makers[makers != NONE])
    comes_back = np.zeros(len(rows), bool)
    comes_back[top[made]] = True
    names = np.array(rows["phase"].to_list(), object)
    return {
        "operator": _taken(_taken(names, nearest(parent, ~_is_none(names))), at),
        "autograd": _taken(_where(nearest(parent, backward) != NONE, "backward"), at),
        "sequence": _taken(_where(nearest(parent, comes_back) != NONE, "forward"), at),
        "thread": _taken(_where(_on_engine(rows, makers), "backward"), at),
    }


def _on_engine(rows: "pl.DataFrame", makers: Ints) -> npt.NDArray[np.bool_]:
    """Operators between the first and the last backward one of a thread that runs the autograd engine alone.

    Its backward operators have forward ones, `makers`, and no forward operator of any ran on it: the engine has a
    thread for each device, on which it sums up gradients outside of operators of its own.
    """
    import polars as pl

    thread = ["process", "thread"]
    asked = rows.select(*thread, "start_ns", "end_ns")
    spans = (
        asked.filter(pl.Series(makers != NONE) & pl.col("thread").is_not_null())
        .group_by(thread)
        .agg(first=pl.col("start_ns").min(), last=pl.col("end_ns").max())
    )
    engines = spans.join(asked[np.unique(makers[makers != NONE])], on=thread, how="anti")
    found = asked.join(engines, on=thread, how="left", maintain_order="left")
    within = (found["start_ns"] >= found["first"]) & (found["end_ns"] <= found["last"])
    return within.fill_null(value=False).to_numpy()


def _taken(texts: Texts, which: Ints) -> Texts:
    """The texts of those numbers; None for `NONE`."""
    found = _none(len(which))
    there = which != NONE
    found[there] = texts[which[there]]
    return found


def _where(there: npt.NDArray[np.bool_], text: str) -> Texts:
    """The text where that is so, else None."""
    found = _none(len(there))
    found[there] = text
    return found


def _none(size: int) -> Texts:
    return np.full(size, None, object)


def _is_none(texts: Texts) -> npt.NDArray[np.bool_]:
    return np.fromiter((text is None for text in texts), bool, len(texts))
