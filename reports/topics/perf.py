"""Performance: where the time goes, which iteration is slow, and what the device waits for."""

from ...mining.analyses.idle import CAUSES
from ...mining.words import count
from ...store.trace import Trace
from ..health import health_lines
from ..report import Report, Section
from ..sections import breakdown, cadences, gaps, host_calls, idle, iterations, kernels, patterns, timeline
from ..shown import Ask

SECTIONS = (timeline, iterations, breakdown, patterns, kernels, idle, host_calls, gaps, cadences)
"""What the report shows, in this order."""

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
    sections = tuple(part.section(trace, ask) for part in SECTIONS)
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
