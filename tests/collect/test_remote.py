import gzip
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collect.object_store import MODIFIED, ObjectStore, serving
from tests.collect.small_traces import trace
from tests.collect.test_archives import tar
from tracelode.collect import remote
from tracelode.collect.files import open_file
from tracelode.collect.ingest import known, look, read
from tracelode.collect.inputs import inputs, place_of
from tracelode.collect.remote import Remote
from tracelode.store import Archive, Error, UnreadableFile

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
BIG = os.urandom(5_000_000)
OBJECTS = {
    "run/rank0.json": trace("a"),
    "run/rank1.json.gz": gzip.compress(trace("b")),
    "run/deep/größe 2.json": trace("c"),
    "run/.hidden/x.json": trace("d"),
    "two.tar.gz": gzip.compress(tar({"rank0.json": trace("a"), "rank1.json": trace("b")})),
    "big.bin": BIG,
    "big.gz": gzip.compress(BIG, 0),
    "empty": b"",
}


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    remote._filesystem.cache_clear()
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_NO_SIGN_REQUEST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with serving("b", OBJECTS) as store:
        monkeypatch.setenv("AWS_ENDPOINT_URL", store.url)
        yield store
    remote._filesystem.cache_clear()


def test_an_object_is_read_by_ranges_and_named_by_its_url(store: ObjectStore) -> None:
    file = open_file(place_of("s3://b/big.bin"))
    assert (file.packing, str(file.path), file.path.name, file.damage) == ("s3", "s3://b/big.bin", "big.bin", None)
    store.requests.clear()
    assert b"".join(file.blocks()) == BIG
    assert store.requests.count("GET big.bin") == 2  # of 4 MiB each
    file = open_file(place_of("s3://b/big.gz"))
    assert (b"".join(file.blocks()), file.packing) == (BIG, "gzip")


def test_the_store_is_asked_no_more_often_than_needed(store: ObjectStore, tmp_path: Path) -> None:
    read("s3://b/run/rank0.json", Archive(tmp_path))
    look, give = "HEAD run/rank0.json", "GET run/rank0.json"
    assert store.requests == [look, look, give, look, give]  # opening asks for the size, too


def test_a_trace_in_the_store_is_known_by_url_size_and_time(store: ObjectStore, tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    assert known(look("s3://b/run/rank1.json.gz"), archive) is None
    first, new = read("s3://b/run/rank1.json.gz", archive)
    again = known(look("s3://b/run/rank1.json.gz"), archive)
    assert (new, first.kernel.collect()["name"].to_list()) == (True, ["b"])
    assert again is not None
    assert again.id == first.id
    (one,) = archive.memberships()
    assert (one.source.path, one.source.bytes) == ("s3://b/run/rank1.json.gz", len(OBJECTS["run/rank1.json.gz"]))
    assert one.source.modified_ns == int(MODIFIED.timestamp()) * 10**9
    assert (one.rank, one.rank_from) == (1, "name")
    store.objects["run/rank1.json.gz"] = gzip.compress(trace("another"))
    assert known(look("s3://b/run/rank1.json.gz"), archive) is None


@pytest.mark.parametrize("url", ["s3://b/run", "s3://b/run/"])
def test_a_prefix_is_a_folder_with_all_objects_below(store: ObjectStore, url: str, tmp_path: Path) -> None:
    found = list(inputs(place_of(url), None, pytest.fail))
    assert [str(one.place) for one in found] == [
        "s3://b/run/deep/größe 2.json",
        "s3://b/run/rank0.json",
        "s3://b/run/rank1.json.gz",
    ]
    assert {(one.run, one.found) for one in found} == {("run", True)}
    assert read("s3://b/run/deep/größe 2.json", Archive(tmp_path))[1]
    (only,) = inputs(place_of("s3://b/nothing/"), None, pytest.fail)
    assert only.fault is None  # reading it says that it is not there
    with pytest.raises(Error, match="no such file"):
        open_file(only.place)


def test_a_member_of_an_archive_in_the_store_is_read(store: ObjectStore, tmp_path: Path) -> None:
    found = list(inputs(place_of("s3://b/two.tar.gz"), None, pytest.fail))
    assert [(str(one.place), one.run) for one in found] == [
        ("s3://b/two.tar.gz!/rank0.json", "two"),
        ("s3://b/two.tar.gz!/rank1.json", "two"),
    ]
    read("s3://b/two.tar.gz!/rank1.json", Archive(tmp_path))
    assert [one.rank for one in Archive(tmp_path).memberships()] == [1]
    with pytest.raises(Error, match="no such file") as caught:
        place_of("s3://b/nothing.tar!/x")
    assert caught.value.exit_code == 2


def test_a_database_in_the_store_is_read_through_a_copy_that_is_gone_afterwards(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.objects["train.sqlite"] = (SAMPLES / "train.sqlite").read_bytes()
    (tmp_path / "spool").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "spool"))
    far, near = Archive(tmp_path / "far"), Archive(tmp_path / "near")
    trace, _ = read("s3://b/train.sqlite", far)
    assert trace.rows == read(SAMPLES / "train.sqlite", near)[0].rows
    assert trace.id == near.manifests()[0].id
    assert list((tmp_path / "spool").iterdir()) == []


def test_what_is_not_there_not_allowed_or_empty_is_told_in_words(store: ObjectStore) -> None:
    store.refused.add("run/rank0.json")
    for url, fault, hint in (
        ("s3://b/nothing", "no such file", "check the path"),
        ("s3://other/x", "no such file", "check the path"),
        ("s3://b/run/rank0.json", "access denied: ACCESS_DENIED", "set AWS_ACCESS_KEY_ID"),
        ("s3://", "names no bucket", "give s3://BUCKET/KEY"),
    ):
        with pytest.raises(Error, match=fault) as caught:
            open_file(place_of(url))
        assert (caught.value.exit_code, caught.value.message[: len(url)]) == (2, url)
        assert caught.value.hint.startswith(hint)
    with pytest.raises(UnreadableFile, match="empty"):
        open_file(place_of("s3://b/empty"))


@pytest.mark.parametrize("key", ["big.bin", "big.gz"])
def test_a_store_that_fails_in_the_middle_is_an_error_and_no_damage_of_the_file(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr(remote, "TRIES", 1)
    file = open_file(place_of(f"s3://b/{key}"))
    store.broken_after = 4_000_000
    with pytest.raises(Error, match=f"s3://b/{key}: ") as caught:
        list(file.blocks())
    assert caught.value.exit_code == 2
    assert file.damage is None


def test_a_store_that_is_not_reached_or_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("CONNECT_S", 1), ("REQUEST_S", 1), ("TRIES", 1)):
        monkeypatch.setattr(remote, name, value)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    begin = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for port in (9, silent.getsockname()[1]):
            remote._filesystem.cache_clear()
            monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
            with pytest.raises(Error, match="s3://b/x: NETWORK_CONNECTION") as caught:
                open_file(place_of("s3://b/x"))
            assert caught.value.hint == "check the network, AWS_ENDPOINT_URL and AWS_REGION"
    remote._filesystem.cache_clear()
    assert time.monotonic() - begin < 60


def test_urls_go_to_the_filesystem_of_their_scheme(tmp_path: Path) -> None:
    assert place_of("gs://bucket/run/rank0.json") == Remote("gs://bucket/run/rank0.json")
    filesystem, key = remote._found("gs://bucket/run/rank0.json")
    assert (filesystem.type_name, key) == ("gcs", "bucket/run/rank0.json")
    remote._filesystem.cache_clear()
    (tmp_path / "a b.json").write_bytes(trace())
    assert place_of((tmp_path / "a b.json").as_uri()) == tmp_path / "a b.json"
    for url in ("http://host/x.json", "hdfs://host/x"):
        with pytest.raises(Error, match="URLs are not read") as caught:
            place_of(url)
        assert caught.value.hint == "give a path, or one of: s3, gs, file"
    assert Remote("s3://b/run/x.json").with_name("y.csv") == Remote("s3://b/run/y.csv")


def test_the_endpoint_and_the_access_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://elsewhere:1/")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    first = remote._amazon("b")
    monkeypatch.setenv("AWS_NO_SIGN_REQUEST", "yes")
    public = remote._amazon("b")
    assert first.region == "eu-central-1"
    assert not first.equals(public)
