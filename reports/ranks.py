"""The report on the ranks of a run: which of them is slow, who waits for whom, and what each says by itself."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..mining import rank_findings as told
from ..mining.finding import Finding
from ..mining.rank_run import Member, RankRun, mine_run
from ..mining.words import count, percent
from ..store.errors import NotCollected
from ..store.trace import Trace
from .charts.ranks import iteration_boxes, lateness_matrix
from .health import health_of
from .rank_group import Group
from .report import Block, Chart, Column, Report, Section, Table, Text
from .shown import table

__all__ = ["GLOSSARY", "build", "rank_sections", "several_ranks"]

AskOf = Callable[[Trace, str], Finding]
"""Answers with the finding of an analysis about a trace, or raises `NotCollected`."""

GLOSSARY = {
    "compute, communication, copy, idle": (
        "What the devices of a rank do from their first to their last work. Where several things run at once the time "
        "counts as compute, else as communication, else as copy: the four add up to the span."
    ),
    "late": (
        "How much more time of its own a rank takes in a step than the median of the other ranks. An iteration stands "
        "out if that is more than 5 % of theirs and more than 5 robust standard deviations."
    ),
    "own time": "Time of an iteration outside communication: what is not waiting for other ranks.",
    "rank": "A process of a run that works together with others; each has a trace of its own, or a part of one.",
    "skew": "Time from the first rank's arrival at a collective to the last one's, on aligned clocks.",
    "step": "The iterations that the ranks go through together, matched by their times and operations.",
    "straggler": (
        "A rank that is late in the median step by more than 3 % of the others' own time, and by more than chance: the "
        "others wait for it."
    ),
    "uncertainty": (
        "Bound on the error of a clock's offset: a collective ends on all ranks within the time it takes where it is "
        "shortest, and most of them agree on the offset to within this."
    ),
    "waiting": "Time of a rank in collectives beyond what the same collective takes where it is shortest.",
}

MOST_VERDICTS = 128
"""Traces whose own findings are told in words."""
NAMED = 12
"""Ranks that a line names; it counts the others."""


def several_ranks(trace: Trace) -> bool:
    """Whether a trace holds several ranks."""
    return trace.has("process") and trace.sql("select count(distinct rank) from process").item() > 1


def build(group: Group, ask: AskOf) -> Report:
    """The report on several traces as the ranks of one run; they are read one after the other."""
    run = mine_run(group.members, group.archive)
    sections = rank_sections(run)
    said = {section.key: section.sentence for section in sections}
    missing = _missing(group)
    parts = (missing, said["ranks"], said["stragglers"], said["collectives"], _clock_words(run))
    verdict = " ".join(filter(None, parts))
    return Report(
        topic="perf",
        title=f"Performance of {group.name}, {len(told.ranks(run).rows)} ranks",
        verdict=verdict,
        trace_id=run.key,
        identity=_identity(group, run),
        health=tuple(_health(group)),
        sections=(*sections, _each(group, ask)),
        glossary=GLOSSARY,
    )


def rank_sections(run: RankRun) -> tuple[Section, ...]:
    """What there is to show of ranks that were looked at together."""
    return (
        _section("ranks", "Ranks", told.ranks(run), lambda found: _ranks(run, found)),
        _section("stragglers", "Stragglers", told.stragglers(run), lambda found: _stragglers(run, found)),
        _section("collectives", "Collectives across ranks", told.collectives(run), _collectives),
        _section("clocks", "Clocks", told.clocks(run), _clocks),
    )


def _section(key: str, heading: str, found: Finding, blocks: Callable[[Finding], tuple[Block, ...]]) -> Section:
    return Section(key, heading, found.sentence, blocks(found) if len(found.rows) else (), found.notes)


def _ranks(run: RankRun, found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("label", "Rank", "id"),
        Column("iterations", "Iterations", "count"),
        Column("p50_ns", "Median", "ns"),
        Column("p95_ns", "95 %", "ns"),
        Column("compute_share", "Compute", "share"),
        Column("communication_share", "Communication", "share"),
        Column("copy_share", "Copy", "share"),
        Column("idle_share", "Idle", "share"),
        Column("wait_ns", "Waiting in collectives", "ns"),
        Column("wait_share", "Share of span", "share"),
        Column("span_ns", "Span", "ns"),
    )
    boxes = told.boxes(run)
    drawn = ()
    if len(boxes.rows):
        shows = "For each rank the least, the quartiles and the most of its iteration times; red: the median."
        drawn = (Chart("Iteration times of each rank", iteration_boxes(boxes.rows.to_dicts()), shows, boxes.sql),)
    return (
        *drawn,
        Table("Ranks, their iterations and their time by state", columns, found.rows.to_dicts(), found.sql, 64),
    )


def _stragglers(run: RankRun, found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("label", "Rank", "id"),
        Column("straggler", "Straggler"),
        Column("late_ns", "Late in the median step", "ns"),
        Column("share", "Share of the others' time", "share"),
        Column("steps", "Steps", "count"),
        Column("late_steps", "Late in", "count"),
        Column("lost_ns", "Late in all", "ns"),
        Column("most_ns", "At most", "ns"),
        Column("most_step", "In step", "id"),
        Column("wait_ns", "Waiting in collectives", "ns"),
    )
    matrix, late = told.lateness(run), told.late_iterations(run)
    shows = "Ranks by steps: the stronger a field, the more time of its own the rank takes beyond that of the others."
    drawn = Chart("Lateness of each rank in each step", lateness_matrix(matrix.rows.to_dicts()), shows, matrix.sql)
    blocks: list[Block] = [drawn, table("Ranks by lateness, the latest first", columns, found)]
    if len(late.rows):
        of_iteration = (
            Column("label", "Rank", "id"),
            Column("step", "Step", "id"),
            Column("iteration", "Its iteration", "id"),
            Column("late_ns", "Late by", "ns"),
            Column("share", "Share of the others' time", "share"),
        )
        blocks.append(table("Iterations that stand out, the latest first", of_iteration, late))
    return tuple(blocks)


def _collectives(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("kind", "Collective"),
        Column("group", "Group", "id"),
        Column("collectives", "Times", "count"),
        Column("ranks", "Ranks", "count"),
        Column("skew_ns", "Median skew", "ns"),
        Column("p95_skew_ns", "95 %", "ns"),
        Column("most_skew_ns", "Most", "ns"),
        Column("shortest_ns", "Median without waiting", "ns"),
        Column("wait_ns", "Waiting, all ranks", "ns"),
        Column("last", "Most often last", "id"),
        Column("last_share", "Share", "share"),
    )
    return (table("Arrival of the ranks at their collectives, by kind", columns, found),)


def _clocks(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("label", "Rank", "id"),
        Column("clock", "Clock"),
        Column("clock_to", "Compared with", "id"),
        Column("offset_ns", "Ahead by", "ns"),
        Column("uncertainty_ns", "Uncertainty", "ns"),
        Column("spread_ns", "Spread of ends", "ns"),
        Column("drift_ppm", "Drift (ppm)", "ratio"),
        Column("collectives", "Communication kernels", "count"),
        Column("matched", "Matched", "count"),
        Column("together", "Ending together", "count"),
    )
    return (Table("Clocks of the ranks beside the reference", columns, found.rows.to_dicts(), found.sql, 64),)


def _each(group: Group, ask: AskOf) -> Section:
    """What each trace says by itself, in words, and how to have the whole report on it."""
    blocks = [Text(f"{_who(member)}: {_verdict(member.trace, ask)}") for member in group.members[:MOST_VERDICTS]]
    left = len(group.members) - len(blocks)
    notes = (f"{count(left)} more traces are not told of here.",) * bool(left)
    return Section(
        "each",
        "Each trace by itself",
        "The whole report on one of them: tracelode report perf TRACE.",
        tuple(blocks),
        notes,
    )


def _verdict(trace: Trace, ask: AskOf) -> str:
    try:
        return " ".join(ask(trace, analysis).sentence for analysis in ("states", "iteration_times"))
    except NotCollected as missing:
        return f"not collected: {missing.message}."


def _who(member: Member) -> str:
    rank = "No rank" if member.rank is None else f"Rank {member.rank}"
    return f"{rank} (trace {member.trace.id[:12]})"


def _clock_words(run: RankRun) -> str:
    found = told.clocks(run)
    return found.sentence if "aligned" in found.rows["clock"].to_list() else ""


def _present(group: Group) -> tuple[list[int], int | None]:
    """The ranks that are there, in order, and how many the run has, if a trace tells it."""
    ranks = {member.rank for member in group.members if member.rank is not None}
    sizes: set[int] = set()
    for member in group.members:
        if member.trace.has("process"):
            rows = member.trace.arrow("process", ["rank", "world_size"])
            ranks |= {rank for rank in rows["rank"].to_pylist() if rank is not None}
            sizes |= {size for size in rows["world_size"].to_pylist() if size is not None}
    return sorted(ranks), max(sizes, default=None)


def _missing(group: Group) -> str:
    """A sentence on ranks that are not there; none where all are, or nobody knows how many there should be."""
    ranks, size = _present(group)
    if size is None or len(ranks) >= size:
        return ""
    absent = sorted(set(range(size)) - set(ranks))
    which = f": {_spans(absent)}" if len(ranks) > 1 or size <= NAMED else ""
    there = f"{len(ranks)} are there ({percent(len(ranks), size)})"
    return f"Of {count(size)} ranks {there}, {count(len(absent))} missing{which}."


def _spans(numbers: Sequence[int]) -> str:
    """Numbers in order as 0–3, 7."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    texts = [str(first) if first == last else f"{first}–{last}" for first, last in runs]
    return ", ".join(texts[:NAMED]) + (f" and {len(texts) - NAMED} more" if len(texts) > NAMED else "")


def _identity(group: Group, run: RankRun) -> tuple[tuple[str, str], ...]:
    traces = [member.trace for member in group.members]
    ranks, size = _present(group)
    kernels = sum(trace.rows.get("kernel", 0) for trace in traces)
    pairs = (
        ("run", group.name),
        ("run key", run.key[:12]),
        ("traces", count(len(traces))),
        ("ranks", _spans(ranks) or "not recorded"),
        ("world size", "not recorded" if size is None else count(size)),
        ("format", _listed(trace.facts.format for trace in traces)),
        ("framework", _listed(trace.facts.framework for trace in traces)),
        ("host", _listed(_hosts(traces))),
        ("kernel rows", count(kernels)),
    )
    return tuple((label, value) for label, value in pairs if value)


def _hosts(traces: Sequence[Trace]) -> Iterator[str | None]:
    for trace in traces:
        yield trace.facts.host
        if trace.has("process"):
            yield from trace.arrow("process", ["host"])["host"].to_pylist()


def _listed(values: Iterable[str | None]) -> str:
    there = sorted({value for value in values if value})
    return ", ".join(there[:NAMED]) + (f" and {len(there) - NAMED} more" if len(there) > NAMED else "")


def _health(group: Group) -> Iterator[str]:
    """What to know before any number: what could not be read, ranks claimed twice, what is doubtful in some traces."""
    for one in group.unread:
        yield f"not read: {one.name.rpartition('/')[2]}: {one.error.message.removeprefix(f'{one.name}: ')}"
    missing = _missing(group)
    if missing:
        yield f"missing: {missing}"
    yield from (f"same content: {remark}" for remark in group.remarks)
    claims = defaultdict[int, int](int)
    for member in group.members:
        if member.rank is not None:
            claims[member.rank] += 1
    twice = [rank for rank, times in claims.items() if times > 1]
    if twice:
        yield f"claimed by several traces, all kept: rank{'s' * (len(twice) > 1)} {_spans(sorted(twice))}"
    guessed = [member.rank for member in group.members if member.rank_from == "order" and member.rank is not None]
    if guessed:
        yield f"rank by the order of the files' names, told by nothing else: {_spans(sorted(guessed))}"
    yield from _doubts(group.members)


def _doubts(members: Sequence[Member]) -> Iterator[str]:
    """The doubtful quantities and the notes of the traces, each once, with the ranks that have it."""
    doubtful, noted = defaultdict[str, list[str]](list), defaultdict[str, list[tuple[str, int]]](list)
    meanings: dict[str, str] = {}
    for member in members:
        who = _short(member)
        # Nothing is doubtful where nothing is noted, and health counts all rows of a trace to say the rest.
        for one in health_of(member.trace).unreliable if member.trace.notes else ():
            doubtful[one.quantity].append(who)
        for note in member.trace.notes:
            noted[note.kind].append((who, note.count))
            meanings[note.kind] = note.meaning
    for quantity, ranks in doubtful.items():
        yield f"unreliable: {quantity}, on {_few(ranks, len(members))}"
    for kind, found in noted.items():
        times = count(sum(number for _, number in found))
        yield f"note: {kind}: {times} × {meanings[kind]}, on {_few([who for who, _ in found], len(members))}"


def _short(member: Member) -> str:
    return f"trace {member.trace.id[:8]}" if member.rank is None else str(member.rank)


def _few(ranks: Sequence[Any], there: int) -> str:
    if len(ranks) == there:
        return "all traces"
    return "rank " + ", ".join(ranks[:NAMED]) + (f" and {len(ranks) - NAMED} more" if len(ranks) > NAMED else "")
