"""Has what is held written where a program ends in ways that Python tells nobody of."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

__all__ = ["watch"]


def watch(before: Mapping[str, Callable[[], None]]) -> None:
    """Has each function of `os` that is named, such as `execv`, first call what stands for it.

    The others of the kind, such as `execlp`, call these.
    """
    for name, prepare in before.items():
        function = getattr(os, name)
        watched = _watched(function, prepare)
        for module in (os, sys.modules[function.__module__]):  # where pickle looks for it
            setattr(module, name, watched)
        if function in os.supports_fd:
            os.supports_fd.add(watched)


def _watched(function: Any, prepare: Callable[[], None]) -> Any:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        prepare()
        return function(*args, **kwargs)

    return call
