import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.collect.reading import Told, damaged, read
from tracelode.collect.files import open_file
from tracelode.collect.readers import nsys_recipe
from tracelode.store.errors import UnreadableFile

RANGES: dict[str, list[Any]] = {
    "Name": ["step", "layer", None],
    "Projected Start": [1000, 1100, 5000],
    "Projected Duration": [500, 200, 9],
    "Orig Start": [900.0, 950.0, None],
    "Orig Duration": [80.0, 20.0, None],
    "Style": ["PushPop", "StartEnd", None],
    "PID": [4100, 4100, 4100],
    "TID": [4107, 4107, 4108],
    "NumGPUOps": [7, 3, 2],
    "Lvl": [0.0, 1.0, None],
    "NumChild": [1, 0, 0],
    "RangeId": [12.0, 13.0, None],
    "ParentId": [None, 12.0, None],
    "RangeStack": [":12", ":12:13", None],
    "Rank": [0, 0, 0],
}
CARD: dict[str, list[Any]] = {
    "('TARGET_INFO_GPU', 'id')": [1],
    "('TARGET_INFO_GPU', 'name')": ["NVIDIA A100-SXM4-40GB"],
    "('TARGET_INFO_GPU', 'smCount')": [108],
    "('TARGET_INFO_GPU', 'totalMemory')": [42505273344],
    "('TARGET_INFO_GPU', 'computeMajor')": [8],
    "('TARGET_INFO_GPU', 'computeMinor')": [0],
    "('TARGET_INFO_NVTX_CUDA_DEVICE', 'name')": ["Xla:#global=1#"],
    "cuDevice": [1],
}


@pytest.fixture
def tell(tmp_path: Path) -> Callable[[Path], Told]:
    """Reads a file or folder as ingest does."""

    def tell(path: Path) -> Told:
        return read(nsys_recipe, path, tmp_path)

    return tell


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "output"
    path.mkdir()
    pq.write_table(pa.table(RANGES), path / "trace.parquet")
    pq.write_table(pa.table(CARD), path / "device-metadata.parquet")
    return path


def test_ranges_have_the_times_of_their_device_work(folder: Path, tell: Callable[[Path], Told]) -> None:
    told = tell(folder / "trace.parquet")
    thread = {"process": 4100, "thread": 4107, "kind": "device_annotation"}
    ranges = told["range"]
    args = [json.loads(row.pop("args")) for row in ranges]
    assert ranges == [
        {**thread, "start_ns": 1000, "end_ns": 1500, "name": "step", "id": 12},
        {**thread, "start_ns": 1100, "end_ns": 1300, "name": "layer", "id": 13, "parent_id": 12},
        {**thread, "thread": 4108, "start_ns": 5000, "end_ns": 5009},
    ]
    assert args == [
        {"Orig Start": 900, "Orig Duration": 80, "Lvl": 0, "Style": "PushPop", "NumGPUOps": 7, "NumChild": 1},
        {"Orig Start": 950, "Orig Duration": 20, "Style": "StartEnd", "NumGPUOps": 3, "Lvl": 1},
        {"NumGPUOps": 2},
    ]
    assert told["process"] == [{"process": 4100, "pid": 4100}]
    assert told.facts.format == "nsys_recipe"
    assert not told.notes


def test_a_folder_adds_the_devices_to_the_processes_of_its_ranges(folder: Path, tell: Callable[[Path], Told]) -> None:
    (folder / "trace.ipynb").write_text("{}")
    told = tell(folder)
    card = {"device": 1, "vendor": "nvidia", "name": "NVIDIA A100-SXM4-40GB", "compute_units": 108}
    more = {"memory_bytes": 42505273344, "architecture": "8.0", "args": '{"id": 1, "nvtxName": "Xla:#global=1#"}'}
    assert told["device"] == [{"process": 4100, **card, **more}]
    assert told.notes["unread-file"].example == "trace.ipynb"
    assert tell(folder / "device-metadata.parquet")["device"] == [{"process": 0, **card, **more}]


def test_ranges_without_a_time_are_left_out_and_counted(folder: Path, tell: Callable[[Path], Told]) -> None:
    starts = [-(2**63), 1100, None]
    pq.write_table(pa.table({**RANGES, "Projected Start": starts}), folder / "trace.parquet")
    told = tell(folder / "trace.parquet")
    assert [row["name"] for row in told["range"]] == ["layer"]
    assert told.notes["no-time"].count == 2


def test_other_parquet_files_are_not_claimed(tmp_path: Path) -> None:
    pq.write_table(pa.table({"Name": ["a"], "Start": [1]}), tmp_path / "trace.parquet")
    assert not nsys_recipe.recognises(open_file(tmp_path / "trace.parquet"))
    assert not nsys_recipe.recognises(open_file(tmp_path))


def test_a_damaged_file_is_an_error_or_a_note(folder: Path, tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    path, refused = tmp_path / "damaged.parquet", 0
    for content in damaged(folder / "trace.parquet", 30):
        path.write_bytes(content)
        if not nsys_recipe.recognises(open_file(path)):
            refused += 1
            continue
        try:
            tell(path)
        except UnreadableFile:
            refused += 1
    assert refused > 30
    flipped = bytearray((folder / "trace.parquet").read_bytes())
    flipped[random.Random(3).randrange(4, 200)] ^= 0xFF
    path.write_bytes(flipped)
    assert nsys_recipe.recognises(open_file(path))


@pytest.mark.corpus
def test_real_output_is_read_row_by_row(corpus: Path, tell: Callable[[Path], Told]) -> None:
    truth = json.loads((corpus / "TRUTH.json").read_text())
    names = [name for name in truth if name.startswith("nsys-recipe-parquet/")]
    assert names
    for name in names:
        told, said = tell(corpus / name), truth[name]
        if "gpu_ops" not in said:
            assert (len(told["device"]), said["rows"]) == (1, 1)
            continue
        ranges = told["range"]
        assert len(ranges) == said["rows"]
        assert len({row.get("name") for row in ranges}) == said["names"]
        outermost = [args for row in ranges if (args := json.loads(row["args"])).get("Lvl") == 0]
        assert sum(args["NumGPUOps"] for args in outermost) == said["gpu_ops"]
        assert not told.notes


def test_a_damaged_table_of_a_folder_is_refused_not_passed_over(folder: Path, tell: Callable[[Path], Told]) -> None:
    whole = (folder / "trace.parquet").read_bytes()
    for content in (whole[:-1], b"", b"PAR1", whole.replace(b"PAR1", b"PAR2")):
        (folder / "trace.parquet").write_bytes(content)
        with pytest.raises(UnreadableFile, match=r"trace\.parquet: damaged: "):
            tell(folder)


def test_ranges_of_no_stated_process_are_counted(folder: Path, tell: Callable[[Path], Told]) -> None:
    pq.write_table(pa.table({**RANGES, "PID": [4100, None, None]}), folder / "trace.parquet")
    told = tell(folder / "trace.parquet")
    assert sorted(row["process"] for row in told["range"]) == [0, 0, 4100]
    assert told.notes["no-process"].count == 2
