import gzip
import json
import struct
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tests.collect.nsys_exports import arrow, write_arrow, write_arrow_folder
from tests.collect.reading import Tables, Told, damaged, read
from tests.collect.test_archives import tar
from tracelode.collect.archives import member_of
from tracelode.collect.files import open_file, reader_of
from tracelode.collect.nsys_streams import find_parts
from tracelode.collect.readers import nsys_arrow
from tracelode.store.errors import UnreadableFile

PROCESS = 1 << 48 | 4100 << 24
PLACE = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": PROCESS}
KERNEL = {"start": 100, "end": 150, "correlationId": 5, **PLACE, "demangledName": 10, "shortName": 10}
TABLES: Tables = {
    "StringIds": [{"id": 10, "value": "gemm"}, {"id": 11, "value": "read"}],
    "CUPTI_ACTIVITY_KIND_KERNEL": [{**KERNEL, "start": 100 * n, "end": 100 * n + 50} for n in range(1, 50)],
    "NVTX_EVENTS": [{"start": 10, "end": 60, "eventType": 59, "globalTid": PROCESS | 4107, "text": "step"}],
    "OSRT_API": [{"start": 5, "end": 7, "globalTid": PROCESS | 4107, "nameId": 11}],
    "META_DATA_EXPORT": [{"name": "EXPORT_PRODUCT_VERSION", "value": "2026.2"}],
}


@pytest.fixture
def tell(tmp_path: Path) -> Callable[[Path], Told]:
    """Reads a file or folder as ingest does."""

    def tell(path: Path) -> Told:
        return read(nsys_arrow, path, tmp_path)

    return tell


def stream(table: pa.Table, name: str, compression: str | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    named = table.replace_schema_metadata({"table_name": name})
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, named.schema, options=options) as writer:
        writer.write_table(named)
    return sink.getvalue().to_pybytes()


def test_the_facts_name_the_format_and_the_producer(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    for path in (write_arrow(tmp_path, TABLES), write_arrow_folder(tmp_path, TABLES)):
        told = tell(path)
        assert (told.facts.format, told.facts.producer) == ("nsys_arrow", "NVIDIA Nsight Systems 2026.2")
        assert [row["name"] for row in told["range"]] == ["read", "step"]
        assert len(told["kernel"]) == 49


def test_a_compressed_file_is_read_like_the_plain_one(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    path = write_arrow(tmp_path, TABLES)
    packed = path.with_name("report.arrows.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert tell(packed).tables == tell(path).tables


def test_a_table_in_several_streams_with_other_columns_is_one(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    later = [{**KERNEL, "start": 9000, "end": 9100, "gridX": 64}]
    path = write_arrow(tmp_path, TABLES)
    path.write_bytes(path.read_bytes() + stream(arrow(later), "CUPTI_ACTIVITY_KIND_KERNEL", "zstd"))
    kernels = tell(path)["kernel"]
    assert [row.get("grid_x") for row in kernels[-2:]] == [None, 64]
    assert len(kernels) == 50


def test_streams_may_have_no_end_mark_and_zeros_between_them(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    end = b"\xff\xff\xff\xff\0\0\0\0"
    streams = [stream(arrow(rows), name) for name, rows in TABLES.items()]
    assert all(one.endswith(end) for one in streams)
    path = tmp_path / "report.arrows"
    path.write_bytes(b"".join(streams))
    whole = tell(path)
    path.write_bytes(b"".join(one.removesuffix(end) for one in streams))
    assert tell(path).tables == whole.tables
    path.write_bytes(bytes(100_000).join([*streams, b""]))
    assert tell(path).tables == whole.tables
    assert "truncated" not in tell(path).notes


def test_what_comes_before_a_cut_is_read_if_the_names_do(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    names, kernels = (arrow(TABLES[name]) for name in ("StringIds", "CUPTI_ACTIVITY_KIND_KERNEL"))
    cut = stream(kernels, "CUPTI_ACTIVITY_KIND_KERNEL")[:-80]
    path = tmp_path / "report.arrows"
    whole = stream(names, "StringIds") + stream(kernels, "CUPTI_ACTIVITY_KIND_KERNEL")
    path.write_bytes(whole + cut)
    told = tell(path)
    assert len(told["kernel"]) == 49
    assert told.notes["truncated"].count == 1
    path.write_bytes(cut)
    with pytest.raises(UnreadableFile, match="before its table of names"):
        tell(path)


def test_a_cut_table_of_ranges_in_a_folder_is_left_out_and_one_of_kernels_is_refused(
    tmp_path: Path, tell: Callable[[Path], Told]
) -> None:
    folder = write_arrow_folder(tmp_path, TABLES)
    whole = tell(folder)
    ranges, kernels = (next(folder.glob(f"{name}.*")) for name in ("NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_KERNEL"))
    ranges.write_bytes(ranges.read_bytes()[:-100])
    told = tell(folder)
    assert [row["name"] for row in told["range"]] == ["read"]
    assert told["kernel"] == whole["kernel"]
    assert told.notes["damaged-table"].count == 1
    assert told.notes["damaged-table"].example.startswith("NVTX_EVENTS: ")
    kernels.write_bytes(kernels.read_bytes()[:-1000])
    with pytest.raises(UnreadableFile, match="CUPTI_ACTIVITY_KIND_KERNEL is damaged"):
        tell(folder)


def test_one_table_of_a_folder_is_refused_with_the_folder_as_hint(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    with pytest.raises(UnreadableFile) as caught:
        tell(write_arrow_folder(tmp_path, TABLES) / "CUPTI_ACTIVITY_KIND_KERNEL.arrow")
    assert "folder" in caught.value.hint


def test_one_table_in_an_archive_has_no_folder_to_look_in(tmp_path: Path) -> None:
    names = stream(arrow(TABLES["StringIds"]), "StringIds")
    (tmp_path / "run.tar").write_bytes(tar({"run/StringIds.arrows": names}))
    told = read(nsys_arrow, member_of(tmp_path / "run.tar", "run/StringIds.arrows"), tmp_path)
    assert told.facts.format == "nsys_arrow"


def test_a_batch_that_would_fill_the_memory_is_not_unpacked(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    zeros = pa.table({"start": pa.array([0] * 5000), "end": pa.array([0] * 5000)})
    packed = stream(zeros, "CUPTI_ACTIVITY_KIND_KERNEL", "zstd")
    size = struct.pack("<q", 5000 * 8)
    assert packed.count(size) >= 2
    names = stream(arrow(TABLES["StringIds"]), "StringIds")
    path = tmp_path / "report.arrows"
    path.write_bytes(names + packed.replace(size, struct.pack("<q", 2**45)))
    assert "bytes unpacked" in (tell(path).notes["truncated"].example or "")
    nothing = stream(pa.table({"start": pa.nulls(54_321), "globalTid": pa.nulls(54_321)}), "OSRT_API")
    path.write_bytes(names + nothing.replace(struct.pack("<q", 54_321), struct.pack("<q", 10**12)))
    assert "1,000,000,000,000 rows" in (tell(path).notes["truncated"].example or "")


def test_an_index_beyond_its_dictionary_is_damage(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    texts = pa.array(["gemm", "read"]).dictionary_encode()
    wrong = pa.DictionaryArray.from_arrays(pa.array([0, 77], pa.int32()), texts.dictionary, safe=False)
    path = tmp_path / "report.arrows"
    path.write_bytes(stream(pa.table({"id": [10, 11], "value": wrong}), "StringIds"))
    with pytest.raises(UnreadableFile, match="StringIds is damaged"):
        tell(path)


def test_a_first_message_of_any_kind_is_no_crash(tmp_path: Path) -> None:
    whole = stream(arrow(TABLES["OSRT_API"]), "OSRT_API")
    path = tmp_path / "report.arrows"
    said = set[str | None]()
    for at in range(4, 64):
        path.write_bytes(whole[:at] + b"O" + whole[at + 1 :])
        said.add(find_parts(path)[1])
    assert "a unknown where a schema should be" in said


def test_a_table_that_is_nested_in_one_of_its_streams_is_read(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    path = write_arrow(tmp_path, TABLES)
    more = pa.table({"start": [1], "end": [2], "globalTid": [PROCESS | 1], "nameId": [[11]]})
    path.write_bytes(path.read_bytes() + stream(more, "OSRT_API"))
    told = tell(path)
    assert told.notes["ill-typed"].example == "OSRT_API.nameId"
    assert [row.get("name") for row in told["range"] if row["kind"] == "osrt"] == [None, "11"]


def test_other_arrow_files_and_folders_are_not_claimed(tmp_path: Path) -> None:
    (tmp_path / "a.arrow").write_bytes(stream(pa.table({"x": [1]}), "penguins"))
    (tmp_path / "b.arrow").write_bytes(b"\xff\xff\xff\xff" + bytes(400))
    for path in (tmp_path, tmp_path / "a.arrow", tmp_path / "b.arrow"):
        assert not nsys_arrow.recognises(open_file(path))


def test_a_damaged_file_is_an_error_or_a_note(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    whole = write_arrow(tmp_path, TABLES)
    path = tmp_path / "damaged" / "report.arrows"
    path.parent.mkdir()
    refused = 0
    for content in damaged(whole, 15):
        path.write_bytes(content)
        try:
            reader_of(open_file(path))
            tell(path)
        except UnreadableFile as error:
            assert "report.arrows" in error.message
            refused += 1
        except AssertionError:  # the beginning is gone: some other reader, or none, takes the file
            refused += 1
    assert refused


def test_a_table_without_a_name_in_a_file_of_several_is_counted(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    path = write_arrow(tmp_path, TABLES)
    nameless = arrow([{"start": 1, "end": 2}])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, nameless.schema) as writer:
        writer.write_table(nameless)
    path.write_bytes(path.read_bytes() + sink.getvalue().to_pybytes())
    told = tell(path)
    assert told.notes["unnamed-table"].count == 1
    assert [json.loads(row["json"]) for row in told["other"]] == [{"start": 1, "end": 2}]


def test_a_table_whose_name_is_no_text_and_bytes_after_the_last_are_noted(
    tmp_path: Path, tell: Callable[[Path], Told]
) -> None:
    path = write_arrow(tmp_path, TABLES)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"CUPTI_ACTIVITY_KIND_KERNEL", b"CUPTI_ACTIVITY\xa6KIND_KERNEL"))
    told = tell(path)
    assert "kernel" not in told.tables
    note = told.notes["damaged-name"]
    assert (note.count, note.example) == (1, "CUPTI_ACTIVITY\ufffdKIND_KERNEL")
    path.write_bytes(content + b"\0\0\x01")
    told = tell(path)
    assert len(told["kernel"]) == 49
    assert told.notes["truncated"].example == "1 bytes that are no table"
