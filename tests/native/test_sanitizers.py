"""The collector, the stubs and the program under test run without a report of GCC's sanitizers."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.native.programs import Programs, build_once
from tests.native.replays import COPY, DEVICE, KERNEL, MARKER, RUNTIME, UNKNOWN, Layout, Replay, recently

SANITIZERS = {
    "address": ["-fsanitize=address,undefined", "-fno-sanitize=null", "-fno-sanitize-recover=undefined"],
    "thread": ["-fsanitize=thread"],
}


@pytest.fixture(scope="module", params=sorted(SANITIZERS))
def sanitized(request: pytest.FixtureRequest, builds: Path, tmp_path_factory: pytest.TempPathFactory) -> Programs:
    flags = SANITIZERS[request.param]
    probe = tmp_path_factory.mktemp("probe") / "probe"
    command = ["g++", *flags, "-x", "c++", "-", "-o", str(probe)]
    linked = subprocess.run(command, input="int main() {}", text=True, capture_output=True, check=False)
    if linked.returncode or subprocess.run([probe], capture_output=True, check=False).returncode:
        pytest.skip(f"programs cannot be built or run with {flags[0]}")
    return build_once(builds / request.param, "-O0", "-g1", *flags)


def mixed(layout: Layout, path: Path, rounds: int = 40) -> Path:
    """Records of several kinds, valid and not."""
    replay, base = Replay(layout), recently()
    names = np.array([replay.text(f"kernel_{number}") for number in range(300)])
    replay.add(DEVICE, id=0, name=replay.text("device"))
    for _ in range(rounds):
        number = np.arange(300)
        replay.add(KERNEL, 300, start=base, end=base + number, name=names, gridX=number % 9, graphId=number % 2)
        replay.add(KERNEL, 3, start=[0, base, base + 5], end=[0, 0, base], name=names[:3])
        replay.add(COPY, 30, start=base, end=base + 7, bytes=1 << 20, copyKind=1)
        replay.add(MARKER, 10, timestamp=base, name=names[:10], domain=0)
        replay.add(RUNTIME, 20, start=base, end=base + 3, cbid=np.arange(20), threadId=1)
        replay.add(UNKNOWN, 2)
    return replay.write(path)


def test_threads_and_calls(sanitized: Programs, layout: Layout, tmp_path: Path) -> None:
    file = mixed(layout, tmp_path / "r")
    outcome = sanitized.run(
        tmp_path / "out",
        *[file] * 4,
        APP_CALLS="active,work,push,pop,flush,stop,state,start,work,50,state,work,flush,work",
        STUB_THREADS="4",
        TRACELODE_RECORD_EVENTS="kernel,copy,marker,runtime,external",
        TRACELODE_RECORD_BUFFER="32",
        TRACELODE_RECORD_FLUSH="10",
        TRACELODE_RECORD_SAMPLE="3",
        TRACELODE_RECORD_NAMES="kernel_1\nkernel_2",
    )
    assert (outcome.status, outcome.output, outcome.lines()) == (7, "the answer is 42\n", []), outcome.told
    assert "Sanitizer" not in outcome.told
    assert outcome.spool.state["records"]["kernel"] == 4 * 40 * 153
    assert outcome.spool.state["records"]["graph_kernel"] == 4 * 40 * 150


@pytest.mark.parametrize(
    "changes",
    [
        {"APP_BEHIND": "1", "APP_SLEEP": "20", "STUB_THREADS": "2"},
        {"APP_THREADS": "4", "TRACELODE_RECORD_BUFFERS": "1", "TRACELODE_RECORD_BUFFER": "64"},
        {"STUB_FAIL": "cuptiSubscribe:39"},
        {"STUB_FAIL": "cuptiActivityEnable:35"},
        {"STUB_LATE": "1", "APP_FORK": "early"},
        # What the parent's threads hold is lost in the child, which is as it must be.
        {"APP_FORK": "late", "ASAN_OPTIONS": "detect_leaks=0"},
    ],
    ids=["a thread behind", "no buffers", "foreign subscriber", "nothing enabled", "early fork", "late fork"],
)
def test_adversity(sanitized: Programs, layout: Layout, tmp_path: Path, changes: dict[str, str]) -> None:
    file = mixed(layout, tmp_path / "r", rounds=5)
    outcome = sanitized.run(tmp_path / "out", *[file] * 8, **changes)
    assert (outcome.status, outcome.output) == (7, "the answer is 42\n"), outcome.told
    assert "Sanitizer" not in outcome.told
