"""Inputs in object stores: `s3://bucket/key` and `gs://bucket/key` through Arrow's filesystems, read by ranges.

Credentials, region and endpoint are taken from the environment, as the stores' own tools take them.
"""

import io
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import IO, TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from ..store.errors import Error
from .places import Place, Status
from .stream import Stream

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

__all__ = ["SCHEMES", "Remote", "looked_up"]

SCHEMES = ("s3", "gs")
CONNECT_S, REQUEST_S, TRIES = 5, 10, 3
"""Waits for a store that does not answer, and how often it is asked: half a minute in all."""

RANGE = 1 << 22
"""Bytes of one request: each costs a round trip, which a smaller range would not be worth."""

CREDENTIALS = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; for public data AWS_NO_SIGN_REQUEST=YES",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS to the file with your credentials",
}
REACHED = {
    "s3": "check the network, AWS_ENDPOINT_URL and AWS_REGION",
    "gs": "check the network and GOOGLE_APPLICATION_CREDENTIALS",
}


@dataclass(frozen=True)
class Remote:
    """An object of a store, or all objects whose keys begin with a prefix: then it is a folder."""

    url: str
    status: Status | None = field(default=None, compare=False)
    """Set for an object that was looked up or listed: the store is then not asked again."""

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        """The last part of the key, or of the prefix."""
        return self.url.rstrip("/").rpartition("/")[2]

    def with_name(self, name: str) -> "Remote":
        """The object beside it with that name."""
        return Remote(f"{self.url.rstrip('/').rpartition('/')[0]}/{name}")

    def is_file(self) -> bool:
        """Whether there is an object with that key."""
        return self.status is not None or (not self.url.endswith("/") and _info(self.url).is_file)

    def is_dir(self) -> bool:
        """Whether there are objects whose keys begin with this and a slash."""
        from pyarrow.fs import FileType

        return self.status is None and _info(self.url).type == FileType.Directory

    def stat(self) -> Status:
        """Size and time of the object; 0 for what is none."""
        return self.status or _status(_info(self.url))

    def open(self, mode: Literal["rb"]) -> IO[bytes]:
        """The object, read by ranges of some megabytes."""
        filesystem, key = _found(self.url)
        with _store_errors(self.url):
            raw = filesystem.open_input_file(key)

        def told(buffer: Any) -> int:
            """The store's complaints as ours: they are no damage of the content."""
            with _store_errors(self.url):
                return raw.readinto(buffer)

        return io.BufferedReader(Stream(raw, told), RANGE)

    def objects(self) -> Iterator["Remote"]:
        """All objects below the prefix, by key."""
        from pyarrow.fs import FileSelector

        filesystem, key = _found(self.url)
        with _store_errors(self.url):
            infos = filesystem.get_file_info(FileSelector(key, recursive=True))
        start = f"{urlsplit(self.url).scheme}://"
        for path, info in sorted((str(info.path), info) for info in infos if info.is_file):
            yield Remote(start + path, _status(info))


def looked_up(place: Place) -> Place:
    """The place; an object of a store with its size and time as they are now."""
    if not isinstance(place, Remote) or place.status or place.url.endswith("/"):
        return place
    info = _info(place.url)
    return Remote(place.url, _status(info)) if info.is_file else place


def _info(url: str) -> "FileInfo":
    filesystem, key = _found(url)
    with _store_errors(url):
        return filesystem.get_file_info(key)


def _status(info: "FileInfo") -> Status:
    return Status(info.size or 0, info.mtime_ns or 0)


def _found(url: str) -> tuple["FileSystem", str]:
    """The filesystem of a URL and the key there, which begins with the bucket."""
    scheme, _, key = url.partition("://")
    bucket = key.partition("/")[0]
    if not bucket:
        raise Error(f"{url}: names no bucket", f"give {scheme}://BUCKET/KEY")
    with _store_errors(url):
        return _filesystem(scheme, bucket), key.rstrip("/")


@cache
def _filesystem(scheme: str, bucket: str) -> "FileSystem":
    return _google() if scheme == "gs" else _amazon(bucket)


def _google() -> "FileSystem":
    from pyarrow.fs import GcsFileSystem

    return GcsFileSystem(retry_time_limit=timedelta(seconds=CONNECT_S + REQUEST_S))


def _amazon(bucket: str) -> "FileSystem":
    """Not `FileSystem.from_uri`: that one waits for as long as the store likes."""
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem, resolve_s3_region

    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    options: dict[str, Any] = {"connect_timeout": CONNECT_S, "request_timeout": REQUEST_S}
    options["retry_strategy"] = AwsStandardS3RetryStrategy(max_attempts=TRIES)
    if os.environ.get("AWS_NO_SIGN_REQUEST", "").upper() in ("YES", "TRUE", "1"):
        options["anonymous"] = True
    if endpoint:
        scheme, _, host = endpoint.rpartition("://")
        options |= {"endpoint_override": host.rstrip("/"), "scheme": scheme or "https"}
    return S3FileSystem(region=region or ("us-east-1" if endpoint else resolve_s3_region(bucket)), **options)


@contextmanager
def _store_errors(url: str) -> Generator[None]:
    scheme = url.partition("://")[0]
    try:
        yield
    except FileNotFoundError as error:
        raise Error(f"{url}: no such object", "check the URL") from error
    except (OSError, ValueError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        denied = any(
            word in reason
            for word in ("ACCESS_DENIED", "SIGNATURE", "INVALID_ACCESS_KEY", "OAuth2", "PERMISSION_DENIED")
        )
        if denied:
            raise Error(f"{url}: access denied: {_short(reason)}", CREDENTIALS[scheme]) from error
        raise Error(f"{url}: {_short(reason)}", REACHED[scheme]) from error


def _short(reason: str) -> str:
    """The part of Arrow's sentence that says what the store or the network said."""
    for mark in ("AWS Error ", "with a last message of "):
        reason = reason.partition(mark)[2] or reason
    return reason[:200]
