"""rocpd databases of schema 3 by sqlite3: tables with a suffix, places and times in each row."""

import re
from pathlib import Path

from tests.oracle.rows import Damaged, Odd, Row, Rows, database, rows, table

CALLS = ("HIP", "HSA")
COPY = re.compile(r"(HOST|DEVICE)_?TO_?(HOST|DEVICE)", re.IGNORECASE)


def read(path: Path) -> Rows:
    found: dict[str, list[Row]] = {"kernel": [], "copy": [], "api": []}
    for recording in database(path):
        names = [name for (name,) in recording.execute("select name from sqlite_master where type = 'table'")]
        suffixes = [name.removeprefix("rocpd_metadata") for name in names if name.startswith("rocpd_metadata")]
        if len(suffixes) != 1 or f"rocpd_kernel_dispatch{suffixes[0]}" not in names:
            raise Odd("not one recording of schema 3")

        def of(base: str, *columns: str, suffix: str = suffixes[0]) -> list[Row]:
            return list(table(recording, f"rocpd_{base}{suffix}", *columns))  # noqa: B023 - used in this turn only

        text = dict(of("string", "id", "string"))
        process = dict(of("info_process", "id", "pid"))
        thread = dict(of("info_thread", "id", "tid"))
        gpus = {id for id, kind in of("info_agent", "id", "type") if kind == "GPU"}
        agents = {id: id if index is None else index for id, index in of("info_agent", "id", "absolute_index")}
        symbols = {
            id: short or long for id, short, long in of("info_kernel_symbol", "id", "display_name", "kernel_name")
        }
        events = {
            id: (text.get(category), stack) for id, category, stack in of("event", "id", "category_id", "stack_id")
        }
        for pid, agent, queue, stream, start, end, kernel, event in of(
            *("kernel_dispatch", "pid", "agent_id", "queue_id", "stream_id", "start", "end", "kernel_id", "event_id"),
        ):
            queue = stream if queue is None else queue
            _sound(pid, agent, queue, start, end)
            if kernel not in symbols:
                raise Damaged("a kernel without a name")
            place = process.get(pid, pid), agents.get(agent, agent), queue, start, end
            found["kernel"].append((*place, symbols[kernel], _correlation(events, event)))
        for pid, target, source, queue, stream, start, end, name, size, event in of(
            *("memory_copy", "pid", "dst_agent_id", "src_agent_id", "queue_id", "stream_id", "start", "end"),
            *("name_id", "size", "event_id"),
        ):
            queue = stream if queue is None else queue
            _sound(pid, target, source, queue, start, end)
            if not {target, source} & gpus:
                raise Odd("a copy of which no end is known to be a GPU")
            target = target if target in gpus else source
            matched = COPY.search(text.get(name) or "")
            if not matched:
                raise Odd("a copy that does not say its direction")
            kind = f"{matched[1][0].upper()}to{matched[2][0].upper()}"
            place = process.get(pid, pid), agents.get(target, target), queue, start, end
            found["copy"].append((*place, kind, size, _correlation(events, event)))
        for pid, tid, start, end, name, event in of("region", "pid", "tid", "start", "end", "name_id", "event_id"):
            _sound(pid, tid, 0, start, end)
            category = events.get(event, (None, None))[0] or "HIP"
            if category.upper().startswith(CALLS):
                span = process.get(pid, pid), thread.get(tid, tid), start, end
                found["api"].append((*span, text.get(name), _correlation(events, event)))
            elif not category.upper().startswith(("MARKER", "KFD")):
                raise Odd("a region of a kind that is not usual")
    return rows(**found)


def _sound(*values: object) -> None:
    if not all(isinstance(value, int) for value in values):
        raise Damaged("an event without a time or a place")


def _correlation(events: dict[int, tuple[str | None, int | None]], event: int | None) -> int | None:
    """The id that a call and its work share; 0 is none."""
    return (events[event][1] or None) if event in events else None
