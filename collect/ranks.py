"""Which rank of its run a trace is: as the trace itself says, else by the file's name, else by its place in the order.

No trace is refused for want of a rank, and none takes the place of another that claims the same one.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from ..store.archive import Archive
from ..store.sources import Membership, RankFrom
from ..store.trace import Trace

__all__ = ["natural", "place_in_order", "rank_in", "rank_of", "remarks"]

STATED = re.compile(r"(?<![a-z])(?:([a-z]+)[-_.]|(global|local|dp|tp|pp|ep|cp|dcp|sp))?rank[-_.=]?\[?(\d{1,6})(?!\d)")
OTHER_RANKS = frozenset({"local", "node", "dp", "tp", "pp", "ep", "cp", "dcp", "sp"})
"""What a rank may be of besides the run: the machine, or one dimension of the parallelism."""

COORDINATE = re.compile(r"(?<![a-z0-9])(dp|pp|tp|cp)[-_]?(\d{1,6})(?!\d)")
NUMBERED = re.compile(r"\.(\d{1,4})\.(?:nsys-rep|qdrep|sqlite|db|jsonl|rpd)\b")
"""Nsight Systems with `-o report.%q{SLURM_PROCID}`; longer numbers are ids of processes."""

WORKER = re.compile(r"(?<![a-z])(?:worker|proc|procid)[-_]?(\d{1,4})(?!\d)")
FOLDER = re.compile(r"(?:global[-_])?rank[-_.=]?(\d{1,6})")

NAMED = 8
"""Files that a remark names; it counts the others."""


def rank_in(place: str) -> int | None:
    """The rank that a path, a URL or an archive's member is named for, or the folder it lies in; None for none.

    >>> rank_in("run/dp0_pp0_tp3_rank11.172.pt.trace.json.gz"), rank_in("rank-4/profile.json"), rank_in("host_81.json")
    (11, 4, None)
    """
    *folders, name = re.split(r"!?/", place.lower())
    stated = {int(number) for apart, joined, number in STATED.findall(name) if not {apart, joined} & OTHER_RANKS}
    if stated:
        return stated.pop() if len(stated) == 1 else None
    at = {dimension: int(number) for dimension, number in COORDINATE.findall(name)}
    if "tp" in at:  # the innermost dimension counts the ranks, unless others take part
        return at["tp"] if not any(number for dimension, number in at.items() if dimension != "tp") else None
    found = NUMBERED.search(name) or WORKER.search(name) or (FOLDER.fullmatch(folders[-1]) if folders else None)
    return int(found[1]) if found else None


def rank_of(trace: Trace, place: str) -> tuple[int | None, RankFrom | None]:
    """The rank of a trace and where that is from: the trace itself, else the name of its file.

    A trace that holds several ranks has none of its own, whatever its name.
    """
    if trace.has("process"):
        stated = set(trace.arrow("process", ["rank"])["rank"].to_pylist()) - {None}
        if stated:
            return (stated.pop() if len(stated) == 1 else None), "file"
    named = rank_in(place)
    return named, None if named is None else "name"


def place_in_order(archive: Archive, *runs: str) -> None:
    """Gives ranks to the traces of runs that have none: of each format, the numbers left over, in the names' order."""
    wanted, groups = frozenset(runs), defaultdict[tuple[str, str], list[Membership]](list)
    for one in archive.memberships():
        if one.run in wanted:
            groups[one.run, one.source.reader].append(one)
    for members in groups.values():
        taken = {one.rank for one in members if one.rank_from in ("file", "name")}
        free = (number for number in count() if number not in taken)
        unranked = [one for one in members if one.rank_from not in ("file", "name")]
        for one in sorted(unranked, key=lambda member: natural(member.source.path)):
            archive.remember(replace(one, rank=next(free), rank_from="order"))


def natural(text: str) -> list[tuple[int, str]]:
    """A key that sorts numbers within texts by their value: `part10` after `part9`.

    Longer runs of digits than any number of a trace has are taken piece by piece: Python refuses those of thousands.
    """
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d{1,18})", text)]


def remarks(archive: Archive, runs: Collection[str]) -> list[str]:
    """What a reader of the runs must know: ranks that several traces of a format claim, files that are one trace."""
    claims, same = defaultdict[Any, list[Membership]](list), defaultdict[Any, list[Membership]](list)
    for one in archive.memberships():
        if one.run in runs:
            same[one.run, one.trace_id].append(one)
            if one.rank is not None:
                claims[one.run, one.rank, one.source.reader].append(one)
    found = [
        f"run {run}: rank {rank} is claimed by {len(members)} traces, all are kept: {_paths(members)}"
        for (run, rank, _), members in claims.items()
        if len({one.trace_id for one in members}) > 1
    ]
    found += [
        f"run {run}: {len(members)} files have the same content and are one trace, {trace[:12]}: {_paths(members)}"
        for (run, trace), members in same.items()
        if len(members) > 1
    ]
    return found


def _paths(members: Sequence[Membership]) -> str:
    some = ", ".join(one.source.path for one in members[:NAMED])
    return f"{some} and {len(members) - NAMED} more" if len(members) > NAMED else some
