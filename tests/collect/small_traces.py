"""The smallest traces that a reader takes, for tests of the way to the reader."""

import json
from typing import Any


def trace(name: str = "gemm", rank: int | None = None) -> bytes:
    """A Kineto trace of one kernel of that name, which states its rank, if any."""
    event = {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 1.0, "dur": 2.0}
    content: dict[str, Any] = {"schemaVersion": 1}
    if rank is not None:
        content["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 8}
    content["traceEvents"] = [{**event, "args": {"device": 0, "stream": 7, "correlation": 1}}]
    return json.dumps(content).encode()
