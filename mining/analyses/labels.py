"""Labels the stretches of a usual iteration by the rules of frameworks (`mining/rules.toml`), for readers alone."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...store.tables import TABLES
from ...store.trace import Trace
from ..levels import MAIN
from ..naming import called
from ..rules import Operation, Rule, read_rules, stretches
from ..spans import KEYS, spans

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

VERSION = 1
NEEDS = ("iterations",)


OPERATIONS = f"""
with main as ({MAIN}),
judged as (
    select
        iteration.*,
        abs(time_ns - median(time_ns) filter (phase = 'steady') over (partition by process)) as distance_ns
    from iteration
    join main using (process, level)
),
chosen as (
    select process, level, iteration, sequence, first, last
    from judged
    qualify row_number() over (partition by process order by phase = 'steady' desc, distance_ns, iteration) = 1
)
select
    chosen.process,
    chosen.level,
    chosen.iteration,
    chosen.sequence,
    chosen.first,
    member.ordinal - chosen.first as position,
    any_value(member.start_ns) as start_ns,
    any_value(member.end_ns - member.start_ns) as time_ns,
    min(work.name) as name
from chosen
join member on member.sequence = chosen.sequence and member.ordinal between chosen.first and chosen.last
join ({{work}}) as work on member.kind = work.work and {" and ".join(f"member.{key} = work.{key}" for key in KEYS)}
group by all
order by chosen.process, position
"""
"""SQL: for each process the operations of the steady iteration of its main level whose time is nearest the median."""


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `label`; empty where there are no iterations, nothing without device work."""
    return label(trace, read_rules())


def label(trace: Trace, rules: Sequence[Rule]) -> Mapping[str, "pa.Table"]:
    """The same by other rules."""
    import pyarrow as pa

    if not trace.has("iteration"):
        return {}
    work = " union all ".join(
        f"select '{kind}' as work, {', '.join(KEYS)}, {name} as name from {kind}"
        for kind, name in called().items()
        if trace.has(kind)
    )
    parts = trace.sql(OPERATIONS.format(work=work)).partition_by("process", maintain_order=True)
    rows = [row for part in parts for row in _rows(trace, rules, part)]
    return {"label": pa.Table.from_pylist(rows, schema=TABLES["label"].schema)}


def _rows(trace: Trace, rules: Sequence[Rule], part: "pl.DataFrame") -> Iterator[dict[str, Any]]:
    head = part.row(0, named=True)
    start, time = part["start_ns"].to_numpy(), part["time_ns"].to_numpy()
    for one in stretches(rules, _operations(trace, part)):
        own = slice(one.first, one.last + 1)
        yield {
            "process": head["process"],
            "level": head["level"],
            "iteration": head["iteration"],
            "rule": one.rule,
            "label": one.label,
            "first": one.first,
            "last": one.last,
            "operations": one.last - one.first + 1,
            "start_ns": int(start[own].min()),
            "time_ns": int(time[own].sum()),
            "share": float(time[own].sum() / max(1, time.sum())),
            "sequence": {None: None, True: "as usual", False: "unusual"}[one.in_order],
        }


def _operations(trace: Trace, part: "pl.DataFrame") -> list[Operation]:
    """The operations with the names of the spans around their launches, where the trace has such."""
    head, size = part.row(0, named=True), len(part)
    around: list[set[str]] = [set() for _ in range(size)]
    found = spans(trace, [(head["sequence"], head["first"], head["first"] + size)])
    if found is not None:
        for operation, name in zip(found.operation.tolist(), found.name.tolist(), strict=True):
            if name >= 0:
                around[operation].add(found.names[name][1])
    return [Operation(name, frozenset(some)) for name, some in zip(part["name"], around, strict=True)]
