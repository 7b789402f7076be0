import errno
import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from tracelode.store import ArchiveError
from tracelode.store.locks import held

HOLDER = """
import sys
from pathlib import Path
from tracelode.store.locks import held
with held(Path(sys.argv[1]), "batch"):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(archive: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLDER, str(archive)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_one_process_holds_a_lock_at_a_time_and_a_killed_one_holds_none(tmp_path: Path) -> None:
    process = holder(tmp_path)
    with held(tmp_path, "batch", lambda: False) as mine, held(tmp_path, "other", lambda: False) as another:
        assert (mine, another) == (False, True)

    def waits() -> bool:
        end(process)
        return True

    with held(tmp_path, "batch", waits) as mine:
        assert mine
    with held(tmp_path, "batch", lambda: False) as mine:
        assert mine


def test_a_filesystem_without_locks_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(_descriptor: int, _how: int) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", flock)
    with held(tmp_path, "batch", lambda: False) as mine:
        assert mine


def test_a_lock_that_the_filesystem_fails_to_give_is_an_archive_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(_descriptor: int, _how: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(ArchiveError, match="Input/output error"), held(tmp_path, "batch"):
        pass
