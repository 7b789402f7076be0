"""The replayer, the driver's stub and the program run without a report of GCC's sanitizers."""

import subprocess

import pytest

from tests.native.preloads import MIB, Preloads, built
from tests.native.test_sanitizers import SANITIZERS
from tracelode.collect.replay import Orders

RUNTIMES = {"address": "libasan.so", "thread": "libtsan.so"}


@pytest.fixture(scope="module", params=sorted(SANITIZERS))
def sanitized(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Preloads:
    flags = SANITIZERS[request.param]
    probe = tmp_path_factory.mktemp("probe") / "probe"
    command = ["g++", *flags, "-x", "c++", "-", "-o", str(probe)]
    linked = subprocess.run(command, input="int main() {}", text=True, capture_output=True, check=False)
    if linked.returncode or subprocess.run([probe], capture_output=True, check=False).returncode:
        pytest.skip(f"programs cannot be built or run with {flags[0]}")
    find = ["g++", f"-print-file-name={RUNTIMES[request.param]}"]  # the sanitizer's own library must come first
    first = subprocess.run(find, capture_output=True, check=True, text=True).stdout.strip()
    return built(tmp_path_factory, request.param, "-O0", "-g1", *flags, before=first)


@pytest.mark.parametrize("way", ["dlsym", "proc"])
@pytest.mark.parametrize("changes", [{}, {"STUB_SLOW": "1", "STUB_FREE": str(40 * MIB)}], ids=["room", "no room"])
def test_threads_at_work(sanitized: Preloads, way: str, changes: dict[str, str]) -> None:
    memory = [(MIB, at) for at in range(100)]
    steps = [(0, at, [(at, 0, MIB), (99 - at, MIB // 2, 1000)]) for at in range(100)]
    orders = Orders([*memory, (8 * MIB, 0)], ["step", "other"], [*steps, (1, 40, [(100, 0, 8 * MIB)])])
    words = ("alloc", "b", str(8 * MIB), "churn", "4", "25", "threads", "4", "other", "25", "free", "b", "fork")
    done = sanitized.run(orders, *words, APP_WAY=way, **changes)
    assert (done.status, done.output) == (7, "child 3\nthe answer is 42\n"), done.told
    assert "Sanitizer" not in done.told
    assert done.counts[-1]["reached"] == 101


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"tracelode replay 1\n" + b"\xff" * 64,
        Orders([(MIB, 0)], ["step"], [(0, 0, [(1, 0, MIB)])]).packed(),
        Orders([(MIB, 0)], ["step"], [(1, 0, [(0, 0, MIB)])]).packed(),
    ],
    ids=["empty", "damaged", "another object", "another kernel"],
)
def test_a_damaged_plan(sanitized: Preloads, content: bytes) -> None:
    done = sanitized.run(content, "alloc", "a", str(MIB), "launch", "step", "capture", "0", "launch", "step", "context")
    assert done.status == 7, done.told
    assert "Sanitizer" not in done.told


def test_names(sanitized: Preloads) -> None:
    names = ["", "<", "(", ")]", "_Z", "_Z4gemmIfEvPT_i", "a<1u,", "a<(int", "]" * 300, "void f<true, 2ul>(T1)"]
    orders = Orders([(MIB, 0)], names, [(at, 0, [(0, 0, MIB)]) for at in range(len(names))])
    done = sanitized.run(orders, "alloc", "a", str(MIB), *(word for name in names for word in ("launch", name)))
    assert (done.status, "Sanitizer" in done.told) == (7, False), done.told
    assert done.count["reached"] == len(names)
