"""Whether advice is on a whole object of managed memory, or on the tensors in it."""

from collections.abc import Mapping, Sequence

from .managed_needs import Need

__all__ = ["chosen"]


def chosen(
    needs: Sequence[Need], memory: Mapping[tuple[int, int | None], int | None], rules: Mapping[str, float]
) -> list[tuple[Need, int | None]]:
    """The ranges to advise on, tensors with where they begin in their object.

    An object gives way to its tensors with events of at least `tensor_bytes` where these take so little of it that a
    prefetch of the whole would waste more than `waste_share`, or where all objects together are larger than the
    device's memory: then what is not needed pushes out what is.
    """
    objects = [need for need in needs if need.granularity != "tensor"]
    footprint: dict[int, int] = {}
    for need in objects:
        footprint[need.process] = footprint.get(need.process, 0) + need.bytes
    found: list[tuple[Need, int | None]] = []
    for need in objects:
        held = [one for one in needs if one.granularity == "tensor" and _in(one, need)]
        large = [one for one in held if one.bytes >= rules["tensor_bytes"]]
        free = memory.get((need.process, need.device))
        crowded = free is not None and footprint[need.process] > free
        wasted = 1 - sum(one.bytes for one in large) / need.bytes
        if large and (wasted > rules["waste_share"] or crowded):
            found += [(one, one.address - need.address) for one in large]
        else:
            found.append((need, None))
    return found


def _in(tensor: Need, need: Need) -> bool:
    return (
        tensor.process == need.process
        and need.address <= tensor.address
        and tensor.address + tensor.bytes <= need.address + need.bytes
        and bool(tensor.moves or tensor.faults)
    )
