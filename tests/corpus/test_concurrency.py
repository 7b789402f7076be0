"""What runs at once in public traces, against an independent count in NumPy (capabilities D19, D21)."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from tracelode.collect.ingest import read
from tracelode.mining.mine import find, mine
from tracelode.store import Archive, Trace

pytestmark = pytest.mark.corpus

TRACES = (
    "kineto/hpct-merged-ranks/merged_all_events.json.gz",
    "kineto/hta-nccl/nccl_data.json.gz",
    "kineto/hta-trace-diff-control/control.json.gz",
    "kineto/tracelens-mi300-resnet-checkpoint/resnet_act_checkpoint.json.gz",
    "nsys-sqlite/gemm-a100-pipeline/nsys_report_fo_10000_5_150.sqlite",
    "nsys-sqlite/spmm-gh200-overlap/nsys_report_spmm_overlap_c_49.sqlite",
    "xplane/tf-bert-multiworker/34.83.195.179_6003.xplane.pb",
)
KIND = {"communication": 1, "copy": 2, "fill": 2}
COLLECTIVES = {
    "kineto/hpct-merged-nccl/merged_nccl_only.json.gz": 84,
    "kineto/hta-nccl/nccl_data.json.gz": 21,
    "kineto/tracelens-b200-eager/eager_trace.json.gz": 1,
    "kineto/tracelens-mi300-resnet-checkpoint/resnet_act_checkpoint.json.gz": 12,
}
BYTES = {"Float": 4, "Long": 8, "BFloat16": 2}


def _work(trace: Trace) -> pl.DataFrame:
    """Process, device, stream, start, end and kind of all work whose times are to be trusted."""
    there = [name for name in ("kernel", "copy", "fill") if trace.has(name)]
    category = {"kernel": "category", "copy": "'copy'", "fill": "'fill'"}
    columns = "process, device, stream, start_ns, end_ns"
    rows = trace.sql(
        " union all ".join(
            f"select {columns}, {category[name]} as category from {name} where flaw is null" for name in there
        )
    )
    return rows.with_columns(pl.col("category").replace_strict(KIND, default=0).alias("kind"))


def _active(moments: npt.NDArray[np.int64], work: pl.DataFrame) -> npt.NDArray[np.bool_]:
    """For each stretch between neighbouring moments whether some of the work runs in it."""
    change = np.zeros(len(moments), np.int64)
    np.add.at(change, np.searchsorted(moments, work["start_ns"].to_numpy()), 1)
    np.add.at(change, np.searchsorted(moments, work["end_ns"].to_numpy()), -1)
    return np.cumsum(change)[:-1] > 0


def _counted(work: pl.DataFrame) -> dict[tuple[int, ...], int]:
    """Time by what runs (compute, communication, copy) and on how many streams, by looking at every moment."""
    moments = np.unique(np.r_[work["start_ns"].to_numpy(), work["end_ns"].to_numpy()])
    kinds = [_active(moments, work.filter(work["kind"] == kind)) for kind in range(3)]
    streams = sum(_active(moments, part).astype(int) for part in work.partition_by("stream"))
    sets = np.stack([*(kind.astype(int) for kind in kinds), streams])
    keys, which = np.unique(sets, axis=1, return_inverse=True)
    times = np.zeros(keys.shape[1], np.int64)
    np.add.at(times, which, np.diff(moments))
    return {tuple(key): time for key, time in zip(keys.T.tolist(), times.tolist(), strict=True)}


@pytest.mark.parametrize("name", TRACES)
def test_times_of_devices_and_streams_are_those_of_every_moment(corpus: Path, tmp_path: Path, name: str) -> None:
    archive = Archive(tmp_path / "archive")
    trace = mine(read(corpus / name, archive)[0], archive, "concurrency")
    times, streams = trace.device_time.collect(), trace.stream_time.collect()
    devices = _work(trace).partition_by("process", "device", as_dict=True)
    assert set(times.select("process", "device").rows()) == set(devices)
    for (process, device), work in devices.items():
        here = (pl.col("process") == process) & (pl.col("device") == device)
        rows = times.filter(here).drop("process", "device").rows()
        assert {row[:-1]: row[-1] for row in rows} == _counted(work)
        for part in work.partition_by("stream"):
            moments = np.unique(np.r_[part["start_ns"].to_numpy(), part["end_ns"].to_numpy()])
            busy = int(np.diff(moments)[_active(moments, part)].sum())
            (row,) = streams.filter(here & (pl.col("stream") == part["stream"][0])).to_dicts()
            assert (row["busy_ns"], row["operations"]) == (busy, len(part))
            assert row["busy_ns"] + row["gap_ns"] == moments[-1] - moments[0]


def _recorded(path: Path) -> list[tuple[int, int]]:
    """Bytes and nanoseconds of the collectives whose size the file tells."""
    with gzip.open(path) as file:
        events: list[dict[str, Any]] = json.load(file)["traceEvents"]
    found: list[tuple[int, int]] = []
    for event in events:
        told = event.get("args") or {}
        if event.get("cat") == "kernel" and "In msg nelems" in told:
            elements = max(told["In msg nelems"], told["Out msg nelems"])
            found.append((elements * BYTES[told["dtype"]], round(event["dur"] * 1000)))
    return found


@pytest.mark.parametrize("name", COLLECTIVES)
def test_sizes_and_bandwidths_of_collectives_are_those_of_the_file(corpus: Path, tmp_path: Path, name: str) -> None:
    archive = Archive(tmp_path / "archive")
    rows = find(read(corpus / name, archive)[0], archive, "collectives").rows
    rows = rows.filter(rows["bytes"].is_not_null())
    recorded = _recorded(corpus / name)
    assert len(recorded) == rows["calls"].sum() == COLLECTIVES[name]
    for row in rows.to_dicts():
        times = [ns for size, ns in recorded if size == row["bytes"]]
        assert (row["calls"], row["time_ns"]) == (len(times), sum(times))
        ranks = row["group_size"]
        factor = {"all-reduce": 2 * (ranks - 1) / ranks, "all-gather": (ranks - 1) / ranks, "broadcast": 1}
        assert row["bus_bytes_per_s"] == pytest.approx(
            row["bytes"] * len(times) / sum(times) * 1e9 * factor[row["operation"]]
        )
