"""A caching allocator like a framework's: blocks of freed tensors are used again, memory is reserved in steps."""

from collections.abc import Hashable

from .workload import Workload

__all__ = ["Allocator"]

STEP_BYTES = 20 * 1024 * 1024
GRAIN_BYTES = 512
LAYER_STATE_BYTES = 16 * 12_582_912  # parameters, gradients and both moments of a layer


class Allocator:
    """Gives out device addresses; the parameters and the optimizer's state are there from the start."""

    def __init__(self, workload: Workload) -> None:
        self.allocated = workload.layers * LAYER_STATE_BYTES
        self.reserved = -(-self.allocated // STEP_BYTES) * STEP_BYTES
        self._next = 0x7F5A_0000_0000 + workload.rank * 0x10_0000_0000 + self.allocated
        self._end = self._next + self.reserved - self.allocated
        self._idle: dict[int, list[int]] = {}
        self._live: dict[Hashable, tuple[int, int]] = {}

    def allocate(self, key: Hashable, size: int) -> tuple[int, int, int, int]:
        """Returns address, bytes, and the bytes allocated and reserved after it."""
        size = -(-size // GRAIN_BYTES) * GRAIN_BYTES
        idle = self._idle.get(size)
        if idle:
            address = idle.pop()
        else:
            address = self._next
            self._next += size
            while self._next > self._end:
                self._end += STEP_BYTES
                self.reserved += STEP_BYTES
        self._live[key] = address, size
        self.allocated += size
        return address, size, self.allocated, self.reserved

    def free(self, key: Hashable) -> tuple[int, int, int, int]:
        """Returns the same as `allocate`, with the bytes negative."""
        address, size = self._live.pop(key)
        self._idle.setdefault(size, []).append(address)
        self.allocated -= size
        return address, -size, self.allocated, self.reserved
