"""Idle gaps of devices with what tells a wait for input data from other waits, as SQL for the diagnoses."""

from ..store.trace import Trace
from .thresholds import thresholds

__all__ = ["gaps"]

LOADERS = (
    r"data_?loader|load_?(data|batch)|(get|fetch|next)_?batch|_next_data|data_?iter|input_?pipeline|IteratorGetNext"
)
"""Names of spans in which a host gets input data, as PyTorch, TensorFlow and usual code call them."""

SPANS = {
    "range": "select process, thread, name, start_ns, end_ns from range where kind in ('annotation', 'nvtx', 'python')",
    "op": "select process, thread, name, start_ns, end_ns from op where parent is null",
}

LOADING = """
launching as (select distinct process, launch_thread as thread from kernel),
loading as (
    select *
    from ({spans})
    semi join launching using (process, thread)
    where regexp_matches(name, '{loaders}', 'i')
),
"""
"""SQL: spans in which a thread that launches kernels gets data. Others may do so all the time and nobody waits."""

NO_LOADING = """
loading as (
    select null::bigint as process, null::varchar as name, null::bigint as start_ns, null::bigint as end_ns where false
),
"""

CALLING = """
calling as (
    select candidate.process, candidate.device, candidate.start_ns, max(
        least(api.end_ns, candidate.end_ns) - greatest(api.start_ns, candidate.start_ns)
    ) as call_ns
    from candidate
    join api
        on api.process = candidate.process
        and api.start_ns < candidate.end_ns
        and api.end_ns > candidate.start_ns
        and 2 * (api.end_ns - api.start_ns) >= {long_ns} -- shorter ones cannot cover half of a gap
    where candidate.begins
    group by candidate.process, candidate.device, candidate.start_ns
),
"""

NO_CALLING = """
calling as (
    select null::bigint as process, null::integer as device, null::bigint as start_ns, null::bigint as call_ns
    where false
),
"""

GAPS = """
gap as (
    select process, device, start_ns, end_ns, duration_ns, cause, before, after from segment where state = 'idle'
),
{loading}
candidate as (
    select gap.*, begin.process is not null as begins
    from gap
    left join step as begin
        on begin.process = gap.process and begin.start_ns = gap.end_ns and begin.from_ns <= gap.start_ns
    where cause in ('host', 'synchronisation') and duration_ns >= {long_ns}
),
{calling}
loaded as (
    select
        candidate.process,
        candidate.device,
        candidate.start_ns,
        arg_max(loading.name, least(loading.end_ns, candidate.end_ns) - greatest(loading.start_ns, candidate.start_ns)
            order by loading.start_ns) as loader,
        max(least(loading.end_ns, candidate.end_ns) - greatest(loading.start_ns, candidate.start_ns)) as loading_ns
    from candidate
    join loading
        on loading.process = candidate.process
        and loading.start_ns < candidate.end_ns
        and loading.end_ns > candidate.start_ns
        and 2 * (loading.end_ns - loading.start_ns) >= {long_ns}
    group by candidate.process, candidate.device, candidate.start_ns
),
wait as (
    select
        gap.*,
        loader,
        case
            when 2 * loading_ns >= gap.duration_ns then 'loader'
            when gap.cause = 'host' and begins and not exists (from loading)
                and coalesce(2 * call_ns, 0) < gap.duration_ns then 'beginning'
        end as starved
    from gap
    left join candidate using (process, device, start_ns)
    left join calling using (process, device, start_ns)
    left join loaded using (process, device, start_ns)
)
"""


def gaps(trace: Trace) -> str:
    """SQL: idle gaps as `wait`; `starved` says how a long one is known to be a wait for data, null where it is not.

    'loader': a span that gets data covers at least half of the gap. 'beginning', only where the trace has no such span:
    an iteration that follows another begins when the gap ends, the host came late for other reasons than waiting for
    the device, and no runtime call covers half of the gap. It goes after `levels.STEP`.
    """
    long_ns = thresholds("waits")["long_ns"]
    spans = [text for name, text in SPANS.items() if trace.has(name)]
    found = LOADING.format(spans=" union all ".join(spans), loaders=LOADERS) if spans and trace.has("kernel") else ""
    return GAPS.format(
        loading=(found or NO_LOADING).strip(),
        calling=(CALLING.format(long_ns=long_ns) if trace.has("api") else NO_CALLING).strip(),
        long_ns=long_ns,
    ).strip()
