"""Installs what the environment asks for in a PyTorch that the program has imported."""

from __future__ import annotations

import sys
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING, Any

from .modules import Modules
from .operators import Operators
from .owners import Owners
from .passes import Optimizers, hook_backward
from .stacks import HERE

if TYPE_CHECKING:
    from collections.abc import Callable

    from .session import Session

__all__ = ["install"]

FOLLOWED = {"op", "shape", "module", "phase", "tensor"}


def install(session: Session, torch: Any) -> None:
    """Adds the hooks named in the session: op, shape, module, phase, tensor, stack. Other words are ignored.

    A PyTorch that lacks what a hook needs runs without that hook; the recording says what it was.
    """
    asked = frozenset(session.hooks)
    owners = operators = None
    if "tensor" in asked:
        owners = _tried(session, lambda: Owners(session, torch, stacks="stack" in asked))
    if asked & {"op", "shape", "tensor"}:
        operators = _tried(session, lambda: Operators(session, torch, asked, owners))
    if asked & FOLLOWED:
        _tried(session, lambda: Modules(session, torch, asked, operators, owners))
        _tried(session, lambda: Optimizers(session, torch, asked, owners))
    if "phase" in asked:
        _tried(session, lambda: hook_backward(session, torch))
    _tried(session, lambda: _uncompiled(torch))
    if operators is not None:
        session.observers = tuple(partial(_tried, session, change) for change in (operators.enter, operators.leave))
        if session.recording is not None:
            session.observers[0]()


def _tried(session: Session, hook: Callable[[], Any]) -> Any:
    try:
        return hook()
    except Exception as error:  # noqa: BLE001 whatever a PyTorch of another release lacks
        if session.held is not None:
            session.held.trouble(error)
        return None


def _uncompiled(torch: Any) -> None:
    """Has torch.compile leave this package alone, where the compiled part of a program is left and calls hooks.

    Without it the compiler would take each hook for a piece of the program. It is asked below its Python part, whose
    import takes a second and which most programs never need.
    """
    compiler = torch._C._dynamo.eval_frame
    if hasattr(compiler, "set_code_exec_strategy"):
        action = compiler._FrameAction.SKIP
        strategy = compiler._FrameExecStrategy(action, action)

        def skip(code: CodeType) -> None:
            compiler.set_code_exec_strategy(code, strategy)

    else:  # in older releases
        skip = compiler.skip_code
    package = __name__.rpartition(".")[0]
    for name, module in list(sys.modules.items()):
        if name.startswith(package):
            for thing in list(vars(module).values()):
                for function in (thing, *vars(thing).values()) if isinstance(thing, type) else (thing,):
                    _each(getattr(function, "__code__", None), skip)


def _each(code: object, skip: Callable[[CodeType], object]) -> None:
    """Applies `skip` to a code object of this package and those of the functions within."""
    if isinstance(code, CodeType) and code.co_filename.startswith(HERE):
        skip(code)
        for within in code.co_consts:
            _each(within, skip)
