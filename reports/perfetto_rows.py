"""SQL that gives the slices of a trace track by track, in the order in which a Perfetto trace is written."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

from ..store.trace import Trace

__all__ = [
    "ANNOTATIONS",
    "COUNTERS",
    "FAULT",
    "MOST_PATTERNS",
    "OVERLAY",
    "SHADOW",
    "STREAM",
    "TEXTS",
    "THREAD",
    "WAIT",
    "slices_sql",
]

OVERLAY, STREAM, SHADOW, WAIT, FAULT, THREAD = range(6)
"""Sorts of tracks, in the order in which they stand in a process."""

MOST_PATTERNS = 8
"""Patterns that get a track: those that take most time."""

ANNOTATIONS = ("correlation", "bytes", "graph", "sequence", "operations", "iteration")
TEXTS = ("launch", "shapes", "domain", "phase", "flaw")
"""Columns that become annotations, numbers and texts."""

_DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "process": "process",
        "sort": f"{THREAD}",
        "device": "null::integer",
        "stream": "null::bigint",
        "thread": "null::bigint",
        "label": "null::varchar",
        "nested": "false",
        "start_ns": "start_ns",
        "end_ns": "end_ns",
        "name": "name",
        **dict.fromkeys(ANNOTATIONS, "null::bigint"),
        **dict.fromkeys(TEXTS, "null::varchar"),
    }
)

_ON_STREAM = {"sort": f"{STREAM}", "device": "device", "stream": "stream", "correlation": "correlation"}
_ON_THREAD = {"thread": "thread", "nested": "true", "flaw": "flaw"}
_SIZES = "concat({0}_x, '×', {0}_y, '×', {0}_z)"

_COLUMNS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "kernel": _ON_STREAM
        | {
            "category": "'kernel.' || category",
            "graph": "graph",
            "launch": f"case when grid_x is not null then concat('grid ', {_SIZES.format('grid')}, ', block ', "
            f"{_SIZES.format('block')}) end",
            "flaw": "flaw",
        },
        "copy": _ON_STREAM
        | {
            "name": "concat_ws(' ', 'copy', kind)",
            "category": "concat_ws('.', 'copy', kind)",
            "bytes": "bytes",
            "graph": "graph",
            "flaw": "flaw",
        },
        "fill": _ON_STREAM
        | {"name": "'fill'", "category": "'fill'", "bytes": "bytes", "graph": "graph", "flaw": "flaw"},
        "sync": {
            "sort": f"{WAIT}",
            "device": "device",
            "stream": "stream",
            "name": "'wait: ' || kind",
            "category": "'sync'",
            "correlation": "correlation",
        },
        "fault": {
            "sort": f"{FAULT}",
            "device": "device",
            "label": "'page faults'",
            "end_ns": "coalesce(end_ns, start_ns)",
            "name": "concat_ws(' ', processor, 'fault', kind)",
            "category": "'fault'",
        },
        "migration": {
            "sort": f"{FAULT}",
            "device": "device",
            "label": "'migrations'",
            "end_ns": "coalesce(end_ns, start_ns)",
            "name": "kind",
            "category": "'migration'",
            "bytes": "bytes",
        },
        "op": _ON_THREAD | {"category": "'op'", "sequence": "sequence", "shapes": "shapes"},
        "api": _ON_THREAD | {"category": "'api.' || kind", "correlation": "correlation"},
        "range": {
            "sort": f"case when device is null then {THREAD} else {SHADOW} end",
            "device": "device",
            "stream": "case when device is not null then stream end",
            "thread": "case when device is null then thread end",
            "nested": "true",
            "category": "'range.' || kind",
            "domain": "domain",
            "flaw": "flaw",
        },
        "iteration": {
            "process": "iteration.process",
            "sort": f"{OVERLAY}",
            "label": "concat(level.kind, 's', ' of stream ' || level.stream, ' (detected)')",
            "name": "concat(level.kind, ' ', iteration.iteration)",
            "category": "'mined.' || level.kind",
            "operations": "operations",
            "iteration": "iteration.iteration",
            "phase": "phase",
        },
        "occurrence": {
            "process": "pattern.process",
            "sort": f"{OVERLAY}",
            "label": "concat('pattern ', pattern.pattern, ' (detected)')",
            "name": "concat(pattern.length, ' operations from ', pattern.symbols[1])",
            "category": "'mined.pattern'",
            "operations": "pattern.length::bigint",
        },
    }
)
"""Table to its columns of `_DEFAULTS` that it has, as SQL; `category` each names itself."""

_FROM: Mapping[str, str] = MappingProxyType(
    {
        "iteration": "iteration join level using (level) where level.kind in ('iteration', 'cycle')",
        "occurrence": f"occurrence join pattern using (pattern) where pattern.pattern < {MOST_PATTERNS}",
    }
)
_NEEDS: Mapping[str, str] = MappingProxyType({"iteration": "level", "occurrence": "pattern"})

COUNTERS = """
select process, device, name, unit, time_ns, value
from counter
where isfinite(value) and time_ns is not null
order by process, device, name, unit, time_ns
"""


def slices_sql(trace: Trace, tables: Collection[str]) -> str | None:
    """The statement; None where the trace has none of the tables. An event without a trusted start is left out."""
    chosen = _chosen(trace, tables)
    if not chosen:
        return None
    body = "\nunion all\n".join(_select(table) for table in chosen)
    return (
        f"from (\n{body}\n)\norder by process, sort, device, stream, thread, label, start_ns, "
        "case when nested then -end_ns else end_ns end, category, name"
    )


def earliest_sql(trace: Trace, tables: Collection[str]) -> str:
    """The statement that gives the earliest time of all that the tables hold; null where they hold nothing."""
    parts = [f"select min(start_ns) as time_ns from {_source(table)}" for table in _chosen(trace, tables)]
    parts += ["select min(time_ns) as time_ns from counter"] if "counter" in tables and trace.has("counter") else []
    return f"select min(time_ns) from ({' union all '.join(parts) or 'select null as time_ns'})"


def _chosen(trace: Trace, tables: Collection[str]) -> list[str]:
    return [t for t in _COLUMNS if t in tables and trace.has(t) and trace.has(_NEEDS.get(t, t))]


def _source(table: str) -> str:
    flawed = " where flaw is distinct from 'no start'" if "flaw" in _COLUMNS[table] else ""
    return table + flawed


def _select(table: str) -> str:
    columns = dict(_DEFAULTS) | dict(_COLUMNS[table])
    columns["name"] = f"coalesce({columns['name']}, '(no name)')"
    listed = ", ".join(f"{sql} as {name}" for name, sql in sorted(columns.items()))
    return f"select {listed} from {_FROM.get(table) or _source(table)}"
