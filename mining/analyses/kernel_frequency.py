"""Which kernels are launched most often?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..kernel_names import TOP, calls_of, frequency
from ..words import count, percent, plural

NEEDS = ()


def find(trace: Trace) -> Finding:
    """Launches by normalised name, the 20 most frequent and the rest as one row.

    A name is cut at its first `<`, and `void ` before it is dropped: variants of a template are one. `full_name` is
    the full name of most of its launches, `full_names` how many there are. `NotCollected` without kernels.
    """
    sql = frequency(calls_of(trace))
    rows = trace.sql(sql)
    whole, kinds = total(rows, "calls"), total(rows, "names")
    if not whole:
        return Finding("kernel_frequency", "No kernel was launched.", rows, sql)
    named = rows.filter(rows["rank"].is_not_null())
    if named["name"].to_list() == ["(no name)"]:
        return Finding("kernel_frequency", f"{plural(whole, 'kernel')}; names were not recorded.", rows, sql)
    told = [
        f"the first {count(top)} have {percent(total(named.head(top), 'calls'), whole)}"
        for top in (5, TOP)
        if top < kinds
    ]
    sentence = f"{plural(whole, 'kernel')} of {plural(kinds, 'name')}" + (f": {', '.join(told)}." if told else ".")
    sentence += f" Most called is {named['name'][0]}, {plural(named['calls'][0], 'time')}."
    return Finding("kernel_frequency", sentence, rows, sql)
