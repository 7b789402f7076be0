"""What the devices did, from a rocpd database: kernels, copies, memory blocks.

A copy belongs to the GPU of its two agents, and between two GPUs to the one it goes to: the database does not say which
engine moved the bytes. A copy within the host's memory is a range, since no device does it. A stream is the hardware
queue; the HIP stream stands in `args`.
Left out of `args`, since it tells a performance engineer nothing: the number of a dispatch and of a kernel's symbol.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from .amd_database import Lookup, told
from .database_columns import INT, TEXT, Rows
from .nsys_columns import arguments, as_json, combinations, dictionary, filled, translated
from .rocpd_recording import EVENT, NOT_TOLD, Node
from .rocprof_rows import HOST_COPY, copy_kind, note_host_copies

__all__ = ["read_allocations", "read_copies", "read_kernels"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

AXES = "xyz"
DISPATCH = (
    *("kernel_id", "group_segment_size", "region_name_id", "graph_exec_id", "graph_node_id"),
    *(f"{what}_size_{axis}" for what in ("grid", "workgroup") for axis in AXES),
)
SYMBOL = {
    **dict.fromkeys(("id", "sgpr_count", "arch_vgpr_count", "accum_vgpr_count"), INT),
    **dict.fromkeys(("kernel_name", "display_name"), TEXT),
}
COPY = (
    *("name_id", "dst_agent_id", "src_agent_id", "size", "dst_address", "src_address"),
    *("region_name_id", "graph_exec_id", "graph_node_id"),
)
LEFT_OUT = NOT_TOLD | {"dispatch_id"}
SPAN = ("ALLOC", "FREE")
MEMORY = {"GPU": "device", "CPU": "host"}


def read_kernels(node: Node) -> list[pa.Table]:
    """Writes the kernels; the event, start and process of each, for counters."""
    symbols = Lookup(node.whole("rocpd_info_kernel_symbol", SYMBOL))
    times: list[pa.Table] = []
    for batch in node.batches("rocpd_kernel_dispatch", {**EVENT, **dict.fromkeys(DISPATCH, INT)}, LEFT_OUT):
        rows = node.located("rocpd_kernel_dispatch", batch)
        device = node.placed(node.device(rows["agent_id"]), "device")
        placed = _placed(node, rows, device)
        times.append(_times(rows, placed))
        ids = rows["kernel_id"].dictionary_encode()
        symbol = {name: symbols.take(ids.dictionary, name) for name in SYMBOL if name != "id"}
        names = dictionary(ids.indices, filled(told(symbol["display_name"]), told(symbol["kernel_name"])))
        said = {name: values.take(ids.indices) for name, values in symbol.items() if values.type == INT}
        if names.null_count:
            node.sink.note("unnamed-kernel", "kernels of which the file has no name", count=names.null_count)
        node.sink.write(
            "kernel",
            {
                **placed,
                **_sizes(node, rows),
                "name": names,
                "registers": node.fitting(said["arch_vgpr_count"], "arch_vgpr_count"),
                "shared_bytes": rows["group_segment_size"],
                "graph": told(rows["graph_exec_id"]),
                "graph_node": told(rows["graph_node_id"]),
                "args": arguments(
                    {
                        **_rest(node, rows),
                        "accum_vgpr_count": told(said["accum_vgpr_count"]),
                        "sgpr_count": told(said["sgpr_count"]),
                    }
                ),
            },
        )
    return times


def read_copies(node: Node) -> None:
    """Writes the copies."""
    for batch in node.batches("rocpd_memory_copy", {**EVENT, **dict.fromkeys(COPY, INT)}, LEFT_OUT):
        rows = node.located("rocpd_memory_copy", batch)
        rows = _within_host(node, rows)
        target, source = node.agent_type(rows["dst_agent_id"]), node.agent_type(rows["src_agent_id"])
        names, kind = _directions(node, rows)
        goes, comes = _on_host(target, kind, -1), _on_host(source, kind, 0)
        to = pc.coalesce(
            pc.if_else(pc.fill_null(goes, False), None, rows["dst_agent_id"]),
            pc.if_else(pc.fill_null(comes, False), None, rows["src_agent_id"]),
            rows["agent_id"],
        )
        device = node.placed(node.device(to), "device")
        origin, goal = node.device(rows["src_agent_id"]), node.device(rows["dst_agent_id"])
        peers = pc.and_(pc.and_(pc.equal(source, "GPU"), pc.equal(target, "GPU")), pc.not_equal(origin, device))
        graph = {name: told(rows[name]) for name in ("graph_exec_id", "graph_node_id")}
        node.sink.write(
            "copy",
            {
                **_placed(node, rows, device),
                "kind": filled(kind, _between(source, target)),
                "bytes": rows["size"],
                "source_memory": pc.if_else(pc.equal(source, "GPU"), "device", None),
                "target_memory": pc.if_else(pc.equal(target, "GPU"), "device", None),
                "peer_device": pc.if_else(peers, origin, None),
                "graph": graph["graph_exec_id"],
                "graph_node": graph["graph_node_id"],
                "args": arguments(
                    {
                        **_rest(node, rows),
                        "name": pc.if_else(kind.is_valid(), None, told(names.cast(TEXT))),
                        "source_agent": origin,
                        "target_agent": pc.if_else(pc.equal(goal, device), None, goal),
                        "source_address": told(rows["src_address"]),
                        "target_address": told(rows["dst_address"]),
                    }
                ),
            },
        )


def _directions(node: Node, rows: Rows) -> tuple[pa.DictionaryArray, pa.Array]:
    """What the copies are called, and the direction that this tells."""
    names = filled(node.text(rows["name_id"]), "")
    return names, translated(names, copy_kind).cast(TEXT)


def _on_host(agent: pa.Array, kind: pa.Array, at: int) -> pa.Array:
    """Whether an end of the copies is no GPU: by its agent, else by its letter in the direction; null where unknown."""
    letter = pc.utf8_slice_codeunits(kind, 0, 1) if at == 0 else pc.utf8_slice_codeunits(pc.utf8_reverse(kind), 0, 1)
    return pc.coalesce(pc.not_equal(agent, "GPU"), pc.equal(letter, "H"))


def _within_host(node: Node, rows: Rows) -> Rows:
    """Writes the copies within the host's memory as ranges; the other copies."""
    _, kind = _directions(node, rows)
    ends = (_on_host(node.agent_type(rows[name]), kind, at) for name, at in (("src_agent_id", 0), ("dst_agent_id", -1)))
    within = pc.fill_null(pc.and_(*ends), False)
    inside = rows.filter(within)
    if not inside.count:
        return rows
    note_host_copies(node.sink, inside.count)
    said = {"bytes": inside["size"], "source_agent": node.device(inside["src_agent_id"])}
    said |= {"target_agent": node.device(inside["dst_agent_id"]), **node.details(inside), **inside.rest}
    columns = {**node.on_thread(inside), "name": "HtoH", "kind": HOST_COPY, "args": arguments(said)}
    node.sink.write("range", columns)
    return rows.filter(pc.invert(within))


def read_allocations(node: Node) -> None:
    """Writes the lives of memory blocks; reallocations and scratch memory, which have no address, stay as they are."""
    found: list[pa.Table] = []
    wanted = {**EVENT, "address": INT, "size": INT, "type": TEXT, "level": TEXT, "name_id": INT}
    for batch in node.batches("rocpd_memory_allocate", wanted, NOT_TOLD):
        rows = node.located("rocpd_memory_allocate", batch)
        known = pc.and_(pc.is_in(rows["type"], pa.array(SPAN)), pc.is_valid(told(rows["address"])))
        simple = rows.filter(pc.fill_null(known, False))
        _write_others(node, rows.filter(pc.invert(pc.fill_null(known, False))))
        agent = node.agent_type(simple["agent_id"])
        gpu = pc.fill_null(pc.equal(agent, "GPU"), False)
        args = arguments({**simple.rest, "level": pc.if_else(pc.equal(simple["level"], "REAL"), None, simple["level"])})
        columns = {
            **{name: values for name, values in node.on_thread(simple).items() if name in ("process", "thread")},
            "device": pc.if_else(gpu, node.device(simple["agent_id"]), None),
            "kind": filled(translated(agent, MEMORY.get).cast(TEXT), "unknown"),
            "address": simple["address"],
            "bytes": pc.fill_null(simple["size"], 0),
            "args": pa.nulls(simple.count, TEXT) if args is None else args.cast(TEXT),
            "begun": simple["start"],
            "ended": simple["end"],
            "free": pc.equal(simple["type"], "FREE"),
        }
        found.append(pa.table(columns))
    if found:
        node.sink.write("allocation", _lives(node, pa.concat_tables(found)))


def _lives(node: Node, acts: pa.Table) -> dict[str, Any]:
    """One row per block: an allocation, with the release of its address that comes next in time.

    A block lives from the end of its allocation to the beginning of its release. A release without an allocation is
    of a block from before the recording: its size is not known, and counted as 0.
    """
    acts = acts.sort_by([(name, "ascending") for name in ("process", "address", "begun")]).combine_chunks()
    process, address = acts["process"].to_numpy(), acts["address"].to_numpy()
    free: npt.NDArray[np.bool_] = acts["free"].to_numpy()
    released = (process[1:] == process[:-1]) & (address[1:] == address[:-1]) & free[1:] & ~free[:-1]
    followed, taken = np.append(released, False)[: len(free)], np.insert(released, 0, False)[: len(free)]
    row = np.flatnonzero(~free | ~taken)
    lives = acts.take(pa.array(row))
    begun: npt.NDArray[np.int64] = acts["begun"].to_numpy()
    death = np.where(free, begun, np.append(begun[1:], 0)[: len(free)])[row]
    if lost := int((free & ~taken).sum()):
        meaning = "releases of memory allocated before the recording: their size is not known and counted as 0"
        node.sink.note("released-only", meaning, count=lost)
    kept = ("process", "thread", "device", "kind", "address", "bytes", "args")
    return {
        **{name: lives[name] for name in kept},
        "birth_ns": pc.if_else(lives["free"], None, lives["ended"]),
        "death_ns": pa.array(death, mask=~(followed | free)[row]),
    }


def _write_others(node: Node, rows: Rows) -> None:
    columns = {**rows.columns, **rows.rest}
    texts = [as_json(row) or "{}" for row in pa.table(columns).to_pylist()]  # rare rows, each an object of its own
    process = node.process(rows["pid"])
    node.sink.write(
        "other", {"process": process, "time_ns": rows["start"], "kind": "rocpd_memory_allocate", "json": texts}
    )


def _placed(node: Node, rows: Rows, device: pa.Array) -> dict[str, pa.Array]:
    process = node.process(rows["pid"])
    node.busy.update((p, d) for p, d in combinations([process, device])[1])
    return {
        "process": process,
        "device": device,
        "stream": node.placed(pc.coalesce(rows["queue_id"], rows["stream_id"]), "stream"),
        "start_ns": rows["start"],
        "end_ns": rows["end"],
        "correlation": node.correlation(rows),
    }


def _rest(node: Node, rows: Rows) -> dict[str, pa.Array]:
    """What else is said of device work: the HIP stream, the thread that asked for it, the region around it."""
    return {
        **rows.rest,
        **node.details(rows),
        "stream_id": pc.if_else(rows["queue_id"].is_valid(), told(rows["stream_id"]), None),
        "thread": node.thread(rows["tid"]),
        "region": told(node.text(rows["region_name_id"])),
    }


def _sizes(node: Node, rows: Rows) -> dict[str, pa.Array]:
    """Grid sizes in blocks: the file gives work items."""
    sizes: dict[str, pa.Array] = {}
    for axis in AXES:
        items = node.fitting(rows[f"grid_size_{axis}"], "grid_size")
        block = node.fitting(rows[f"workgroup_size_{axis}"], "workgroup_size")
        some = pc.if_else(pc.greater(block, 0), block, None)
        sizes[f"grid_{axis}"] = pc.divide(pc.add(items, pc.subtract(some, 1)), some)
        sizes[f"block_{axis}"] = block
    return sizes


def _times(rows: Rows, placed: dict[str, pa.Array]) -> pa.Table:
    return pa.table({"event_id": rows["event_id"], "time": rows["start"], "process": placed["process"]})


def _between(source: pa.Array, target: pa.Array) -> pa.Array:
    """The direction by the types of the two agents, where both are known."""
    letters = {"GPU": "D", "CPU": "H"}
    ends = [translated(agent, letters.get).cast(TEXT) for agent in (source, target)]
    return pc.binary_join_element_wise(*ends, "to")
