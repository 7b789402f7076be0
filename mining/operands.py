"""How large the operands of framework operators are: inputs as recorded, outputs where a formula gives them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..store.trace import Trace
from .nested import NONE, nearest
from .operator_work import LARGEST
from .operators.call import SIZES, read_call
from .outputs import Outputs, outputs
from .sorting import Ints

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Operands", "operands"]

ARGUMENTS = r"""("Concrete Inputs":\s*\[(?:[^"\[\]]|"(?:[^"\\]|\\.)*")*\])"""
"""The plain arguments of a call, each a text, as Kineto writes them: one member of many in `op.args`."""

SQL = f"""
select
    op.id,
    op.parent,
    op.name,
    op.shapes,
    op.types,
    nullif(regexp_extract(op.args, '{ARGUMENTS}', 1), '') as arguments,
    above.name as above_name,
    above.shapes as above_shapes,
    above.types as above_types
from op
left join op as above on above.id = op.parent and ends_with(above.name, '_convolution_backward')
order by op.id
"""
CALL = ("name", "shapes", "types", "arguments", "above_name", "above_shapes", "above_types")
"""What the formulas are given of a call."""


@dataclass(frozen=True, eq=False)
class Operands:
    """Bytes of the inputs of operators, `NONE` where they are not known, and of their outputs; what tells the latter.

    `told` is `Outputs.told`, and None where the inputs are not known.
    """

    inputs: Ints
    outputs: Ints
    told: npt.NDArray[np.object_]


def operands(trace: Trace, op: Ints) -> Operands:
    """The operands of each of those `op.id`, or of the nearest operator around it whose inputs are known.

    An input without a type, or of one whose size is not known, makes the sum unknown. A repeated dimension (stride 0)
    counts in full. Cost: one pass over the operators; a formula for each different call among those asked for.
    """
    rows = trace.sql(SQL)
    ids, chosen, own = _chosen(rows)
    place = np.minimum(np.searchsorted(ids, op), max(len(ids) - 1, 0))
    known = (op != NONE) & (ids[place] == op) if len(ids) else np.zeros(len(op), bool)
    row = np.where(known, chosen[place] if len(ids) else NONE, NONE)
    asked, which = np.unique(row[row != NONE], return_inverse=True)
    made = _made(rows[asked])
    result = Operands(np.full(len(op), NONE), np.zeros(len(op), np.int64), np.full(len(op), None, object))
    result.inputs[row != NONE] = own[row[row != NONE]]
    result.outputs[row != NONE] = np.array([one.bytes for one in made], np.int64)[which]
    result.told[row != NONE] = np.array([one.told for one in made], object)[which]
    return result


def _chosen(rows: "pl.DataFrame") -> tuple[Ints, Ints, Ints]:
    """The ids; the row of the operator, or of one around it, whose inputs are known, or `NONE`; bytes of own inputs."""
    pairs = rows.select("shapes", "types").unique(maintain_order=True)
    size = {pair: _bytes(*pair) for pair in pairs.rows()}  # a Python loop: over what is distinct
    own = np.fromiter((size[pair] for pair in rows.select("shapes", "types").iter_rows()), np.int64, len(rows))
    ids, parent = rows["id"].to_numpy(), rows["parent"].fill_null(NONE).to_numpy()
    at = np.minimum(np.searchsorted(ids, parent), max(len(ids) - 1, 0))
    return ids, nearest(np.where(parent != NONE, at, NONE), own != NONE), own


def _bytes(shapes: str | None, types: str | None) -> int:
    call = read_call("", shapes, types, None)
    if call is None or not call.all():
        return NONE
    sizes = [one.stored * SIZES[one.type] for one in call.all() if one.type is not None and one.type in SIZES]
    return sum(sizes) if len(sizes) == len(call.all()) and sum(sizes) <= LARGEST else NONE


def _made(rows: "pl.DataFrame") -> list[Outputs]:
    """What each of the operators makes."""
    calls = rows.select(CALL)
    found = {row: _outputs(*row) for row in calls.unique().rows()}  # the formulas are code: over what is distinct
    return [found[row] for row in calls.iter_rows()]


def _outputs(
    name: str | None,
    shapes: str | None,
    types: str | None,
    arguments: str | None,
    above: str | None,
    above_shapes: str | None,
    above_types: str | None,
) -> Outputs:
    around = read_call(above, above_shapes, above_types, None) if above else None
    return outputs(name or "", read_call(name or "", shapes, types, arguments and f"{{{arguments}}}", around))
