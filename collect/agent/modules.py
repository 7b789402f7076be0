"""Records the calls of PyTorch's modules, through the hooks that it offers for all of them."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from .calls import guarded, keep_running, returned
from .operators import UNTIL_RETURN
from .recording import MODULE, PHASE

if TYPE_CHECKING:
    from .operators import Operators
    from .owners import Owners
    from .session import Session

__all__ = ["Modules"]

MOST_NAMES = 100_000


class Modules:
    """The calls of modules: rows of `module`, and of the phase `forward` for the outermost."""

    def __init__(
        self, session: Session, torch: Any, asked: frozenset[str], operators: Operators | None, owners: Owners | None
    ) -> None:
        self._session = session
        self._kind = MODULE if "module" in asked else None
        self._phases = "phase" in asked
        self._operators = operators
        self._owners = owners
        self._backward = torch._C._current_graph_task_id
        self._called = torch.nn.Module._call_impl.__code__
        self._names: dict[int, tuple[weakref.ref[Any], str]] = {}
        hooks = torch.nn.modules.module
        hooks.register_module_forward_pre_hook(guarded(session, torch, self._before))
        hooks.register_module_forward_hook(guarded(session, torch, self._after), always_call=True)

    def _before(self, module: Any, _: Any) -> None:
        recording = self._session.recording
        if recording is None:
            return
        place = recording.here.place
        calls = place.modules
        if calls and calls[0][0] == id(module):
            keep_running(place, calls, new=1)
        entries: list[Any] = []
        if not calls:
            keep_running(place, place.optimizers, new=0)
            self._meet(module)
            if self._phases and self._backward() == -1:
                entries.append(recording.enter("forward"))
        entries.append(recording.enter(self._name(module) or type(module).__name__))
        calls.append((id(module), self._called, entries))
        if self._owners is not None:
            self._owners.moved(place)

    def _after(self, module: Any, *_: Any) -> None:
        session = self._session
        if session.held is None:
            return
        place = session.held.here.place
        calls = place.modules
        entered = returned(place, calls, id(module))
        if entered is None:
            return
        *phases, entry = entered
        session.close(entry, self._kind)
        for phase in phases:
            session.close(phase, PHASE)
        if self._owners is not None:
            self._owners.moved(place)
        if not calls and self._operators is not None:
            self._operators.leave(UNTIL_RETURN)

    def _meet(self, root: Any) -> None:
        """Learns the names of all within an outermost module, and observes the thread while it runs."""
        recording = self._session.recording
        if recording is not None and self._name(root) is None:
            if len(self._names) > MOST_NAMES:
                self._names.clear()
            top = type(root).__name__
            for path, module in root.named_modules():
                self._names[id(module)] = (weakref.ref(module), f"{top}.{path}" if path else top)
            if self._owners is not None:
                self._owners.adopt(recording, root, top)
        if self._operators is not None:
            self._operators.enter(UNTIL_RETURN)

    def _name(self, module: Any) -> str | None:
        """The class of the outermost module and the path from there, if the module was met."""
        known = self._names.get(id(module))
        return known[1] if known is not None and known[0]() is module else None
