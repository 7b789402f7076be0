"""What the host did and what was measured, from a rocpd database: calls, markers and other spans, samples, counters.

The category of a region tells what it is: HIP's are runtime calls, HSA's driver calls, markers annotations; other
libraries' (RCCL, rocDecode, OpenMP, ...) are spans of a kind named after the library. A region without a category
counts as a runtime call.
"""

import json
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from .amd_database import Lookup, told, where
from .database_columns import INT, REAL, TEXT, Rows
from .nsys_columns import arguments, filled, translated
from .rocpd_driver import BLOCK, without_driver
from .rocpd_recording import EVENT, NOT_TOLD, Node

__all__ = ["read_counters", "read_regions", "read_samples"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

CALLS = {"hip": "runtime", "hsa": "driver"}
MARKERS = ("marker", "roctx")
FIRST_WORDS = re.compile(r"[a-z0-9]+", re.IGNORECASE)
VENDOR = ("rocm", "rocprofiler")
COUNTER = {"id": INT, "agent_id": INT, "name": TEXT, "symbol": TEXT, "units": TEXT, "block": TEXT}
ARGUMENT = {"event_id": INT, "position": INT, "name": TEXT, "value": TEXT}


def read_regions(node: Node) -> None:
    """Writes the calls and the other spans of the host, with their arguments, and what the kernel driver told."""
    passed = _passed(node)
    for batch in node.batches("rocpd_region", {**EVENT, "name_id": INT}, NOT_TOLD):
        rows = without_driver(node, node.located("rocpd_region", batch), passed)
        kinds = translated(filled(node.category(rows), ""), _kind).cast(TEXT)
        names, message = node.text(rows["name_id"]).cast(TEXT), node.message(rows)
        host = node.on_thread(rows)
        calls = pc.is_in(kinds, pa.array([*CALLS.values()]))
        columns = {**host, "name": names, "kind": kinds, "correlation": node.correlation(rows)}
        columns["args"] = _arguments(node, rows, passed, calls)
        node.sink.write("api", where(calls, columns))
        spans = {**host, "kind": kinds, "domain": node.category(rows).cast(TEXT), "args": columns["args"]}
        annotated = pc.equal(kinds, "annotation")
        spans["name"] = filled(pc.if_else(annotated, message, None), names)
        node.sink.write("range", where(pc.invert(calls), spans))


def read_samples(node: Node) -> list[pa.Table]:
    """Writes the samples that carry no counter as marks; the event, time and process of each, for counters."""
    times: list[pa.Table] = []
    counted = pc.unique(node.whole("rocpd_pmc_event", {"event_id": INT})["event_id"])
    for batch in node.batches("rocpd_sample", {**EVENT, "name_id": INT}, NOT_TOLD):
        rows = node.located("rocpd_sample", batch)
        host = node.on_thread(rows)
        times.append(pa.table({"event_id": rows["event_id"], "time": rows["start"], "process": host["process"]}))
        name = filled(node.message(rows), node.text(rows["name_id"]))
        mark = {
            **host,
            "name": filled(name, node.track_name(rows["track_id"])),
            "kind": "mark",
            "domain": node.category(rows).cast(TEXT),
            "args": arguments({**rows.rest, **node.details(rows)}),
        }
        carries = pc.and_(rows["event_id"].is_valid(), pc.is_in(rows["event_id"], counted))
        node.sink.write("range", where(pc.invert(carries), mark))
    return times


def read_counters(node: Node, times: list[pa.Table]) -> None:
    """Writes the counters, at the start of the kernel or the time of the sample they belong to.

    Those that repeat what the kernel driver told in regions are left out.
    """
    described = Lookup(node.whole("rocpd_info_pmc", COUNTER))
    when = Lookup(pa.concat_tables(times), "event_id") if times else None
    for batch in node.batches("rocpd_pmc_event", {"event_id": INT, "pmc_id": INT, "value": REAL}, NOT_TOLD):
        rows = batch.filter(pc.fill_null(pc.not_equal(described.take(batch["pmc_id"], "block"), BLOCK), True))
        said = {name: described.take(rows["pmc_id"], name) for name in COUNTER if name not in ("id", "block")}
        agents = pc.if_else(pc.equal(node.agent_type(said["agent_id"]), "GPU"), said["agent_id"], None)
        nothing = pa.nulls(rows.count, INT)
        sample = {
            "process": when.take(rows["event_id"], "process") if when else nothing,
            "time_ns": when.take(rows["event_id"], "time") if when else nothing,
            "device": node.device(agents),
            "name": filled(told(said["name"]), told(said["symbol"])),
            "value": rows["value"],
            "unit": told(said["units"]),
        }
        there = pc.and_(sample["time_ns"].is_valid(), rows["value"].is_valid())
        node.sink.write("counter", where(there, sample))
        if lost := rows.count - (pc.sum(there).as_py() or 0):
            meaning = "counter values of no kernel or sample, or that are no number: left out"
            node.sink.note("no-time-of-counter", meaning, count=lost)


def _kind(category: str) -> str | None:
    words = [word.lower() for word in FIRST_WORDS.findall(category)]
    telling = [word for word in words if word not in VENDOR] or ["hip"]
    if telling[0] in MARKERS:
        return "annotation"
    return CALLS.get(telling[0], telling[0])


def _arguments(node: Node, rows: Rows, passed: Lookup, calls: pa.Array) -> pa.Array:
    """`args` of regions: what was passed under `arguments`, a call's category, and what else is said of the event."""
    category = pc.if_else(calls, told(node.category(rows).cast(TEXT)), None)
    other = arguments({**rows.rest, "category": category, **node.details(rows)})
    inner = passed.take(rows["event_id"], "text")
    plain = pa.nulls(rows.count, TEXT) if other is None else other.cast(TEXT)
    both = pc.binary_join_element_wise('{"arguments": ', inner, ", ", pc.utf8_slice_codeunits(plain, 1), "")
    alone = pc.binary_join_element_wise('{"arguments": ', inner, "}", "")
    return pc.coalesce(both, alone, plain)


def _passed(node: Node) -> Lookup:
    """The arguments of each event as one JSON object: one sort, no loop over rows: they outnumber the calls."""
    table = node.whole("rocpd_arg", ARGUMENT)
    table = table.filter(table["event_id"].is_valid())
    table = table.sort_by([("event_id", "ascending"), ("position", "ascending")]).combine_chunks()
    names, values = _quoted(pc.fill_null(table["name"], "").combine_chunks()), _quoted(table["value"].combine_chunks())
    pieces = pc.binary_join_element_wise(names, values, ": ")
    events = table["event_id"].to_numpy()
    first = np.flatnonzero(np.append(True, events[1:] != events[:-1])) if len(events) else np.zeros(0, np.int64)
    offsets = pa.array(np.append(first, len(events)), INT)
    lists = pa.LargeListArray.from_arrays(offsets, pieces.cast(pa.string()))
    texts = pc.binary_join_element_wise("{", pc.binary_join(lists, ", "), "}", "")
    return Lookup(pa.table({"event_id": pa.array(events[first], INT), "text": texts.cast(TEXT)}), "event_id")


def _quoted(texts: pa.Array) -> pa.Array:
    """Each text as JSON has it; null is null."""
    encoded = texts.dictionary_encode(null_encoding="encode")
    return pa.array([json.dumps(text, ensure_ascii=False) for text in encoded.dictionary.to_pylist()], TEXT).take(
        encoded.indices
    )
