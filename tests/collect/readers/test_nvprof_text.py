import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelode.collect.files import open_file
from tracelode.collect.nvprof_print import quantity
from tracelode.collect.readers import nvprof_text
from tracelode.collect.sink import Sink
from tracelode.store import stored
from tracelode.store.archive import Archive
from tracelode.store.errors import UnreadableFile
from tracelode.store.health import UNRELIABLE
from tracelode.store.trace import Note

Row = dict[str, Any]

OPENING = "==77== NVPROF is profiling process 77, command: ./app --n 4\n==77== Profiling application: ./app --n 4\n"
RESULT = "==77== Profiling result:\n"
COLUMNS = (
    '"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z","Registers Per Thread",'
    '"Static SMem","Dynamic SMem","Size","Throughput","SrcMemType","DstMemType","Device","Context","Stream",'
    '"Unified Memory","Virtual Address","Name","Correlation_ID"\n'
    "s,ms,,,,,,,,KB,B,MB,GB/s,,,,,,B,,,\n"
)
KERNEL = '1.000005,0.002500,64,2,1,128,1,1,40,1.500000,8,,,,,"Tesla T4 (1)","1","7",,,"add<int, 2>(int*, ""x"")",12\n'
COPY = (
    '1.000001,0.000992,,,,,,,,,,0.000019,0.018777,"Pageable","Device","Tesla T4 (1)","1","7",,,"[CUDA memcpy HtoD]",9\n'
)
FILL = '1.000002,0.000001,,,,,,,,,,0.370605,1.0,"Managed",,"Tesla T4 (1)","1","7",,,"[CUDA memset]",10\n'
MOVE = '1.000003,0.007360,,,,,,,,,,,,,,"Tesla T4 (1)",,,65536.000000,"0x7f00","[Unified Memory Memcpy HtoD]",\n'
HOST_FAULT = '1.000003,,,,,,,,,,,,,,,,,,"PC 0x5e","0x7f00","[Unified Memory CPU page faults]",\n'
FAULT = '1.000004,0.276608,,,,,,,,,,,,,,"Tesla T4 (1)",,,"18","0x7f00","[Unified Memory GPU page faults]",\n'
TRACE = OPENING + RESULT + COLUMNS + COPY + FILL + MOVE + HOST_FAULT + FAULT + KERNEL

PADDED = (
    "   Start  Duration            Grid Size      Block Size     Regs*    SSMem*    DSMem*      Size  Throughput"
    "  SrcMemType  DstMemType           Device   Context    Stream  Name\n"
    "326.63ms  1.6782ms          (32768 1 1)      (1024 1 1)        14  8.0000KB        0B         -           -"
    "           -           -     TITAN Xp (0)         1         7  void init<double>(double*,  int) [128]\n"
    " 1.10958s  1.7600us                    -               -         -         -         -  2.0000KB  1.0837GB/s"
    "      Device    Pageable     TITAN Xp (0)         1         7  [CUDA memcpy DtoH]\n"
    "\nRegs: Number of registers used per CUDA thread.\n"
)
CALLS = (
    "   Start  Duration  Name\n"
    "192.62ms  1.9590us  cudaLaunchKernel (void add<int=32>(float*) [198])\n"
    "192.70ms  11.000us  cuDeviceGetCount\n"
    "192.80ms         -  [Marker] epoch\n"
)


class Told:
    """What the reader made of a text: tables as rows without nulls, and notes by kind."""

    def __init__(self, tables: dict[str, list[Row]], notes: dict[str, Note]) -> None:
        self.tables, self.notes = tables, notes

    def __getitem__(self, table: str) -> list[Row]:
        return [{n: v for n, v in row.items() if v is not None} for row in self.tables.get(table, [])]


def reading(text: str | bytes, folder: Path) -> Told:
    path = folder / "log.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    file = open_file(path)
    assert nvprof_text.recognises(file)
    with Archive(folder / "archive").stage() as staging:
        sink = Sink(staging)
        nvprof_text.read(file, sink)
        notes = {note.kind: note for note in sink.finish()}
        staging.finish()
        return Told({p.stem: stored.read(p).to_pylist() for p in staging.path.glob("*.parquet")}, notes)


@pytest.fixture
def tell(tmp_path: Path) -> Callable[[str | bytes], Told]:
    return lambda text: reading(text, tmp_path)


def test_a_comma_separated_trace_is_read_in_the_units_of_its_unit_row(tell: Callable[..., Told]) -> None:
    told = tell(TRACE)
    place = {"process": 77, "device": 1, "context": 1, "stream": 7}
    assert told["kernel"] == [
        place
        | {"start_ns": 1_000_005_000, "end_ns": 1_000_007_500, "name": 'add<int, 2>(int*, "x")', "correlation": 12}
        | {"grid_x": 64, "grid_y": 2, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1}
        | {"registers": 40, "shared_bytes": 1544}
    ]
    assert told["copy"] == [
        place
        | {"start_ns": 1_000_001_000, "end_ns": 1_000_001_992, "kind": "HtoD", "bytes": 20, "correlation": 9}
        | {"source_memory": "pageable", "target_memory": "device"}
    ]
    assert told["fill"] == [
        place
        | {"start_ns": 1_000_002_000, "end_ns": 1_000_002_001, "bytes": 388_608, "memory": "managed"}
        | {"correlation": 10}
    ]
    assert told["process"] == [{"process": 77, "pid": 77, "name": "./app --n 4"}]
    assert told["device"] == [{"process": 77, "device": 1, "name": "Tesla T4", "vendor": "nvidia"}]
    assert told.notes["coarse-times"].example == "steps of 1000 ns"


def test_rows_of_a_table_without_its_units_are_no_events(tell: Callable[..., Told]) -> None:
    header, units, _ = COLUMNS.split("\n")
    for spoilt in ("", units.replace("ms", "mz") + "\n"):
        told = tell(f"{OPENING}{RESULT}{header}\n{spoilt}{KERNEL}{COPY}")
        assert not told.tables.keys() & {"kernel", "copy"}
        assert told.notes["no-unit"].count == 2
        assert len(told["other"]) == 2 + bool(spoilt)


def test_a_damaged_row_is_kept_and_makes_counts_unreliable(tell: Callable[..., Told]) -> None:
    told = tell(TRACE + KERNEL.replace(",", "", 1) + KERNEL)
    assert len(told["kernel"]) == 2
    assert told.notes["lost-line"].count == 1
    assert json.loads(told["other"][-1]["json"])["line"].startswith("1.0000050.0025")


def with_hole(text: str, first: str, last: str, size: int = 4096) -> str:
    """The text with NULs from the middle of the first row to the middle of the last."""
    begin, end = text.index(first) + len(first) // 2, text.index(last) + len(last) // 2
    return text[:begin] + "\0" * size + text[end:]


def test_two_rows_joined_by_a_hole_are_no_event_and_make_counts_unreliable(tell: Callable[..., Told]) -> None:
    told = tell(with_hole(TRACE, COPY, MOVE) + COPY)
    assert [row["correlation"] for row in told["copy"] + told["fill"] + told["kernel"]] == [9, 12]
    assert (len(told["migration"]), len(told["fault"])) == (0, 2)
    assert (told.notes["lost-line"].count, told.notes["lost-line"].example) == (1, "line 6: 4096 NUL characters")
    assert json.loads(told["other"][0]["json"])["line"].count("\0") == 4096
    assert "lost-line" in UNRELIABLE


def test_a_hole_in_a_padded_table_is_no_output_of_the_program(tell: Callable[..., Told]) -> None:
    _, kernel, copy, *_ = PADDED.split("\n")
    told = tell(OPENING + RESULT + with_hole(PADDED, kernel, copy))
    assert not told.tables.keys() & {"kernel", "copy"}
    assert (told.notes["lost-line"].count, told.notes["lost-line"].example) == (1, "line 5: 4096 NUL characters")
    assert "other-text" not in told.notes


def test_a_hole_over_a_header_makes_no_header_of_the_row_below(tell: Callable[..., Told]) -> None:
    told = tell(OPENING + RESULT + with_hole(COLUMNS + COPY + KERNEL, COLUMNS, COPY) + TRACE)
    assert (len(told["kernel"]), len(told["copy"])) == (1, 1)
    assert {kind: told.notes[kind].count for kind in ("lost-line", "other-text")} == {"lost-line": 1, "other-text": 1}


def test_a_hole_longer_than_a_line_can_be_is_told_as_far_as_it_is_read(tell: Callable[..., Told]) -> None:
    told = tell(OPENING + RESULT + COLUMNS + "\0" * (3 << 20) + "\n" + COPY)
    assert told.notes["lost-line"].example == f"line 6: {1 << 20} NUL characters or more"
    assert len(told["copy"]) == 1


def test_managed_memory_among_the_kernels_gives_faults_and_migrations(tell: Callable[..., Told]) -> None:
    told = tell(TRACE)
    span = {"process": 77, "address": 0x7F00}
    assert told["migration"] == [
        span | {"device": 1, "kind": "UVM_HtoD", "start_ns": 1_000_003_000, "end_ns": 1_000_010_360, "bytes": 65536}
    ]
    assert told["fault"] == [
        span | {"processor": "cpu", "start_ns": 1_000_003_000, "pages": 1, "args": '{"Unified Memory": "PC 0x5e"}'},
        span | {"processor": "gpu", "device": 1, "start_ns": 1_000_004_000, "end_ns": 1_000_280_608} | {"pages": 18},
    ]


def test_a_padded_trace_is_read_in_the_units_of_its_cells(tell: Callable[..., Told]) -> None:
    told = tell(OPENING + RESULT + PADDED)
    place = {"process": 77, "device": 0, "context": 1, "stream": 7}
    assert told["kernel"] == [
        place
        | {"start_ns": 326_630_000, "end_ns": 328_308_200, "name": "void init<double>(double*,  int)"}
        | {"grid_x": 32768, "grid_y": 1, "grid_z": 1, "block_x": 1024, "block_y": 1, "block_z": 1}
        | {"registers": 14, "shared_bytes": 8192, "correlation": 128}
    ]
    assert told["copy"] == [
        place
        | {"start_ns": 1_109_580_000, "end_ns": 1_109_581_760, "kind": "DtoH", "bytes": 2048}
        | {"source_memory": "device", "target_memory": "pageable"}
    ]
    assert "other-text" not in told.notes


@pytest.mark.parametrize(
    "calls",
    [
        CALLS,
        '"Start","Duration","Name","Correlation_ID"\nms,us,,\n192.62,1.959,"cudaLaunchKernel (void add<int=32>(float*)'
        ' [198])",198\n192.7,11,"cuDeviceGetCount",\n192.8,,"[Marker] epoch",\n',
    ],
)
def test_api_calls_are_read_and_linked_by_the_number_behind_the_kernel(tell: Callable[..., Told], calls: str) -> None:
    told = tell(OPENING + RESULT + calls)
    assert told["api"] == [
        {"process": 77, "start_ns": 192_620_000, "end_ns": 192_621_959, "name": "cudaLaunchKernel"}
        | {"kind": "runtime", "correlation": 198, "args": '{"kernel": "void add<int=32>(float*)"}'},
        {"process": 77, "start_ns": 192_700_000, "end_ns": 192_711_000, "name": "cuDeviceGetCount", "kind": "driver"},
    ]
    (mark,) = told["other"]
    assert (mark["kind"], mark["time_ns"], json.loads(mark["json"])["Name"]) == ("mark", 192_800_000, "[Marker] epoch")


def test_a_launch_in_a_table_of_calls_and_kernels_is_the_launch_of_the_kernel(tell: Callable[..., Told]) -> None:
    call = "326.60ms  5.0000us" + 12 * "  -" + "  cudaLaunchKernel (void init<double>(double*,  int) [128])\n"
    header, rest = PADDED.split("\n", 1)
    told = tell(OPENING + RESULT + header + "\n" + call + rest)
    assert (told["api"][0]["name"], told["kernel"][0]["launch_ns"]) == ("cudaLaunchKernel", 326_600_000)


def test_rows_belong_to_the_process_named_above_their_table(tell: Callable[..., Told]) -> None:
    second = TRACE.replace("77", "78")
    assert {row["process"] for row in tell(TRACE + second)["kernel"]} == {77, 78}


def test_summaries_are_kept_as_they_stand_and_give_no_event(tell: Callable[..., Told]) -> None:
    summary = 'Time(%),Time,Calls,Avg,Min,Max,Name\n47.79%,542.36ms,45,12.052ms,12.007ms,12.110ms,"add(int, int)"\n'
    told = tell(summary)
    assert [json.loads(row["json"])["Name"] for row in told["other"]] == ["add(int, int)"]
    assert told.notes["summary"].count == 1 and not told["kernel"]
    tree = "======== CPU profiling result (bottom up):\nTime(%)      Time  Name\n 80.56%  8.59905s  ???\n"
    assert json.loads(tell(tree)["other"][0]["json"]) == {"line": " 80.56%  8.59905s  ???"}


def test_what_the_profiler_lost_and_what_the_program_printed_is_counted(tell: Callable[..., Told]) -> None:
    lost = "==77== Warning: 45 records have invalid timestamps due to insufficient semaphore pool size.\n"
    told = tell("loss 0.3\n" + OPENING + lost + RESULT + COLUMNS + KERNEL + "loss 0.2, 0.1\n" + lost + COPY)
    assert (len(told["kernel"]), len(told["copy"])) == (1, 1)
    assert (told.notes["lost-events"].count, told.notes["other-text"].count) == (2, 2)


def test_a_name_with_commas_needs_no_quotes_and_a_device_no_number(tell: Callable[..., Told]) -> None:
    cut = KERNEL.replace("Tesla T4 (1)", "Quadro M4000 (1")
    assert tell(OPENING + RESULT + COLUMNS + cut)["device"][0]["name"] == "Quadro M4000"
    bare = KERNEL.replace('"add<int, 2>(int*, ""x"")"', "add(int, int)").replace('"Tesla T4 (1)"', "GeForce GTX TIT")
    told = tell(OPENING + RESULT + COLUMNS + bare)
    assert [(row["name"], row["device"]) for row in told["kernel"]] == [("add(int, int)", 0)]
    assert told.notes["cut-device"].example == "GeForce GTX TIT"


def test_output_kept_by_powershell_or_packed_is_read_alike(tell: Callable[..., Told]) -> None:
    plain = tell(TRACE).tables
    assert tell(TRACE.replace("\n", "\r\n").encode("utf-16")).tables == plain
    assert tell(gzip.compress(TRACE.encode())).tables == plain


@given(digits=st.integers(0, 10**9), places=st.integers(0, 9), unit=st.sampled_from(["s", "ms", "us", "ns"]))
def test_times_are_exact_to_the_last_digit(digits: int, places: int, unit: str) -> None:
    from fractions import Fraction

    whole = str(digits).rjust(places + 1, "0")
    text = whole if not places else f"{whole[:-places]}.{whole[-places:]}"
    exact = Fraction(digits, 10**places) * {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[unit]
    assert quantity(text, unit, time=True) == quantity(text + unit, "", time=True)
    found = quantity(text, unit, time=True)
    assert found is not None and found[0] == round(exact)


def test_other_texts_are_not_taken_for_it(tmp_path: Path) -> None:
    others = (
        "Start (ns),Duration (ns),CorrId,GrdX,Name\n1,2,3,4,k\n",
        '"Kind","Agent_Id","Kernel_Name","Start_Timestamp"\n',
        "Start,Duration,Name\n1.0,2.0,step\n",
        "Name,Calls\na,1\n",
        "{}\n",
    )
    for at, text in enumerate(others):
        path = tmp_path / f"{at}.csv"
        path.write_text(text)
        assert not nvprof_text.recognises(open_file(path)), text


def test_quotes_that_do_not_pair_up_are_counted(tell: Callable[..., Told]) -> None:
    told = tell(OPENING + RESULT + COLUMNS + KERNEL.replace('""x"")"', '""x"")" <'))
    assert [row["name"] for row in told["kernel"]] == ['add<int, 2>(int*, "x") <']
    assert told.notes["loose-quote"].count == 1
    assert "loose-quote" not in tell(TRACE).notes


def test_a_table_without_its_title_is_of_no_stated_process(tell: Callable[..., Told]) -> None:
    told = tell(OPENING + COLUMNS + COPY + KERNEL)
    assert told.notes["no-process"].count == 2
    assert {row["process"] for row in told["kernel"]} == {0}
    assert "no-process" not in tell(TRACE).notes


@pytest.mark.parametrize("text", [TRACE, OPENING + RESULT + PADDED, OPENING + RESULT + CALLS])
def test_cut_and_flipped_bytes_invent_no_event(tmp_path: Path, text: str) -> None:
    whole = reading(text, tmp_path)
    names = {row["name"] for table in ("kernel", "api") for row in whole[table]}
    assert names
    data = text.encode()
    for size in range(len(OPENING) + 10, len(data), 23):
        told = reading(data[:size], tmp_path)
        assert {row["name"] for table in ("kernel", "api") for row in told[table]} <= names, size
        last = data[:size].rpartition(b"\n")[2]
        within = size > data.index(b"\n", len(OPENING + RESULT)) + 1 and last and not last.startswith(b"Regs")
        said = {"truncated", "unfinished-line", "other-text"} & told.notes.keys() - whole.notes.keys()
        assert said or not within, (size, data[:size][-40:])
    draw = random.Random(3)
    for _ in range(25):
        broken = bytearray(data)
        for _ in range(6):
            broken[draw.randrange(len(OPENING), len(data))] = draw.randrange(256)
        try:
            assert len(reading(bytes(broken), tmp_path)["kernel"]) <= 1
        except UnreadableFile as error:
            assert error.hint
