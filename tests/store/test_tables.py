import re

import pyarrow as pa

from tracelode.store import TABLES, Kind


def test_names_are_snake_case_and_no_bare_reserved_word() -> None:
    for table in TABLES.values():
        for column in table.columns:
            assert re.fullmatch(r"[a-z][a-z0-9_]*", column.name), f"{table.name}.{column.name}"
            assert column.name not in ("end", "from", "order", "select", "to", "table")


def test_every_table_and_column_has_a_meaning() -> None:
    for table in TABLES.values():
        assert table.meaning
        assert all(column.meaning for column in table.columns)


def test_times_are_whole_nanoseconds_and_say_so() -> None:
    for table in TABLES.values():
        for column in table.columns:
            if column.name.endswith("_ns"):
                assert column.type == pa.int64()
                assert column.unit == "ns"


def test_every_event_of_a_process_names_its_process() -> None:
    for table in TABLES.values():
        if table.kind is Kind.EVENT:
            assert "process" in table.names, table.name


def test_sort_keys_are_columns() -> None:
    for table in TABLES.values():
        assert set(table.sort) <= set(table.names)


def test_no_column_is_listed_twice() -> None:
    for table in TABLES.values():
        assert len(set(table.names)) == len(table.names), table.name
