"""What is replayed through the collector is in the spool, each record and each sum."""

from pathlib import Path

import numpy as np
import pytest

from tests.native.programs import Programs
from tests.native.replays import COPY, KERNEL, Replay, recently


def test_a_million_kernels_and_their_copies_arrive_whole(programs: Programs, replay: Replay, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    base, number = recently(), 0
    texts = np.array([replay.text(f"kernel_{name}_{'x' * (name % 90)}") for name in range(200)])
    starts, lengths, names, sizes = [], [], [], []
    for _ in range(100):
        length = random.integers(0, 100_000, 10_000)
        start = base + random.integers(0, 4_000_000_000, 10_000)
        name = random.integers(0, 200, 10_000)
        correlation = np.arange(number, number + 10_000)
        grid = 1 + name % 7
        replay.add(
            KERNEL, 10_000, start=start, end=start + length, name=texts[name], correlationId=correlation, gridX=grid
        )
        size = random.integers(1, 1 << 40, 1000)
        replay.add(COPY, 1000, start=base, end=base + 10, bytes=size, copyKind=1, copyCount=1)
        starts.append(start), lengths.append(length), names.append(name), sizes.append(size)
        number += 10_000
    start, length, name = (np.concatenate(part) for part in (starts, lengths, names))
    outcome = programs.run(
        tmp_path / "out", replay.write(tmp_path / "replay"), STUB_THREADS="4", TRACELODE_RECORD_BUFFERS="300"
    )
    spool = outcome.spool
    assert (outcome.status, outcome.output, outcome.lines()) == (7, "the answer is 42\n", [])
    kernel = spool.tables["kernel"]
    order = np.argsort(kernel["correlation"])
    assert kernel["correlation"][order].tolist() == list(range(1_000_000))
    assert (kernel["start"][order] == start).all()
    assert (kernel["end"][order] == start + length).all()
    assert np.array(spool.kernel_names())[order].tolist() == [replay.texts[texts[at] - 1] for at in name]
    assert sorted(spool.tables["copy"]["bytes"].tolist()) == sorted(np.concatenate(sizes).tolist())
    assert spool.rows("config") == 200
    assert spool.state["records"] == spool.state["kept"] == {"kernel": 1_000_000, "copy": 100_000}
    assert (spool.state["dropped"], spool.state["refused_buffers"], spool.state["final"]) == (0, 0, True)
    total = spool.tables["total"]
    for row in range(200):
        at = name == int(spool.names[total["name"][row]].split("_")[1])
        assert total["count"][row] == at.sum()
        assert total["time"][row] == length[at].sum()
        assert total["shortest"][row] == length[at].min()
        assert total["longest"][row] == length[at].max()
    histogram = spool.tables["histogram"]
    expected = np.bincount(np.maximum(np.log2(np.maximum(length, 1)).astype(int), 0))
    counted = np.bincount(histogram["bucket"], histogram["count"])
    assert counted.tolist() == pytest.approx(expected.tolist(), abs=0)
