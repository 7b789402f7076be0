"""Which modules of the model take the time, what do they compute, and which roof bounds each?"""

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..finding import Finding, total
from ..roofs import MEASURES, needed, roofs
from ..words import count, duration, percent, plural

NEEDS = ("operator_work",)

SQL = """
{work}
select
    coalesce(layer, 'no module') as layer,
    {measures},
    flops_per_s / 1e12 as tflops_per_s,
    bytes_per_s / 1e9 as gb_per_s
from work
group by layer
order by time_ns desc, layer
"""


def find(trace: Trace) -> Finding:
    """The measures of `roofline` by the innermost module around an operator, or around its forward operator.

    What an operator outside any module does is one row. `bound` is that of the larger sum of least times, by compute
    or by memory.
    """
    needed(trace)
    if not trace.sql("select 1 from operator_work where layer is not null limit 1").height:
        raise NotCollected(
            "the trace tells no modules of the model",
            "record them: with_stack=True or with_modules=True in the profiler",
        )
    found = roofs(trace)
    query = SQL.format(work=found.work, measures=MEASURES).strip()
    rows = trace.sql(query)
    named = rows.filter(rows["layer"] != "no module")
    memory = named.filter(named["bound"] == "memory")
    time = total(rows, "time_ns")
    holds = (
        f"{plural(len(named), 'module')} {'holds' if len(named) == 1 else 'hold'} "
        f"{percent(total(named, 'time_ns'), time)} of the kernel time of operators ({duration(time)})"
    )
    if found.roofless:
        sentence = f"{holds}; what bounds them is not known."
        return Finding("layer_roofline", sentence, rows, query, found.notes)
    those = f"{count(len(memory))} of them, with {percent(total(memory, 'time_ns'), time)} of it,"
    bound = f"{those if len(memory) else 'none'} {'are' if len(memory) > 1 else 'is'} bound by memory"
    sentence = f"{holds}; {bound}."
    return Finding("layer_roofline", sentence, rows, query, found.notes)
