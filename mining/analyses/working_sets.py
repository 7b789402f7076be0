"""How much memory does a kernel work with, and how does that compare with what is allocated?"""

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..evidence_levels import OUTPUTS, hint, outputs_told, told
from ..finding import Finding, total
from ..words import count, size

NEEDS = ("memory_use",)

SQL = """
with each as (
    select
        process,
        evidence,
        unnest(['object', 'tensor']) as granularity,
        unnest([object_bytes, tensor_bytes]) as bytes,
        unnest([object_footprint_bytes, tensor_footprint_bytes]) as footprint,
        object_footprint_bytes as object_footprint,
        accesses,
        unnest([null, outputs]) as outputs
    from working_set
),
peak as ({peaks}),
whole as (
    select process, count(*) as launches from working_set group by process
)
select
    process,
    granularity,
    evidence,
    any_value(whole.launches) as launches,
    count(bytes) as known,
    {outputs},
    max(bytes) as max_bytes,
    min(bytes) as min_bytes,
    avg(bytes) as mean_bytes,
    quantile_cont(bytes, 0.5) as median_bytes,
    quantile_cont(bytes, 0.9) as p90_bytes,
    avg(footprint) filter (bytes is not null) as footprint_bytes,
    count(footprint) filter (bytes is not null) as footprints,
    any_value(peak_bytes) as peak_bytes,
    avg(footprint) filter (bytes is not null) / nullif(max(bytes), 0) as ratio,
    avg(footprint) filter (bytes is not null) - max(bytes) as unused_bytes,
    avg(object_footprint) filter (bytes is not null) / nullif(max(bytes), 0) as object_ratio,
    sum(accesses)::bigint as accesses,
    sum(accesses) / (nullif(any_value(peak_bytes), 0) / 4096) as accesses_per_page
from each
join whole using (process)
left join peak using (process, granularity)
group by process, granularity, evidence
having count(bytes) > 0
order by process, granularity desc, evidence
"""
PEAKS = "select process, granularity, max(bytes) as peak_bytes from memory_curve group by process, granularity"
LABELLED = """
    select 0::bigint as process, 'object' as granularity, {peak}::bigint as peak_bytes
"""
NO_PEAKS = "select null::bigint as process, null::varchar as granularity, null::bigint as peak_bytes where false"


def find(trace: Trace) -> Finding:
    """Working sets of kernels: sizes of all objects or tensors that one touches, each as a whole.

    The 90th percentile is NumPy's, linear. `ratio` is the launch-weighted mean footprint over the largest working set,
    `unused_bytes` their difference, `object_ratio` the same with the footprint of objects whatever the granularity of
    the working set, as PASTA's Table V has it; `accesses_per_page` the accesses over the pages of 4 KiB
    of the peak. `known` counts the launches whose working set is known, `footprints` those of them whose footprint is
    too: over these it is averaged. `inputs_only` those of `operators` of whose
    operator the outputs are not, `outputs_in_part` those of whose outputs some are not. `NotCollected` without
    kernels.
    """
    if not trace.has("working_set"):
        raise NotCollected("kernel launches with what memory they touch", hint(trace, "launches"))
    sql = SQL.format(peaks=_peaks(trace), outputs=OUTPUTS).strip()
    rows = trace.sql(sql)
    if not len(rows):
        raise NotCollected("what memory kernels touch", hint(trace, "B"))
    first = rows.row(0, named=True)
    lacks = first["known"] < first["launches"]
    among = f" of the {count(first['known'])} of {count(first['launches'])} of which that is known" if lacks else ""
    sentence = (
        f"The working set is {size(first['max_bytes'])}: the most {first['granularity']} bytes that one kernel "
        f"{'touches' if first['evidence'] == 'A' else 'is given as operands'}; the median kernel{among} has "
        f"{size(first['median_bytes'])}."
    )
    if first["ratio"] is not None:
        some = f"{count(first['footprints'])} of " if first["footprints"] < first["known"] else ""
        which = "these" if lacks else "the" if some else "all"
        sentence += f" The mean footprint at {some}{which} launches is {first['ratio']:.3g} times that."
    lacking = outputs_told(*(total(rows, name) for name in ("operators", "inputs_only", "outputs_in_part")))
    return Finding("working_sets", sentence, rows, sql, (told(rows["evidence"]), *lacking))


def _peaks(trace: Trace) -> str:
    if trace.has("memory_curve"):
        return PEAKS
    peak = trace.facts.labels.get("peak_memory_bytes", "")
    return LABELLED.format(peak=int(peak)).strip() if peak.isdigit() else NO_PEAKS
