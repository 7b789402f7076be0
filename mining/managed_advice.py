"""What to do about managed memory: on which ranges, by what rule, the saving it offers, and the line to paste."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .managed_needs import Need
from .managed_pages import footprint
from .memory_curve import EARLIEST
from .words import percent, plural, size

__all__ = ["Advice", "Saving", "advise", "chosen", "lines", "saving"]


@dataclass(frozen=True)
class Advice:
    """An action on a range, the bytes that it moves or keeps from moving, the rule that decided, and how sure it is.

    `measured` says that it rests on measured accesses, and not on faults and moves.
    """

    action: str
    bytes: int
    rule: str
    confidence: str
    measured: bool = False


@dataclass(frozen=True)
class Saving:
    """What an action could save: at least where its transfer is hidden worst, at most where it is hidden whole."""

    transfer_ns: int | None
    least_ns: int | None
    most_ns: int | None


def chosen(
    needs: Sequence[Need], memory: Mapping[tuple[int, int | None], int | None], rules: Mapping[str, float]
) -> list[tuple[Need, int | None]]:
    """The ranges to advise on, tensors with where they begin in their object; None where that is not known.

    An object gives way to its tensors with events of at least `tensor_bytes` where these take so little of it that a
    prefetch of the whole would waste more than `waste_share`, or where all objects together are larger than the
    device's memory: then what is not needed pushes out what is.
    """
    objects = [need for need in needs if need.granularity != "tensor"]
    tensors = [
        need
        for need in needs
        if need.granularity == "tensor" and need.bytes >= rules["tensor_bytes"] and (need.moves or need.faults)
    ]
    whole = {
        process: footprint((one.address, one.bytes) for one in objects if one.process == process)
        for process in {one.process for one in objects}
    }
    found: list[tuple[Need, int | None]] = []
    for need in objects:
        large = [one for one in tensors if _in(one, need)]
        free = memory.get((need.process, need.device))
        crowded = free is not None and whole[need.process] > free
        wasted = 1 - sum(one.bytes for one in large) / need.bytes
        if large and (wasted > rules["waste_share"] or crowded):
            known = need.granularity == "object"
            found += [(one, one.address - need.address if known else None) for one in large]
        else:
            found.append((need, None))
    return found


def _in(tensor: Need, need: Need) -> bool:
    """Whether a tensor lay in the object: in its addresses, and while it lived."""
    since = EARLIEST if tensor.birth_ns is None else tensor.birth_ns
    return (
        tensor.process == need.process
        and need.address <= tensor.address
        and tensor.address + tensor.bytes <= need.address + need.bytes
        and (need.birth_ns is None or need.birth_ns <= since)
        and (need.death_ns is None or since < need.death_ns)
    )


def advise(need: Need, role: str | None, memory_bytes: int | None, rules: Mapping[str, float]) -> Advice:
    """The action for a range by the first rule that fits; `rules` are those of section `advice` in mining/uvm.toml.

    `role` is what measured accesses say of it (pin, evict or keep), None without them; `memory_bytes` the size of its
    device's memory, where known. A range that was moved or asked for little is left alone.
    """
    few = need.faults + need.moves < rules["few_count"]
    sure = "low" if few else "high" if need.stall_ns is not None and need.granularity != "addresses" else "medium"
    again = need.again_bytes / need.unasked_bytes if need.unasked_bytes else 0.0
    if role == "evict" and need.last_kernel is not None and not again:
        return Advice("offload", need.bytes, "measured accesses: one burst of use, and none after it", "high", True)
    if role == "pin" and _fits(need, memory_bytes, rules) and (need.unasked_bytes or need.again_bytes):
        return Advice("pin", need.bytes, "measured accesses: used throughout the run, and densely", "high", True)
    if need.kernel_ns and need.cost_ns < rules["least_share"] * need.kernel_ns and not need.evicted_bytes:
        said = f"takes {percent(need.cost_ns, need.kernel_ns)} of kernel time, less than"
        return Advice("leave", 0, f"{said} {percent(rules['least_share'], 1)}", sure)
    if again >= rules["again_share"] or need.thrashes:
        return _thrashing(need, memory_bytes, rules, sure)
    if need.evicted_bytes and not need.again_bytes:
        rule = "evicted to make room, and never moved back: its last use is over before that"
        return Advice("offload", need.evicted_bytes, rule, "low")
    if need.unasked_bytes < rules["least_moved_bytes"]:
        least = int(rules["least_moved_bytes"])
        return Advice("leave", 0, f"{size(need.unasked_bytes)} move unasked, less than {size(least)}", sure)
    rule = f"{plural(need.moves, 'move')} unasked" + (f", {plural(need.faults, 'fault group')}" if need.faults else "")
    return Advice("prefetch", need.distinct_bytes, f"{rule}; {percent(again, 1)} of their bytes had moved before", sure)


def _thrashing(need: Need, memory_bytes: int | None, rules: Mapping[str, float], sure: str) -> Advice:
    """The action for a range whose pages go back and forth, or are evicted and come back."""
    share = percent(need.again_bytes, need.unasked_bytes or 1)
    back = f"{share} of the bytes moved to the device had been there before"
    if (
        need.told_accesses
        and not need.writes
        and not need.cpu_writes
        and need.returned_bytes
        and not need.evicted_bytes
    ):
        rule = f"{back}, by way of the host, and no fault was a write"
        return Advice("read_mostly", need.again_bytes, rule, sure if sure == "low" else "medium")
    # Of addresses alone nobody knows how much of an allocation ever moves.
    sparse = need.granularity != "addresses" and need.distinct_bytes <= rules["sparse_share"] * need.bytes
    if sparse and (need.returned_bytes or need.remote_maps) and not need.evicted_bytes:
        limit = percent(rules["sparse_share"], 1)
        rule = f"{back}, and at most {limit} of the range is ever moved"
        return Advice("accessed_by", need.again_bytes, rule, sure if sure == "low" else "medium")
    if (need.evicted_bytes or need.thrashes) and _fits(need, memory_bytes, rules):
        why = "evicted and needed again" if need.evicted_bytes else "the driver saw it thrash"
        return Advice("pin", need.again_bytes, f"{back}: {why}", sure)
    if need.evicted_bytes:
        limit = percent(rules["pin_memory_share"], 1)
        return Advice(
            "leave", 0, f"{back}, and it takes more than {limit} of the device's memory: too large to pin", sure
        )
    return Advice("prefetch", need.unasked_bytes, f"{back}: to be moved before each use", sure)


def _fits(need: Need, memory_bytes: int | None, rules: Mapping[str, float]) -> bool:
    return memory_bytes is None or need.bytes <= rules["pin_memory_share"] * memory_bytes


def saving(advice: Advice, need: Need, to_device: float | None, to_host: float | None) -> Saving:
    """The saving as an interval: bytes over the throughput of the link (bytes a second), hidden whole or not at all.

    A prefetch takes away what faults and moves cost now, less its own transfer where none of that is hidden: the line
    to paste asks for the whole range, so that it may move more than faults moved. What keeps pages from moving takes
    away at most the part of the cost that those bytes have, and nothing where the moves were hidden already; an offload
    at most the evictions' transfers. Without kernels nothing says what faults and moves cost them.
    """
    speed = to_host if advice.action == "offload" else to_device
    moved = max(advice.bytes, need.bytes) if advice.action == "prefetch" else advice.bytes
    transfer = round(moved * 1e9 / speed) if speed else None
    if advice.action == "leave":
        return Saving(None, 0, 0)
    if advice.action == "prefetch":
        if not need.kernel_ns:
            return Saving(transfer, None, None)
        return Saving(transfer, max(need.cost_ns - transfer, 0) if transfer is not None else 0, need.cost_ns)
    if advice.action == "offload":
        return Saving(transfer, 0, transfer if need.evicted_bytes else None)
    if not need.kernel_ns:
        return Saving(transfer, None, None)
    share = need.again_bytes / need.unasked_bytes if need.unasked_bytes else 0.0
    return Saving(transfer, 0, round(need.cost_ns * share))


def lines(advice: Advice, need: Need, offset: int | None) -> tuple[str | None, str | None]:
    """The line to paste for CUDA (12 and before; 13 takes a cudaMemLocation) and for HIP; none to leave it alone.

    In it `p` is the allocation, and `offset` where a tensor begins in it. Where no allocation is known, what is to be
    put in stands in angle brackets: of a range of addresses the line is a template for each allocation within it.
    """
    device = need.device or 0
    place, extent, said = "p" if not offset else f"(char *)p + {offset}", str(need.bytes), ""
    if need.granularity == "addresses":
        place, extent = "<allocation>", "<its bytes>"
        said = f"/* each allocation within 0x{need.address:x} to 0x{need.address + need.bytes - 1:x} */ "
    elif need.granularity == "tensor" and offset is None:
        place = "<address of the tensor>"
    host = "cudaCpuDeviceId"
    cuda = {
        "prefetch": f"cudaMemPrefetchAsync({place}, {extent}, {device}, stream);",
        "offload": f"cudaMemPrefetchAsync({place}, {extent}, {host}, stream);",
        "pin": f"cudaMemAdvise({place}, {extent}, cudaMemAdviseSetPreferredLocation, {device});",
        "read_mostly": f"cudaMemAdvise({place}, {extent}, cudaMemAdviseSetReadMostly, {device});",
        "accessed_by": (
            f"cudaMemAdvise({place}, {extent}, cudaMemAdviseSetPreferredLocation, {host}); "
            f"cudaMemAdvise({place}, {extent}, cudaMemAdviseSetAccessedBy, {device});"
        ),
    }.get(advice.action)
    return (said + cuda, said + cuda.replace("cuda", "hip")) if cuda else (None, None)
