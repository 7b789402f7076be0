"""Compiled: puts slices onto lanes where they do not cut each other, and writes a lane's slices as packets.

A packet is `TracePacket` of Perfetto: a slice is one where it begins and one where it ends, and times are differences
to the packet before. Field numbers are those of trace_packet.proto, track_event.proto and debug_annotation.proto.
"""

import numpy as np
import numpy.typing as npt

from ..store.compiled import jit

__all__ = ["NOTHING", "counted", "ended", "placed", "room", "written"]

NOTHING = -(1 << 63)
"""Stands for an annotation that a slice does not have."""
_HEAD, _ANNOTATION, _DOUBLE = 64, 24, 8

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


def room(slices: int, annotations: int, most_fixed: int) -> int:
    """Bytes that packets of so many slices need at most; `most_fixed`: those that are the same in every packet."""
    return slices * (2 * (_HEAD + most_fixed) + annotations * _ANNOTATION)


@jit()
def placed(start: Ints, end: Ints, nested: bool, tops: Ints, depths: Ints, lane: Ints, first: int) -> int:
    """Gives each slice, from `first` on, the first lane that has room for it.

    Slices come in order of start. A lane has room for a slice if nothing in it is still under way or, if `nested`,
    what is lasts at least as long. `tops` holds the ends of what is under way by lane, `depths` their count. Returns
    how many slices were placed: fewer than there are when `tops` must grow.
    """
    for i in range(first, len(start)):
        at = -1
        for one in range(len(depths)):
            depth = depths[one]
            while depth > 0 and tops[one, depth - 1] <= start[i]:
                depth -= 1
            depths[one] = depth
            if depth == 0 or (nested and tops[one, depth - 1] >= end[i]):
                at = one
                break
        if at < 0 or depths[at] == tops.shape[1]:
            return i
        tops[at, depths[at]] = end[i]
        depths[at] += 1
        lane[i] = at
    return len(start)


@jit()
def written(
    out: Bytes,
    fixed: Bytes,
    state: Ints,
    stack: Ints,
    start: Ints,
    end: Ints,
    name: Ints,
    category: Ints,
    keys: Ints,
    tags: Ints,
    values: Ints,
) -> int:
    """Writes the slices of a lane, each an end when the next begins no earlier; returns the bytes written.

    `fixed` are the fields of every packet that are the same in the lane. `state` holds the time of the lane's last
    packet and the number of slices under way, `stack` their ends. `values` are the annotations by kind and slice,
    `keys` and `tags` the number of each kind's name and the tag of its field.
    """
    at = 0
    for i in range(len(start)):
        at = _end(out, at, fixed, state, stack, start[i])
        size = 2 + 1 + _size(category[i]) + 1 + _size(name[i])
        for kind in range(len(keys)):
            if values[kind, i] != NOTHING:
                size += 2 + 1 + _size(keys[kind]) + _size(tags[kind]) + _size(values[kind, i])
        at = _packet(out, at, fixed, start[i] - state[0], size)
        state[0] = start[i]
        out[at], out[at + 1] = 0x48, 1
        at = _number(out, at + 2, 0x18, category[i])
        at = _number(out, at, 0x50, name[i])
        for kind in range(len(keys)):
            value = values[kind, i]
            if value != NOTHING:
                out[at] = 0x22
                out[at + 1] = 1 + _size(keys[kind]) + _size(tags[kind]) + _size(value)
                at = _number(out, at + 2, 0x08, keys[kind])
                at = _put(out, _put(out, at, tags[kind]), value)
        stack[state[1]] = end[i]
        state[1] += 1
    return at


@jit()
def ended(out: Bytes, fixed: Bytes, state: Ints, stack: Ints, until: int) -> int:
    """Writes the ends of slices under way that lie at that time or before; returns the bytes written."""
    return _end(out, 0, fixed, state, stack, until)


@jit()
def counted(out: Bytes, fixed: Bytes, state: Ints, time: Ints, bits: Ints) -> int:
    """Writes the samples of a counter, values as the bits of doubles; returns the bytes written."""
    at = 0
    for i in range(len(time)):
        at = _packet(out, at, fixed, time[i] - state[0], 2 + 2 + 8)
        state[0] = time[i]
        out[at], out[at + 1] = 0x48, 4
        at = _put(out, at + 2, 44 << 3 | 1)
        value = np.uint64(bits[i])
        for _ in range(_DOUBLE):
            out[at] = value & np.uint64(0xFF)
            value >>= np.uint64(8)
            at += 1
    return at


@jit()
def _end(out: Bytes, at: int, fixed: Bytes, state: Ints, stack: Ints, until: int) -> int:
    while state[1] > 0 and stack[state[1] - 1] <= until:
        state[1] -= 1
        end = stack[state[1]]
        at = _packet(out, at, fixed, end - state[0], 2)
        state[0] = end
        out[at], out[at + 1] = 0x48, 2
        at += 2
    return at


@jit()
def _packet(out: Bytes, at: int, fixed: Bytes, step: int, size: int) -> int:
    """Begins a packet whose event takes so many bytes, which the caller writes."""
    out[at] = 0x0A
    at = _put(out, at + 1, 1 + _size(step) + len(fixed) + 1 + _size(size) + size)
    at = _number(out, at, 0x40, step)
    for byte in fixed:
        out[at] = byte
        at += 1
    return _number(out, at, 0x5A, size)


@jit()
def _number(out: Bytes, at: int, tag: int, value: int) -> int:
    out[at] = tag
    return _put(out, at + 1, value)


@jit()
def _put(out: Bytes, at: int, value: int) -> int:
    rest = np.uint64(value)
    while rest > np.uint64(0x7F):
        out[at] = (rest & np.uint64(0x7F)) | np.uint64(0x80)
        rest >>= np.uint64(7)
        at += 1
    out[at] = rest
    return at + 1


@jit()
def _size(value: int) -> int:
    rest, count = np.uint64(value) >> np.uint64(7), 1
    while rest:
        rest >>= np.uint64(7)
        count += 1
    return count
