"""The steps of a trace that touch managed memory: from measured accesses, else from what came to a device."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..store.trace import Trace
from .managed_kernels import NO_NAME
from .managed_pages import LEAF_BYTES, footprint
from .managed_use import by_accesses
from .plan import Key
from .prefetch_plans import Memory, Step, by_operator, leaves
from .uvm_rules import uvm_rules

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ADDRESSES", "ALIKE", "ELSEWHERE", "Nameless", "Program", "program"]

Nameless = Literal["addresses", "alike", "elsewhere"]
"""Why nothing tells an object in another run: no allocation is known, others are alike, it is another process's."""
ADDRESSES: Nameless = "addresses"
ALIKE: Nameless = "alike"
ELSEWHERE: Nameless = "elsewhere"

NAMES = """
select
    process,
    launch,
    kernel as name,
    row_number() over (partition by process, kernel order by launch) - 1 as occurrence,
    op_id,
    if(op_id is null, null, min(launch) over (partition by process, op_id)) as op_launch
from launch_memory
order by process, launch
"""
CAME = """
with came as (
    select *, min(start_ns) over (partition by process, kernel, occurrence) as at_ns
    from uvm_event
    where kind in ('gpu_fault', 'HtoD') and kernel is not null and address is not null and range is not null
)
select
    process,
    kernel as name,
    occurrence,
    dense_rank() over (partition by process order by at_ns, kernel, occurrence) as number,
    count(distinct (kernel, occurrence)) over (partition by process) as steps,
    range,
    tensor,
    address,
    coalesce(bytes, 1) as bytes
from came
qualify number <= {most}
order by process, number, start_ns, address
"""
RANGES = """
select range, process, granularity, kind, owner, address, bytes, birth_ns from uvm_range order by range
"""


@dataclass(frozen=True, eq=False)
class Program:
    """The steps of a process, its objects and tensors, and whether accesses or faults told what they touch.

    `keys` tell each object in another run, or why nothing does. The steps are made of `kernels`, the first of the
    `whole` run, as far as `mining/uvm.toml` has them simulated. A step called `NO_NAME` has no key in another run.
    """

    process: int
    steps: list[Step]
    objects: list[Memory]
    tensors: list[Memory]
    keys: list[Key | Nameless]
    evidence: str
    kernels: int
    whole: int

    @property
    def footprint(self) -> int:
        """The bytes of all objects that the steps touch; addresses that several of them had in turn count once."""
        used = frozenset[int]().union(*(step.objects | step.born for step in self.steps))
        return footprint((self.objects[at].address, self.objects[at].bytes) for at in used)


def program(trace: Trace) -> Program | None:
    """The process with the most touches as steps; None where nothing says what is touched."""
    return _by_accesses(trace) or _by_faults(trace)


def _by_accesses(trace: Trace) -> Program | None:
    import polars as pl

    found = by_accesses(trace) if trace.has("launch_memory") else None
    if found is None:
        return None
    objects, parts = found
    names = trace.sql(NAMES)
    process = _busiest(parts)
    birth = "birth_ns" if trace.facts.clock == "ordinal" and "birth_ns" in objects.columns else pl.lit(None, pl.Int64)
    numbered = objects.with_row_index("object").with_columns(pl.col("object").cast(pl.Int64))
    kinds = numbered.select("object", "granularity", size="bytes", birth=birth)
    parts = parts.filter(process=process).drop_nulls("launch").join(kinds, on="object").sort("launch", "address")
    if not len(parts):
        return None
    places, memory = _numbered(objects)
    told = {row["launch"]: row for row in names.filter(process=process).to_dicts()}
    whole = parts["launch"].n_unique()
    last = parts["launch"].unique().sort()[min(whole, int(uvm_rules("residency")["steps_count"])) - 1]
    unknown: dict[str, Any] = {"name": None, "occurrence": 0, "op_id": None, "op_launch": None}
    steps = (
        _step(part.to_dicts(), told.get(part["launch"][0], unknown), places)
        for part in parts.filter(pl.col("launch") <= last).partition_by("launch", maintain_order=True)
    )
    kept = _affordable(steps, memory[0])
    return Program(process, by_operator(kept), *memory, _keys(objects, process), "accesses", len(kept), whole)


def _affordable(steps: Iterable[Step], objects: list[Memory]) -> list[Step]:
    """The first steps, as many as touch, and would prefetch in whole objects, no more leaves than are simulated."""
    left = int(uvm_rules("residency")["leaves_count"])
    kept: list[Step] = []
    for step in steps:
        left -= len(step.touched) + sum(objects[one].bytes for one in step.objects) // LEAF_BYTES
        if left < 0 and kept:
            break
        kept.append(step)
    return kept


def _step(rows: list[dict[str, Any]], launch: dict[str, Any], places: list[int]) -> Step:
    """A launch: the blocks it touches; else its tensors, and its objects in which no tensor is told.

    What was allocated after the first launch of its operator was not there before that.
    """
    tensors = [row for row in rows if row["granularity"] == "tensor"]
    objects = [row for row in rows if row["granularity"] != "tensor"]
    held = [Memory(row["address"], row["bytes"] or row["size"]) for row in tensors]
    for row in objects:
        own = Memory(row["address"], row["bytes"] or row["size"])
        if row["bytes"] or not any(own.address <= one.address < own.address + own.bytes for one in held):
            held.append(own)
    first = launch["op_launch"]
    later = {row["object"] for row in rows if None not in (first, row["birth"]) and row["birth"] > first}
    used, used_tensors = (
        frozenset(places[row["object"]] for row in part if row["object"] not in later) for part in (objects, tensors)
    )
    born = frozenset(places[row["object"]] for row in objects if row["object"] in later)
    name = launch["name"] or NO_NAME
    return Step(name, launch["occurrence"], used, used_tensors, leaves(held), launch["op_id"], born)


def _numbered(objects: "pl.DataFrame") -> tuple[list[int], tuple[list[Memory], list[Memory]]]:
    """For each row its place among the objects or among the tensors, and both lists."""
    lists: tuple[list[Memory], list[Memory]] = ([], [])
    places: list[int] = []
    for row in objects.to_dicts():
        of_kind = lists[row["granularity"] == "tensor"]
        places.append(len(of_kind))
        of_kind.append(Memory(row["address"], row["bytes"] or LEAF_BYTES))
    return places, lists


def _by_faults(trace: Trace) -> Program | None:
    if not trace.has("uvm_event"):
        return None
    rows = trace.sql(CAME.format(most=int(uvm_rules("residency")["steps_count"])))
    if not len(rows):
        return None
    ranges = trace.sql(RANGES)
    places, memory = _numbered(ranges)
    place = dict(zip(ranges["range"].to_list(), places, strict=True))
    process = _busiest(rows)
    rows = rows.filter(process=process)
    steps = (_came(part, place) for part in rows.partition_by("number", maintain_order=True))
    kept = _affordable(steps, memory[0])
    return Program(process, kept, *memory, _keys(ranges, process), "faults", len(kept), int(rows["steps"][0]))


def _came(rows: "pl.DataFrame", place: Mapping[int, int]) -> Step:
    """A kernel with what came to the device while it ran; `place` is that of a range among the objects or tensors."""
    touched = leaves(Memory(address, size) for address, size in rows.select("address", "bytes").rows())
    used = [frozenset(place[at] for at in rows[name].drop_nulls().to_list()) for name in ("range", "tensor")]
    return Step(str(rows["name"][0]), int(rows["occurrence"][0]), used[0], used[1], touched)


def _busiest(rows: "pl.DataFrame") -> int:
    """The process with the most rows; of equals the first."""
    return int(rows["process"].value_counts(sort=True).sort("count", "process", descending=[True, False])["process"][0])


def _keys(objects: "pl.DataFrame", process: int) -> list[Key | Nameless]:
    """What tells each object in another run, in their order; they are in the order of their births.

    Nothing tells those of another process, without an allocation, and alike while their births are not known.
    """
    import polars as pl

    there = objects.filter(pl.col("granularity") != "tensor")
    if "birth_ns" not in there.columns:
        return [ADDRESSES] * len(there)
    alike = ("process", "kind", "bytes", "owner")
    told = there.with_columns(
        number=pl.int_range(pl.len()).over(alike),
        many=pl.len().over(alike),
        unknown=pl.col("birth_ns").null_count().over(alike),
    )
    return [_key(row, process) for row in told.to_dicts()]


def _key(row: Mapping[str, Any], process: int) -> Key | Nameless:
    if row["process"] != process:
        return ELSEWHERE
    if row["kind"] is None:
        return ADDRESSES
    if row["many"] > 1 and row["unknown"] > 1:
        return ALIKE
    return Key(row["kind"], row["bytes"], row["owner"], row["number"])
