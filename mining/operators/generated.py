"""Kernels that a compiler made of several operators: all operands are arguments, so bytes are known, FLOPs are not."""

from .call import Call, Missing
from .kind import Count, Kind

__all__ = ["KINDS", "PREFIX"]

PREFIX = "triton_"
"""How Inductor names its kernels; each has a name of its own."""


def _fused(call: Call) -> Count:
    """Results are among the arguments: each is taken as touched once, one read and written in place too."""
    some = call.all()
    if not some:
        raise Missing("no shape of an operand")
    return Count(None, some, (), some[0].type, "a generated kernel: its name tells no arithmetic")


KINDS = (Kind("generated", (PREFIX,), "not available: a generated kernel", _fused),)
