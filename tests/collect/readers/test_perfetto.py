import json
import random
import zlib
from pathlib import Path

import pytest

from tests.collect.protobuf_messages import fixed64, message, told
from tracelode.collect.files import open_file
from tracelode.collect.readers import perfetto
from tracelode.store import UnreadableFile

BOOT, OWN = 6, 64
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
ARGUMENTS = ["begin_ns", "tid", "corr_id", "agent", "queue", "VGPR_Count", "copy_bytes", "src_agent", "dst_agent"]
PID, THREAD, STREAM, BYTES_TRACK = 10, 11, 12, 13
BACK, INSIDE = "MEMORY_COPY_DEVICE_TO_HOST", "MEMORY_COPY_HOST_TO_HOST"


def packet(*parts: tuple[int, int | str | bytes]) -> bytes:
    return message((1, message(*parts, (10, 2))))


def snapshot(**clocks: int) -> bytes:
    numbers = {"realtime": 1, "monotonic": 3, "boot": 6}
    return packet((6, message(*[(1, message((1, numbers[n]), (2, t))) for n, t in clocks.items()])))


def interned(categories: list[str], names: list[str]) -> bytes:
    tables = ((1, categories), (2, names), (3, ARGUMENTS))
    return message(*[(t, message((1, i + 1), (2, n))) for t, texts in tables for i, n in enumerate(texts)])


def annotation(name: str, value: int | str) -> bytes:
    return message((1, ARGUMENTS.index(name) + 1), (3 if isinstance(value, int) else 6, value))


def event(kind: int, track: int, category: int = 0, name: int = 0, *annotations: bytes) -> bytes:
    named = [(3, category), (10, name)] if category else []
    return message((9, kind), *named, (11, track), *[(4, a) for a in annotations])


def at(time: int, content: bytes, clock: int = BOOT) -> bytes:
    return packet((8, time), (58, clock), (11, content))


def pair(start: int, end: int, track: int, category: int, name: int, *annotations: bytes) -> bytes:
    return at(start, event(BEGIN, track, category, name, *annotations)) + at(end, event(END, track))


def track(uuid: int, *parts: tuple[int, int | str | bytes]) -> bytes:
    return packet((60, message((1, uuid), *parts)))


DESCRIBED = [
    track(PID, (3, message((1, 4100), (6, "train")))),
    track(THREAD, (5, PID), (2, "THREAD 1 (4107)")),
    track(STREAM, (5, PID), (2, 'STREAM [" 3 "] ')),
    track(BYTES_TRACK, (5, PID), (2, "ALLOCATE BYTES on Agent [4] (GPU)"), (8, message((3, 3), (4, 1024)))),
]
NAMES = packet(
    (13, 1),
    (
        12,
        interned(
            ["hip_api", "kernel_dispatch", "memory_copy", "hsa_api", "app"],
            ["hipLaunchKernel", "gemm", "MEMORY_COPY_HOST_TO_DEVICE", "hsa_signal", "step", BACK, INSIDE],
        ),
    ),
)
CALL = pair(100, 150, THREAD, 1, 1, annotation("begin_ns", 100), annotation("tid", 4107), annotation("corr_id", 5))
KERNEL = pair(
    200,
    260,
    STREAM,
    2,
    2,
    *(annotation(n, v) for n, v in {"corr_id": 5, "agent": "Agent-4", "queue": 1, "VGPR_Count": 32}.items()),
)
COPIED = {"corr_id": 6, "src_agent": "Agent-0", "dst_agent": "Agent-4", "copy_bytes": 64}
COPY = pair(300, 330, STREAM, 3, 3, *(annotation(n, v) for n, v in COPIED.items()))
PARTS = [snapshot(realtime=5_000_000, boot=1_000), *DESCRIBED, NAMES, CALL, KERNEL, COPY]
TRACE = b"".join(PARTS)
BOUNDARIES = {len(b"".join(PARTS[:n])) for n in range(len(PARTS) + 1)}
"""Where a cut loses what follows and leaves nothing to see."""


def test_a_dispatch_is_a_kernel_on_its_agent_and_queue_launched_by_the_call_of_its_id() -> None:
    rows, _, said = told(perfetto, TRACE)
    place = {"process": 4100, "device": 4, "stream": 1, "start_ns": 200, "end_ns": 260}
    launch = {"correlation": 5, "launch": 0, "launch_ns": 100, "launch_thread": 4107}
    assert rows["kernel"] == [place | launch | {"name": "gemm", "registers": 32, "args": '{"agent":"Agent-4"}'}]
    assert (said.clock, said.base_unix_ns) == ("boottime", 4_999_000)


def test_a_copy_belongs_to_the_gpu_of_its_two_agents() -> None:
    rows, _, _ = told(perfetto, TRACE)
    copy = rows["copy"][0]
    assert (copy["device"], copy["stream"], copy["kind"], copy["bytes"], copy["end_ns"]) == (4, 3, "HtoD", 64, 330)
    back, inside = COPIED | {"src_agent": "Agent-4", "dst_agent": "Agent-0"}, COPIED | {"dst_agent": "Agent-0"}
    copies = [
        pair(at, at + 30, STREAM, 3, name, *(annotation(n, v) for n, v in said.items()))
        for at, name, said in ((400, 6, back), (500, 7, inside))
    ]
    rows, notes, _ = told(perfetto, b"".join([*PARTS[:6], *copies]))
    assert [(c["device"], c["kind"]) for c in rows["copy"]] == [(4, "DtoH")]
    assert [(r["name"], r["kind"]) for r in rows["range"]] == [("HtoH", "host_copy")]
    assert [d["device"] for d in rows["device"]] == [4]
    assert notes["host-copy"].count == 1


def test_work_of_no_stated_stream_is_counted() -> None:
    placed = [annotation(n, v) for n, v in {"corr_id": 5, "agent": "Agent-4"}.items()]
    rows, notes, _ = told(perfetto, b"".join([*PARTS[:6], pair(200, 260, STREAM, 2, 2, *placed)]))
    assert [(k["device"], k["stream"]) for k in rows["kernel"]] == [(4, 3)]
    assert "no-stream" not in notes
    rows, notes, _ = told(perfetto, b"".join([*PARTS[:6], pair(200, 260, THREAD, 2, 2, *placed)]))
    assert [(k["device"], k["stream"]) for k in rows["kernel"]] == [(4, 0)]
    assert notes["no-stream"].count == 1


def test_calls_of_the_interfaces_are_calls() -> None:
    rows, _, _ = told(perfetto, TRACE + pair(400, 410, THREAD, 4, 4))
    assert [(c["name"], c["kind"], c["process"], c["thread"]) for c in rows["api"]] == [
        ("hipLaunchKernel", "runtime", 4100, 4107),
        ("hsa_signal", "driver", 4100, 4107),
    ]
    assert rows["process"] == [{"process": 4100, "pid": 4100, "name": "train"}]
    assert rows["track"] == [{"process": 4100, "track": 4107, "name": "THREAD 1 (4107)", "kind": "thread"}]


def test_an_end_closes_what_began_last_on_its_track() -> None:
    inner = at(10, event(BEGIN, THREAD, 5, 5)) + pair(20, 30, THREAD, 5, 4) + at(40, event(END, THREAD))
    rows, _, _ = told(perfetto, TRACE + inner)
    assert [(r["name"], r["start_ns"], r["end_ns"], r["domain"]) for r in rows["range"]] == [
        ("step", 10, 40, "app"),
        ("hsa_signal", 20, 30, "app"),
    ]


def test_ends_without_a_beginning_and_the_reverse_are_noted() -> None:
    rows, notes, _ = told(perfetto, TRACE + at(500, event(END, THREAD)) + at(600, event(BEGIN, STREAM, 2, 2)))
    assert (notes["unbegun"].count, notes["unfinished"].count) == (1, 1)
    assert len(rows["kernel"]) == 1
    assert json.loads(rows["other"][0]["json"])["name"] == "gemm"


def test_marks_counters_and_arrows_are_kept() -> None:
    flow = at(700, event(INSTANT, THREAD, 5, 5) + fixed64(47, 9)) + at(
        710, event(INSTANT, THREAD, 5, 5) + fixed64(48, 9)
    )
    sample = at(720, event(COUNTER, BYTES_TRACK) + message((30, 3)))
    rows, _, _ = told(perfetto, TRACE + flow + sample)
    assert [(r["kind"], r["start_ns"], r["end_ns"]) for r in rows["range"]] == [("mark", 700, 700), ("mark", 710, 710)]
    assert [(f["id"], f["phase"], f["time_ns"]) for f in rows["flow"]] == [(9, "s", 700), (9, "f", 710)]
    assert [(c["device"], c["value"], c["unit"]) for c in rows["counter"]] == [(4, 3072.0, "bytes")]


def test_a_clock_of_the_sequence_counts_differences_from_its_snapshot() -> None:
    clock = message((1, message((1, BOOT), (2, 5_000))), (1, message((1, OWN), (2, 5), (3, 1), (4, 10))))
    defaults = packet((59, message((58, OWN), (11, message((11, THREAD))))), (6, clock))
    begin = packet((8, 3), (11, message((9, BEGIN), (3, 5), (10, 5))))
    between = packet((8, 1), (60, message((1, THREAD))))
    end = packet((8, 2), (11, message((9, END))))
    rows, _, _ = told(perfetto, TRACE + defaults + begin + between + end)
    assert [(r["start_ns"], r["end_ns"], r["thread"]) for r in rows["range"]] == [(5_030, 5_060, 4107)]


def test_times_of_another_clock_are_moved_and_those_of_an_unknown_one_left_out() -> None:
    moved = at(10, event(INSTANT, THREAD, 5, 5), clock=3)
    lost = at(10, event(INSTANT, THREAD, 5, 5), clock=OWN + 1)
    rows, notes, _ = told(perfetto, snapshot(monotonic=0, boot=2_000) + TRACE + moved + lost)
    assert [r["start_ns"] for r in rows["range"]] == [2_010]
    assert notes["unknown-clock"].count == 1


def test_a_cleared_sequence_forgets_its_names() -> None:
    again = packet((13, 1), (12, message((2, message((1, 5), (2, "other")))))) + at(10, event(INSTANT, THREAD, 5, 5))
    rows, _, _ = told(perfetto, TRACE + again)
    assert [(r["name"], r["domain"]) for r in rows["range"]] == [("other", "category 5")]


def test_nested_annotations_and_names_in_place_are_read() -> None:
    entry = message((10, "k"), (11, message((10, "inner"), (12, message((4, -2))))))
    content = message((9, INSTANT), (22, "cat"), (23, "here"), (11, THREAD), (4, entry))
    rows, _, _ = told(perfetto, TRACE + at(1, content))
    mark = rows["range"][0]
    assert (mark["name"], mark["domain"], json.loads(mark["args"])) == ("here", "cat", {"k": {"inner": [-2]}})


def test_compressed_packets_are_read_like_others() -> None:
    rows, _, _ = told(perfetto, TRACE)
    packed = message((1, message((50, zlib.compress(TRACE)), (10, 1))))
    assert told(perfetto, packed)[0] == rows


def test_stages_of_a_gpu_are_spans() -> None:
    stages = packet(
        (13, 1),
        (12, message((24, message((1, 2), (2, "Kernel"))), (1000, message((1, 1), (2, "_Z3addv"), (3, "add()"))))),
    )
    stage = packet((8, 100), (53, message((1, 7), (2, 50), (11, 1), (14, 2), (19, 1))))
    rows, _, _ = told(perfetto, TRACE + stages + stage)
    assert rows["range"] == [
        {
            "process": 4100,
            "device": 1,
            "start_ns": 100,
            "end_ns": 150,
            "id": 7,
            "name": "Kernel",
            "kind": "gpu_stage",
            "args": '{"kernel":"add()"}',
        }
    ]


@pytest.mark.parametrize("field", [(17, "blit"), (20, 2)], ids=["text", "interned"])
def test_a_stage_is_called_as_its_event_says(field: tuple[int, int | str]) -> None:
    stages = packet((13, 1), (12, message((2, message((1, 2), (2, "blit"))), (24, message((1, 2), (2, "Kernel"))))))
    stage = packet((8, 100), (53, message((1, 7), (2, 50), (11, 1), (14, 2), field)))
    rows, _, _ = told(perfetto, TRACE + stages + stage)
    assert [(row["name"], row["args"]) for row in rows["range"]] == [("blit", '{"stage":"Kernel"}')]


def test_what_the_recorder_lost_and_what_is_not_read_is_noted() -> None:
    stats = packet((35, message((1, message((3, 12))))))
    _, notes, _ = told(perfetto, TRACE + stats + packet((42, 1)) + packet((1, b"")))
    assert notes["recorder-loss"].count == 12
    assert (notes["packets-lost"].count, notes["unread-packet"].count) == (1, 1)


@pytest.mark.parametrize(
    "content",
    [b"\n{", message((1, message((2, "/host:CPU"), (3, "x")))), message((1, "a"), (2, "b")), message((1, b""))],
)
def test_other_contents_are_not_taken_for_packets(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other").write_bytes(content)
    assert not perfetto.recognises(open_file(tmp_path / "other"))


def test_a_cut_file_gives_what_came_before_the_cut_and_a_note() -> None:
    whole, _, _ = told(perfetto, TRACE)
    for cut in range(1, len(TRACE), 19):
        try:
            rows, notes, _ = told(perfetto, TRACE[:cut], recognised=False)
        except UnreadableFile as error:
            assert "damaged" in error.message
            continue
        assert rows.get("kernel", []) in ([], whole["kernel"])
        assert ("kernel" in rows) == (cut >= TRACE.index(COPY)), "a kernel is there from its end on"
        assert "damaged" in notes or "unfinished" in notes or cut in BOUNDARIES


def test_flipped_bytes_never_break_the_reader() -> None:
    chance, read = random.Random(7), 0
    for _ in range(40):
        content = bytearray(TRACE)
        for _ in range(chance.randint(1, 4)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        try:
            told(perfetto, bytes(content), recognised=False)
        except UnreadableFile:
            continue
        read += 1
    assert read > 10
