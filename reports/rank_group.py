"""The ranks that a command's arguments mean: files, folders, archives of files, traces and runs of an archive."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import click

from ..collect.archives import address
from ..collect.ingest import known, look, read_in
from ..collect.inputs import Input, inputs, nothing_in, place_of
from ..collect.ranks import natural, rank_of
from ..mining.rank_run import Member
from ..store.archive import Archive
from ..store.errors import Error, UnreadableFile
from ..store.sources import Membership, Source
from ..store.trace import Trace
from .options import cache_archive, progress
from .text import clean

__all__ = ["Group", "Unread", "open_group", "run_group"]


@dataclass(frozen=True)
class Unread:
    """A file that could not be read, and why."""

    name: str
    error: Error


@dataclass(frozen=True)
class Group:
    """Traces to report on together, all in one archive; `remarks` are what to know of how they were found."""

    name: str
    members: Sequence[Member]
    archive: Archive
    unread: Sequence[Unread] = ()
    remarks: Sequence[str] = ()


@dataclass(frozen=True)
class _Found:
    trace: Trace
    path: str
    reader: str


def open_group(names: Sequence[str], archive_path: Path) -> Group:
    """The traces that the names mean, each once, in the order of their ranks.

    A path, URL or member of an archive is one or several files; what is none of these is a run in the archive by its
    name, the beginning of a trace's id, or the beginning of a run's name. Files that were all read into the archive are
    taken from there, others are read into the cache archive. Files that cannot be read are told of by the group, unless
    there is nothing else.
    """
    archive = Archive(archive_path)
    files: list[Input] = []
    there: list[_Found] = []
    titles: list[str] = []
    for name in names:
        title, found = _in_archive(name, archive)
        there += found
        files += [] if found else _files(name)
        titles.append(title)
    read, unread, archive = _read(files, archive, bool(there))
    found, remarks = _distinct([*there, *read])
    if not found:
        raise unread[0].error if unread else Error(f"{names[0]}: no trace there", "give trace files or a run")
    title = titles[0] if len(titles) == 1 else f"{titles[0]} and {len(titles) - 1} more"
    return Group(title, _ranked(found), archive, unread, remarks)


def _in_archive(name: str, archive: Archive) -> tuple[str, list[_Found]]:
    """A title, and the traces of the archive that the name means; none where it means files."""
    exists = "!/" in name or "://" in name or Path(name).exists()
    if exists or not archive.path.is_dir():
        if not exists and "/" not in name and "." not in name:
            raise Error(f"{name}: no such file, and no archive at {archive.path}", "give a trace file, or --archive")
        return Path(name).resolve().name if exists else name, []
    members = archive.memberships()
    runs = sorted({one.run for one in members if one.run is not None})
    run = name if name in runs else None
    if run is None and ("/" in name or "." in name):
        return name, []
    if run is None and not any(one.trace_id.startswith(name) for one in members):
        fitting = [one for one in runs if one.startswith(name)]
        if len(fitting) > 1:
            raise Error(
                f"{archive.path}: {len(fitting)} runs begin with {name}", f"there are: {', '.join(fitting[:5])}"
            )
        run = fitting[0] if fitting else None
    if run is None:
        trace = archive.open(name)
        return trace.source.rpartition("/")[2], [_Found(trace, trace.source, trace.facts.format)]
    return run, _members([one for one in members if one.run == run], archive)


def _members(of_run: Sequence[Membership], archive: Archive) -> list[_Found]:
    return [_found(archive.open(one.trace_id), one.source) for one in of_run]


def _found(trace: Trace, source: Source) -> _Found:
    """The trace by the file that was asked for: the archive may have read another one of the same content before."""
    return _Found(replace(trace, source=source.path), source.path, source.reader)


def run_group(run: str, of_run: Sequence[Membership], archive: Archive) -> Group:
    """The traces of a run of the archive, of which what it remembers is given: for many runs that is read once."""
    found, remarks = _distinct(_members(of_run, archive))
    return Group(run, _ranked(found), archive, (), remarks)


def _files(name: str) -> list[Input]:
    return list(inputs(place_of(name), None, lambda why: click.echo(f"left out: {clean(why)}", err=True)))


def _read(files: Sequence[Input], archive: Archive, mixed: bool) -> tuple[list[_Found], list[Unread], Archive]:
    """Reads the files, those that are no traces left out; from the archive where it has them all."""
    places: list[Input] = []
    unread: list[Unread] = []
    all_known = True
    for one in files:
        try:
            if one.fault is not None:
                raise one.fault
            all_known &= known(look(address(one.place)), archive) is not None
            places.append(one)
        except UnreadableFile as error:
            if one.found and one.fault is None:
                click.echo(f"left out: {clean(error.message)}", err=True)
            else:
                unread.append(Unread(address(one.place), error))
        except Error as error:
            unread.append(Unread(address(one.place), error))
    if places and not all_known:
        if mixed:
            raise Error("some are traces of the archive, others files that it has not read", "ingest the files first")
        archive = cache_archive()
    found: list[_Found] = []
    for one in places:
        try:
            found.append(_one(one, archive))
        except Error as error:
            unread.append(Unread(address(one.place), error))
    if files and not found and not unread:
        raise nothing_in(files[0].given)
    return found, unread, archive


def _one(one: Input, archive: Archive) -> _Found:
    here = look(address(one.place))
    with progress(f"reading {one.place.name}", lambda: here.source.bytes) as heard:
        trace, _ = read_in(here, archive, heard=heard)
    return _found(trace, here.source)


def _distinct(found: Sequence[_Found]) -> tuple[list[_Found], list[str]]:
    """Each trace once, and what is to say of those that several files gave."""
    by_trace: dict[str, list[_Found]] = defaultdict(list)
    for one in found:
        by_trace[one.trace.id].append(one)
    named = [sorted({one.path for one in same}, key=natural) for same in by_trace.values()]
    remarks = [
        f"{len(paths)} files have the same content and are one trace: {', '.join(map(_name, paths))}"
        for paths in named
        if len(paths) > 1
    ]
    return [min(same, key=lambda one: natural(one.path)) for same in by_trace.values()], remarks


def _ranked(found: Sequence[_Found]) -> list[Member]:
    """The traces with their ranks: their own, else by the file's name, else the numbers left, in the names' order."""
    pairs = [(one, Member(one.trace, *rank_of(one.trace, one.path))) for one in found]
    pairs.sort(key=lambda pair: natural(pair[0].path))
    taken = {(one.reader, member.rank) for one, member in pairs if member.rank_from is not None}
    free = {reader: _free(reader, taken) for reader in {one.reader for one, _ in pairs}}
    placed = [
        member if member.rank_from else replace(member, rank=next(free[one.reader]), rank_from="order")
        for one, member in pairs
    ]
    if len(placed) == 1:
        placed = [pairs[0][1]]
    return sorted(placed, key=lambda member: (member.rank is None, member.rank or 0))


def _free(reader: str, taken: set[tuple[str, int | None]]) -> Iterator[int]:
    return (number for number in count() if (reader, number) not in taken)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
