"""Optimizers in one operator: what an update of a parameter takes, without weight decay.

Adam: the first moment 3, the second 4, root, quotient and sum 3, the step 3. SGD with momentum: the buffer 2, the step
2. Adagrad: the sum of squares 2, the step 5.
"""

from collections.abc import Callable
from functools import partial

from .call import Call, Tensor
from .kind import Count, Kind

__all__ = ["KINDS"]


def _update(call: Call, each: int, states: int) -> Count:
    """Of (parameters, gradients, states ...): all are read; parameters and states are written."""
    parameters = call.tensors(0)
    lists = [call.tensors(at) for at in range(2 + states)]
    written: list[Tensor] = [one for at, some in enumerate(lists) if at != 1 for one in some]
    elements = sum(one.elements for one in parameters)
    return Count(each * elements, [one for some in lists for one in some], written, parameters[0].type)


def _descent(call: Call) -> Count:
    """Without momentum the list of buffers is empty or not there."""
    buffers = call.operands[2] if len(call.operands) > 2 else None
    return _update(call, 4, 1) if buffers else _update(call, 2, 0)


def _by(each: int, states: int) -> Callable[[Call], Count]:
    return partial(_update, each=each, states=states)


KINDS = (
    Kind("fused_adam", ("aten::_fused_adam", "aten::_fused_adamw"), "13 for each parameter", _by(13, 2)),
    Kind("fused_sgd", ("aten::_fused_sgd",), "4 for each parameter, 2 without momentum", _descent),
    Kind("fused_adagrad", ("aten::_fused_adagrad",), "7 for each parameter", _by(7, 1)),
)
