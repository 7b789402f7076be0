"""What runs inside a recorded program: ranges, steps and PyTorch hooks, with nothing but the standard library.

`tracelode record` starts it through `start/sitecustomize.py`; without that, all of it does nothing.
"""

import sys

if "tracelode_agent" in sys.modules and __name__ != "tracelode_agent":
    # Started before the program, under a name that drags in no other package: there is one agent in a process.
    sys.modules[__name__] = sys.modules["tracelode_agent"]
else:
    from .api import active, mark, pop, push, range, start, step, stop

__all__ = ["active", "mark", "pop", "push", "range", "start", "step", "stop"]
