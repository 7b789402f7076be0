"""Which sizes are allocated, how long do they live, are their places used again?"""

from ...store.trace import Trace
from ..evidence_levels import memory_missing, told
from ..finding import Finding, total
from ..words import percent, plural, size

NEEDS = ("memory_use",)

SQL = """
with sized as (
    select *, if(bytes > 0, floor(log2(bytes))::integer, -1) as power from memory_life
)
select
    granularity,
    if(power < 0, 0, (2::hugeint ** power)::bigint) as from_bytes,
    count(*) as allocations,
    sum(bytes)::bigint as bytes,
    count(distinct bytes) as sizes,
    count(distinct (process, device, address)) as places,
    (count(address) - count(distinct (process, device, address)))::bigint as reused,
    quantile_cont(death_ns - birth_ns, 0.5) as median_life_ns,
    max(death_ns - birth_ns) as longest_life_ns,
    (count(*) filter (fate = 'released'))::bigint as released
from sized
group by granularity, power
order by granularity desc, power
"""


def find(trace: Trace) -> Finding:
    """Allocations by size, in powers of two; `reused` are those at an address that another one had too.

    Lifetimes are of those born and released in the recording.
    """
    if not trace.has("memory_life"):
        raise memory_missing(trace, "allocations of device memory")
    rows = trace.sql(SQL.strip())
    own = rows.filter(rows["granularity"] == rows["granularity"][0])
    whole, again = total(own, "allocations"), total(own, "reused")
    sentence = (
        f"{plural(whole, own['granularity'][0])} of {size(total(own, 'bytes'))} in sum "
        f"{'was' if whole == 1 else 'were'} allocated; {percent(again, whole)} stand where another one stood."
    )
    return Finding("memory_sizes", sentence, rows, SQL.strip(), (told("C"),))
