"""What was the program doing when it launched the kernel that refers to most memory?"""

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..evidence_levels import hint
from ..finding import Finding
from ..words import count, plural
from . import kernel_extremes

NEEDS = ("memory_use",)

SQL = """
with chosen as (
    select process, launch, start_ns, kernel, op from ({extremes}) where choice = 'most memory'
),
asked as ({asked}),
frame as (
    {frames}
)
select side, place, name
from frame
union all
select side, 0, 'none recorded' from (values ('Python'), ('operator'), ('native')) as every(side)
where side not in (select side from frame)
order by side, place
"""
ASKED = """
    select chosen.process, launch_thread as thread, launch_ns
    from kernel
    join chosen on kernel.process = chosen.process and kernel.start_ns = chosen.start_ns
    where kernel.op is not distinct from chosen.op and kernel.name is not distinct from chosen.kernel
    order by device, stream
    limit 1
"""
PYTHON = """
    select
        'Python' as side,
        row_number() over (order by range.start_ns, range.end_ns desc, name) - 1 as place,
        name
    from range
    join asked
        on range.process = asked.process
        and range.thread = asked.thread
        and range.start_ns <= asked.launch_ns
        and range.end_ns > asked.launch_ns
    where range.kind in ('python', 'annotation', 'nvtx')
"""
OPERATORS = """
    select 'operator' as side, (max(height) over () - height)::bigint as place, name
    from (
        with recursive up as (
            select op.id, op.name, op.parent, 0 as height from op join chosen on op.id = chosen.op
            union all
            select op.id, op.name, op.parent, height + 1 from up join op on op.id = up.parent
        )
        select name, height from up
    )
"""
NO_LAUNCH = "select null::bigint as process, null::bigint as thread, null::bigint as launch_ns"
NO_FRAMES = "select null::varchar as side, null::bigint as place, null::varchar as name where false"


def find(trace: Trace) -> Finding:
    """Python frames and annotations, then operators, each from the outermost to the innermost, around its launch.

    A side that was not recorded is a row that says so; native frames are in no table of a trace.
    """
    extremes = kernel_extremes.find(trace)
    chosen = extremes.rows.filter(extremes.rows["choice"] == "most memory")
    if not len(chosen):
        raise NotCollected("what memory kernels touch", hint(trace, "B"))
    sides = [
        text.strip()
        for table, text in (("range", PYTHON), ("op", OPERATORS))
        if trace.has(table) and trace.has("kernel")
    ]
    asked = ASKED if trace.has("kernel") else NO_LAUNCH
    sql = SQL.format(
        extremes=extremes.sql, asked=asked.strip(), frames=" union all ".join(sides) if sides else NO_FRAMES
    ).strip()
    rows = trace.sql(sql)
    known = rows.filter(rows["name"] != "none recorded")
    sentence = f"Around launch {count(chosen['launch'][0])}: {plural(len(known), 'frame')}."
    return Finding("kernel_stack", sentence, rows, sql)
