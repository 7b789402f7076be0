"""The workload report on several traces: side by side in a table, two curves of memory, and the symmetry of ranks."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..mining.comparisons import memory_curves
from ..mining.evidence_levels import HINTS, told
from ..mining.finding import Finding
from ..mining.mine import compare, mine
from ..mining.symmetry import Signature, Use, signature
from ..mining.words import count
from ..mining.workload_runs import runs
from ..store.errors import NotCollected
from ..store.query import run
from ..store.trace import Trace
from .charts.memory import difference, two_curves
from .health import health_of
from .rank_group import Group
from .report import Block, Chart, Column, Report, Section, Table, Text
from .topics.workload import GLOSSARY

__all__ = ["build"]

AskOf = Callable[[Trace, str], Finding]
"""Answers with the finding of an analysis about a trace, or raises `NotCollected`."""

RECORD = f"To see this, {HINTS['C']} in each of them."
AXES = {"event": "Number of the change", "share": "Share of the changes"}

PEAKS = """
select trace_id, process, device, granularity, count(*) as changes, max(bytes) as peak_bytes
from memory_curve
group by all
order by trace_id, process, device, granularity
"""
COLLECTIVES = """
select collective.kind, any_value(phase) as phase, count(*) as calls
from collective
left join attribution
    on attribution.process = collective.process
    and attribution.device = collective.device
    and attribution.stream = collective.stream
    and attribution.start_ns = collective.start_ns
where collective.kind is not null
group by collective.kind, attribution.phase
order by all
"""


def build(group: Group, ask: AskOf) -> Report:
    """The report; each trace is mined by itself, those of the same content are one."""
    traces = [mine(member.trace, group.archive, "attribution", "memory_use") for member in group.members]
    labels = _labels([trace.source.rsplit("/", 1)[-1] for trace in traces])
    table = runs(list(zip(labels, traces, strict=True)))
    sections = [_runs(table)]
    with_curves = [(label, trace) for label, trace in zip(labels, traces, strict=True) if trace.has("memory_curve")]
    sections.append(_curves(group, with_curves))
    ranked = len({member.rank for member in group.members if member.rank_from in ("file", "name")}) == len(traces)
    sections.append(_symmetry(with_curves, ranked))
    said = [section.sentence for section in sections if section.blocks]
    return Report(
        topic="workload",
        title=f"Workloads of {group.name}, {count(len(traces))} traces",
        verdict=" ".join(said),
        trace_id="+".join(trace.id[:12] for trace in traces),
        identity=(("traces", count(len(traces))), ("from", group.name)),
        health=tuple(_health(group, labels)),
        sections=(*sections, _each(labels, traces, ask)),
        glossary=GLOSSARY,
    )


def _labels(names: Sequence[str]) -> list[str]:
    """The names, numbered where they are alike."""
    seen, labels = defaultdict[str, int](int), list[str]()
    for name in names:
        seen[name] += 1
        labels.append(name if names.count(name) == 1 else f"{name} ({seen[name]})")
    return labels


def _health(group: Group, labels: Sequence[str]) -> Iterator[str]:
    """What was not read, and what is doubtful in some of the traces."""
    yield from (f"not read: {one.name.rpartition('/')[2]}: {one.error.message}" for one in group.unread)
    yield from (f"same content: {remark}" for remark in group.remarks)
    for label, member in zip(labels, group.members, strict=True):
        doubtful = [one.quantity for one in health_of(member.trace).unreliable if member.trace.notes]
        if doubtful:
            yield f"unreliable: {', '.join(doubtful)}, in {label}"


def _runs(found: Finding) -> Section:
    columns = (
        Column("name", "Trace"),
        Column("kernels", "Kernels", "count"),
        Column("work_ns", "Kernel time", "ns"),
        Column("peak_bytes", "Peak (objects)", "bytes"),
        Column("footprint_bytes", "Mean footprint (objects)", "bytes"),
        Column("working_set_bytes", "Working set (tensors)", "bytes"),
        Column("min_bytes", "Smallest", "bytes"),
        Column("mean_bytes", "Mean", "bytes"),
        Column("median_bytes", "Median", "bytes"),
        Column("p90_bytes", "90 %", "bytes"),
        Column("ratio", "Footprint / working set", "ratio"),
        Column("evidence", "Evidence"),
        Column("inputs_only", "Inputs only", "count"),
        Column("source", "Footprint known from"),
    )
    block = Table("Kernels and memory of each trace", columns, found.rows.to_dicts(), found.sql, 100)
    return Section("workload_runs", "The traces side by side", found.sentence, (block,), found.notes)


def _curves(group: Group, traces: Sequence[tuple[str, Trace]]) -> Section:
    """The first two traces with a curve."""
    key, heading = "workload_curves", "Memory of two runs"
    if len(traces) < 2:
        return Section(key, heading, "Not collected: allocated memory in two of the traces.", (), (RECORD,))
    (name, base), (other_name, other) = traces[:2]
    try:
        found = compare((base, group.archive), (other, group.archive), "memory_curves")
    except NotCollected as missing:
        return Section(key, heading, f"Not collected: {missing.message}.", (), (f"To see this, {missing.hint}.",))
    compared = group.archive.open(other.id)
    blocks: list[Block] = []
    for axis, title in AXES.items():
        sql = memory_curves.points(base, axis)
        rows = compared.sql(sql).to_dicts()
        shows = f"Allocated after each change in {name} and {other_name}. {' '.join(found.notes)}"
        picture = two_curves(rows, base=name, other=other_name, x=title)
        blocks.append(Chart(f"Allocated memory of both, by {title.lower()}", picture, shows, sql))
        if any(row["difference_bytes"] is not None for row in rows):
            shows = f"Allocated in {other_name} less that in {name}; nothing where one has ended."
            blocks.append(Chart(f"Difference, by {title.lower()}", difference(rows, x=title), shows, sql))
    columns = (
        Column("granularity", "Of"),
        Column("axis", "Compared by"),
        Column("base_changes", "Changes in the first", "count"),
        Column("changes", "In the second", "count"),
        Column("base_peak_bytes", "Peak of the first", "bytes"),
        Column("peak_bytes", "Of the second", "bytes"),
        Column("peak_difference_bytes", "Difference", "bytes"),
        Column("largest_difference_bytes", "Largest difference", "bytes"),
        Column("largest_at", "At", "ratio"),
        Column("mean_difference_bytes", "Mean difference", "bytes"),
    )
    blocks.append(Table(f"{other_name} against {name}", columns, found.rows.to_dicts(), found.sql))
    sentence = f"{other_name} against {name}: {found.sentence}"
    return Section(key, heading, sentence, tuple(blocks), found.notes)


def _symmetry(traces: Sequence[tuple[str, Trace]], ranked: bool) -> Section:
    """What the ranks' curves and collectives hint at."""
    key, heading = "workload_symmetry", "Symmetry of the ranks"
    if not ranked:
        return Section(key, heading, "Not told: these are not known to be ranks of one run.")
    if len(traces) < 2:
        return Section(key, heading, "Not collected: allocated memory of several ranks.", (), (RECORD,))
    found = signature([_use(label, trace) for label, trace in traces])
    alike = "alike" if found.symmetric else "not alike"
    sentence = f"The ranks use memory {alike}. Parallelism, by a heuristic: {found.parallelism} ({found.reason})."
    notes = ("A hint from the shape of the curves and from the collectives, not a proof.", told("C"))
    return Section(key, heading, sentence, (_ranks(traces, found),), notes)


def _ranks(traces: Sequence[tuple[str, Trace]], found: Signature) -> Table:
    rows = run({trace.id: trace.files for _, trace in traces}, PEAKS.strip())
    names = {trace.id: label for label, trace in traces}
    columns = (
        Column("name", "Trace"),
        Column("process", "Process", "id"),
        Column("device", "Device", "id"),
        Column("granularity", "Of"),
        Column("changes", "Changes", "count"),
        Column("peak_bytes", "Peak", "bytes"),
    )
    named = [row | {"name": names[row["trace_id"]]} for row in rows.iter_rows(named=True)]
    return Table(
        f"Curves of the ranks; parallelism by a heuristic: {found.parallelism}", columns, named, PEAKS.strip(), 100
    )


def _use(label: str, trace: Trace) -> Use:
    collectives: Mapping[tuple[str, str | None], int] = {}
    if trace.has("collective") and trace.has("attribution"):
        collectives = {(kind, phase): calls for kind, phase, calls in trace.sql(COLLECTIVES).rows()}
    found = memory_curves.curves(trace)
    return Use(label, found[max(found)], collectives)  # of tensors where they are known, else of objects


def _each(labels: Sequence[str], traces: Sequence[Trace], ask: AskOf) -> Section:
    """What each trace says of its families of kernels, in words."""
    blocks: list[Block] = []
    for label, trace in zip(labels, traces, strict=True):
        try:
            blocks.append(Text(f"{label}: {ask(trace, 'by_family').sentence}"))
        except NotCollected as missing:
            blocks.append(Text(f"{label}: not collected: {missing.message.rpartition(': ')[2]}."))
    sentence = "The whole report on one of them: tracelode report workload TRACE."
    return Section("workload_each", "Each trace by itself", sentence, tuple(blocks))
