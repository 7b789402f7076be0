"""Serves one file to the browser of this machine, until it has been fetched."""

import secrets
import shutil
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

from ..store.errors import Error

__all__ = ["Served", "serving"]

HOST = "127.0.0.1"
SECONDS = 30
"""How long a connection may stay silent."""


class Served:
    """A file that is being served: where, and whether it has been fetched whole."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._fetched = threading.Event()

    def wait(self, seconds: float | None = None) -> bool:
        """Waits until the file has been fetched, at most so long; whether it has."""
        return self._fetched.wait(seconds)

    def done(self) -> None:
        """Notes that the file has been fetched."""
        self._fetched.set()


@contextmanager
def serving(file: Path, *, origin: str, port: int) -> Generator[Served]:
    """Serves the file to pages of that origin, under a name that none of them can guess.

    Only connections of this machine are taken. A page that reaches them by a name of its own (DNS rebinding) finds
    nothing, nor does any other path or method. An `Error` where the port is taken; 0 takes a free one.
    """
    name = f"/{secrets.token_urlsafe(16)}{''.join(file.suffixes)}"
    holder: list[Served] = []

    class Handler(_Handler):
        path_served, served_file, allowed, served = name, file, origin, holder

    try:
        server = ThreadingHTTPServer((HOST, port), Handler)
    except OSError as error:
        hint = "end the other program that uses it, or write a file: tracelode export --to perfetto"
        raise Error(f"port {port} of {HOST} cannot be used: {error.strerror}", hint) from error
    server.daemon_threads = True
    holder.append(Served(f"http://{HOST}:{server.server_address[1]}{name}"))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield holder[0]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Answers requests for the one file."""

    path_served: ClassVar[str]
    served_file: ClassVar[Path]
    allowed: ClassVar[str]
    served: ClassVar[list[Served]]
    timeout = SECONDS
    server_version, sys_version = "tracelode", ""

    def do_GET(self) -> None:
        """Sends the file."""
        if not self._is_for_us():
            self.send_error(404)
            return
        with self.served_file.open("rb") as content:
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(self.served_file.stat().st_size))
            self._end()
            shutil.copyfileobj(content, self.wfile)
        self.wfile.flush()
        self.served[0].done()

    def do_OPTIONS(self) -> None:
        """Answers what browsers ask before a page of the network may fetch from this machine."""
        if not self._is_for_us():
            self.send_error(404)
            return
        self.send_response(204)
        self.send_header("Access-Control-Allow-Methods", "GET")
        self.send_header("Access-Control-Allow-Private-Network", "true")
        self._end()

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: standard error is for what a user can act on."""

    def _is_for_us(self) -> bool:
        named = self.headers.get("Host") == self.served[0].url.split("/")[2]
        return named and self.headers.get("Origin", self.allowed) == self.allowed and self.path == self.path_served

    def _end(self) -> None:
        self.send_header("Access-Control-Allow-Origin", self.allowed)
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
