import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tracelode.collect.nsys_pqtdir import ParquetTable, open_table
from tracelode.collect.parquet_pages import unpacked_bytes

ZEROS = pa.table({"start": pa.array([0] * 5000, pa.int64())})


def varint(value: int) -> bytes:
    value <<= 1  # zigzag
    parts = [value >> shift & 0x7F for shift in (0, 7, 14)]
    return bytes([parts[0] | 0x80, parts[1] | 0x80, parts[2]])


def write(path: Path, table: pa.Table, **options: object) -> pq.FileMetaData:
    pq.write_table(table, path, **options)  # pyright: ignore[reportArgumentType] - options of the test
    return pq.read_metadata(path)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_the_pages_come_to_what_the_footer_says_but_for_their_headers(
    tmp_path: Path, version: str, compression: str
) -> None:
    texts = pa.table({"a": list(range(3000)), "b": ["x" * (n % 40) for n in range(3000)], "c": [[1, 2]] * 3000})
    options = {"data_page_version": version, "compression": compression, "row_group_size": 1000}
    metadata = write(tmp_path / "t.parquet", texts, data_page_size=2000, use_dictionary=["b"], **options)
    chunks = [metadata.row_group(g).column(c) for g in range(3) for c in range(metadata.num_columns)]
    said = sum(chunk.total_uncompressed_size for chunk in chunks)
    assert said * 0.9 < unpacked_bytes(tmp_path / "t.parquet") <= said


@pytest.mark.parametrize("kind", [1, 2, 3, 7], ids=["true", "false", "byte", "double"])
def test_a_list_of_more_values_than_the_file_has_bytes_is_told(tmp_path: Path, kind: int) -> None:
    path = tmp_path / "t.parquet"
    footer = bytes([0x19, 0xF0 | kind, *[0x80] * 8, 0x10, 0])  # field 1: a list of 2^60 values
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(ValueError, match="beyond the end of the file"):
        unpacked_bytes(path)


def test_a_page_is_believed_and_not_the_footer(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write(path, ZEROS, use_dictionary=False, compression="zstd")
    honest = unpacked_bytes(path)
    content = path.read_bytes()
    assert content.count(varint(honest)) == 1
    path.write_bytes(content.replace(varint(honest), varint(1_000_000)))
    assert unpacked_bytes(path) == 1_000_000


def test_a_file_whose_pages_are_none_is_told(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write(path, ZEROS, use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[4:12] = b"\xff" * 8
    path.write_bytes(content)
    assert isinstance(open_table(path), str)


def test_changed_bytes_give_a_table_or_words(tmp_path: Path) -> None:
    path, numbers = tmp_path / "t.parquet", random.Random(5)
    write(path, pa.table({"a": list(range(500)), "b": ["text"] * 500}))
    whole = path.read_bytes()
    told = 0
    for _ in range(150):
        content = bytearray(whole)
        content[numbers.randrange(len(content))] = numbers.randrange(256)
        path.write_bytes(content)
        found = open_table(path)
        assert isinstance(found, ParquetTable | str)
        told += isinstance(found, str)
    assert told > 5
