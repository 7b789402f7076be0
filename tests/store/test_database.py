import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

from tests.building import build
from tracelode.store import Error
from tracelode.store import database as databases
from tracelode.store.database import transient

KERNELS = [{"start_ns": at, "end_ns": at + 5, "name": "gemm"} for at in range(0, 100, 10)]


def test_what_is_made_in_a_database_is_gone_after_it() -> None:
    with transient() as first:
        first.execute("create table made as select 7 as value; create view seen as from made")
        assert first.sql("select value from seen").fetchall() == [(7,)]
    with transient() as second:
        names = (
            "select table_name from duckdb_tables() union all select view_name from duckdb_views() where not internal"
        )
        assert second.sql(names).fetchall() == []


def test_databases_that_are_open_at_once_do_not_see_each_other() -> None:
    with transient() as one, transient() as other:
        one.execute("create table made as select 1 as value")
        other.execute("create table made as select 2 as value")
        assert (one.sql("from made").fetchall(), other.sql("from made").fetchall()) == ([(1,)], [(2,)])


def test_a_statement_that_sets_something_has_no_effect_on_the_next(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, kernel=KERNELS)
    before = trace.sql("select current_setting('threads') as threads from (select count(*) from kernel)")
    trace.sql("set threads = 7")
    assert trace.sql("select current_setting('threads') as threads from (select count(*) from kernel)").equals(before)
    assert before["threads"][0] != 7


def test_a_bad_statement_leaves_the_next_one_as_it_was(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, kernel=KERNELS)
    for wrong in ("select nothing from kernel", "select from where", "select 1; select 2"):
        with pytest.raises(Error, match="sql: "):
            trace.sql(wrong)
        assert trace.sql("select count(*) as n from kernel")["n"][0] == 10


def test_threads_ask_at_the_same_time(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, kernel=KERNELS)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: trace.sql(f"select sum(end_ns) + {n} as s from kernel")["s"][0], range(40)))
    assert found == [500 + n for n in range(40)]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_starts_an_instance_of_its_own(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, kernel=KERNELS)
    assert trace.sql("select count(*) as n from kernel")["n"][0] == 10
    child = os.fork()
    if child == 0:
        try:
            os._exit(trace.sql("select count(*) as n from kernel")["n"][0])
        finally:
            os._exit(99)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 10


def test_an_instance_that_an_error_has_ended_is_replaced() -> None:
    with pytest.raises(duckdb.FatalException), transient():
        raise duckdb.FatalException("the database has been invalidated")
    assert os.getpid() not in databases._shared
    with transient() as fresh:
        assert fresh.sql("select 1").fetchall() == [(1,)]
