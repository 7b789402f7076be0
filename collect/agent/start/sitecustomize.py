"""Starts the agent in a recorded program, before its first line.

`tracelode record` puts this folder in front of PYTHONPATH, and Python imports the first `sitecustomize` that it finds.
The folder then leaves `sys.path`, and the one that Python would have found without it is run in its place. With
`python -S`, `-I` or `-E` there is no agent, and the program runs as ever. Without TRACELODE_RECORD_DIR nothing is
started. It must run on any Python that a program's children may be: on those older than 3.8 there is no agent.
"""

# ruff: noqa: PTH100, PTH118, PTH120 pathlib would be one more import in every process

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def start_agent():
    """Imports the agent from the folder above, as `tracelode_agent`, and begins what the environment asks for."""
    import importlib.util

    folder = os.path.dirname(HERE)
    spec = importlib.util.spec_from_file_location(
        "tracelode_agent", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    if spec is None or spec.loader is None:
        return
    agent = importlib.util.module_from_spec(spec)
    sys.modules["tracelode_agent"] = agent
    try:
        spec.loader.exec_module(agent)
        sys.modules["tracelode_agent.session"].SESSION.begin()
    except Exception:  # noqa: BLE001 whatever is wrong with the agent, the program runs
        sys.modules.pop("tracelode_agent", None)


def run_next():
    """Runs the `sitecustomize` that this one stands before; raises what Python expects where there is none."""
    import importlib.machinery
    import importlib.util

    sys.modules.pop("sitecustomize", None)
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


sys.path[:] = [path for path in sys.path if not path or os.path.abspath(path) != HERE]
if os.environ.get("TRACELODE_RECORD_DIR") and sys.version_info >= (3, 8):
    start_agent()
run_next()
