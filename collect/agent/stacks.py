"""Tells where in the program's Python code something happens."""

from __future__ import annotations

import os
import sys
from typing import Any

__all__ = ["HERE", "stack_text"]

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep  # noqa: PTH100, PTH120 pathlib would be one more import
DEEPEST = 64


def stack_text(torch: Any) -> str:
    """The frames of this thread outside torch and this package, outermost first: `file:line function;...`."""
    library = os.path.dirname(torch.__file__) + os.sep  # noqa: PTH120 as above
    frames: list[str] = []
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] inspect is a large import
    while frame is not None and len(frames) < DEEPEST:
        code = frame.f_code
        if not code.co_filename.startswith((library, HERE)):
            frames.append(f"{code.co_filename}:{frame.f_lineno} {code.co_name}")
        frame = frame.f_back
    return ";".join(reversed(frames))
