"""A stand-in for S3 on this machine: lists, looks up and gives objects, whole or by range, as the protocol has it."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

MODIFIED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class ObjectStore(ThreadingHTTPServer):
    """Serves `objects` (key to content) of one bucket; keys in `refused` are answered with 403.

    Contents from byte `broken_after` on, if that is set, are answered with 500.
    """

    daemon_threads = True

    def __init__(self, bucket: str, objects: Mapping[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bucket, self.objects, self.refused = bucket, dict(objects), set[str]()
        self.broken_after: int | None = None
        self.requests: list[str] = []

    @property
    def url(self) -> str:
        """What AWS_ENDPOINT_URL is set to."""
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def serving(bucket: str, objects: Mapping[str, bytes]) -> Iterator[ObjectStore]:
    """The store, running in a thread until the block is left."""
    store = ObjectStore(bucket, objects)
    thread = threading.Thread(target=store.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield store
    finally:
        store.shutdown()
        thread.join()
        store.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: ObjectStore
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        bucket, _, key = unquote(parts.path).removeprefix("/").partition("/")
        self.server.requests.append(f"{self.command} {key or parts.query}")
        content = self.server.objects.get(key)
        if bucket != self.server.bucket:
            self._error(404, "NoSuchBucket")
        elif not key:
            self._send(200, self._list(parse_qs(parts.query, keep_blank_values=True)), {})
        elif key in self.server.refused:
            self._error(403, "AccessDenied")
        elif content is None:
            self._error(404, "NoSuchKey")
        else:
            self._give(content)

    def _give(self, content: bytes) -> None:
        first, last = 0, len(content) - 1
        wanted = self.headers.get("Range")
        if wanted:
            begin, _, end = wanted.removeprefix("bytes=").partition("-")
            first, last = int(begin), min(last, int(end))
        if self.server.broken_after is not None and first >= self.server.broken_after and self.command == "GET":
            self._error(500, "InternalError")
            return
        headers = {"Last-Modified": format_datetime(MODIFIED, usegmt=True), "ETag": '"1"'}
        if wanted:
            headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        self._send(206 if wanted else 200, content[first : last + 1], headers)

    def _list(self, query: dict[str, list[str]]) -> bytes:
        prefix, delimiter = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
        keys = sorted(key for key in self.server.objects if key.startswith(prefix))
        deeper = [k for k in keys if delimiter and delimiter in k[len(prefix) :]]
        folders = sorted({k[: k.find(delimiter, len(prefix)) + 1] for k in deeper})
        keys = [k for k in keys if k not in deeper]
        text = "".join(
            f"<Contents><Key>{escape(k)}</Key><Size>{len(self.server.objects[k])}</Size>"
            f"<LastModified>{MODIFIED:%Y-%m-%dT%H:%M:%S.000Z}</LastModified></Contents>"
            for k in keys
        )
        text += "".join(f"<CommonPrefixes><Prefix>{escape(f)}</Prefix></CommonPrefixes>" for f in folders)
        count = len(keys) + len(folders)
        text = f"<IsTruncated>false</IsTruncated><KeyCount>{count}</KeyCount>{text}"
        return f"<ListBucketResult>{text}</ListBucketResult>".encode()

    def _error(self, status: int, code: str) -> None:
        self._send(status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode(), {})

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/xml" if body[:1] == b"<" else "application/octet-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)
