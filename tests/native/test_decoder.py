"""The records that the stub replays are what NVIDIA's own decoder reads, of the sizes that the stub steps by."""

import json
import os
import site
import subprocess
import sys
from pathlib import Path

import pytest

from tests.native.replays import STRIDES, UNKNOWN, Layout, Replay

WALK = """
import ctypes, json, sys
cupti, size = ctypes.CDLL(sys.argv[1]), int(sys.argv[2])
version = ctypes.c_uint32()
assert cupti.cuptiGetVersion(ctypes.byref(version)) == 0
buffer = ctypes.create_string_buffer(sys.stdin.buffer.read(), size)
start, record, found = ctypes.addressof(buffer), ctypes.c_void_p(), []
while (code := cupti.cuptiActivityGetNextRecord(buffer, ctypes.c_size_t(size), ctypes.byref(record))) == 0:
    found.append([ctypes.c_uint32.from_address(record.value).value, record.value - start])
print(json.dumps({"version": version.value, "code": code, "found": found}))
"""
AT_THE_END = 12


@pytest.fixture
def decoder() -> Path:
    """NVIDIA's libcupti, of a version that walks records without a driver."""
    named = os.environ.get("TRACELODE_REAL_CUPTI")
    wheels = [Path(folder, "nvidia", "cu13", "lib", "libcupti.so.13") for folder in site.getsitepackages()]
    for library in [*([Path(named)] if named else []), *wheels]:
        if library.is_file():
            return library
    pytest.skip("NVIDIA's libcupti is in no wheel here and TRACELODE_REAL_CUPTI does not name one")


def test_nvidia_s_decoder_steps_through_every_kind_as_the_stub_does(decoder: Path, layout: Layout) -> None:
    replay = Replay(layout)
    expected: list[list[int]] = []
    at = 0
    for kind in [kind for kind in STRIDES if kind != UNKNOWN] * 3:
        replay.add(kind)
        expected.append([kind, at])
        at += STRIDES[kind]
    content = b"".join(replay.parts)
    command = [sys.executable, "-c", WALK, str(decoder), str(len(content))]
    ended = subprocess.run(command, input=content, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
    told = json.loads(ended.stdout)
    if told["version"] // 100 != 1300 and told["code"] != AT_THE_END:
        pytest.skip(f"CUPTI {told['version']} walks no records without a driver")
    assert (told["code"], told["found"]) == (AT_THE_END, expected)
