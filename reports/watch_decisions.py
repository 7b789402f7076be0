"""What somebody decides about a series: that a change is as it should be, or that its baseline stays."""

from collections.abc import Collection, Mapping, Sequence

from ..mining.gate import RULES
from ..mining.headline import HEADLINE
from ..mining.recorded import put_decision
from ..mining.series import Accept, Entry, Pin, Series, Track
from ..mining.words import plural
from ..store.archive import Archive
from ..store.archive_words import archive_words
from ..store.errors import Error

__all__ = ["accept", "pin", "unpin"]


def accept(
    archive: Archive,
    series: Series,
    *,
    reason: str,
    now_ns: int,
    metrics: Collection[str] = (),
    since: str | None = None,
) -> str:
    """Begins the baseline anew where a change began, or at the run `since`; what was done, in words.

    Of all metrics that show a change, or of those named; with `since` of all that there are. Raises `Error` where there
    is nothing to accept.
    """
    tracks = _tracks(series, metrics)
    if since is None:
        begins = {track.metric.name: track.seen[0] for track in tracks if track.seen}
    else:
        first = _run(series, since)
        begins = {track.metric.name: first for track in tracks}
    if not begins:
        what = f"series {series.id} shows no change" + (" in these metrics" if metrics else "")
        raise Error(f"{archive.path}: {what}", "to begin its baseline anew all the same, name a run with --since")
    if not reason.strip():
        raise Error("a change is accepted for a reason", "say why with --reason: it is kept with the history")
    put_decision(
        archive.history(), Accept(series.id, {name: run.unix_ns for name, run in begins.items()}, reason, now_ns)
    )
    said = ", ".join(
        f"{track.metric.name} since {begins[track.metric.name].run.name} ({_enough(track, begins)})"
        for track in tracks
        if track.metric.name in begins
    )
    freed = [name for name in begins if series.is_pinned(name)]
    return f"accepted: {said}" + (f"; no longer pinned: {', '.join(freed)}" if freed else "")


def pin(archive: Archive, series: Series, *, reason: str, now_ns: int, metrics: Collection[str] = ()) -> str:
    """Keeps the runs that set the limits now as the baseline; what was done, in words.

    Raises `Error` where too few runs do.
    """
    runs = {
        track.metric.name: tuple(entry.key for entry in track.baseline)
        for track in _tracks(series, metrics)
        if len(track.baseline) >= RULES.least
    }
    if not runs:
        raise Error(
            f"{archive.path}: series {series.id} has no baseline of {RULES.least} runs to pin",
            "make more runs of it first",
        )
    put_decision(archive.history(), Pin(series.id, runs, reason, now_ns))
    return "pinned: " + ", ".join(f"{name} to {plural(len(keys), 'run')}" for name, keys in runs.items())


def unpin(archive: Archive, series: Series, *, reason: str, now_ns: int, metrics: Collection[str] = ()) -> str:
    """Lets the baseline move with the runs again; what was done, in words. Raises `Error` where none is pinned."""
    names = [track.metric.name for track in _tracks(series, metrics) if series.is_pinned(track.metric.name)]
    if not names:
        raise Error(
            f"{archive.path}: no baseline of series {series.id} is pinned",
            f"see what is: tracelode watch list{archive_words(archive.path)}",
        )
    put_decision(archive.history(), Pin(series.id, dict.fromkeys(names, ()), reason, now_ns))
    return f"unpinned: {', '.join(names)}"


def _enough(track: Track, begins: Mapping[str, Entry]) -> str:
    """Whether the runs since a metric's baseline begins anew are enough to judge the last of them."""
    there = sum(entry.unix_ns >= begins[track.metric.name].unix_ns for entry in track.entries)
    needed = RULES.least + 1
    if there >= needed:
        return f"{plural(there, 'run')}, enough to judge by"
    return f"{there} of the {needed} runs that are needed; until then it is inconclusive"


def _tracks(series: Series, metrics: Collection[str]) -> Sequence[Track]:
    """The metrics of the series, or those of them that are named."""
    known, there = [one.name for one in HEADLINE], [track.metric.name for track in series.tracks]
    for name in metrics:
        if name not in known:
            raise Error(f"there is no metric {name}", f"there are: {', '.join(known)}")
        if name not in there:
            raise Error(f"series {series.id}: {name} was not collected", f"there are: {', '.join(there)}")
    return [track for track in series.tracks if not metrics or track.metric.name in metrics]


def _run(series: Series, name: str) -> Entry:
    found = [entry for entry in series.entries if entry.run.name == name]
    if not found:
        latest = ", ".join(entry.run.name for entry in series.entries[-5:])
        raise Error(f"series {series.id}: no run {name} counts in it", f"the latest are: {latest}")
    return found[-1]
