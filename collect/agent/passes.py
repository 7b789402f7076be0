"""Records the backward passes of PyTorch and the steps of its optimizers."""

from __future__ import annotations

import importlib
import weakref
from functools import wraps
from typing import TYPE_CHECKING, Any

from .calls import caller, guarded, keep_running, returned
from .recording import PHASE

if TYPE_CHECKING:
    from .owners import Owners
    from .recording import Recording
    from .session import Session

__all__ = ["Optimizers", "hook_backward"]


class Optimizers:
    """The steps of optimizers: rows of the phase `optimizer`, and an iteration at the end of each step of the first."""

    def __init__(self, session: Session, torch: Any, asked: frozenset[str], owners: Owners | None) -> None:
        self._session = session
        self._kind = PHASE if "phase" in asked else None
        self._owners = owners
        hooks = importlib.import_module("torch.optim.optimizer")  # torch.optim hides it
        hooks.register_optimizer_step_pre_hook(guarded(session, torch, self._before))
        hooks.register_optimizer_step_post_hook(guarded(session, torch, self._after))

    def _before(self, optimizer: Any, *_: Any) -> None:
        recording = self._session.recording
        if recording is None:
            return
        place = recording.here.place
        keep_running(place, place.optimizers, new=1)
        if self._owners is not None:
            self._owners.gradients(recording, optimizer)
        place.optimizers.append((id(optimizer), caller(2), [recording.enter("optimizer")]))

    def _after(self, optimizer: Any, *_: Any) -> None:
        session = self._session
        if session.held is None:
            return
        place = session.held.here.place
        steps = place.optimizers
        entered = returned(place, steps, id(optimizer))
        if entered is None:
            return
        session.close(entered[0], self._kind)
        recording = session.recording
        if recording is None:
            return
        if self._owners is not None:
            self._owners.states(recording, optimizer)
        if not steps:
            _step(recording, optimizer)


def hook_backward(session: Session, torch: Any) -> None:
    """Follows backward passes: rows of the phase `backward`."""
    compiling = torch.compiler.is_compiling
    # What both `backward` and `grad` call; in releases that do not have it, the former alone.
    name = "_engine_run_backward" if hasattr(torch.autograd, "_engine_run_backward") else "backward"
    run = getattr(torch.autograd, name)

    @wraps(run)
    def passed(*args: Any, **kwargs: Any) -> Any:
        recording = None if compiling() else session.recording
        if recording is None:
            return run(*args, **kwargs)
        entry = recording.enter("backward")
        try:
            return run(*args, **kwargs)
        finally:
            session.close(entry, PHASE)

    setattr(torch.autograd, name, passed)


def _step(recording: Recording, optimizer: Any) -> None:
    """Ends an iteration, if this is the optimizer that does: the first that stepped, as long as it lives."""
    stepper = recording.stepper
    if stepper is None or (isinstance(stepper, weakref.ref) and stepper() in (None, optimizer)):
        recording.step(weakref.ref(optimizer))
