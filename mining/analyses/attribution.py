"""Tells for each operation on a device what its host call was made in: operator, module, phase."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...store.tables import TABLES
from ...store.trace import Trace
from ..nested import NONE
from ..sites import sites

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 2
NEEDS = ()

COLUMNS = """
    select
        process,
        device,
        stream,
        start_ns,
        end_ns,
        '{table}' as kind,
        coalesce(duration_ns, 0) as work_ns,
        {bytes} as bytes,
        {family} as family,
        (launch_ns is not null)::integer as linked,
        launch_ns,
        launch_thread,
        op
    from {table}
"""
KINDS = {
    "kernel": ("null::bigint", "category"),
    "copy": ("bytes", "'copy ' || coalesce(kind, '(direction not recorded)')"),
    "fill": ("bytes", "'fill'"),
}


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `attribution`; nothing without device work. Operators are linked by correlation alone."""
    import pyarrow as pa

    parts = [
        COLUMNS.format(table=table, bytes=bytes_, family=family)
        for table, (bytes_, family) in KINDS.items()
        if trace.has(table)
    ]
    if not parts:
        return {}
    rows = trace.sql(" union all ".join(parts) + " order by process, device, stream, start_ns, end_ns, kind")
    columns = {name: rows[name].to_arrow() for name in rows.columns if name in TABLES["attribution"].names}
    site = sites(trace)
    if site is not None:
        numbers = {name: rows[name].fill_null(NONE).to_numpy() for name in ("process", "launch_thread", "launch_ns")}
        op = rows["op"].fill_null(NONE).to_numpy() if trace.has("op") else None
        found = site.asked(*numbers.values(), op=op)
        columns |= {name: pa.array(values, pa.string()) for name, values in vars(found).items()}
    schema = TABLES["attribution"].schema
    filled = {
        field.name: columns[field.name].cast(field.type) if field.name in columns else pa.nulls(len(rows), field.type)
        for field in schema
    }
    return {"attribution": pa.Table.from_pydict(filled, schema=schema)}
