from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from data.generator.accelprof import TABLE_V, app_analysis, main, table_v, write_samples
from tests.collect.reading import read
from tracelode.collect.readers import accelprof

SAMPLES = Path(__file__).parents[2] / "data" / "samples" / "accelprof"

PRINTED = {
    "inference AlexNet": (1428, "1528.13", "876.12 MB", "1.01 MB", "216.25", "148.26", "406.33"),
    "inference ResNet18": (1497, "1232.13", "1024.00 MB", "1.00 KB", "86.07", "64.00", "172.27"),
    "inference ResNet34": (2657, "1261.59", "1024.00 MB", "1.00 KB", "76.61", "43.25", "164.00"),
    "inference BERT": (487, "1179.64", "212.62 MB", "47.50 KB", "75.23", "37.69", "141.75"),
    "inference GPT-2": (583, "4148.10", "1493.85 MB", "4.00 KB", "59.02", "25.08", "138.00"),
    "inference Whisper": (663, "2304.15", "627.44 MB", "2.25 MB", "78.54", "20.81", "153.81"),
    "training AlexNet": (4040, "3285.17", "1512.09 MB", "512 B", "188.60", "144.62", "406.33"),
    "training ResNet18": (1542, "3165.13", "1024.00 MB", "512 B", "84.58", "43.25", "172.27"),
    "training ResNet34": (2734, "4316.86", "1024.00 MB", "512 B", "75.33", "43.25", "164.00"),
    "training BERT": (554, "5679.03", "235.47 MB", "1.00 KB", "77.71", "37.97", "209.30"),
    "training GPT-2": (2004, "7862.10", "2240.77 MB", "512 B", "51.37", "24.00", "137.66"),
    "training Whisper": (665, "2104.80", "937.01 MB", "2.25 MB", "80.42", "20.81", "153.81"),
}
"""Launches, mean footprint in MB, then the largest, smallest, mean, median and 90th percentile of working sets."""


@pytest.fixture(scope="module")
def logs() -> dict[str, str]:
    return table_v()


def printed(size: float) -> str:
    if size < 1024:
        return f"{size:.0f} B"
    return f"{size / 1024:.2f} KB" if size < 1 << 20 else f"{mb(size)} MB"


def mb(size: float) -> str:
    return f"{size / (1 << 20):.2f}"


@pytest.mark.parametrize("name", TABLE_V)
def test_the_logs_of_table_v_say_what_the_paper_prints(name: str, logs: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "net_app_analysis.log"
    path.write_text(logs[name])
    rows = read(accelprof, path, tmp_path)["launch_memory"]
    sizes = [row["tensor_working_set_bytes"] for row in rows]
    footprints = [row["memory_footprint_bytes"] for row in rows]
    assert PRINTED[name] == (
        len(rows),
        mb(float(np.mean(footprints))),
        printed(max(sizes)),
        printed(min(sizes)),
        mb(float(np.mean(sizes))),
        mb(float(np.median(sizes))),
        mb(float(np.percentile(sizes, 90))),
    )
    assert max(footprints) > np.mean(footprints)  # the published footprint is a mean, not the peak


def test_launches_of_table_v_touch_no_more_than_is_allocated(logs: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "net_app_analysis.log"
    path.write_text(logs["training GPT-2"])
    for row in read(accelprof, path, tmp_path)["launch_memory"]:
        sizes: Sequence[int] = [row[f"{what}_bytes"] for what in ("tensor_working_set", "memory_working_set")]
        assert sizes[0] <= sizes[1] <= row["memory_footprint_bytes"]
        assert sizes[0] <= row["tensor_footprint_bytes"] <= row["memory_footprint_bytes"]


def test_table_v_is_the_same_each_time_and_another_seed_orders_it_otherwise(logs: dict[str, str]) -> None:
    assert table_v() == logs
    assert table_v(seed=6)["inference BERT"] != logs["inference BERT"]


def test_the_samples_are_what_the_generator_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["accelprof", str(tmp_path)])
    main()
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    files = [path for path in SAMPLES.rglob("*") if path.suffix in (".log", ".txt")]
    assert made == {path.relative_to(SAMPLES): path.read_bytes() for path in files}


def test_sizes_are_rounded_as_the_tool_rounds_them(tmp_path: Path) -> None:
    write_samples(tmp_path)
    log = (tmp_path / "net_2026-02-01_12-00-00.log").read_text()
    assert "Total memory accesses: 9699328 (9.70 M)\n" in log
    assert "Average object size per kernel: 5505024B (5.25 MB)\n" in log
    assert app_analysis([]).startswith("Tensor Stats:\n  Alloc Count: 0\n")
