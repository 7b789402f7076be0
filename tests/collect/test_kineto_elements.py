import json
import random
from pathlib import Path

import pytest

from tests.collect.kineto_traces import HOST, duration, notes_of, read_bytes, read_events, rows_of
from tracelode.store import Trace, UnreadableFile


def test_a_collective_is_told_besides_its_kernel(tmp_path: Path) -> None:
    said = {"Collective name": "allreduce", "In msg nelems": 8, "Out msg nelems": 8, "Group size": 2, "dtype": "Float"}
    said |= {"Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Seq": 3}
    cut = said | {"Process Group Ranks": "[0, 1, ...]"}
    place = {"device": 0, "stream": 40, "correlation": 7}
    trace = read_events(
        tmp_path,
        HOST,
        duration("kernel", "ncclDevKernel", 0, 40, 9, 2, **place, **said),
        duration("kernel", "ncclDevKernel", 0, 40, 20, 2, **place, **cut),
    )
    collective = {
        "process": 10,
        "device": 0,
        "stream": 40,
        "name": "ncclDevKernel",
        "kind": "allreduce",
        "correlation": 7,
    }
    collective |= {
        "input_elements": 8,
        "output_elements": 8,
        "type": "Float",
        "group": "0",
        "group_size": 2,
        "sequence": 3,
    }
    assert rows_of(trace, "collective") == [
        {**collective, "start_ns": 9000, "end_ns": 11000, "ranks": "[0, 1]"},
        {**collective, "start_ns": 20000, "end_ns": 22000},
    ]
    assert [kernel["args"] for kernel in rows_of(trace, "kernel")] == [said, cut]


def test_categories_nobody_knows_stay_whole_in_other(tmp_path: Path) -> None:
    event = duration("hpu_op", "gemm", 3, 4, 5.5, 1, a=1.50)
    trace = read_events(tmp_path, HOST, event, duration("xpu_driver", "zeLaunch", 10, 11, 1, 1, correlation=1))
    assert rows_of(trace, "other") == [{"process": 10, "time_ns": 5500, "kind": "hpu_op", "json": event}]
    assert notes_of(trace) == {"not-understood": 1}
    assert [(row["name"], row["kind"]) for row in rows_of(trace, "api")] == [
        ("zeLaunch", "driver"),
        ("cudaLaunchKernel", "runtime"),
    ]


def test_a_timeline_of_another_tool_becomes_spans_marks_and_counters(tmp_path: Path) -> None:
    events = [
        {"ph": "B", "cat": "PERF", "name": "outer", "pid": 5, "tid": 6, "ts": 1, "args": {"a": 1}},
        {"ph": "X", "name": "no category", "pid": 5, "tid": 6, "ts": 2, "dur": 1},
        {"ph": "B", "cat": "PERF", "name": "inner", "pid": 5, "tid": 6, "ts": 3},
        {"ph": "E", "pid": 5, "tid": 6, "ts": 4},
        {"ph": "E", "cat": "PERF", "name": "", "pid": 5, "tid": 6, "ts": 5, "args": {"b": 2}},
        {"ph": "X", "cat": "PREF", "name": "x", "pid": 7, "tid": 8, "ts": 6, "dur": 1, "args": {}, "sf": 7},
        {"ph": "I", "cat": "PERF", "name": "now", "pid": 5, "ts": 7, "s": "p"},
        {"ph": "C", "cat": "PERF", "name": "load", "pid": 5, "tid": 6, "ts": 8, "args": {"value": 10}},
        {"ph": "C", "name": "memory", "pid": 5, "ts": 9, "args": {"used": 1.5, "free": 2}},
        {"ph": "E", "pid": 9, "tid": 9, "ts": 10},
        {"ph": "B", "name": "open", "pid": 5, "tid": 6, "ts": 11},
        {"ph": "P", "cat": "SAMPLE", "name": "sample", "pid": 5, "tid": 6, "ts": 12, "args": {}},
    ]
    trace = read_bytes(tmp_path, json.dumps({"traceEvents": events, "stackFrames": {"7": "main"}}).encode())
    span = {"process": 5, "thread": 6, "kind": "span"}
    assert sorted(rows_of(trace, "range"), key=lambda row: row["start_ns"]) == [
        {
            **span,
            "start_ns": 1000,
            "end_ns": 5000,
            "name": "outer",
            "domain": "PERF",
            "args": {"a": 1, "end": {"args": {"b": 2}}},
        },
        {**span, "start_ns": 2000, "end_ns": 3000, "name": "no category"},
        {**span, "start_ns": 3000, "end_ns": 4000, "name": "inner", "domain": "PERF"},
        {**span, "process": 7, "thread": 8, "start_ns": 6000, "end_ns": 7000, "name": "x"}
        | {"domain": "PREF", "args": {"sf": 7}},
        {"process": 5, "start_ns": 7000, "end_ns": 7000, "name": "now"}
        | {"kind": "mark", "domain": "PERF", "args": {"s": "p"}},
    ]
    assert [(row["name"], row["time_ns"], row["value"]) for row in rows_of(trace, "counter")] == [
        ("load", 8000, 10.0),
        ("memory free", 9000, 2.0),
        ("memory used", 9000, 1.5),
    ]
    others = sorted(rows_of(trace, "other"), key=lambda row: row["time_ns"])
    assert [row["json"] for row in others] == events[9:]
    assert notes_of(trace) == {"not-understood": 1, "unpaired": 2}
    assert (trace.facts.format, trace.facts.framework, dict(trace.facts.labels)) == (
        "chrome-trace",
        None,
        {"stackFrames": '{"7": "main"}'},
    )


def test_the_exporter_without_kineto_names_lanes_for_categories(tmp_path: Path) -> None:
    """Item 7: a bare list whose pids are "CPU functions" and "CUDA functions" (pytorch#95460)."""
    events = [
        {"name": "aten::mm", "ph": "X", "ts": 1.5, "dur": 4, "tid": 1, "pid": "CPU functions", "args": {}},
        {
            "name": "aten::mm",
            "ph": "s",
            "ts": 1.5,
            "tid": 1,
            "pid": "CPU functions",
            "id": 0,
            "cat": "cpu_to_cuda",
            "args": {},
        },
        {
            "name": "gemm",
            "ph": "f",
            "ts": 3,
            "tid": 0,
            "pid": "CUDA functions",
            "id": 0,
            "cat": "cpu_to_cuda",
            "args": {},
        },
        {"name": "gemm", "ph": "X", "ts": 3, "dur": 2.25, "tid": 0, "pid": "CUDA functions", "args": {}},
    ]
    trace = read_bytes(tmp_path, json.dumps(events).encode())
    (op,), (kernel,) = rows_of(trace, "op"), rows_of(trace, "kernel")
    assert (op["name"], op["start_ns"], op["end_ns"], op["thread"]) == ("aten::mm", 1500, 5500, 1)
    assert (kernel["name"], kernel["device"], kernel["start_ns"], kernel["end_ns"]) == ("gemm", 0, 3000, 5250)
    assert kernel["process"] == op["process"]
    assert [row["name"] for row in rows_of(trace, "process")] == ["CPU functions"]
    assert [row["phase"] for row in rows_of(trace, "flow")] == ["s", "f"]


def _named(trace: Trace) -> list[str]:
    return [row["name"] for row in sorted(rows_of(trace, "range"), key=lambda row: row["start_ns"])]


def _python(name: str, ts: int) -> str:
    """A frame whose name stands in the file as given, with nothing escaped."""
    return (
        f'{{"ph": "X", "cat": "python_function", "name": "{name}", "pid": 10, "tid": 11,'
        f' "ts": {ts}, "dur": 1, "args": {{"Python id": {ts}}}}}'
    )


@pytest.mark.parametrize(
    ("name", "read", "note"),
    [
        pytest.param(
            "triton_\x01\x1fconfig", "triton_\x01\x1fconfig", "control-character", id="items 1 and 2: control"
        ),
        pytest.param('<string "a">\n(2): f', '<string "a">\n(2): f', "mended", id="item 3: quotes, line break"),
        pytest.param("C:\\Users\\new\\train.py(3)", "C:\\Users\\new\\train.py(3)", "mended", id="item 5: backslashes"),
        pytest.param("C:\\Users\\", "C:\\Users\\", "mended", id="item 5: a backslash last"),
        pytest.param("half a \\ud83d pair", "half a \ufffd pair", None, id="a lone surrogate"),
        pytest.param("\\ud83d\\ude00 \\u00e9", "\U0001f600 é", None, id="escapes"),
    ],
)
def test_names_that_are_not_json_are_read_as_meant(tmp_path: Path, name: str, read: str, note: str | None) -> None:
    trace = read_events(tmp_path, HOST, _python("before", 1), _python(name, 2), _python("after", 3))
    assert _named(trace) == ["before", read, "after"]
    assert notes_of(trace) == ({note: 1} if note else {})


def test_invalid_utf8_is_replaced_and_counted(tmp_path: Path) -> None:
    """Items 12 to 15: names and arguments with bytes that are no UTF-8."""
    bad = json.dumps(duration("cpu_op", "NAME", 10, 11, 1, 2, **{"Ev Idx": 1, "stack": "STACK"})).encode()
    bad = bad.replace(b"NAME", b"caf\xe9").replace(b"STACK", b"\xf0\x9f file")
    good = json.dumps(duration("cpu_op", "café", 10, 11, 3, 1, stack="\u4f60"), ensure_ascii=False).encode()
    trace = read_bytes(tmp_path, b'{"schemaVersion": 1, "traceEvents": [' + bad + b"," + bad + b"," + good + b"]}")
    assert [row["name"] for row in rows_of(trace, "op")] == ["caf\ufffd", "caf\ufffd", "café"]
    assert [row["args"]["stack"] for row in rows_of(trace, "op")] == ["\ufffd file", "\ufffd file", "\u4f60"]
    assert notes_of(trace) == {"invalid-utf8": 3}  # one name, and the arguments of two events


def test_a_missing_quote_in_an_arrow_costs_nothing(tmp_path: Path) -> None:
    """Item 4: the old autograd exporter forgot a quote (pytorch#33961)."""
    arrow = '{"name": "mm", "ph": "s", "ts": 5, "tid": 1, "pid": "CPU functions, "id": 3, "cat": "cpu_to_cuda"}'
    trace = read_events(tmp_path, arrow, HOST)
    (row,) = rows_of(trace, "flow")
    assert (row["id"], row["kind"], row["phase"], row["args"]) == (
        3,
        "cpu_to_cuda",
        "s",
        {"name": "mm", "pid": "CPU functions"},
    )
    assert notes_of(trace) == {"mended": 1}


def test_bare_infinity_and_numbers_beyond_64_bits_stay_in_the_arguments(tmp_path: Path) -> None:
    """Item 6: `inf` as a bandwidth. Integers beyond 64 bits come as ids of communicators."""
    copy = json.dumps(duration("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 0, 7, 1, 0, device=0, stream=7, bw="BW"))
    op = duration("cpu_op", "nccl", 10, 11, 1, 1, **{"Comms Id": 18446744073709551616000, "External id": 1 << 70})
    trace = read_events(tmp_path, HOST, copy.replace('"BW"', "inf"), copy.replace('"BW"', "-nan"), op)
    assert [row["args"]["bw"] for row in rows_of(trace, "copy")] == ["Infinity", "NaN"]
    assert rows_of(trace, "op")[0]["args"] == {"Comms Id": 18446744073709551616000, "External id": 1 << 70}
    assert notes_of(trace) == {"non-finite": 2, "no-number": 1}


@pytest.mark.parametrize(
    ("between", "count"),
    [
        (",", 0),
        (" ,\r\n\t", 0),
        ("\n", 1),
        (",,", 1),
        (", ,", 1),
        ("\0,", 1),
        (",\x1a ", 1),
        (",\0,\0", 1),
    ],
)
def test_what_json_does_not_have_between_events_is_counted_and_costs_no_event(
    tmp_path: Path, between: str, count: int
) -> None:
    events = [json.dumps(duration("cpu_op", f"op{n}", 10, 11, n, 1)) for n in range(20_000)]
    content = ",\n".join(events[:15_000]) + between + ",\n".join(events[15_000:])
    trace = read_bytes(tmp_path, f'{{"schemaVersion": 1, "traceEvents": [{content}]}}'.encode())
    assert trace.arrow("op").num_rows == 20_000
    assert notes_of(trace) == ({"mended": count} if count else {})
    place = len(f'{{"schemaVersion": 1, "traceEvents": [{content}') - len(",\n".join(events[15_000:]))
    assert [str(note.example).split(":")[0] for note in trace.notes] == [f"before the element at byte {place}"] * count


@pytest.mark.parametrize(
    ("content", "rows", "count"),
    [
        ("[ ONE ]", 1, 0),
        ("[ , ONE]", 1, 1),
        ("[ONE, ]", 1, 1),
        ("[\0ONE]", 1, 1),
        ("[ONE\0]", 1, 1),
        ("[ONE ONE ,,ONE,]", 3, 3),
    ],
)
def test_commas_and_bytes_at_either_end_are_counted(tmp_path: Path, content: str, rows: int, count: int) -> None:
    listed = content.replace("ONE", json.dumps(HOST))
    trace = read_bytes(tmp_path, f'{{"schemaVersion": 1, "traceEvents": {listed}}}'.encode())
    assert len(rows_of(trace, "api")) == rows
    assert notes_of(trace) == ({"mended": count} if count else {})


def test_between_pieces_that_are_damaged_nothing_more_is_counted(tmp_path: Path) -> None:
    trace = read_events(tmp_path, HOST, '{"ph": "X", }}', HOST)
    assert len(rows_of(trace, "api")) == 2
    assert notes_of(trace) == {"damaged": 1}


FAR = (
    *("1e9999999", "-1e9999999", "1e-9999999", "1e99999999999999999999", "1e309"),
    *("9" * 5000, '"1e9999999"', f'"{"9" * 5000}"', "[" * 3000 + "]" * 3000, f'"{"[" * 3000}"'),
)
"""Numbers and depths beyond what columns, integers and decimals hold."""
SAID = {"device": 0, "stream": 7, "correlation": 3}
TOLD = {"Collective name": "allreduce", "In msg nelems": 8, "Process Group Ranks": "[0, 1]", "Seq": 3, "dtype": "Float"}
STRANGE = {
    "kernel": duration("kernel", "gemm", 0, 7, 1, 1, **SAID, grid=[1, 1, 1], graph=4, **{"shared memory": 3}),
    "collective": duration("kernel", "ncclDevKernel", 0, 7, 1, 1, **SAID, **TOLD),
    "copy": duration("gpu_memcpy", "Memcpy PtoP (Device -> Device)", 0, 7, 1, 1, **SAID, fromDevice=0, toDevice=1),
    "op": duration("cpu_op", "mm", 10, 11, 1, 1, **{"External id": 1, "Ev Idx": 3, "Sequence number": 2}),
    "range": duration("python_function", "f", 10, 11, 3, 1, **{"Python id": 1, "Python parent id": 0}),
    "counter": {"ph": "C", "name": "used", "pid": 10, "tid": 1, "ts": 3, "args": {"bytes": 4}},
    "flow": {"ph": "s", "id": 1, "name": "ac2g", "cat": "ac2g", "pid": 10, "tid": 11, "ts": 5},
}


@pytest.mark.parametrize("table", STRANGE)
def test_no_event_is_lost_whatever_number_it_holds(tmp_path: Path, table: str) -> None:
    event = STRANGE[table]
    places = [event, *([event["args"]] if "args" in event else [])]
    texts: list[str] = []
    for place in places:
        for key in place.keys() - {"ph", "cat", "name", "args"}:
            meant, place[key] = place[key], "HERE"
            texts += [json.dumps(event).replace('"HERE"', far) for far in FAR]
            place[key] = meant
    trace = read_events(tmp_path, HOST, *texts)
    kept = "kernel" if table == "collective" else table
    assert trace.rows.get(kept, 0) + trace.rows.get("other", 0) == len(texts)


def test_a_device_or_stream_that_cannot_be_is_counted_and_the_lane_taken(tmp_path: Path) -> None:
    kernels = [
        duration("kernel", "gemm", 1, 7, at, 1, **{"device": 1, "stream": 7, "correlation": at} | odd)
        for at, odd in enumerate(({}, {"device": 1 << 31}, {"stream": "x"}, {"device": "1"}))
    ]
    trace = read_events(tmp_path, HOST, *kernels)
    assert [(row["device"], row["stream"]) for row in rows_of(trace, "kernel")] == [(1, 7)] * 4
    assert notes_of(trace)["no-device"] == 2


def test_an_event_whose_phase_is_damaged_is_not_understood(tmp_path: Path) -> None:
    kernel = json.dumps(duration("kernel", "gemm", 0, 7, 1, 1, device=0, stream=7))
    trace = read_events(tmp_path, HOST, kernel, kernel.replace('"ph"', '"pX"'), "{}", "null")
    assert len(rows_of(trace, "kernel")) == 1
    assert notes_of(trace) == {"not-understood": 1, "not-an-event": 2}


def test_numbers_beyond_their_columns_are_counted(tmp_path: Path) -> None:
    copy = duration("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 0, 7, 1, 0, device=0, stream=7, bytes=1 << 70)
    trace = read_events(tmp_path, HOST, copy)
    assert rows_of(trace, "copy")[0]["args"] == {"bytes": 1 << 70}
    assert notes_of(trace) == {"no-number": 1}


def test_ranks_that_cannot_be_are_none(tmp_path: Path) -> None:
    for rank, size in ((1 << 31, 2), (-1, 1 << 62), ("x", [])):
        trace = read_events(tmp_path, HOST, distributedInfo={"rank": rank, "world_size": size})
        (process,) = rows_of(trace, "process")
        assert ("rank" in process, process.get("world_size")) == (False, size if size == 2 else None)
        assert notes_of(trace)["no-number"] == (1 if size == 2 else 2)


def test_events_that_do_not_name_their_process_are_counted(tmp_path: Path) -> None:
    unplaced = {key: value for key, value in HOST.items() if key != "pid"} | {"ts": 205, "args": {}}
    trace = read_events(tmp_path, HOST, unplaced)
    assert [row["process"] for row in rows_of(trace, "api")] == [10, 10]
    assert notes_of(trace) == {"no-process": 1}


def test_of_a_member_of_the_file_that_is_given_twice_the_last_counts_and_it_is_told(tmp_path: Path) -> None:
    events = json.dumps([duration("cpu_op", "op", 10, 1, 1000, 1)])
    rank = '"distributedInfo": {"rank": %d}'
    content = f'{{"baseTimeNanoseconds": 7, "mark": "a", {rank % 2}, "traceEvents": {events}, {rank % 5}, "mark": "b"}}'
    trace = read_bytes(tmp_path, content.encode())
    assert trace.facts.base_unix_ns == 7
    assert trace.sql("select rank from process").to_dicts() == [{"rank": 5}]
    assert {name: trace.facts.labels[name] for name in ("mark", "mark (2)")} == {"mark": "b", "mark (2)": "a"}
    assert notes_of(trace) == {"duplicate-key": 2}
    again = content.replace('"mark": "b"', '"baseTimeNanoseconds": 9')
    assert read_bytes(tmp_path, again.encode()).facts.base_unix_ns == 9


def test_two_files_written_into_one_give_the_events_of_both(tmp_path: Path) -> None:
    """Item 8: all ranks write to one path; what is cut in two is kept as it stands, the rest is read."""
    one, two = (
        json.dumps({"schemaVersion": 1, "traceEvents": [duration("cpu_op", f"op{n}", pid, 1, n, 1) for n in range(20)]})
        for pid in (10, 20)
    )
    cut = one.index('"op9"')
    trace = read_bytes(tmp_path, (one[:cut] + two + one[cut:]).encode())
    ops = {(row["process"], row["name"]) for row in rows_of(trace, "op")}
    assert ops == {(pid, f"op{n}") for pid in (10, 20) for n in range(20)} - {(10, "op9")}
    kept = [row["json"] for row in rows_of(trace, "other")]
    assert kept[0] == {"ph": "X", "cat": "cpu_op", "name": {"schemaVersion": 1, "traceEvents": []}}
    assert kept[1].startswith('}"op9", "pid": 10, "tid": 1, "ts": 9, "dur": 1')
    assert notes_of(trace) == {"mended": 1, "not-understood": 1, "damaged": 1, "merged-ranks": 2}

    trace = read_bytes(tmp_path, (one + "\n" + two).encode())
    assert len(rows_of(trace, "op")) == 40
    assert notes_of(trace) == {"several-traces": 2, "merged-ranks": 2}


def test_elements_that_are_no_event_are_kept(tmp_path: Path) -> None:
    trace = read_events(tmp_path, "null", HOST, "{}", "[1.50, {}]", '"text"', "17")
    assert trace.arrow("other")["json"].to_pylist() == ["null", "{}", "[1.50, {}]", '"text"', "17"]
    assert notes_of(trace) == {"not-an-event": 5}


def test_a_key_given_twice_keeps_both_values(tmp_path: Path) -> None:
    trace = read_events(
        tmp_path,
        HOST,
        '{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 10, "ts": 1, "ts": 2, "dur": 1, "args": {"b": 1, "b": 2}}',
    )
    (op,) = rows_of(trace, "op")
    assert (op["start_ns"], op["args"]) == (2000, {"ts (2)": 1, "b": 2, "b (2)": 1})
    assert notes_of(trace) == {"stated-twice": 1}
    twice = json.dumps(duration("kernel", "k", 0, 7, 5, 1, device=0, stream=7)).replace(
        '"stream"', '"stream": 8, "stream"'
    )
    trace = read_events(tmp_path / "place", HOST, twice)
    assert ([row["stream"] for row in rows_of(trace, "kernel")], notes_of(trace)) == ([7], {"stated-twice": 1})


@pytest.mark.parametrize(
    ("ts", "dur", "start_ns", "end_ns"),
    [
        ("1712195495505582.988", "0.001", 1712195495505582988, 1712195495505582989),
        ("1606910596297023", "13", 1606910596297023000, 1606910596297036000),
        ("0", "0", 0, 0),
        ("1.5e3", "1E-3", 1500000, 1500001),
        ('"12.125"', '"1"', 12125, 13125),
        ("-2.5", "1", -2500, -1500),
        ("1.0005", "0", 1000, 1000),
        ("1.0015", "0", 1002, 1002),
        ("4.000000000000000000001", "0", 4000, 4000),
    ],
)
def test_times_are_exact_to_the_nanosecond(tmp_path: Path, ts: str, dur: str, start_ns: int, end_ns: int) -> None:
    """Items 42, 43 and 46: no rounding, `ts` and `dur` of 0 stay, and halves of a nanosecond go to even."""
    event = f'{{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 10, "tid": 1, "ts": {ts}, "dur": {dur}}}'
    (op,) = rows_of(read_events(tmp_path, event), "op")
    assert (op["start_ns"], op["end_ns"]) == (start_ns, end_ns)


def test_a_duration_below_zero_becomes_zero_and_is_counted(tmp_path: Path) -> None:
    """Items 44 and 45: negative durations of overlapping clocks."""
    trace = read_events(tmp_path, HOST, duration("kernel", "k", 0, 7, 5, -1, device=0, stream=7))
    (kernel,) = rows_of(trace, "kernel")
    assert (kernel["start_ns"], kernel["end_ns"]) == (5000, 5000)
    assert notes_of(trace) == {"negative-duration": 1}


def test_times_that_no_clock_shows_and_missing_ones_do_not_become_rows_of_work(tmp_path: Path) -> None:
    """Item 46: overflown time stamps; a kernel without a time is no kernel."""
    place = {"device": 0, "stream": 7}
    broken = [
        duration("kernel", "overflown", 0, 7, 18446744073709551.615, 1, **place),
        {**duration("kernel", "timeless", 0, 7, 1, 1, **place), "ts": None},
        duration("kernel", "nowhere", "lane", "lane", 1, 1),
    ]
    endless = duration("kernel", "endless", 0, 7, 2, 0, **place)
    del endless["dur"]
    trace = read_events(tmp_path, HOST, *broken, endless)
    assert [(row["name"], row["end_ns"] - row["start_ns"]) for row in rows_of(trace, "kernel")] == [("endless", 0)]
    assert [row["json"]["name"] for row in rows_of(trace, "other")] == ["overflown", "timeless", "nowhere"]
    assert notes_of(trace) == {"not-understood": 3, "no-end": 1}


SAMPLE = b"".join(
    (
        b'{"schemaVersion": 1,\n"traceEvents": [\n',
        b'{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 10, "tid": 11, "ts": 100.125, "dur": 2,\n',
        b' "args": {"External id": 1, "Input Dims": [[2, 3], []], "Ev Idx": 5}},\n',
        b'{"ph":"X","cat":"kernel","name":"k<\\"a\\">","pid":0,"tid":7,"ts":111,"dur":2.5,',
        b'"args":{"device":0,"stream":7,"grid":[1,2,3]}},',
        b'{"name": "process_name", "ph": "M", "pid": 10, "tid": 0, "args": {"name": "python"}}',
        b'\n], "traceName": "x.json"}',
    )
)
EVENTS = ("op", "kernel", "track")


def test_a_file_cut_anywhere_gives_the_events_before_the_cut(tmp_path: Path) -> None:
    ends = [SAMPLE.index(mark) + len(mark) for mark in (b'"Ev Idx": 5}}', b"[1,2,3]}}", b'"python"}}')]
    for cut in range(len(SAMPLE)):
        whole = sum(end <= cut for end in ends)
        try:
            trace = read_bytes(tmp_path / f"{cut}", SAMPLE[:cut])
        except UnreadableFile:
            assert whole == 0, cut
            continue
        assert sum(trace.rows.get(table, 0) for table in EVENTS) == whole
        assert set(notes_of(trace)) in ({"truncated"}, {"metadata-damaged"}, {"truncated", "no-events"}), cut


@pytest.mark.exhaustive
def test_a_file_with_any_byte_wrong_gives_no_event_more_and_at_most_one_less(tmp_path: Path) -> None:
    dice = random.Random(20261129)
    for at in range(len(SAMPLE)):
        wrong = bytes([dice.choice((dice.randrange(256), *b'"{}[],:\\ 0'))])
        for content in (SAMPLE[:at] + wrong + SAMPLE[at + 1 :], SAMPLE[:at] + SAMPLE[at + 1 :]):
            try:
                trace = read_bytes(tmp_path / f"{at}-{len(content)}", content)
            except UnreadableFile:
                assert at < SAMPLE.index(b'{"ph"'), at
                continue
            counts = {name: trace.rows.get(name, 0) for name in (*EVENTS, "range", "api", "copy", "fill", "flow")}
            assert sum(counts.values()) in (2, 3), (at, content)
