"""RPD databases by sqlite3: a call and the operations it caused are joined by a table of their ids."""

import re
from collections import Counter
from pathlib import Path

from tests.oracle.rows import Damaged, Odd, Row, Rows, database, rows, table

COPY = re.compile(r"Copy(Host|Device)To(Host|Device)\w*")


def read(path: Path) -> Rows:
    found: dict[str, list[Row]] = {"kernel": [], "copy": [], "fill": [], "api": []}
    for recording in database(path):
        text = dict(table(recording, "rocpd_string", "id", "string"))
        processes: dict[int, int] = {}
        for id, pid, tid, start, end, name in table(
            recording, "rocpd_api", "id", "pid", "tid", "start", "end", "apiName_id"
        ):
            if not all(isinstance(value, int) for value in (pid, tid, start, end)):
                raise Damaged("a call without a time or a place")
            processes[id] = pid
            found["api"].append((pid, tid, start, end, text.get(name), id))
        causes = [(op, api) for op, api in table(recording, "rocpd_api_ops", "op_id", "api_id")]
        if len(dict(causes)) < len(causes):
            raise Damaged("an operation with several causes")
        cause, caused = dict(causes), Counter(api for _, api in causes)
        sizes = dict(table(recording, "rocpd_copyapi", "api_ptr_id", "size"))
        launched = dict(table(recording, "rocpd_kernelapi", "api_ptr_id", "kernelName_id"))
        for id, device, queue, start, end, description, kind in table(
            recording, "rocpd_op", "id", "gpuId", "queueId", "start", "end", "description_id", "opType_id"
        ):
            if not all(isinstance(value, int) for value in (device, queue, start, end)):
                raise Damaged("an operation without a time or a place")
            call = cause.get(id)
            process = processes.get(call) if call is not None else None
            if process is None:
                only = set(processes.values())
                if len(only) != 1:
                    raise Damaged("an operation of no process")
                (process,) = only
            place = process, device, queue, start, end
            what = text.get(kind) or ""
            copied = COPY.fullmatch(what)
            if what == "KernelExecution":
                name = text.get(description) or text.get(launched.get(call, -1))
                found["kernel"].append((*place, name, call))
            elif copied:
                size = sizes.get(call) if call is not None and caused[call] == 1 else None
                found["copy"].append((*place, f"{copied[1][0]}to{copied[2][0]}", size, call))
            elif what.startswith("Fill"):
                found["fill"].append((*place, None, call))
            elif "copy" in what.lower():
                raise Odd("a copy that does not say its direction")
            else:
                raise Damaged("an operation of a kind that is not known")
    return rows(**found)
