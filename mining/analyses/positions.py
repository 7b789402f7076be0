"""Where in the iteration, and in which iterations, do operations take longer than they usually do there?"""

from ...store.trace import Trace
from ..finding import Finding
from ..levels import MAIN
from ..naming import short
from ..words import duration, percent, plural

NEEDS = ("hierarchy",)

PLACES, COLUMNS = 32, 48
"""Parts that an iteration is divided into by its operations, and groups of iterations told apart, at most."""
MOST_PROCESSES = 4

SQL = f"""
with main as ({MAIN}),
chosen as (
    select unit.process, unit.type
    from unit
    join main on main.process = unit.process and main.level = unit.level
    group by unit.process, unit.type
    qualify row_number() over (partition by unit.process order by sum(unit.time_ns) desc, unit.type) = 1
    order by unit.process
    limit {MOST_PROCESSES}
),
picked as (
    select
        unit.process,
        unit.sequence,
        unit.iteration,
        unit.first,
        unit.last,
        row_number() over (partition by unit.process order by unit.iteration) - 1 as number,
        count(*) over (partition by unit.process) as iterations
    from unit
    join chosen on chosen.process = unit.process and chosen.type = unit.type
    where unit.distance = 0
),
operation as (
    select
        picked.process,
        picked.iteration,
        number,
        iterations,
        ordinal - first as position,
        (ordinal - first) * least({PLACES}, last - first + 1) // (last - first + 1) as place,
        symbol,
        end_ns - start_ns as time_ns
    from member
    asof join picked on picked.sequence = member.sequence and member.ordinal >= picked.first
    where ordinal <= last
),
called as (
    select process, place, arg_max(symbol, time_ns order by symbol) as symbol
    from (select process, place, symbol, sum(time_ns) as time_ns from operation group by all order by all)
    group by process, place
),
cell as (
    select
        process,
        place,
        min(position) as first_position,
        max(position) as last_position,
        iteration,
        number * least({COLUMNS}, iterations) // iterations as part,
        any_value(iterations) as iterations,
        sum(time_ns)::bigint as time_ns
    from operation
    group by process, place, iteration, part
),
compared as (
    select *, quantile_disc(time_ns, 0.5) over (partition by process, place) as usual_ns
    from cell
)
select
    compared.process,
    place,
    any_value(first_position) as first_position,
    any_value(last_position) as last_position,
    any_value(label) as name,
    min(iteration) as iteration,
    max(iteration) as last_iteration,
    arg_max(iteration, time_ns order by iteration) as longest_iteration,
    max(time_ns) as time_ns,
    any_value(usual_ns) as usual_ns,
    max(time_ns) / nullif(any_value(usual_ns), 0) as ratio,
    any_value(iterations) as iterations
from compared
join called using (process, place)
left join (select symbol, min(label) as label from tree where kind = 'symbol' group by symbol) as named using (symbol)
group by compared.process, place, part
order by compared.process, place, part
"""


def find(trace: Trace) -> Finding:
    """The time of each place in the iteration, in each iteration, beside what is usual there.

    Of the type of iteration that takes most time, those iterations that have exactly its operations. They are divided
    into up to 32 places with equal numbers of operations; `time_ns` sums the durations of these, `usual_ns` is their
    median over the iterations, `ratio` the one by the other. `name` is the operation with most time there. Of more than
    48 iterations several in a row are one row, with the longest of them. Up to four processes are told of.
    """
    rows = trace.sql(SQL)
    if not len(rows):
        return Finding("positions", "No iterations of equal content were found.", rows, SQL.strip())
    worst = rows.with_columns(more_ns=rows["time_ns"] - rows["usual_ns"]).sort(
        "more_ns", descending=True, maintain_order=True
    )
    row = worst.row(0, named=True)
    head = f"{plural(row['iterations'], 'iteration')} of equal content compared place by place"
    if row["more_ns"] <= 0:
        return Finding("positions", f"{head}: none differs.", rows, SQL.strip())
    sentence = (
        f"{head}: the largest excess is {duration(row['more_ns'])} in iteration {row['longest_iteration']}, in "
        f"operations {row['first_position']} to {row['last_position']} (most of their time: "
        f"{short(row['name'] or '')}), {percent(row['more_ns'], row['usual_ns'])} more than the "
        f"{duration(row['usual_ns'])} that are usual there."
    )
    return Finding("positions", sentence, rows, SQL.strip())
