"""Records the life of tensors' memory, and whose it is: a module's, a parameter's, a gradient's, an optimizer's.

Memory is followed by its storage: a row when one is met first, a row when it goes. Where CUDA's caching allocator tells
every allocation itself (`allocator.py`), only names are added here.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from .allocator import Allocator
from .chunks import NONE
from .operators import BACKWARD, OPTIMIZER
from .process import now

if TYPE_CHECKING:
    from .recording import Place, Recording
    from .session import Session

__all__ = ["ALLOCATED", "FREED", "NAMED", "Owners"]

ALLOCATED, FREED, NAMED = 0, 1, 2
"""What a row of `tensor` tells. `NAMED`: what lives at the address belongs to the owner."""


class _Held(weakref.ref):
    """A storage that lives."""

    __slots__ = ("address", "bytes", "device", "key", "owner")


class Owners:
    """The storages that are known to live."""

    def __init__(self, session: Session, torch: Any, stacks: bool) -> None:
        self._session = session
        self._plain = (torch.Tensor, torch.nn.Parameter)
        self._strided = torch.strided
        self._allocator = Allocator(session, torch, stacks)
        self._live: dict[int, Any] = {}
        self._told: Any = weakref.WeakSet()

    def moved(self, place: Place) -> None:
        """Hears that the thread is in another module now."""
        self._allocator.moved(place.modules[-1][2][-1][2] if place.modules else NONE)

    def seen(self, recording: Recording, place: Place, result: Any, phase: int, stack: int) -> None:
        """Meets what an operator returned."""
        for tensor in result if isinstance(result, (tuple, list)) else (result,):
            if self._stored(tensor):
                storage = tensor.untyped_storage()
                held = self._live.get(id(storage))
                if held is None or held() is not storage or held.address != storage.data_ptr():
                    self._meet(recording, tensor, storage, self._owner(recording, place, phase), stack)

    def adopt(self, recording: Recording, root: Any, top: str) -> None:
        """Names the parameters and buffers of a module; those that were there before are met now."""
        for found in (root.named_parameters(), root.named_buffers()):
            for path, tensor in found:
                self._name(recording, tensor, f"{top}.{path}")

    def gradients(self, recording: Recording, optimizer: Any) -> None:
        """Names the gradients of the optimizer's parameters."""
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                gradient = getattr(parameter, "grad", None)
                if gradient is not None:
                    self._name(recording, gradient, f"gradient of {self._called(parameter)}")

    def states(self, recording: Recording, optimizer: Any) -> None:
        """Names what the optimizer keeps of each parameter, after its first step."""
        if optimizer in self._told:
            return
        self._told.add(optimizer)
        for parameter, state in list(optimizer.state.items()):
            for key, tensor in state.items() if isinstance(state, dict) else ():
                self._name(recording, tensor, f"{key} of {self._called(parameter)}")

    def _stored(self, tensor: Any) -> bool:
        """Whether it is a tensor with a storage: sparse ones have none, and of subclasses nothing is known."""
        return type(tensor) in self._plain and tensor.layout is self._strided and not tensor.is_nested

    def _owner(self, recording: Recording, place: Place, phase: int) -> int:
        if phase in (BACKWARD, OPTIMIZER):
            return recording.name("backward" if phase == BACKWARD else "optimizer")
        return place.modules[-1][2][-1][2] if place.modules else NONE

    def _called(self, tensor: Any) -> str:
        if not self._stored(tensor):
            return "?"
        held = self._live.get(id(tensor.untyped_storage()))
        return held.owner if held is not None and held.owner else "?"

    def _name(self, recording: Recording, tensor: Any, owner: str) -> None:
        if not self._stored(tensor):
            return
        storage = tensor.untyped_storage()
        held = self._live.get(id(storage))
        number = recording.name(owner)
        if held is None or held() is not storage:
            held = self._meet(recording, tensor, storage, number, NONE)
        if held is not None and held.owner != owner:
            held.owner = owner
            self._keep(recording, held, NAMED, number, NONE)

    def _meet(self, recording: Recording, tensor: Any, storage: Any, owner: int, stack: int) -> Any:
        address = storage.data_ptr()
        if not address:
            return None  # no memory: empty, or of the meta device
        before = self._live.get(id(storage))
        if before is not None and before() is storage:  # resized: its memory is another one now
            self._keep(recording, before, FREED, NONE, NONE)
        held: Any = _Held(storage, self._freed)
        held.address, held.bytes, held.key, held.owner = address, storage.nbytes(), id(storage), None
        index = tensor.device.index
        held.device = -1 if tensor.device.type == "cpu" else 0 if index is None else index
        self._live[held.key] = held
        self._keep(recording, held, ALLOCATED, owner, stack)
        return held

    def _freed(self, held: Any) -> None:
        """Called by Python when a storage goes, in whatever thread; what it raised would be printed."""
        recording = self._session.recording
        try:
            if self._live.get(held.key) is held:
                del self._live[held.key]
            if recording is not None:
                self._keep(recording, held, FREED, NONE, NONE)
        except Exception as error:  # noqa: BLE001 as the program ends, anything may be gone already
            if recording is not None:
                recording.trouble(error)

    def _keep(self, recording: Recording, held: Any, event: int, owner: int, stack: int) -> None:
        if event != NAMED and held.device >= 0 and self._allocator.enabled:
            return
        time, thread = now(), recording.here.place.thread
        row = (time, held.address, held.bytes, held.device, event, thread, owner, stack)
        recording.keep("tensor", row, time)
