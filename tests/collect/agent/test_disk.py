import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.collect.agent.spooled import environment, spools
from tracelode.collect.agent.disk import keep_room

AGENT = "from tracelode.collect import agent\n"


def test_room_is_kept_behind_the_end_of_a_file(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        file.write(b"begun")
        file.flush()
        keep_room(file.fileno(), 0, 1 << 20)
        told = os.fstat(file.fileno())
    if told.st_blocks * 512 < 1 << 20:
        pytest.skip("this file system keeps no room")
    assert (tmp_path / "file").read_bytes() == b"begun"


def test_a_full_disk_holds_what_it_had_taken_and_says_how_it_ended(folder: Path, tmp_path: Path) -> None:
    program = """
for _ in range(40_000): agent.mark("m")
print("done")
"""
    path, disk = tmp_path / "program.py", tmp_path / "disk"
    path.write_text(AGENT + program)
    disk.mkdir()
    # A disk of our own, that only this process sees; there is no other room on it than what the recording takes.
    script = f'mount -t tmpfs -o size=700k none {disk} && "$@"; status=$?; cp -r {disk} {folder}; exit $status'
    own_disk = ["unshare", "--user", "--map-root-user", "--mount"]
    if not shutil.which("unshare") or subprocess.run([*own_disk, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody have a disk of his own")
    command = [*own_disk, "sh", "-c", script, "sh", sys.executable, str(path)]
    done = subprocess.run(command, env=environment(disk), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    (found,) = spools(folder)
    state = found.said("state")
    assert (state["stopped"], state["final"]) == ("disk", True)
    assert state["error"].endswith("/python.spool: No space left on device")
    assert state["kept"]["range"] == len(found.rows["range"]) == 40_000 - state["dropped"] > 0
