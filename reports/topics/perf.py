"""Performance: where the time goes, which iteration is slow, and what the device waits for."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...mining.analyses.idle import CAUSES
from ...mining.finding import Finding
from ...mining.words import count
from ...store.errors import NotCollected
from ...store.trace import Trace
from .. import charts
from ..health import health_lines
from ..lanes import timeline
from ..report import Block, Chart, Column, Report, Section, Table, Text

if TYPE_CHECKING:
    import polars as pl

Ask = Callable[[str], Finding]
Rows = Sequence[Mapping[str, Any]]

WORK = ("kernel", "copy", "fill")
"""Tables of what runs on a device."""

WORTH_SAYING = 0.02
"""A device idle for less than this share of its span is busy: why it waits is no headline."""
A_LOT = 0.3
"""A host call under way for this share of the idle time is named in the verdict."""

GLOSSARY = {
    "busy": "Time in which at least one operation runs on the device: the union over streams, from first to last work.",
    "compute, communication, copy": (
        "What a busy device does. Where several things run at once the time counts as compute, else as communication, "
        "else as copy: communication and copy are the exposed parts."
    ),
    "idle": "Time between a device's first and last work in which nothing runs on it.",
    "iteration": "One repetition of the operations that recur through the trace, found from the operations alone.",
    "operation": "A kernel, copy or fill on a device.",
    "pattern": "A sequence of operations that occurs again and again, in the same order.",
    "slow": (
        "An iteration longer than the median by 5 robust standard deviations and by 5 %. More of: the state in which "
        "it exceeds that state's median most, and by how much."
    ),
    **{f"idle: {cause}": f"{meaning[0].upper()}{meaning[1:]}." for cause, meaning in CAUSES.items()},
}


def build(trace: Trace, ask: Ask) -> Report:
    """The report; `ask` answers with the finding of an analysis. What was not collected is said, not shown as zero."""
    if not _has_work(trace):
        return _report(trace, _without_work(trace), ())
    sections = (
        _section("timeline", "Timeline", ask, "states", lambda found: _timeline(trace, ask, found)),
        _section("iterations", "Iterations", ask, "iteration_times", _iterations),
        _section("breakdown", "Time of each iteration", ask, "breakdown", _breakdown),
        _section("patterns", "Repeated patterns", ask, "repeats", _patterns),
        _section("kernels", "Kernels", ask, "kernels", _kernels),
        _section("idle", "Idle time by cause", ask, "idle", lambda found: _idle(found, ask)),
        _section("host_calls", "Host calls while the device idles", ask, "host_calls", _host_calls),
        _section("gaps", "Where the device waits", ask, "gaps", _gaps),
        _section("cadences", "Cadences", ask, "cadences", _cadences),
    )
    return _report(trace, _verdict(sections, ask), sections)


def _has_work(trace: Trace) -> bool:
    """Whether there is device work whose times are to be trusted."""
    there = [f"select flaw from {name}" for name in WORK if trace.has(name)]
    return (
        bool(there)
        and trace.sql(f"select flaw from ({' union all '.join(there)}) where flaw is null limit 1").height > 0
    )


def _report(trace: Trace, verdict: str, sections: tuple[Section, ...]) -> Report:
    return Report(
        topic="perf",
        title=f"Performance of {trace.source.rsplit('/', 1)[-1]}",
        verdict=verdict,
        trace_id=trace.id,
        identity=_identity(trace),
        health=health_lines(trace),
        sections=sections,
        glossary=GLOSSARY,
    )


def _section(
    key: str, heading: str, ask: Ask, analysis: str, blocks: Callable[[Finding], tuple[Block, ...]]
) -> Section:
    try:
        found = ask(analysis)
    except NotCollected as missing:
        return Section(key, heading, f"Not collected: {missing.message}.", (), (missing.hint,))
    return Section(key, heading, found.sentence, blocks(found) if len(found.rows) else (), found.notes)


def _verdict(sections: tuple[Section, ...], ask: Ask) -> str:
    """The opening words: where the time goes, which iterations stand out, and why the device waits if it does."""
    said = {section.key: section.sentence for section in sections if section.blocks}
    states = ask("states").rows
    idle = states.filter(states["state"] == "idle")["share"].max() or 0
    keys = ["timeline", "iterations"]
    if float(idle) >= WORTH_SAYING:  # pyright: ignore[reportArgumentType] - a share
        keys.append("idle")
        calls = ask("host_calls").rows if "host_calls" in said else None
        keys += ["host_calls"] * bool(calls is not None and len(calls) and calls["share"][0] >= A_LOT)
    return " ".join(said[key] for key in keys if key in said)


def _without_work(trace: Trace) -> str:
    """What there is to say of a trace that holds no kernel, copy or fill, or none with times to be trusted."""
    work = any(trace.has(name) for name in WORK)
    what = "no kernel, copy or fill" if not work else "no device work with times to be trusted"
    text = f"There is {what} in this trace: nothing to report about a device."
    if any(note.kind == "truncated" for note in trace.notes):
        text += " It ends early: what came after is missing."
    if trace.has("range"):
        other = trace.sql("select count(*) from range where kind = 'device_activity'").item()
        text += f" It holds {count(other)} device activities of other kinds, in the table range." if other else ""
    return text


def _identity(trace: Trace) -> tuple[tuple[str, str], ...]:
    facts = trace.facts
    known = [("file", trace.source.rsplit("/", 1)[-1]), ("trace id", trace.id[:12]), ("format", facts.format)]
    known += [
        (name, value)
        for name, value in (("producer", facts.producer), ("framework", facts.framework), ("host", facts.host))
        if value
    ]
    if trace.has("device"):
        names = trace.sql("select distinct coalesce(name, 'name not recorded') as name from device order by name")[
            "name"
        ]
        known.append(("device", ", ".join(names)))
    if trace.has("process"):
        ranks = trace.sql("select rank, world_size from process where rank is not null order by rank").rows()
        known += (
            [("rank", ", ".join(f"{rank} of {size}" if size else str(rank) for rank, size in ranks))] if ranks else []
        )
    known += [
        (f"{name} rows", count(trace.rows[name]))
        for name in ("kernel", "copy", "fill", "api", "op")
        if name in trace.rows
    ]
    return tuple(known)


def _timeline(trace: Trace, ask: Ask, found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("process", "Process", "id"),
        Column("device", "Device", "id"),
        Column("state", "State"),
        Column("time_ns", "Time", "ns"),
        Column("share", "Share of span", "share"),
        Column("span_ns", "Span", "ns"),
    )
    for needed in ("iteration_times", "repeats"):
        ask(needed)
    return (timeline(trace, ask), _table("Time by state, from first to last work of each device", columns, found))


def _iterations(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("process", "Process", "id"),
        Column("iteration", "Iteration", "id"),
        Column("duration_ns", "Duration", "ns"),
        Column("mark", "Remark"),
        Column("more_of", "More of"),
        Column("more_ns", "By", "ns"),
        Column("wait_ns", "Wait before it", "ns"),
        Column("ratio", "Times the median", "ratio"),
        Column("operations", "Operations", "count"),
    )
    shows = "Duration over the iterations; dashed: median; band: 10th to 90th percentile; marked: what stands out."
    pictures = _pictures(found, "Duration of each iteration", charts.iteration_series, shows)
    return (*pictures, _table("Iterations", columns, found))


def _breakdown(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("process", "Process", "id"),
        Column("device", "Device", "id"),
        Column("iteration", "Iteration", "id"),
        Column("state", "State"),
        Column("time_ns", "Time", "ns"),
        Column("iteration_ns", "Iteration", "ns"),
    )
    shows = "Stacked time of each iteration: compute, exposed communication, exposed copy, idle."
    pictures = _pictures(found, "Time of each iteration by state", charts.stacked_time, shows)
    return (*pictures, _table("Time of each iteration by state", columns, found))


def _patterns(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("pattern", "No.", "id"),
        Column("operations", "Operations in order"),
        Column("length", "Length", "count"),
        Column("count", "Occurrences", "count"),
        Column("time_ns", "Time", "ns"),
        Column("share", "Share of work", "share"),
        Column("idle_share", "Idle inside", "share"),
    )
    bars = [
        {
            "pattern": f"{row['pattern']}: {row['operations']}",
            "total_ns": row["time_ns"],
            "occurrences": row["count"],
        }
        for row in sorted(found.rows.head(12).to_dicts(), key=lambda row: -row["time_ns"])
    ]
    picture = Chart(
        "Patterns by time",
        charts.pattern_bars(bars),
        "Summed device time of each pattern, and how often it occurs.",
        found.sql,
    )
    return (picture, _table("Patterns, the most time first", columns, found))


def _kernels(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("name", "Kernel"),
        Column("category", "Category"),
        Column("calls", "Calls", "count"),
        Column("total_ns", "Total", "ns"),
        Column("share", "Share", "share"),
        Column("p50_ns", "Median", "ns"),
        Column("p95_ns", "95 %", "ns"),
    )
    rows = found.rows.head(15).to_dicts()
    if not rows[0]["total_ns"]:
        return (
            Text("All kernels last 0 ns: the trace's clock is too coarse."),
            _table("Kernels by name", columns, found),
        )
    picture = Chart(
        "Kernels by summed time",
        charts.pareto(rows),
        "Summed time of the kernels that take most, and the share that they and all above them take.",
        found.sql,
    )
    return (picture, _table("Kernels by name, the most time first", columns, found))


def _idle(found: Finding, ask: Ask) -> tuple[Block, ...]:
    columns = (
        Column("cause", "Cause"),
        Column("gaps", "Gaps", "count"),
        Column("time_ns", "Time", "ns"),
        Column("share", "Share of idle time", "share"),
        Column("p50_ns", "Median gap", "ns"),
        Column("longest_ns", "Longest gap", "ns"),
    )
    lengths = ask("gap_lengths")
    pictures = [
        Chart(
            "Idle time by length of gap",
            charts.gap_histogram(lengths.rows.to_dicts()),
            "Summed idle time of gaps by their length, stacked by cause.",
            lengths.sql,
        )
    ] * bool(len(lengths.rows))
    return (*pictures, Text(lengths.sentence), _table("Idle time by cause", columns, found))


def _gaps(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("cause", "Cause"),
        Column("before", "After which operation"),
        Column("after", "Before which operation"),
        Column("gaps", "Gaps", "count"),
        Column("time_ns", "Time", "ns"),
        Column("share", "Share of idle time", "share"),
        Column("longest_ns", "Longest", "ns"),
    )
    return (_table("Places with the most idle time", columns, found),)


def _host_calls(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("name", "Call"),
        Column("calls", "Calls", "count"),
        Column("idle_ns", "Idle time meanwhile", "ns"),
        Column("share", "Share of idle time", "share"),
    )
    return (_table("Runtime and driver calls under way while a device idles", columns, found),)


def _cadences(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("level", "Level", "id"),
        Column("process", "Process", "id"),
        Column("device", "Device", "id"),
        Column("stream", "Stream", "id"),
        Column("kind", "Kind"),
        Column("period", "Operations", "count"),
        Column("count", "Repetitions", "count"),
        Column("period_ns", "Median time", "ns"),
        Column("coverage", "Coverage", "share"),
        Column("confidence", "Confidence", "ratio"),
        Column("phase_confidence", "Confidence of the cut", "ratio"),
    )
    return (_table("Levels at which the work repeats", columns, found),)


def _table(caption: str, columns: tuple[Column, ...], found: Finding) -> Table:
    """The finding's rows; a process, device or stream that is the same in all of them is not shown."""
    single = {key for key in ("process", "device", "stream") if key in found.rows.columns and _is_one(found, key)}
    return Table(caption, tuple(c for c in columns if c.key not in single), found.rows.to_dicts(), found.sql)


def _is_one(found: Finding, key: str) -> bool:
    return found.rows[key].n_unique() <= 1


def _pictures(
    found: Finding, title: str, draw: Callable[[Rows], Mapping[str, Any]], shows: str, most: int = 4
) -> list[Chart]:
    """A chart for each of the first processes; charts of more would say no more."""
    parts: list[pl.DataFrame] = found.rows.partition_by("process", maintain_order=True)[:most]
    many = not _is_one(found, "process")
    of = [f" of process {part['process'][0]}" if many else "" for part in parts]
    return [Chart(title + one, draw(part.to_dicts()), shows, found.sql) for one, part in zip(of, parts, strict=True)]
