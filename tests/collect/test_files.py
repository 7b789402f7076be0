import gzip
import hashlib
import os
from pathlib import Path

import pytest

from tracelode.collect.files import open_file, reader_of
from tracelode.collect.ingest import read
from tracelode.collect.packing import ALTERED
from tracelode.store import Archive, Error, UnreadableFile

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
CONTENT = os.urandom(3_000_000)


def _content(path: Path) -> tuple[bytes, str | None, str]:
    file = open_file(path)
    return b"".join(file.blocks()), file.damage, file.sha256


def test_plain_and_gzip_give_the_same_content_and_hash(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(CONTENT)
    (tmp_path / "packed").write_bytes(gzip.compress(CONTENT))
    digest = hashlib.sha256(CONTENT).hexdigest()
    assert _content(tmp_path / "plain") == (CONTENT, None, digest)
    assert _content(tmp_path / "packed") == (CONTENT, None, digest)
    assert open_file(tmp_path / "packed").head == CONTENT[: len(open_file(tmp_path / "packed").head)]


def test_gzip_members_one_after_another_are_one_content(tmp_path: Path) -> None:
    members = b"".join(gzip.compress(CONTENT[i : i + 700_000]) for i in range(0, len(CONTENT), 700_000))
    (tmp_path / "members").write_bytes(members)
    assert _content(tmp_path / "members")[:2] == (CONTENT, None)


def test_what_follows_the_last_member_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "padded").write_bytes(gzip.compress(CONTENT) + b"\0" * 1000)
    assert _content(tmp_path / "padded")[:2] == (CONTENT, None)


@pytest.mark.parametrize("missing", [1, 8, 9, 1000, 2_000_000])
def test_cut_gzip_gives_what_is_there_and_says_so(tmp_path: Path, missing: int) -> None:
    (tmp_path / "cut").write_bytes(gzip.compress(CONTENT)[:-missing])
    content, damage, _ = _content(tmp_path / "cut")
    assert damage == "gzip: ends in the middle"
    assert CONTENT.startswith(content)
    assert len(content) >= len(CONTENT) - missing - 40_000


def test_gzip_with_flipped_bytes_is_damage_not_a_crash(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(b"some text, over and over. " * 40_000))
    packed[len(packed) // 2] ^= 0xFF
    (tmp_path / "flipped").write_bytes(packed)
    damage = _content(tmp_path / "flipped")[1]
    assert damage is not None
    assert damage.startswith("gzip: ")


def test_leaving_the_blocks_early_ends_the_thread(tmp_path: Path) -> None:
    import threading

    before = threading.enumerate()  # a server of another test may still be there
    (tmp_path / "plain").write_bytes(CONTENT * 4)
    blocks = open_file(tmp_path / "plain").blocks()
    assert next(blocks)
    blocks.close()  # type: ignore[attr-defined] - a generator
    assert [thread for thread in threading.enumerate() if thread not in before] == []


def test_missing_and_empty_files_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Error, match="no such file") as missing:
        open_file(tmp_path / "nothing")
    assert missing.value.exit_code == 2
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(UnreadableFile, match="empty"):
        open_file(tmp_path / "empty")
    (tmp_path / "empty.gz").write_bytes(gzip.compress(b"")[:5])
    with pytest.raises(UnreadableFile, match="does not decompress"):
        open_file(tmp_path / "empty.gz")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnreadableFile, match="not a file"):
        open_file(tmp_path / "pipe")
    with pytest.raises(UnreadableFile, match="no trace by itself"):
        reader_of(open_file(tmp_path))


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "Git LFS pointer"),
        (b'<?xml version="1.0"?>\n<a/>', "not a trace of a known format .it begins '<\\?xml"),
        (b"\x1b[2J\0\xff nonsense", "not a trace of a known format"),
        (b"name,start,end\nk,1,2\n", "not a trace of a known format"),
    ],
)
def test_what_is_no_trace_is_refused_in_words(tmp_path: Path, content: bytes, fault: str) -> None:
    (tmp_path / "trace.json").write_bytes(content)
    with pytest.raises(UnreadableFile, match=fault) as caught:
        reader_of(open_file(tmp_path / "trace.json"))
    assert "\x1b" not in str(caught.value)
    assert caught.value.hint


def _packed(name: str, content: bytes) -> bytes:
    import bz2
    import io
    import lzma
    import zipfile

    import pyarrow as pa

    if name == "zstd":
        return pa.compress(content, "zstd", asbytes=True)
    if name == "zip":
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("folder/", b"")
            archive.writestr("folder/trace.json", content)
        return file.getvalue()
    return {"xz": lzma.compress, "bzip2": bz2.compress}[name](content)


@pytest.mark.parametrize("name", ["zstd", "xz", "bzip2", "zip"])
def test_other_packings_give_the_same_content(tmp_path: Path, name: str) -> None:
    (tmp_path / "packed").write_bytes(_packed(name, CONTENT))
    assert open_file(tmp_path / "packed").packing == name
    assert _content(tmp_path / "packed") == (CONTENT, None, hashlib.sha256(CONTENT).hexdigest())


@pytest.mark.parametrize("name", ["zstd", "xz", "bzip2"])
def test_other_packings_cut_short_give_a_beginning_and_say_so(tmp_path: Path, name: str) -> None:
    packed = _packed(name, CONTENT)
    (tmp_path / "cut").write_bytes(packed[: len(packed) * 2 // 3])
    content, damage, _ = _content(tmp_path / "cut")
    assert damage is not None
    assert damage.startswith(f"{name}: ")
    assert CONTENT.startswith(content)
    assert len(content) > 1_000_000


def test_gzip_with_a_wrong_checksum_gives_all_it_holds_and_says_so(tmp_path: Path) -> None:
    packed = gzip.compress(CONTENT)
    (tmp_path / "altered").write_bytes(packed[:-8] + bytes(4) + packed[-4:])
    content, damage, _ = _content(tmp_path / "altered")
    assert content == CONTENT
    assert damage == f"gzip: {ALTERED}"
    (tmp_path / "altered").write_bytes(packed[:-8] + bytes(4) + packed[-4:] + gzip.compress(b"more"))
    content, damage, _ = _content(tmp_path / "altered")
    assert (content, str(damage).startswith("gzip: Error")) == (CONTENT, True)  # the next member is not read
    sample = bytearray((SAMPLES / "train.json.gz").read_bytes())
    sample[-8] ^= 1
    (tmp_path / "train.json.gz").write_bytes(sample)
    trace, _ = read(tmp_path / "train.json.gz", Archive(tmp_path / "t"))
    whole, _ = read(SAMPLES / "train.json.gz", Archive(tmp_path / "t"))
    assert ({note.kind for note in trace.notes}, trace.rows) == ({"wrong-checksum"}, whole.rows)


@pytest.mark.parametrize("name", ["gzip", "xz", "bzip2"])
def test_what_follows_a_member_is_another_padding_or_damage(tmp_path: Path, name: str) -> None:
    import gzip

    pack = gzip.compress if name == "gzip" else lambda content: _packed(name, content)
    one, two = pack(b"[" * 1000), pack(b"]" * 1000)
    file = tmp_path / "packed"
    for after in (b"", b"\0" * 8):
        file.write_bytes(one + after + two + after)
        assert _content(file)[:2] == (b"[" * 1000 + b"]" * 1000, None)
    for damaged in (one + b"X" + two[1:], one + two[:5], one + two[:-12], one + two + b"more"):
        file.write_bytes(damaged)
        content, damage, _ = _content(file)
        assert content.startswith(b"[" * 1000)
        assert damage is not None
        assert damage.startswith(f"{name}: ")


def test_a_folder_hashes_the_names_lengths_and_contents_of_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "report_pqtdir"
    folder.mkdir()
    (folder / "b.parquet").write_bytes(b"22")
    (folder / "a.parquet").write_bytes(b"1")
    (folder / ".hidden").write_bytes(b"x")
    (folder / "below").mkdir()
    file = open_file(folder)
    assert (file.head, file.packing) == (b"", None)
    assert [path.name for path in file.members()] == ["a.parquet", "b.parquet"]
    content = b"a.parquet\0" + (1).to_bytes(8, "big") + b"1" + b"b.parquet\0" + (2).to_bytes(8, "big") + b"22"
    assert file.digest() == hashlib.sha256(content).hexdigest()
    assert (file.status().st_size, file.status().st_mtime_ns) == (
        3,
        max(path.stat().st_mtime_ns for path in file.members()),
    )


def test_what_is_taken_from_the_file_is_told_as_it_is_taken(tmp_path: Path) -> None:
    (tmp_path / "packed").write_bytes(gzip.compress(CONTENT))
    file = open_file(tmp_path / "packed")
    told: list[int] = []
    file.heard = told.append
    for _ in file.blocks():
        pass
    assert sum(told) == (tmp_path / "packed").stat().st_size
    assert len(told) > 5


def test_a_bomb_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracelode.collect import packing

    monkeypatch.setattr(packing, "RATIO_FROM", 1 << 20)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"\0" * (8 << 20)))
    with pytest.raises(UnreadableFile, match="grows more than 1000 times"):
        _content(tmp_path / "bomb.gz")
