import gzip
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.collect.nsys_exports import write_parquet
from tests.collect.reading import Tables, Told, read
from tracelode.collect.files import open_file, reader_of
from tracelode.collect.readers import nsys_parquet
from tracelode.collect.sink import Sink
from tracelode.store.archive import Archive
from tracelode.store.errors import UnreadableFile

PROCESS = 1 << 48 | 4100 << 24
PLACE = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": PROCESS}
KERNEL = {"start": 100, "end": 150, "correlationId": 5, **PLACE, "demangledName": 10, "shortName": 10}
RANGE = {"start": 10, "end": 60, "eventType": 59, "globalTid": PROCESS | 4107, "text": "step"}
TABLES: Tables = {
    "StringIds": [{"id": 10, "value": "gemm"}, {"id": 11, "value": "read"}],
    "CUPTI_ACTIVITY_KIND_KERNEL": [{**KERNEL, "start": 100 * n, "end": 100 * n + 50} for n in range(1, 50)],
    "NVTX_EVENTS": [RANGE],
    "OSRT_API": [{"start": 5, "end": 7, "globalTid": PROCESS | 4107, "nameId": 11}],
    "META_DATA_EXPORT": [{"name": "EXPORT_PRODUCT_VERSION", "value": "2026.2"}],
}


@pytest.fixture
def tell(tmp_path: Path) -> Callable[[Path], Told]:
    """Reads a folder as ingest does."""

    def tell(folder: Path) -> Told:
        return read(nsys_parquet, folder, tmp_path)

    return tell


def test_the_facts_name_the_format_and_the_producer(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    told = tell(write_parquet(tmp_path, TABLES))
    assert (told.facts.format, told.facts.producer) == ("nsys_parquet", "NVIDIA Nsight Systems 2026.2")
    assert told["kernel"][0] == {
        "process": 4100,
        "device": 0,
        "context": 1,
        "stream": 7,
        "start_ns": 100,
        "end_ns": 150,
        "name": "gemm",
        "correlation": 5,
    }


def test_bytes_declared_as_text_are_read_as_bytes(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    folder = write_parquet(tmp_path, TABLES)
    table = pa.table({**{name: [value] for name, value in RANGE.items()}, "binaryData": [b"\xff\x00\x01"]})
    column = pa.chunked_array([c.view(pa.string()) for c in table["binaryData"].chunks])
    declared = table.set_column(table.column_names.index("binaryData"), "binaryData", column)
    pq.write_table(declared, folder / "NVTX_EVENTS.parquet")
    told = tell(folder)
    assert [row["args"] for row in told["range"] if row["name"] == "step"] == ['{"binary": "ff0001"}']


def test_wrong_bytes_in_a_text_are_replaced_and_counted(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    folder = write_parquet(tmp_path, TABLES)
    values = pa.array([b"ge\xffmm", b"read"]).view(pa.string())
    pq.write_table(pa.table({"id": [10, 11], "value": values}), folder / "StringIds.parquet")
    told = tell(folder)
    assert told["kernel"][0]["name"] == "ge\N{REPLACEMENT CHARACTER}mm"
    assert (told.notes["bad-text"].count, told.notes["bad-text"].example) == (1, "StringIds.value")


def test_columns_of_types_that_no_export_has_are_counted(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    folder = write_parquet(tmp_path, TABLES)
    table = pq.read_table(folder / "OSRT_API.parquet").append_column("nested", pa.array([[{"a": 1}]]))
    pq.write_table(table, folder / "OSRT_API.parquet")
    told = tell(folder)
    assert told.notes["unread-column"].example == "OSRT_API.nested"
    assert [row["name"] for row in told["range"]] == ["read", "step"]


def test_values_of_another_type_are_read_where_they_fit_and_counted_where_not(
    tmp_path: Path, tell: Callable[[Path], Told]
) -> None:
    folder = write_parquet(tmp_path, TABLES)
    rows = {name: [value] * 2 for name, value in KERNEL.items()}
    table = pa.table({**rows, "gridX": [64.0, 0.5], "gridY": ["2", "x"], "gridZ": [True, None]})
    pq.write_table(table, folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet")
    told = tell(folder)
    assert [tuple(row.get(f"grid_{axis}") for axis in "xyz") for row in told["kernel"]] == [(64, 2, 1), (None,) * 3]
    assert told.notes["ill-typed"].count == 2


def test_files_that_are_no_tables_are_counted(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    folder = write_parquet(tmp_path, TABLES)
    whole = (folder / "OSRT_API.parquet").read_bytes()
    (folder / "OSRT_API.parquet.gz").write_bytes(gzip.compress(whole))
    (folder / "README").write_text("hello")
    told = tell(folder)
    assert (told.notes["unread-file"].count, told.notes["unread-file"].example) == (2, "OSRT_API.parquet.gz")


def test_one_table_alone_is_refused_with_the_folder_as_hint(tmp_path: Path) -> None:
    file = open_file(write_parquet(tmp_path, TABLES) / "CUPTI_ACTIVITY_KIND_KERNEL.parquet")
    name, _ = reader_of(file)
    assert name == "nsys_parquet"
    with Archive(tmp_path / "archive").stage() as staging, pytest.raises(UnreadableFile) as caught:
        nsys_parquet.read(file, Sink(staging))
    assert "one table of an Nsight Systems export" in caught.value.message
    assert "folder" in caught.value.hint


def test_other_folders_and_other_parquet_files_are_not_claimed(tmp_path: Path) -> None:
    pq.write_table(pa.table({"start": [1], "globalTid": [2]}), tmp_path / "results.parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "NVTX_EVENTS.parquet")
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "META_DATA_EXPORT.parquet").write_text("no such thing")
    for name in ("results.parquet", "NVTX_EVENTS.parquet", "empty", "other"):
        assert not nsys_parquet.recognises(open_file(tmp_path / name))


def test_more_rows_than_the_file_can_hold_are_not_read(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    folder = write_parquet(tmp_path, TABLES)
    bomb = pa.table({"start": pa.nulls(2_000_000, pa.int64()), "globalTid": pa.nulls(2_000_000, pa.int64())})
    pq.write_table(bomb, folder / "OSRT_API.parquet")
    assert "2,000,000 rows" in (tell(folder).notes["damaged-table"].example or "")
    pq.write_table(bomb, folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet")
    with pytest.raises(UnreadableFile, match="2,000,000 rows"):
        tell(folder)


def test_a_long_text_that_is_named_often_does_not_fill_the_memory(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    folder = write_parquet(tmp_path, TABLES)
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 60_000, pa.int32()), pa.array(["x" * 20_000]))
    number = pa.array([5] * 60_000)
    pq.write_table(pa.table({"start": number, "text": text}), folder / "SOMETHING.parquet")
    assert tell(folder).notes["unread-table"].count == 60_000
    columns = {"start": number, "end": number, "globalTid": number, "text": text}
    pq.write_table(pa.table(columns), folder / "NVTX_EVENTS.parquet")
    told = tell(folder)
    assert [row["name"] for row in told["range"]] == ["read"]
    assert (told.notes["cut-table"].count, told.notes["cut-table"].example) == (1, "NVTX_EVENTS")
    kernels = {"start": number, "end": number, "globalPid": number, "name": text}
    pq.write_table(pa.table(kernels), folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet")
    with pytest.raises(UnreadableFile, match="1,200,000,000 bytes of texts"):
        tell(folder)


def test_a_damaged_table_of_ranges_is_left_out_or_cut_and_kernels_are_read(
    tmp_path: Path, tell: Callable[[Path], Told]
) -> None:
    folder = write_parquet(tmp_path, TABLES)
    whole = tell(folder)
    rows = [{**RANGE, "start": at, "end": at + 1, "text": f"step {at}"} for at in range(90_000)]
    path = folder / "NVTX_EVENTS.parquet"
    options = {"row_group_size": 70_000, "compression": "none", "use_dictionary": False, "write_page_checksum": True}
    pq.write_table(pa.Table.from_pylist(rows), path, **options)
    content = path.read_bytes()
    path.write_bytes(content[:-100])
    told = tell(folder)
    assert [row["name"] for row in told["range"]] == ["read"]
    assert (told["kernel"], told["process"]) == (whole["kernel"], whole["process"])
    assert told.notes["damaged-table"].count == 1
    assert told.notes["damaged-table"].example.startswith("NVTX_EVENTS: ")
    path.write_bytes(content.replace(b"step 80000", b"step 8000!"))
    told = tell(folder)
    assert [row["name"] for row in told["range"]][:3] == ["step 0", "step 1", "step 2"]
    assert len(told["range"]) < 80_001
    assert told["kernel"] == whole["kernel"]
    assert (told.notes["cut-table"].count, told.notes["cut-table"].example) == (1, "NVTX_EVENTS")


def test_a_column_to_choose_rows_by_may_be_text(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    folder = write_parquet(tmp_path, {**TABLES, "DIAGNOSTIC_EVENT": [{"severity": "2", "text": "all was lost"}]})
    assert tell(folder).notes["lost-events"].example == "all was lost"


def outcome(whole: Path, member: str, content: bytes, tell: Callable[[Path], Told]) -> str:
    """What becomes of the folder with that content in a member: the kinds of notes, or `refused`."""
    folder = whole.with_name("damaged")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    (folder / member).write_bytes(content)
    try:
        return " ".join(tell(folder).notes.keys() - {"no-launch"})
    except UnreadableFile as error:
        assert f"table {Path(member).stem} is damaged" in error.message
        assert "copy the" in error.hint
        return "refused"


def test_a_cut_table_is_refused_where_it_matters_and_noted_elsewhere(
    tmp_path: Path, tell: Callable[[Path], Told]
) -> None:
    whole = write_parquet(tmp_path, TABLES)
    assert tell(whole).notes.keys() == {"no-launch"}
    for member in whole.iterdir():
        content = member.read_bytes()
        found = {
            outcome(whole, member.name, content[:cut], tell)
            for cut in range(0, len(content), max(1, len(content) // 25))
        }
        needed = member.stem not in ("NVTX_EVENTS", "OSRT_API", "META_DATA_EXPORT")
        assert found == {"refused" if needed else "damaged-table"}, member.stem


def test_flipped_bytes_are_read_noted_or_refused_with_the_table(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    whole, numbers = write_parquet(tmp_path, TABLES), random.Random(11)
    found: list[str] = []
    for member in whole.iterdir():
        for _ in range(6):
            content = bytearray(member.read_bytes())
            for _ in range(4):
                content[numbers.randrange(4, len(content))] = numbers.randrange(256)
            found.append(outcome(whole, member.name, bytes(content), tell))
    assert {"refused", "damaged-table"} <= set(found)


def test_a_column_that_is_shorter_than_its_table_is_refused(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    sample = Path(__file__).parents[3] / "data" / "samples" / "formats" / "nsys_parquet" / "small_pqtdir"
    name = "CUPTI_ACTIVITY_KIND_MEMCPY.parquet"
    content = (sample / name).read_bytes()
    size = b"deviceId\x15\x0c\x16\x0c\x16\\\x16\x80"
    assert content.count(size + b"\x01") == 1
    whole = Path(shutil.copytree(sample, tmp_path / "whole"))
    assert len(tell(whole)["copy"]) == 6
    assert outcome(whole, name, content.replace(size + b"\x01", size + b"\x00"), tell) == "refused"
