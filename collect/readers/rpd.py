"""RPD database of rocmProfileData (SQLite: rocpd_api, rocpd_op, rocpd_string), as it is or compressed with gzip.

Every row of `rocpd_api` becomes a host call, as the format has it: also the user's markers (kind marker) and the
profiler's own work (kind profiler). Markers are written a second time as what they are: framework operators where
`ext_autogradapi` knows them, annotations otherwise. `ext_callstack` is computed from the calls and only counted.
A monitor's sample holds until the next one of its counter; its end is not kept.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute

from ...store.trace import Facts
from ..amd_database import Lookup, Recording, note_strangers, told, where
from ..database_columns import INT, TEXT
from ..files import TraceFile
from ..nsys_columns import arguments, as_json, filled, translated
from ..rpd_work import OWN_WORK, Calls, read_work
from ..sink import Sink
from ..sqlite import open_database, schema

VERSION = 2

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

NEEDED = frozenset({"rocpd_api", "rocpd_op", "rocpd_string", "rocpd_api_ops"})
PARTS = (
    "rocpd_barrierop",
    "rocpd_kernelcodeobject",
    "rocpd_op_inputSignals",
    "rocpd_kernelapi",
    "rocpd_copyapi",
    "ext_",
)
"""Tables of the format that are not always read, and those that others add to it."""

MARKER = "UserMarker"
CALL = ("id", "pid", "tid", "start", "end", "apiName_id", "args_id")
AUTOGRAD = {"api_ptr_id": INT, "autogradName_id": INT, "seq": TEXT, "op_id": TEXT, "sizes": TEXT, "input_op_ids": TEXT}


def recognises(file: TraceFile) -> bool:
    """Whether the content is of this format, by its tables. Raises as `open_database` does."""
    tables = schema(file) or {}
    return {"rocpd_api", "rocpd_op", "rocpd_string"} <= tables.keys() and "apiName_id" in tables["rocpd_api"]


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every event to the sink and returns the facts; `UnreadableFile` for a damaged database."""
    if not file.packing:
        file.digest()
    with open_database(file, NEEDED) as database:
        present = database.tables.keys() | database.views
        names = {name: name for name in present if name.startswith(("rocpd_", "ext_"))}
        recording = Recording(database, sink, names, NEEDED)
        calls = Calls(recording)
        busy = read_work(recording, calls)
        _read_calls(recording, calls)
        _read_monitor(recording, calls)
        _write_identities(recording, calls, busy)
        said = {str(r.get("tag")): str(r.get("value")) for r in recording.rows("rocpd_metadata")}
        note_strangers(database, sink, recording.known(PARTS))
        recording.write_others(())
        database.report(sink.note)
    version = said.get("schema_version")
    producer = "rocmProfileData" + (f" (schema {version})" if version else "")
    return Facts("rpd", producer=producer, clock="nanoseconds since the host started (monotonic)", labels=said)


def _read_calls(recording: Recording, calls: Calls) -> None:
    operators = Lookup(recording.whole("ext_autogradapi", AUTOGRAD), "api_ptr_id")
    for batch in recording.batches("rocpd_api", dict.fromkeys(CALL, INT)):
        rows = recording.timed("rocpd_api", batch)
        names = recording.text(rows["apiName_id"])
        said = told(recording.text(rows["args_id"]).cast(TEXT))
        host = {
            "process": calls.process(rows["pid"]),
            "thread": rows["tid"],
            "start_ns": rows["start"],
            "end_ns": rows["end"],
        }
        recording.sink.write(
            "api",
            {
                **host,
                "name": names,
                "kind": translated(filled(names, ""), _interface),
                "correlation": rows["id"],
                "args": arguments({**rows.rest, "args": said}),
            },
        )
        named = recording.text(operators.take(rows["id"], "autogradName_id")).cast(TEXT)
        marked = pc.equal(filled(names, "").cast(TEXT), MARKER)
        _write_operators(recording, operators, rows["id"], {**host, "name": named}, named.is_valid())
        annotation = {**host, "name": filled(said, MARKER), "kind": "annotation", "domain": MARKER}
        recording.sink.write("range", where(pc.and_(marked, named.is_null()), annotation))


def _write_operators(
    recording: Recording, operators: Lookup, ids: pa.Array, columns: dict[str, Any], mask: pa.Array
) -> None:
    chosen = ids.filter(mask)
    said = {name: told(operators.take(chosen, name)) for name in ("seq", "op_id", "sizes", "input_op_ids")}
    sequence, external = _numbers(said["seq"]), _numbers(said["op_id"])
    rest = {
        "seq": pc.if_else(sequence.is_null(), said["seq"], None),
        "op_id": pc.if_else(external.is_null(), said["op_id"], None),
        "sizes": said["sizes"],
        "input_op_ids": said["input_op_ids"],
    }
    recording.sink.write(
        "op", {**where(mask, columns), "sequence": sequence, "external": external, "args": arguments(rest)}
    )


def _read_monitor(recording: Recording, calls: Calls) -> None:
    wanted = {"start": INT, "end": INT, "deviceId": INT, "deviceType": TEXT, "monitorType": TEXT, "value": TEXT}
    for batch in recording.batches("rocpd_monitor", wanted, frozenset({"id"})):
        rows = recording.timed("rocpd_monitor", batch)
        values = _reals(rows["value"])
        there, gpu = values.is_valid(), pc.fill_null(pc.equal(rows["deviceType"], "gpu"), False)
        said = (rows["deviceType"], rows["deviceId"].cast(TEXT), rows["monitorType"])
        elsewhere = pc.binary_join_element_wise(*(pc.fill_null(part, "?") for part in said), " ")
        sample = {
            "process": calls.process(pa.nulls(rows.count, INT)),
            "device": pc.if_else(gpu, recording.fitting(rows["deviceId"], "deviceId"), None),
            "name": pc.if_else(gpu, rows["monitorType"], elsewhere),
            "time_ns": rows["start"],
            "value": values,
        }
        recording.sink.write("counter", where(there, sample))
        if rows.count > (kept := pc.sum(there).as_py() or 0):
            other = rows.filter(pc.invert(there))
            found = pa.table(dict(other.columns)).to_pylist()  # rare: samples whose value is no number
            texts = [as_json(row) or "{}" for row in found]
            recording.sink.write("other", {"time_ns": other["start"], "kind": "rocpd_monitor", "json": texts})
            recording.sink.note(
                "no-value", "samples whose value is no number: kept as they are", count=rows.count - kept
            )


def _write_identities(recording: Recording, calls: Calls, busy: set[tuple[int, int]]) -> None:
    for pid in calls.processes:
        recording.sink.write("process", {"process": [pid], "pid": pid})
    names = pc.unique(calls.calls.table["apiName_id"]).drop_null()
    interfaces = {str(name)[:3] for name in recording.text(names).to_pylist()}
    vendor = "nvidia" if "cud" in interfaces and "hip" not in interfaces else "amd"
    for process, device in sorted(busy):
        recording.sink.write("device", {"process": [process], "device": device, "vendor": vendor})


def _interface(name: str) -> str:
    if name == MARKER:
        return "marker"
    if OWN_WORK.fullmatch(name):
        return "profiler"
    return "driver" if name.startswith("hsa_") else "runtime"


def _numbers(texts: pa.Array) -> pa.Array:
    return pc.if_else(pc.match_substring_regex(texts, r"^-?[0-9]{1,18}$"), texts, None).cast(INT)


def _reals(texts: pa.Array) -> pa.Array:
    plain = pc.match_substring_regex(texts, r"^-?[0-9]{1,30}(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,2})?$")
    return pc.if_else(plain, texts, None).cast(pa.float64())
