"""Waits until the program imports PyTorch, and never imports it itself."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .session import Session

__all__ = ["hook_when_imported"]


def hook_when_imported(session: Session) -> None:
    """Installs the hooks of the session once torch is there: at once, or when its import is done."""
    torch = sys.modules.get("torch")
    if torch is not None and not getattr(getattr(torch, "__spec__", None), "_initializing", False):
        _hook(session, torch)
    else:
        sys.meta_path.insert(0, _Waiting(session))


def _hook(session: Session, torch: Any) -> None:
    from . import hooks

    hooks.install(session, torch)


class _Waiting:
    """Sees the search for torch, lets the others find it, and is told when its code has run."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
        """What the finders after this one say; for anything but torch, nothing."""
        if name != "torch":
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = None if finder is self or find is None else find(name, path, target)
            if spec is not None:
                self._follow(spec.loader)
                return spec
        return None

    def _follow(self, loader: Any) -> None:
        """Has the loader call back. It stays the loader it is: programs read sources and data through it."""
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def executed(module: Any) -> None:
            loader.__dict__.pop("exec_module", None)
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            _hook(self.session, module)

        try:
            loader.exec_module = executed
        except AttributeError:  # a loader that cannot be changed: there are no hooks
            return
