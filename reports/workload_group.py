"""The workload report on several traces: side by side in a table, two curves of memory, and the symmetry of ranks."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..collect.ranks import natural
from ..mining.comparisons import memory_curves
from ..mining.evidence_levels import memory_missing, told
from ..mining.finding import Finding
from ..mining.mine import compare, mine
from ..mining.rank_run import Member
from ..mining.sorting import Ints
from ..mining.symmetry import Signature, Use, signature
from ..mining.words import count, plural
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

AXES = {"event": "Number of the change", "share": "Share of the changes"}
MOST_NAMED = 3
"""Traces that a sentence names."""
EACH = ("by_family", "kernel_frequency", "memory_footprint", "memory_sizes", "tensor_hotness")
"""What is said of each trace: the first of these that it tells."""

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


RUNNABLE = (
    "The SQL of several traces runs in an archive that has read and mined them: tracelode ingest and tracelode mine "
    "--analysis attribution --analysis memory_use, then tracelode sql --archive."
)


def build(group: Group, ask: AskOf) -> Report:
    """The report; each trace is mined by itself, those of the same content are one.

    Ranks of one run stand in the order of their ranks, other traces in that of their names.
    """
    ranked = len({one.rank for one in group.members if one.rank_from in ("file", "name")}) == len(group.members)
    members = group.members if ranked else sorted(group.members, key=lambda one: natural(one.trace.source))
    labels = _labels([member.trace.source for member in members])
    traces = [mine(member.trace, group.archive, "attribution", "memory_use") for member in members]
    every = list(zip(labels, traces, strict=True))
    sections = [_runs(runs(every)), _curves(group, every), _symmetry(every, ranked)]
    said = [section.sentence for section in sections if section.blocks]
    return Report(
        topic="workload",
        title=f"Workloads of {group.name}, {count(len(traces))} traces",
        verdict=" ".join(said),
        trace_id="+".join(trace.id[:12] for trace in traces),
        identity=(("traces", count(len(traces))), ("from", group.name)),
        health=tuple(_health(group, labels, members)),
        sections=(*sections, _each(every, ask)),
        glossary=GLOSSARY,
    )


def _labels(paths: Sequence[str]) -> list[str]:
    """The names of the files; with their folders where these tell like names apart, else numbered."""
    names = [path.rpartition("/")[2] for path in paths]
    if len(set(names)) < len(names):
        placed = ["/".join(path.split("/")[-2:]) for path in paths]
        names = placed if len(set(placed)) == len(placed) else names
    seen, labels = defaultdict[str, int](int), list[str]()
    for name in names:
        seen[name] += 1
        labels.append(name if names.count(name) == 1 else f"{name} ({seen[name]})")
    return labels


def _health(group: Group, labels: Sequence[str], members: Sequence[Member]) -> Iterator[str]:
    """What was not read, and what is doubtful in some of the traces."""
    yield from (f"not read: {one.name.rpartition('/')[2]}: {one.error.message}" for one in group.unread)
    yield from (f"same content: {remark}" for remark in group.remarks)
    for label, member in zip(labels, members, strict=True):
        doubtful = [one.quantity for one in health_of(member.trace).unreliable if member.trace.notes]
        if doubtful:
            yield f"unreliable: {', '.join(doubtful)}, in {label}"


def _runs(found: Finding) -> Section:
    columns = (
        Column("name", "Trace"),
        Column("kernels", "Kernels", "count"),
        Column("work_ns", "Kernel time", "ns"),
        Column("granularity", "Peak and footprint of"),
        Column("peak_bytes", "Peak", "bytes"),
        Column("footprint_bytes", "Mean footprint", "bytes"),
        Column("footprints", "Launches with a known footprint", "count"),
        Column("set_of", "Working set of"),
        Column("working_set_bytes", "Working set (largest)", "bytes"),
        Column("min_bytes", "Smallest", "bytes"),
        Column("mean_bytes", "Mean", "bytes"),
        Column("median_bytes", "Median", "bytes"),
        Column("p90_bytes", "90 %", "bytes"),
        Column("ratio", "Footprint / working set", "ratio"),
        Column("object_peak_bytes", "Peak of objects", "bytes"),
        Column("object_footprint_bytes", "Mean footprint of objects", "bytes"),
        Column("object_ratio", "Footprint of objects / working set", "ratio"),
        Column("evidence", "Evidence"),
        Column("inputs_only", "Inputs only", "count"),
        Column("source", "Footprint known from"),
    )
    objects = found.rows["object_peak_bytes"].null_count() < len(found.rows)
    shown = tuple(column for column in columns if objects or not column.key.startswith("object_"))
    block = Table("Kernels and memory of each trace", shown, found.rows.to_dicts(), found.sql, 100)
    return Section("workload_runs", "The traces side by side", found.sentence, (block,), (*found.notes, RUNNABLE))


def _curves(group: Group, traces: Sequence[tuple[str, Trace]]) -> Section:
    """The first two traces with a curve: of tensors where both know these, else of objects."""
    key, heading = "workload_curves", "Memory of two runs"
    told_ = [one for one in traces if one[1].has("memory_curve")]
    if len(told_) < 2:
        return Section(key, heading, "Not collected: allocated memory in two of the traces.", (), _record(traces))
    (name, base), (other_name, other) = told_[:2]
    try:
        found = compare((base, group.archive), (other, group.archive), "memory_curves")
    except NotCollected as missing:
        return Section(key, heading, f"Not collected: {missing.message}.", (), (f"To see this, {missing.hint}.",))
    compared = group.archive.open(other.id)
    kind = f"{found.rows['granularity'][0]}s"
    blocks: list[Block] = []
    for axis, title in AXES.items():
        sql = memory_curves.points(base, axis)
        rows = compared.sql(sql).to_dicts()
        shows = f"Bytes of {kind} after each change in {name} and {other_name}. {' '.join(found.notes)}"
        picture = two_curves(rows, base=name, other=other_name, x=title, of=f"{kind} allocated")
        blocks.append(Chart(f"Memory of {kind} in both, by {title.lower()}", picture, shows, sql))
        if any(row["difference_bytes"] is not None for row in rows):
            shows = f"Bytes of {kind} in {other_name} less those in {name}; nothing where one has ended."
            title_ = f"Difference in memory of {kind}, by {title.lower()}"
            blocks.append(Chart(title_, difference(rows, x=title), shows, sql))
    columns = (
        Column("granularity", "Of"),
        Column("axis", "Compared by"),
        Column("base_changes", "Changes in the first", "count"),
        Column("changes", "Changes in the second", "count"),
        Column("base_peak_bytes", "Peak of the first", "bytes"),
        Column("peak_bytes", "Peak of the second", "bytes"),
        Column("peak_difference_bytes", "Difference of the peaks", "bytes"),
        Column("largest_difference_bytes", "Largest difference, up or down", "bytes"),
        Column("largest_at_change", "At change", "id"),
        Column("largest_at_share", "At share of the changes", "share"),
        Column("mean_difference_bytes", "Mean difference, up or down", "bytes"),
    )
    blocks.append(Table(f"{other_name} against {name}", columns, found.rows.to_dicts(), found.sql))
    sentence = f"{other_name} against {name}: {found.sentence}"
    return Section(key, heading, sentence, tuple(blocks), found.notes)


def _symmetry(traces: Sequence[tuple[str, Trace]], ranked: bool) -> Section:
    """What the ranks' curves and collectives hint at."""
    key, heading = "workload_symmetry", "Symmetry of the ranks"
    if not ranked:
        return Section(key, heading, "Not told: these are not known to be ranks of one run.")
    told_ = [(label, trace, memory_curves.curves(trace)) for label, trace in traces if trace.has("memory_curve")]
    both = set[str]().union(*(found for *_, found in told_)).intersection(*(found for *_, found in told_))
    if len(told_) < 2 or not both:
        return Section(key, heading, "Not collected: allocated memory of several ranks.", (), _record(traces))
    kind = max(both)  # tensors where all know them
    found = signature([_use(label, trace, curves[kind]) for label, trace, curves in told_])
    alike = "alike" if found.symmetric else "not alike"
    sentence = (
        f"The ranks use memory {alike}, by their curves of {kind}s. Parallelism, by a heuristic: {found.parallelism} "
        f"({found.reason})."
    )
    notes = ("A hint from the shape of the curves and from the collectives, not a proof.", told("C"))
    return Section(key, heading, sentence, (_ranks([(label, trace) for label, trace, _ in told_], found),), notes)


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


def _use(label: str, trace: Trace, curve: Ints) -> Use:
    collectives: Mapping[tuple[str, str | None], int] = {}
    if trace.has("collective") and trace.has("attribution"):
        collectives = {(kind, phase): calls for kind, phase, calls in trace.sql(COLLECTIVES).rows()}
    return Use(label, curve, collectives)


def _record(traces: Sequence[tuple[str, Trace]]) -> tuple[str, ...]:
    """How to record the memory of those that do not tell of it, by what each of them is."""
    lacking = defaultdict[str, list[str]](list)
    for label, trace in traces:
        if not trace.has("memory_curve"):
            lacking[memory_missing(trace, "allocated memory").hint or ""].append(label)
    return tuple(
        f"To see this, {hint}, in {_listed(labels) if len(labels) < len(traces) else 'each of them'}."
        for hint, labels in lacking.items()
    )


def _listed(labels: Sequence[str]) -> str:
    """Up to three of them by name."""
    more = len(labels) - MOST_NAMED
    return ", ".join(labels[:MOST_NAMED]) + (f" and {plural(more, 'other')}" if more > 0 else "")


def _each(traces: Sequence[tuple[str, Trace]], ask: AskOf) -> Section:
    """What each trace says of its kernels, or of its memory, in words."""
    blocks = tuple(Text(f"{label}: {_first(trace, ask)}") for label, trace in traces)
    sentence = "The whole report on one of them: tracelode report workload TRACE."
    return Section("workload_each", "Each trace by itself", sentence, blocks)


def _first(trace: Trace, ask: AskOf) -> str:
    for analysis in EACH:
        try:
            return ask(trace, analysis).sentence
        except NotCollected:
            continue
    return "Neither kernels nor memory were collected."
