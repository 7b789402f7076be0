"""SQL over traces: a DuckDB view for each table, with the columns of `store.tables` and a few derived ones."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .database import instance, transient
from .errors import ArchiveError, Error, NotCollected
from .kinds import categories_of, category_sql
from .sources import SOURCE
from .statement import LOOKING, Categories, categories, tables, words
from .stored import LENGTH, has_length, stored_names
from .tables import TABLES, Kind, Table

if TYPE_CHECKING:
    import duckdb
    import polars as pl
    import pyarrow as pa

__all__ = [
    "DERIVED",
    "TraceFiles",
    "connect",
    "create_views",
    "damage_told",
    "documented",
    "put_sources",
    "run",
    "schema_rows",
    "view_columns",
]

JUDGED = "_category"
"""A table beside the views: the category of each name that kernels have."""

TraceFiles = Mapping[str, Mapping[str, Path]]
"""Trace id to its files by table name."""

SourceRows = Callable[[], "pa.Table"]
"""Gives the rows of `source`, see `store.sources`."""

SQL_TYPES: Mapping[str, str] = {
    "int32": "integer",
    "int64": "bigint",
    "double": "double",
    "string": "varchar",
    "list<item: string>": "varchar[]",
}
"""SQL's names of the types that columns have."""

DERIVED: Mapping[str, str] = {
    "trace_id": "id of the trace the row belongs to",
    "duration_ns": "end_ns - start_ns; null where `flaw` says that the times are not to be trusted",
    "time_ns": "end_ns - from_ns: the iteration with the wait before it",
    "category": "kind of work by the kernel's name: communication, gemm, attention, ...; see `store.kinds`",
}
"""Columns that views add to those of the tables, and what they mean."""


def connect(
    traces: TraceFiles, query: str = "", *, mixed: bool = False, sources: SourceRows | None = None
) -> "duckdb.DuckDBPyConnection":
    """Opens an in-memory database with a view for each table that at least one of the traces has.

    `mixed`: some of the files were written when their table had fewer columns: a new version of a reader or an analysis
    may add some, which does not change the archive's format, and traces of older ones stay beside its own. With a query
    only the views that it can mean are made (see `statement`): that is most of the time a small query takes.
    `sources` gives the rows of the table `source`, when the query asks for it.
    """
    connection = instance()
    _fill(connection, traces, query, sources, mixed=mixed)
    return connection


def _fill(
    connection: "duckdb.DuckDBPyConnection", traces: TraceFiles, query: str, sources: SourceRows | None, *, mixed: bool
) -> None:
    """Creates the views that a query asks for in an empty database, see `connect`."""
    wanted = tables(query)
    kept = {trace: {n: path for n, path in files.items() if n in wanted} for trace, files in traces.items()}
    create_views(connection, kept, mixed=mixed, categories=categories(query))
    if sources is not None and words(query) & {SOURCE.name, *LOOKING}:
        put_sources(connection, sources)


def create_views(
    connection: "duckdb.DuckDBPyConnection",
    traces: TraceFiles,
    *,
    comments: bool = False,
    mixed: bool = False,
    categories: Categories = "by row",
) -> None:
    """Creates the views in an open database; with `comments`, documents each of them and its columns.

    `mixed`: see `connect`. Columns that the first of a table's files lacks are found out anyway, and are null.
    `categories`: see `statement.categories`. By name they are found before the kernels are read, from those of names
    that were judged before: a tenth of the time of a query that uses them. Every other one would read the names for
    nothing.
    """
    import duckdb

    for table in TABLES.values():
        files = [files[table.name] for files in traces.values() if table.name in files]
        if not files:
            continue
        with damage_told(f"table {table.name}"):
            if table.name == "kernel" and categories == "by name":
                _put_categories(connection, files)
            try:
                connection.execute(_view(table, files, mixed=mixed, categories=categories))
            except duckdb.BinderException:
                connection.execute(_view(table, files, mixed=True, categories=categories))
        if comments:
            connection.execute(_comments(table))


def _put_categories(connection: "duckdb.DuckDBPyConnection", files: list[Path]) -> None:
    """Puts the category of each name of the kernels in those files beside the tables of an open database."""
    import pyarrow as pa

    query = f"select distinct name from read_parquet([{_listed(files)}], union_by_name = true)"
    found = categories_of(name for (name,) in connection.execute(query).fetchall())
    names, judged = pa.array(found.keys(), pa.string()), pa.array(found.values(), pa.string())
    connection.register(JUDGED, pa.table({"judged": names, "category": judged}))


def put_sources(connection: "duckdb.DuckDBPyConnection", sources: SourceRows) -> None:
    """Puts the table `source` into an open database, with what its columns mean."""
    connection.register("_source", sources())
    connection.execute(f'create table "{SOURCE.name}" as from _source; {_comments(SOURCE, "table")}')
    connection.unregister("_source")


def run(
    traces: TraceFiles,
    query: str,
    *,
    sources: SourceRows | None = None,
    beside: "Mapping[str, pa.Table] | None" = None,
) -> "pl.DataFrame":
    """Runs one statement and returns its rows; `sources`: see `connect`. `beside`: tables in memory, by name.

    Of columns with one name all but the first get a number behind it. Raises `NotCollected` for a table no trace has,
    `Error` for bad SQL.
    """
    import duckdb

    try:
        with damage_told("sql"):
            try:
                return _answer(traces, query, sources, beside)
            except duckdb.InvalidInputException as error:
                if "schema mismatch" not in str(error):
                    raise
                return _answer(traces, query, sources, beside, mixed=True)
    except duckdb.CatalogException as error:
        raise _missing_table(error, traces) from error
    except duckdb.Error as error:
        raise Error(f"sql: {_first_line(error)}", "see the tables: tracelode sql --schema") from error


@contextmanager
def damage_told(what: str) -> Generator[None]:
    """Raises `ArchiveError` for what DuckDB says of files that are missing or damaged; `what` begins the message.

    What its Parquet reader says of a damaged page is of no class but the one of all its errors.
    """
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        if type(error) is duckdb.Error or isinstance(error, duckdb.IOException | duckdb.InvalidInputException):
            raise ArchiveError(f"{what}: {_first_line(error)}", "check the archive: tracelode fsck") from error
        raise


def _answer(
    traces: TraceFiles,
    query: str,
    sources: SourceRows | None,
    beside: "Mapping[str, pa.Table] | None",
    *,
    mixed: bool = False,
) -> "pl.DataFrame":
    import polars as pl

    with _place(query) as connection:
        _fill(connection, traces, query, sources, mixed=mixed)
        for name, rows in (beside or {}).items():
            connection.register(name, rows)
        answer: Any = connection.sql(query)  # None for a statement without rows
        return _whole(pl.DataFrame(_apart(answer.to_arrow_table()))) if answer is not None else pl.DataFrame()


def _apart(rows: "pa.Table") -> "pa.Table":
    """The rows with a name of its own for each column, as a frame needs it."""
    names: list[str] = []
    for name in rows.column_names:
        others = (f"{name}_{number}" for number in count(1))
        names.append(next(one for one in others if one not in {*names, *rows.column_names}) if name in names else name)
    return rows.rename_columns(names)


@contextmanager
def _place(query: str) -> Generator["duckdb.DuckDBPyConnection"]:
    """An empty database for one statement: in an instance of its own unless it is a query that looks at tables only."""
    import duckdb

    with transient() as connection:
        statements = connection.extract_statements(query)
        if len(statements) != 1:
            raise Error("sql: not exactly one statement", "give one statement")
        if statements[0].type == duckdb.StatementType.SELECT and not words(query) & LOOKING:
            yield connection
            return
    with instance() as connection:
        yield connection


def view_columns(table: Table) -> list[str]:
    """The column names of the table's view, in order."""
    derived = [LENGTH] if has_length(table) else []
    if table.name == "kernel":
        derived.append("category")
    if table.name == "iteration":
        derived.append("time_ns")
    return ["trace_id", *table.names, *derived]


def _view(table: Table, files: list[Path], *, mixed: bool, categories: Categories) -> str:
    """The statement that creates the table's view: the trace id is the folder that holds the file.

    If `mixed`, columns that a file lacks are null in it: then all files are looked at before the first row.
    """
    listed = _listed(files)
    columns = ["split_part(filename, '/', -2) as trace_id"]
    columns += [f"start_ns + {LENGTH} as end_ns" if n == LENGTH else f'"{n}"' for n in stored_names(table)]
    if has_length(table):
        columns.append(f"case when flaw is null then {LENGTH} end as {LENGTH}" if "flaw" in table.names else LENGTH)
    if table.name == "kernel" and categories != "none":
        columns.append("category" if categories == "by name" else f"{category_sql('name')} as category")
    if table.name == "iteration":
        columns.append("end_ns - from_ns as time_ns")
    body = ",\n    ".join(columns)
    source = f"read_parquet([{listed}], filename = true)"
    if mixed:
        stored = [replace(c, name=name) for c, name in zip(table.columns, stored_names(table), strict=True)]
        empty = ", ".join(f'null::{SQL_TYPES[str(c.type)]} as "{c.name}"' for c in stored)
        source = f"""(
    select {empty} where false
    union all by name
    select * from read_parquet([{listed}], filename = true, union_by_name = true)
)"""
    if table.name == "kernel" and categories == "by name":
        source += f" left join {JUDGED} on name is not distinct from judged"
    return f'create or replace view "{table.name}" as\nselect\n    {body}\nfrom {source}'


def _listed(files: list[Path]) -> str:
    return ", ".join(_quoted(str(file)) for file in files)


def _comments(table: Table, what: str = "view") -> str:
    lines = [f'comment on {what} "{table.name}" is {_quoted("one row per " + table.meaning)};']
    for row in documented(table):
        meaning = row["meaning"] + (f" ({row['unit']})" if row["unit"] else "")
        lines.append(f'comment on column "{table.name}"."{row["column"]}" is {_quoted(meaning)};')
    return "\n".join(lines)


def _missing_table(error: Exception, traces: TraceFiles) -> Error:
    there = [name for name in TABLES if any(name in files for files in traces.values())]
    missing = next((n for n in TABLES if f"name {n} does not exist" in str(error) and n not in there), None)
    if missing is None:
        return Error(f"sql: {_first_line(error)}", f"there are: {', '.join(there)}")
    if TABLES[missing].kind is Kind.MINED:
        return NotCollected(
            f"table {missing} is not there: nothing was mined", "mine a trace first: tracelode mine TRACE"
        )
    return NotCollected(f"table {missing} was not collected", f"there are: {', '.join(there)}")


def _whole(rows: "pl.DataFrame") -> "pl.DataFrame":
    """The rows with sums of whole numbers as such: DuckDB gives them 128 bits, which few clients take for a number."""
    import polars as pl

    wide = [name for name, dtype in rows.schema.items() if isinstance(dtype, pl.Decimal) and not dtype.scale]
    return rows.with_columns(pl.col(name).cast(pl.Int64) for name in wide if _fits(rows[name]))


def _fits(values: "pl.Series") -> bool:
    least, most = values.min(), values.max()
    return least is None or (int(least) >= -(2**63) and int(most) < 2**63)  # pyright: ignore[reportArgumentType] - numbers


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def schema_rows() -> "pl.DataFrame":
    """Every view and column with its type, unit and meaning: what `tracelode sql --schema` shows."""
    import polars as pl

    return pl.DataFrame([row for table in (*TABLES.values(), SOURCE) for row in documented(table)])


def documented(table: Table) -> list[dict[str, str]]:
    """The columns of the table's view: `table`, `column`, `type`, `unit`, `meaning`."""
    own = {c.name: (str(c.type), c.unit, c.meaning) for c in table.columns}
    derived = {"duration_ns": ("int64", "ns"), "time_ns": ("int64", "ns")}
    rows = [own.get(name) or (*derived.get(name, ("string", "")), DERIVED[name]) for name in view_columns(table)]
    return [
        {"table": table.name, "column": name, "type": kind, "unit": unit, "meaning": meaning}
        for name, (kind, unit, meaning) in zip(view_columns(table), rows, strict=True)
    ]
