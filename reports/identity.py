"""What a report says of the trace it is about: its file, its devices, how much there is in it."""

from collections.abc import Mapping

from ..mining.words import count
from ..store.trace import Trace
from .health import health_lines
from .report import Report, Section

__all__ = ["identity", "report_on"]


def report_on(
    trace: Trace, topic: str, subject: str, verdict: str, sections: tuple[Section, ...], glossary: Mapping[str, str]
) -> Report:
    """The report of a topic on one trace; the title is the subject "of" the trace's file."""
    return Report(
        topic=topic,
        title=f"{subject} of {trace.source.rsplit('/', 1)[-1]}",
        verdict=verdict,
        trace_id=trace.id,
        identity=identity(trace),
        health=health_lines(trace),
        sections=sections,
        glossary=glossary,
    )


def identity(trace: Trace) -> tuple[tuple[str, str], ...]:
    """The identity of a trace as labels and values: `Report.identity`."""
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
