"""The recorder of the driver's event stream, up to the calls of the driver itself, which need an AMD GPU."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.collect.reading import read
from tracelode.collect.kfd_recorder import Remainders, events_mask, gpus_of, header, main, pump
from tracelode.collect.readers import kfd_smi

PROPERTIES = (
    "cpu_cores_count 0\nsimd_count 416\nsimd_per_cu 4\ngfx_target_version 90010\nmax_engine_clk_fcompute 1700\n"
)


def topology(folder: Path) -> Path:
    nodes = folder / "nodes"
    for number, gpu in (("0", "0"), ("1", "0"), ("10", "44380"), ("2", "7840")):
        (nodes / number / "mem_banks" / "0").mkdir(parents=True)
        (nodes / number / "gpu_id").write_text(f"{gpu}\n")
        (nodes / number / "name").write_text("aldebaran\n")
        (nodes / number / "properties").write_text(PROPERTIES)
        (nodes / number / "mem_banks" / "0" / "properties").write_text("heap_type 1\nsize_in_bytes 68702699520\n")
    return nodes


def test_the_gpus_are_those_of_the_nodes_that_have_an_id(tmp_path: Path) -> None:
    found = gpus_of(topology(tmp_path))
    # 416 SIMDs, 4 a unit: 104. Version 90010 is 9, 0, 10: gfx90a, its step in hexadecimal.
    shared = {"name": "aldebaran", "architecture": "gfx90a", "compute_units": 104, "clock_mhz": 1700}
    assert found == [
        {"gpu_id": 7840, "node": 2, **shared, "memory_bytes": 68702699520},
        {"gpu_id": 44380, "node": 10, **shared, "memory_bytes": 68702699520},
    ]
    assert gpus_of(tmp_path / "nothing") == []


def test_a_node_that_says_little_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "3").mkdir()
    (tmp_path / "3" / "gpu_id").write_text("12")
    (tmp_path / "3" / "properties").write_text("simd_per_cu 0\nbroken\nodd one two\n")
    assert gpus_of(tmp_path) == [
        {"gpu_id": 12, "node": 3, "name": "", "architecture": "", "compute_units": 0, "clock_mhz": 0, "memory_bytes": 0}
    ]


def test_the_mask_asks_for_events_5_to_14_of_all_processes() -> None:
    # Event n is bit n - 1: bits 4 to 13 are 0x3FF0; event 64 is bit 63.
    assert events_mask() == 0x8000_0000_0000_3FF0


def test_lines_are_cut_where_they_end_and_streams_do_not_mix() -> None:
    remainders = Remainders()
    pieces = ((3, b"7 1 -"), (4, b"9 2 -1 a"), (3, b"2 @3(4) R\n8 "), (4, b" 0\n"), (3, b""), (3, b"9\n"))
    whole = [remainders.whole(stream, content) for stream, content in pieces]
    assert whole == [b"", b"", b"7 1 -2 @3(4) R\n", b"9 2 -1 a 0\n", b"", b"8 9\n"]


def test_what_streams_give_until_the_end_is_written_line_by_line_and_read_back(tmp_path: Path) -> None:
    ends = [os.pipe(), os.pipe()]
    for reading, _ in ends:
        os.set_blocking(reading, False)
    out = io.BytesIO()
    out.write(header(gpus_of(topology(tmp_path)), boottime_ns=5, unix_ns=1005).encode())
    asked = 0

    def is_over() -> bool:
        nonlocal asked
        asked += 1
        if asked == 1:
            os.write(ends[0][1], b"7 10 -70 @10(1ea0) R\n8 2")
        elif asked == 2:
            os.write(ends[1][1], b"7 11 -70 @10(ad5c) W\n")
            os.write(ends[0][1], b"0 -70 @10(1ea0) M\n")
        return asked >= 2

    pump([reading for reading, _ in ends], out, is_over)
    for pair in ends:
        for end in pair:
            os.close(end)
    path = tmp_path / "run.kfd"
    path.write_bytes(out.getvalue())
    told = read(kfd_smi, path, tmp_path)
    assert [(r["device"], r["start_ns"], r.get("end_ns"), r["kind"]) for r in told["fault"]] == [
        (2, 10, 20, "read"),
        (10, 11, None, "write"),
    ]
    assert told.facts.base_unix_ns == 1000
    assert json.loads(out.getvalue().split(b"\n")[0][2:])["page_bytes"] == os.sysconf("SC_PAGE_SIZE")


def test_without_a_gpu_it_says_so(tmp_path: Path) -> None:
    processor = tmp_path / "nodes" / "0"
    processor.mkdir(parents=True)
    (processor / "gpu_id").write_text("0\n")
    out = tmp_path / "out.kfd"
    for nodes in (tmp_path / "nodes", tmp_path / "nothing"):
        with pytest.raises(SystemExit) as ended:
            main([str(out)], nodes=nodes)
        assert ended.value.code == f"error: no AMD GPU: {nodes} lists none\nhint: is the module amdgpu loaded?"
    assert not out.exists()


def test_it_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "tracelode.collect.kfd_recorder", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: python -m tracelode.collect.kfd_recorder ")
