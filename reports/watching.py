"""Watches an archive's runs: measures those that are new, and judges each series by its history."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from ..mining.fingerprint import UNKNOWN
from ..mining.measured_run import measure
from ..mining.recorded import decisions, entries, is_recorded, put_run, recorded
from ..mining.series import Entry, Series, Track, all_series
from ..mining.words import plural
from ..store.archive import Archive
from ..store.archive_words import archive_words
from ..store.errors import Error
from ..store.history import Damage
from ..store.sources import Membership
from .checks import UNREAD, verdict_line
from .rank_group import Unread, run_group
from .report import Check, Report, Section
from .sections import watched_metric, watched_series
from .text import utf8

__all__ = ["GLOSSARY", "Recorded", "check", "found_series", "history_of", "known_series", "record", "record_run"]

MOST_SHOWN = 12
"""Metrics of which a check shows the history."""
MOST_NAMED, MOST_GLANCES = 10, 4
LOUD = ("regression", "improvement", "inconclusive")
EXPLAINED = ("iteration_p50_ns", "iteration_p95_ns", "idle_ns", "exposed_communication_ns", "busy_share")
"""Metrics that kernels explain, the first that changed."""

GLOSSARY = {
    "run": "One execution of the program, with all its ranks: one value of each metric.",
    "series": "Runs that are comparable: same devices, driver, framework, model, ranks and collector.",
    "limits": "Between them the next run lies eight times in ten, one in ten beyond on each side; no closer to the "
    "median than 3 %.",
    "regression": "Beyond the limits on the worse side in three runs on end.",
    "inconclusive": "Too few runs, a change that is not confirmed yet, or what could not be read. It is never a pass.",
}


@dataclass(frozen=True)
class Recorded:
    """The names of the runs that were measured, and those that could not be."""

    measured: tuple[str, ...]
    failed: tuple[Unread, ...]


def record(archive: Archive, runs: Collection[str] | None = None) -> Recorded:
    """Measures the runs of the archive that are not in its history, or those of them that are named.

    A trace that belongs to no run is one, by the name of its file.
    """
    there = recorded(archive.history())
    measured: list[str] = []
    failed: list[Unread] = []
    for name, members in _runs(archive.memberships()):
        if runs is not None and name not in runs:
            continue
        try:
            if record_run(archive, name, members, there):
                measured.append(name)
        except Error as error:
            failed.append(Unread(name, error))
    return Recorded(tuple(measured), tuple(failed))


def record_run(archive: Archive, name: str, members: Sequence[Membership], there: frozenset[str] | None = None) -> bool:
    """Measures a run and puts it into the history; false where it is there. `members` is what the archive has of it."""
    traces = tuple(sorted({one.trace_id for one in members}))
    if is_recorded(traces, recorded(archive.history()) if there is None else there):
        return False
    run = measure(name, run_group(name, members, archive).members, archive)
    files = {utf8(one.source.path): one.source.modified_ns for one in members}
    if run.began_unix_ns is None:
        entry = Entry("", run, min(files.values()), "file", files)
    else:
        entry = Entry("", run, run.began_unix_ns, "trace", files)
    put_run(archive.history(), entry)
    return True


def _runs(members: Sequence[Membership]) -> list[tuple[str, list[Membership]]]:
    runs: dict[tuple[str, str], list[Membership]] = defaultdict(list)
    for one in members:
        runs[("", one.run) if one.run is not None else (one.trace_id, one.source.path.rpartition("/")[2])].append(one)
    return [(name, own) for (_, name), own in sorted(runs.items())]


def known_series(archive: Archive, *, damage: Damage | None = None) -> tuple[Series, ...]:
    """The series of the archive's history, the one with the latest run first.

    Files of the history that are damaged get into `damage`; without it the first of them is raised.
    """
    history = archive.history()
    return all_series(entries(history, damage=damage), decisions(history, damage=damage))


def found_series(archive: Archive, prefix: str, *, damage: Damage | None = None) -> Series:
    """The series whose id begins with that; raises `Error` where none or several do. `damage` as in `known_series`."""
    return _one_of(known_series(archive, damage=damage), prefix, archive)


def _one_of(there: Sequence[Series], prefix: str, archive: Archive) -> Series:
    found = [one for one in there if one.id.startswith(prefix)]
    if len(found) != 1:
        what = f"{len(found)} series begin with {prefix}" if found else f"no series begins with {prefix}"
        some = ", ".join(one.id for one in (found or there)[:5])
        raise Error(
            f"{archive.path}: {what}",
            f"there are: {some}" if some else f"record runs: tracelode watch check{archive_words(archive.path)}",
        )
    return found[0]


def check(
    archive: Archive,
    *,
    series: str | None = None,
    missing: Sequence[Unread] = (),
    unmeasured: Sequence[Unread] = (),
    damage: Damage | None = None,
) -> Report:
    """The report on the series of the archive, or on the one that begins with `series`, with a check for each metric.

    Series that a later one replaced are told of and not checked, unless one is named. `missing` are inputs that are not
    there, `unmeasured` runs that could not be measured: each is told of, and is a check that is no pass. So is each
    file of the history that is damaged, and gets into `damage`; without it the first of them is raised.
    """
    there = known_series(archive, damage=damage)
    chosen = [one for one in there if not one.replaced_by] if series is None else [_one_of(there, series, archive)]
    tracks = [(one, track) for one in chosen for track in one.tracks]
    unread = [*_missing(missing), *_unmeasured(unmeasured), *_damaged(damage or {}, archive)]
    checks = (*_checks(chosen, archive), *unread)
    loud = [(one, track) for one, track in tracks if track.verdict in LOUD and track.judgement.limits is not None]
    loud.sort(key=lambda pair: LOUD.index(pair[1].verdict))
    health = [f"not read: {one.error.message}" for one in missing]
    health += [f"not measured: {one.name}: {one.error.message}" for one in unmeasured]
    health += _not_judged(damage)
    health += _left_out(chosen)
    health += [] if series is not None else _replaced(there)
    return Report(
        topic="watch",
        title=f"Check of {plural(len(tracks), 'metric')} of {len(chosen)} series",
        verdict=" ".join([verdict_line(checks), *_next(chosen)]),
        trace_id=_id(chosen),
        identity=tuple(_identity(chosen)),
        health=tuple(health),
        sections=(
            *_histories(loud[:MOST_SHOWN], chosen[:MOST_GLANCES], archive),
            *_explained(chosen),
            watched_series.series_table(chosen),
            *_logs(chosen),
        ),
        glossary=GLOSSARY,
        checks=checks,
    )


def history_of(archive: Archive, series: str, *, damage: Damage | None = None) -> Report:
    """The report on the whole history of the series that begins with `series`; `damage` as in `check`."""
    one = found_series(archive, series, damage=damage)
    checks = (*_checks([one], archive), *_damaged(damage or {}, archive))
    replaced = (
        [f"replaced by series {one.replaced_by}, so no check of the archive asks for it"] if one.replaced_by else []
    )
    return Report(
        topic="watch",
        title=f"History of series {one.id}",
        verdict=verdict_line(checks),
        trace_id=_id([one]),
        identity=(*_identity([one]), *(pair for pair in one.fingerprint.items() if pair[1] != UNKNOWN)),
        health=(*_not_judged(damage), *replaced, *_left_out([one])),
        sections=(
            *_histories([(one, track) for track in one.tracks], [one], archive),
            *_explained([one]),
            watched_series.series_table([one]),
            *_logs([one]),
        ),
        glossary=GLOSSARY,
        checks=checks,
    )


def _checks(found: Sequence[Series], archive: Archive) -> list[Check]:
    """A check for each metric; one for a series of which no run counts, and one where there is no series at all."""
    where = archive_words(archive.path)
    checks = [watched_metric.check(one, track, where) for one in found for track in one.tracks]
    checks += [watched_metric.missing(one) for one in found if not one.tracks and one.worked]
    if checks:
        return checks
    why = "of its runs none did anything on a device" if found else "the archive has no run"
    return [watched_metric.nothing(found[0].id if found else "none", f"Inconclusive: nothing was checked, {why}.")]


def _missing(inputs: Sequence[Unread]) -> Iterator[Check]:
    for one in inputs:
        yield _unread(one.name, "input", one.error.message, one.error)


def _unmeasured(runs: Sequence[Unread]) -> Iterator[Check]:
    for one in runs:
        why = f"the run {one.name} was not measured: {one.error.message}"
        yield _unread(one.name, "measurement", why, one.error)


def _damaged(damage: Damage, archive: Archive) -> Iterator[Check]:
    for path, error in damage.items():
        name = str(path.relative_to(archive.path))
        yield _unread(name, "history_file", f"{error.message}, so it was not judged", error)


def _unread(name: str, what: str, why: str, error: Error) -> Check:
    sentence = f"Inconclusive: {why}. {_sentence(error.hint)}"
    return Check(name, what, UNREAD[what], "count", "inconclusive", sentence)


def _not_judged(damage: Damage | None) -> list[str]:
    return [f"not judged: {error.message}" for error in (damage or {}).values()]


def _sentence(hint: str) -> str:
    return f"{hint[:1].upper()}{hint[1:]}."


def _next(found: Sequence[Series]) -> Iterator[str]:
    """How many runs of which series would decide what is inconclusive."""
    needed = {
        one.id: max(max(track.judgement.needed, 1) for track in one.tracks if track.verdict == "inconclusive")
        for one in found
        if any(track.verdict == "inconclusive" for track in one.tracks)
    }
    if needed:
        named = [f"{plural(runs, 'run')} of series {id}" for id, runs in list(needed.items())[:MOST_NAMED]]
        more = f" and of {len(needed) - MOST_NAMED} further series" if len(needed) > MOST_NAMED else ""
        yield f"To decide: {', '.join(named)}{more}."


def _histories(shown: Sequence[tuple[Series, Track]], glances: Sequence[Series], archive: Archive) -> Iterator[Section]:
    """Series at a glance, then single metrics of them."""
    changes = {(one.id, track.metric.name): watched_metric.changes_of(track) for one, track in shown}
    for one in glances:
        section = watched_series.at_a_glance(one, {name: of for (id, name), of in changes.items() if id == one.id})
        if section:
            yield section
    for one, track in shown:
        yield watched_metric.section(one, track, changes[one.id, track.metric.name], archive_words(archive.path))


def _explained(found: Sequence[Series]) -> Iterator[Section]:
    """The kernels behind the change of each series that has one."""
    for series in found:
        track = _changed(series)
        section = track and watched_series.kernels(series, track)
        if section:
            yield section


def _changed(series: Series) -> Track | None:
    by_name = {track.metric.name: track for track in series.tracks if track.verdict in LOUD and track.seen}
    return next((by_name[name] for name in EXPLAINED if name in by_name), None)


def _logs(found: Sequence[Series]) -> Iterator[Section]:
    yield from filter(None, (watched_series.decided(found), watched_series.excluded(found)))


def _id(found: Sequence[Series]) -> str:
    """An id of all that was judged."""
    keys = [entry.key for series in found for entry in (*series.entries, *series.excluded)]
    return hashlib.sha256("\n".join([*(series.id for series in found), *keys]).encode()).hexdigest()


def _identity(found: Sequence[Series]) -> Iterator[tuple[str, str]]:
    for series in found[:MOST_NAMED]:
        what = ", ".join(series.fingerprint[name] for name in ("model", "gpu") if series.fingerprint[name] != UNKNOWN)
        last = series.last
        yield (
            f"series {series.id}",
            f"{what or 'nothing recorded of what ran'}; {plural(len(series.entries), 'run')}, the last "
            f"{last.run.name} ({watched_metric.date(last)})",
        )
    if len(found) > MOST_NAMED:
        yield "further series", str(len(found) - MOST_NAMED)


def _left_out(found: Sequence[Series]) -> list[str]:
    """Runs that do not count, and those of which the place in time is not sure."""
    said: list[str] = []
    left = [(one.run.name, one.run.excluded) for series in found for one in series.excluded]
    said += [f"does not count: {name}: {why}" for name, why in left[:MOST_NAMED]]
    said += [f"does not count: {plural(len(left) - MOST_NAMED, 'further run')}"] if len(left) > MOST_NAMED else []
    for series in found:
        files = sum(one.timed_by == "file" for one in series.entries)
        if files:
            said.append(
                f"order not sure: {plural(files, 'run')} of series {series.id} stand where their files' times put them"
            )
        if not series.worked:
            said.append(f"not checked: nothing ran on a device in {plural(len(series.excluded), 'run')}")
    return said


def _replaced(there: Sequence[Series]) -> list[str]:
    """Series that are not checked since a later one took their place, and what differs."""
    by_id = {one.id: one for one in there}
    said: list[str] = []
    for one in there:
        if one.replaced_by:
            other = by_id[one.replaced_by]
            differs = ", ".join(
                f"{aspect} {one.fingerprint[aspect]} → {other.fingerprint[aspect]}"
                for aspect in one.fingerprint
                if one.fingerprint[aspect] != other.fingerprint[aspect]
            )
            left = sorted({track.verdict for track in one.tracks} - {"neutral", "improvement"})
            unsettled = f"; it was left {' and '.join(left)}" if left else ""
            said.append(f"not checked: series {one.id}, replaced by {other.id} ({differs}){unsettled}")
    return said
