from pathlib import Path

import pytest

from tests.building import build
from tracelode.store.query import connect, run
from tracelode.store.statement import categories, tables
from tracelode.store.tables import TABLES

PLAIN = (
    "select count(*) from kernel",
    "select name, sum(duration_ns) as ns from kernel where flaw is null group by name order by ns desc, name",
    "with one as (select name from kernel limit 5) select count(*) from one",
    "select kernel.name from kernel join api on kernel.process = api.process order by all",
    "select name from api semi join kernel using (process)",
    "select extract('epoch' from make_timestamp(start_ns)) as s from kernel",
    "select 2*start_ns as twice, (start_ns) * 3 as thrice, start_ns ** 2 as square from kernel",
    "select api.*, kernel.name as what from kernel join api on kernel.process = api.process",
    "select 'kernel' as kind, 'it''s * kernel' as said from kernel",
    "select name is distinct from 'gemm' as other from kernel;",
    'select k.name, api.name as call, k."stream" from kernel as k join api on k.process = api.process',
    "select count(work.name) as names from api left join kernel work using (process) where work.start_ns > 0",
)
WHOLE = (
    "select * from kernel",
    "from kernel",
    "select kernel.* from kernel",
    "select kernel . * exclude (name) from kernel",
    "select distinct on (name) * from kernel order by name",
    "select name as one, * replace (1 as stream) from kernel",
    "select kernel from kernel",
    "select k from kernel k",
    "select to_json(k) as said from kernel as k",
    "select any_value(kernel) as one from kernel",
    "select k . * from api join kernel as k using (process)",
    "select k.name, count(k) as calls from kernel k group by k.name order by k.name",
    "select a from kernel as k(a)",
    "select one from (from kernel) as one",
    "with one as (from kernel) select one from one",
    "select 1 as start_ns union all by name from kernel",
    "select columns(lambda c: c like 'cat%') from kernel",
    "select name from kernel natural join api",
    'select k from "kernel" k',
    "select k from api, kernel k",
    "select k from main.kernel k",
    "table kernel",
    "select k from query('from kernel') k",
    "select k from query_table('kernel') k",
    "summarize kernel",
)


@pytest.mark.parametrize("query", PLAIN)
def test_a_plain_query_needs_no_categories(query: str) -> None:
    assert categories(query) == "none"


@pytest.mark.parametrize("query", WHOLE)
def test_where_a_column_can_be_used_without_its_name_there_are_categories(query: str) -> None:
    assert categories(query) == "by row"


def test_a_query_that_names_them_has_them_judged_by_name() -> None:
    assert categories('select "Category" from kernel') == "by name"
    assert categories("describe select category from kernel") == "by row"


@pytest.mark.parametrize("query", [*PLAIN, *WHOLE])
def test_the_answer_is_that_over_views_with_all_columns(tmp_path: Path, query: str) -> None:
    kernels = [{"start_ns": at, "end_ns": at + 5, "name": name} for at, name in ((10, "gemm"), (30, "ncclDevKernel"))]
    trace, _ = build(tmp_path, kernel=kernels, api=[{"start_ns": 5, "end_ns": 9, "name": "cudaLaunchKernel"}])
    traces = {trace.id: trace.files}
    with connect(traces) as whole:  # without a query: every view, with every column
        expected = whole.sql(query).pl()
    assert run(traces, query).equals(expected)


def test_a_query_can_mean_the_tables_it_names_and_all_where_it_looks_around() -> None:
    assert tables("select name from kernel where 'copy' = name") == {"kernel", "copy"}
    assert tables("select 1") == tables("show tables") == tables("describe kernel") == TABLES.keys()
