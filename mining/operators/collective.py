"""Collectives: their size alone. The sums in an all-reduce are not counted; bandwidth is told by `collectives`.

The size is that of nccl-tests, the larger of what a rank gives and gets; the whole of an all-gather.
"""

from .call import SIZES, Call, Missing, Tensor, type_named
from .kind import NOTHING, PART, Count, Kind

__all__ = ["KINDS"]


def _told(call: Call) -> Count:
    """Of `record_param_comms`, whose metadata hold element counts and the type."""
    told = call.told or {}
    counts = [told.get(key) for key in ("In msg nelems", "Out msg nelems")]
    type = type_named(f"c10::{told.get('dtype')}")
    elements = max((one for one in counts if isinstance(one, int) and not isinstance(one, bool)), default=-1)
    if elements < 0 or type not in SIZES:
        return Count(0, (), None, type, detail=str(told.get("Collective name") or ""))
    moved = Tensor((elements,), type, elements)
    return Count(0, [moved], (), type, detail=str(told.get("Collective name") or ""))


def _gathered(call: Call) -> Count:
    """Of (result, input, group): the whole is the larger of the two."""
    one, two = call.tensor(0), call.tensor(1)
    return Count(0, [max(one, two, key=lambda tensor: tensor.elements)], (), one.type)


def _reduced(call: Call) -> Count:
    """Of a tensor or a list that is reduced, sent or broadcast where it lies."""
    some = call.all()
    if not some:
        raise Missing("no shape of an operand")
    return Count(0, some[:1] if isinstance(call.operands[0], Tensor) else call.tensors(0), (), some[0].type)


KINDS = (
    Kind("collective", ("record_param_comms",), "0", _told, NOTHING),
    Kind("gathering", ("c10d::_allgather_base", "c10d::_reduce_scatter_base"), "0", _gathered),
    Kind(
        "reducing",
        ("c10d::allreduce", "c10d::broadcast", "c10d::reduce", "c10d::send", "c10d::recv",
         "symm_mem::multimem_all_reduce", "symm_mem::one_shot_all_reduce", "symm_mem::two_shot_all_reduce"),
        "0",
        _reduced,
        PART,
    ),
)  # fmt: skip
