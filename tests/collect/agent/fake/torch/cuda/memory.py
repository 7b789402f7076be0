import time

live, trace, asked = {}, [], []


def _record_memory_history(enabled="all", context="all", stacks="all", max_entries=0, clear_history=False):
    asked.append({"enabled": enabled, "context": context, "stacks": stacks, "max_entries": max_entries})
    if clear_history:
        trace.clear()


def _snapshot():
    return {"segments": [], "device_traces": [list(trace)]}


def happens(action, address, size, frames=()):
    """What the allocator would note."""
    if action == "alloc":
        live[address] = size
    if action == "free_completed":
        del live[address]
    entry = {"action": action, "addr": address, "size": size, "stream": 0, "frames": list(frames)}
    trace.append({**entry, "time_us": time.time_ns() // 1000})
