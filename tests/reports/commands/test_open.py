import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.reports.exports.packets import content
from tests.reports.test_cli import KINETO, run
from tracelode.reports.commands.open import PERFETTO, PORT


def serving() -> tuple[subprocess.Popen[str], str]:
    """The command at work, and the address it printed."""
    command = [sys.executable, "-m", "tracelode", "open", str(KINETO), "--perfetto", "--no-browser"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    if not address:
        errors = process.communicate(timeout=60)[1]
        assert f"port {PORT} of 127.0.0.1 cannot be used" in errors
        pytest.skip(f"another program uses port {PORT}")
    return process, address


def test_the_report_is_written_to_the_cache_and_its_address_printed() -> None:
    done = run("open", KINETO, "--no-browser")
    place = urlsplit(done.stdout.strip())
    assert place.scheme == "file"
    path = Path(unquote(place.path))
    assert path.parent == Path(os.environ["XDG_CACHE_HOME"]) / "tracelode" / "reports"
    assert path.read_text().startswith("<!doctype html>")


def test_the_timeline_is_served_until_it_was_fetched_or_an_interrupt(tmp_path: Path) -> None:
    process, address = serving()
    page, _, url = address.partition("/#!/?url=")
    assert page == PERFETTO
    assert url.startswith(f"http://127.0.0.1:{PORT}/")
    with urllib.request.urlopen(url, timeout=30) as answer:
        (tmp_path / "a.pftrace").write_bytes(answer.read())
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert len(content(tmp_path / "a.pftrace").of("kernel")) == 2117

    process, _ = serving()  # in the same test, since both need the one port
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "error: interrupted" in errors
