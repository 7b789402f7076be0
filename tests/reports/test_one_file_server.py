import http.client
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tracelode.reports.one_file_server import Served, serving
from tracelode.store.errors import Error

ORIGIN = "https://ui.perfetto.dev"
CONTENT = bytes(range(256)) * 1000


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "trace.pftrace").write_bytes(CONTENT)
    (tmp_path / "secret").write_text("secret")
    with serving(tmp_path / "trace.pftrace", origin=ORIGIN, port=0) as found:
        yield found


def ask(served: Served, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    place = urlsplit(served.url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=20)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), body


def test_the_page_fetches_the_file_once_and_the_wait_ends(served: Served) -> None:
    assert not served.wait(0)
    request = urllib.request.Request(served.url, headers={"Origin": ORIGIN})
    with urllib.request.urlopen(request, timeout=20) as answer:
        assert answer.read() == CONTENT
        assert answer.headers["Access-Control-Allow-Origin"] == ORIGIN
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Content-Length"] == str(len(CONTENT))
    assert served.wait(20)


def test_browsers_that_ask_first_are_let_in(served: Served) -> None:
    more = {"Origin": ORIGIN, "Access-Control-Request-Private-Network": "true"}
    status, headers, _ = ask(served, urlsplit(served.url).path, "OPTIONS", **more)
    assert status == 204
    assert headers["Access-Control-Allow-Private-Network"] == "true"
    assert headers["Access-Control-Allow-Methods"] == "GET"
    assert not served.wait(0)


@pytest.mark.parametrize(
    "path", ["/", "/trace.pftrace", "/secret", "/../secret", "/%2e%2e/secret", "//etc/passwd", "/x/../trace.pftrace"]
)
def test_no_other_path_is_there(served: Served, path: str) -> None:
    status, headers, body = ask(served, path)
    assert status == 404
    assert "Access-Control-Allow-Origin" not in headers
    assert b"secret" not in body.replace(path.encode(), b"")
    assert not served.wait(0)


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Host": "evil.example:9001"}, {"Host": "localhost"}],
)
def test_other_pages_and_other_names_of_this_machine_find_nothing(served: Served, headers: dict[str, str]) -> None:
    assert ask(served, urlsplit(served.url).path, **headers)[0] == 404
    assert ask(served, urlsplit(served.url).path, "OPTIONS", **headers)[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD"])
def test_nothing_but_fetching_is_possible(served: Served, method: str) -> None:
    assert ask(served, urlsplit(served.url).path, method)[0] == 501


def test_only_this_machine_is_listened_to_and_only_while_serving(tmp_path: Path) -> None:
    (tmp_path / "trace.pftrace").write_bytes(b"x")
    with serving(tmp_path / "trace.pftrace", origin=ORIGIN, port=0) as served:
        assert served.url.startswith("http://127.0.0.1:")
        port = urlsplit(served.url).port or 0
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.2", port), timeout=5)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(served.url, timeout=5)
    assert threading.active_count() < 20


def test_a_silent_connection_does_not_stop_the_others(served: Served) -> None:
    place = urlsplit(served.url)
    with socket.create_connection((place.hostname or "", place.port or 0), timeout=5):
        assert ask(served, place.path)[2] == CONTENT


def test_a_port_in_use_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(Error, match=f"port {port} of 127.0.0.1 cannot be used") as caught,
            serving(tmp_path / "a", origin=ORIGIN, port=port),
        ):
            pass
    assert "tracelode export" in caught.value.hint
