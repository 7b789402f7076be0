import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tests.collect.small_traces import trace
from tracelode.collect import archives, packing, tar_archive
from tracelode.collect.archives import Member, archive_at, member_of
from tracelode.collect.files import TraceFile, open_file
from tracelode.collect.ingest import read, read_all
from tracelode.collect.inputs import inputs
from tracelode.store import Archive, Error, UnreadableFile

FILES = {"run/rank0.json": trace("a"), "run/rank1.json.gz": gzip.compress(trace("b")), "notes.txt": b"some notes"}
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "tar": bytes,
    "tar.gz": gzip.compress,
    "tar.xz": lzma.compress,
    "tar.bz2": bz2.compress,
    "tar.zst": lambda content: pa.compress(content, "zstd", asbytes=True),
}


def tar(files: dict[str, bytes], *others: tarfile.TarInfo) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for info in others:
            archive.addfile(info)
    return out.getvalue()


def zipped(*files: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return out.getvalue()


def special(name: str, kind: bytes, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def names(path: Path) -> list[str]:
    found = archive_at(path)
    assert found is not None
    return [member.member for member in found.members]


def content(file: TraceFile) -> bytes:
    return b"".join(file.blocks())


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("suffix", [*PACKED, "zip"])
def test_each_member_is_a_file_of_its_own_and_nothing_is_written(tmp_path: Path, suffix: str) -> None:
    data = zipped(*FILES.items()) if suffix == "zip" else PACKED[suffix](tar(FILES))
    path = write(tmp_path / f"a.{suffix}", data)
    assert names(path) == [*FILES]
    plain, packed = (open_file(member_of(path, name)) for name in ("run/rank0.json", "run/rank1.json.gz"))
    assert (content(plain), plain.damage, str(plain.path)) == (trace("a"), None, f"{path}!/run/rank0.json")
    assert (content(packed), packed.damage) == (trace("b"), None)
    assert plain.packing == suffix.partition(".")[0]
    assert packed.packing == "gzip"
    assert content(plain) == trace("a")  # again, after another
    assert list(tmp_path.iterdir()) == [path]


def test_a_member_is_known_by_its_name_and_place_and_read_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tar", tar(FILES))
    archive = Archive(tmp_path / "t")
    first, new = read(f"{path}!/run/rank1.json.gz", archive)
    again, newer = read(f"{path}!/run/rank1.json.gz", archive)
    assert (new, newer, again.id) == (True, False, first.id)
    (one,) = archive.memberships()
    assert (one.source.path, one.rank, one.rank_from) == (f"{path}!/run/rank1.json.gz", 1, "name")
    with pytest.raises(Error, match="no file x in the archive") as caught:
        read(f"{path}!/x", archive)
    assert caught.value.hint == "there are: run/rank0.json, run/rank1.json.gz, notes.txt"
    with pytest.raises(Error, match="not an archive"):
        read(f"{write(tmp_path / 'x.json', trace())}!/x", archive)


def test_an_archive_of_one_file_is_that_file(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "t")
    found = [
        read(write(tmp_path / name, data), archive)[0].id
        for name, data in {
            "plain.json": trace(),
            "one.zip": zipped(("folder/", b""), ("folder/t.json", trace())),
            "one.tar": tar({"t.json": trace()}),
            "packed.tar.gz": gzip.compress(tar({"t.json.gz": gzip.compress(trace())})),
        }.items()
    ]
    assert len(set(found)) == 1
    assert [one.source.path for one in archive.memberships()] == [
        str(tmp_path / name) for name in ("one.tar", "one.zip", "packed.tar.gz", "plain.json")
    ]


def test_an_archive_of_several_files_is_no_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tar.gz", gzip.compress(tar(FILES)))
    with pytest.raises(UnreadableFile, match="holds 3 files") as caught:
        open_file(path)
    assert caught.value.hint == f"read them all: tracelode ingest {path}, or give one: {path}!/run/rank0.json"


def test_names_lead_nowhere_and_those_given_twice_are_both_kept(tmp_path: Path) -> None:
    hostile = ["../../etc/passwd", "/root/x.json", "./run/./x.json", "a/../../b.json", "\x1b[2J.json"]
    data = zipped(*((name, trace()) for name in hostile))
    assert names(write(tmp_path / "a.zip", data)) == ["../../etc/passwd", "/root/x.json", "run/./x.json", *hostile[3:]]
    for name in names(tmp_path / "a.zip"):
        assert content(open_file(member_of(tmp_path / "a.zip", name))) == trace()
    first, second = tar({"x.json": trace("a")}), tar({"x.json": trace("b")})
    twice = write(tmp_path / "twice.tar", first.rstrip(b"\0").ljust(1024, b"\0") + second)
    assert names(twice) == ["x.json", "x.json#2"]
    assert [content(open_file(member_of(twice, name))) for name in names(twice)] == [trace("a"), trace("b")]
    assert {path.name for path in tmp_path.iterdir()} == {"a.zip", "twice.tar"}


def test_names_that_are_not_utf8_are_shown_as_escapes_and_can_be_given_so(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT, encoding="latin-1") as archive:
        for name in ("läuft.json", "x.json"):
            info = tarfile.TarInfo(name)
            info.size = len(trace())
            archive.addfile(info, io.BytesIO(trace()))
    path = write(tmp_path / "a.tar", out.getvalue())
    assert names(path) == ["l\\xe4uft.json", "x.json"]
    assert content(open_file(member_of(path, "l\\xe4uft.json"))) == trace()


def test_links_devices_and_folders_are_no_files_and_hidden_ones_are_passed_over(tmp_path: Path) -> None:
    others = (
        special("s", tarfile.SYMTYPE, "/etc/passwd"),
        special("h", tarfile.LNKTYPE, "x.json"),
        special("null", tarfile.CHRTYPE),
        special("pipe", tarfile.FIFOTYPE),
        special("folder", tarfile.DIRTYPE),
    )
    path = write(tmp_path / "a.tar", tar({"x.json": trace(), ".git/y.json": b"1", "__MACOSX/z": b"1"}, *others))
    found = archive_at(path)
    assert found is not None
    assert [member.member for member in found.members] == ["x.json"]
    assert found.left_out == (
        f"{path}!/s: a link",
        f"{path}!/h: a link",
        f"{path}!/null: a device, a pipe or something unknown",
        f"{path}!/pipe: a device, a pipe or something unknown",
    )
    link = zipfile.ZipInfo("s")
    link.external_attr = 0o120777 << 16
    zip_path = write(tmp_path / "a.zip", zipped((link, b"/etc/passwd"), ("x.json", trace())))
    found = archive_at(zip_path)
    assert found is not None
    assert found.left_out == (f"{zip_path}!/s: a link",)


@pytest.mark.parametrize("data", [tar({}), b"\0" * 10_240, zipped(), tar({}, special("s", tarfile.SYMTYPE, "x"))])
def test_an_archive_without_files_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(UnreadableFile, match=r"the (tar|zip) archive holds (no file|only .*: a link)"):
        open_file(write(tmp_path / "a", data))


def test_an_encrypted_member_is_refused_in_words(tmp_path: Path) -> None:
    data = bytearray(zipped(("x.json", trace()), ("y.json", trace())))
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.find(mark) + flags] |= 1
    path = write(tmp_path / "a.zip", bytes(data))
    with pytest.raises(UnreadableFile, match=r"a.zip!/x.json: is encrypted"):
        open_file(member_of(path, "x.json"))
    assert content(open_file(member_of(path, "y.json"))) == trace()
    sealed, good = read_all(list(inputs(path, None, pytest.fail)), tmp_path / "t")  # found, and still an error
    assert (sealed.left_out, str(sealed.error), good.new) == (False, f"{path}!/x.json: is encrypted", True)


@pytest.mark.parametrize(
    ("place", "value", "fault"),
    [
        (6, 64, "a.zip: cannot be unpacked: zip file version 6.4"),  # told when the archive is opened
        (8, 1 << 5, r"a.zip!/x.json: cannot be unpacked: compressed patched data \(flag bit 5\)"),
        (8, 1 << 6, r"a.zip!/x.json: cannot be unpacked: strong encryption \(flag bit 6\)"),
        (10, 98, r"a.zip!/x.json: cannot be unpacked: That compression method is not supported"),
    ],
)
def test_a_form_of_zip_that_is_not_known_is_refused_with_the_advice_to_unpack(
    tmp_path: Path, place: int, value: int, fault: str
) -> None:
    data = bytearray(zipped(("x.json", trace())))
    data[data.find(b"PK\x01\x02") + place] = value
    with pytest.raises(UnreadableFile, match=fault) as caught:
        open_file(write(tmp_path / "a.zip", bytes(data)))
    assert caught.value.hint == "unpack the archive and give the trace file"


@pytest.mark.parametrize("suffix", [*PACKED, "zip"])
def test_any_cut_or_changed_byte_gives_an_error_or_a_damage_never_more(tmp_path: Path, suffix: str) -> None:
    whole = zipped(*FILES.items()) if suffix == "zip" else PACKED[suffix](tar(FILES))
    step = max(1, len(whole) // 60)
    for at in range(0, len(whole), step):
        for data in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]):
            path = write(tmp_path / "a", data)
            try:
                found = archive_at(path)
                for member in found.members if found else ():
                    content(open_file(member))
            except Error as error:
                assert error.hint
            finally:
                path.unlink()


@pytest.mark.parametrize("suffix", ["tar", "tar.gz"])
def test_a_tar_cut_short_keeps_what_is_before_the_cut(tmp_path: Path, suffix: str) -> None:
    long = trace("x" * 100_000)
    data = tar({"a.json": trace("a"), "b.json": long, "c.json": trace("c")})[:60_000]
    path = write(tmp_path / f"cut.{suffix}", PACKED[suffix](data))
    found = archive_at(path)
    assert found is not None
    assert [member.member for member in found.members] == ["a.json", "b.json"]
    assert found.damage == "unexpected end of data"
    whole, cut = (open_file(member) for member in found.members)
    assert (content(whole), whole.damage) == (trace("a"), None)
    assert long.startswith(content(cut))
    assert cut.damage == "tar: the archive ends in the middle of the file"


def test_a_header_that_is_damaged_ends_the_list_with_a_word(tmp_path: Path) -> None:
    data = bytearray(tar({"a.json": b"a" * 100, "b.json": b"b" * 100, "c.json": b"c"}))
    data[1024:1030] = b"BROKEN"
    found = archive_at(write(tmp_path / "a.tar", bytes(data)))
    assert found is not None
    assert [member.member for member in found.members] == ["a.json"]
    assert found.damage == "no member's header at byte 1,024"
    file = open_file(tmp_path / "a.tar")
    assert (content(file), file.damage) == (b"a" * 100, "tar: no member's header at byte 1,024")


def test_a_header_longer_than_any_is_not_read(tmp_path: Path) -> None:
    info = special("x", b"x")
    info.size = (8 << 30) - 1
    data = tar({"a.json": trace()}).rstrip(b"\0").ljust(1024, b"\0") + info.tobuf(tarfile.USTAR_FORMAT) + b"9" * 2048
    found = archive_at(write(tmp_path / "a.tar", data))
    assert found is not None
    assert found.damage == f"a header of {8 << 30:,} bytes"


def test_too_many_members_and_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_ENTRIES", 2)
    with pytest.raises(UnreadableFile, match="lists more than 2 entries"):
        archive_at(write(tmp_path / "many.zip", zipped(*FILES.items())))
    monkeypatch.setattr(packing, "RATIO_FROM", 1 << 20)
    bomb = tar({"a.json": b"{" * (8 << 20), "b.json": b""})
    with pytest.raises(UnreadableFile, match="grows more than 1000 times"):
        archive_at(write(tmp_path / "bomb.tar.gz", gzip.compress(bomb)))
    path = write(tmp_path / "bomb.zip", zipped(("a.json", b"{" * (8 << 20)), ("b.json", b"")))
    with pytest.raises(UnreadableFile, match="grows more than 1000 times"):
        content(open_file(member_of(path, "a.json")))
    twice = gzip.compress(gzip.compress(b"{" * (64 << 20)))  # measured against what lies on the disk
    path = write(tmp_path / "twice.tar", tar({"a.json.gz": twice[:-1], "b": b""}))
    with pytest.raises(UnreadableFile):
        content(open_file(write(tmp_path / "twice.zip", zipped(("a.gz", gzip.compress(b"{" * (64 << 20)))))))


def test_an_archive_within_an_archive_is_read_where_it_holds_one_file(tmp_path: Path) -> None:
    inner = {"one.zip": zipped(("x.json", trace())), "two.zip": zipped(("x.json", trace()), ("y.json", trace()))}
    deep = zipped(("deep.zip", zipped(("x.json", trace()))))
    path = write(tmp_path / "a.tar", tar({**inner, "deep.zip": deep}))
    assert content(open_file(member_of(path, "one.zip"))) == trace()
    for name in ("two.zip", "deep.zip"):
        with pytest.raises(UnreadableFile, match="an archive within an archive") as caught:
            open_file(member_of(path, name))
        assert caught.value.hint.startswith("unpack ")


def test_the_files_beside_a_member_are_those_of_its_archive(tmp_path: Path) -> None:
    path = write(tmp_path / "a.zip", zipped(("run/1_kernel_trace.csv", b"k"), ("run/1_hip_api_trace.csv", b"h")))
    member = member_of(path, "run/1_kernel_trace.csv")
    there, absent = member.with_name("1_hip_api_trace.csv"), member.with_name("nothing")
    assert (member.name, there.is_file(), there.open("rb").read()) == ("1_kernel_trace.csv", True, b"h")
    assert not absent.is_file()
    with pytest.raises(Error, match="no such file"):
        open_file(absent)


def test_a_compressed_tar_is_decompressed_once_to_list_it_and_once_for_all_its_members(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes: list[str] = []

    def counted(place: Path | Member, *rest: str, **options: int) -> object:
        passes.append(str(place))
        return packing.unpack(place, *rest, **options)  # type: ignore[arg-type] - whatever it was called with

    monkeypatch.setattr(tar_archive, "unpack", counted)
    files = {f"rank{n}.json": trace("k" * 3_000_000 + str(n)) for n in range(6)}
    path = write(tmp_path / "a.tar.gz", gzip.compress(tar(files), 1))
    found = archive_at(path)
    assert found is not None
    for member, wanted in zip(found.members, files.values(), strict=True):
        assert content(open_file(member)) == wanted
    assert passes == [str(path)] * 2
