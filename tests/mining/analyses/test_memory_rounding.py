import pickle
from pathlib import Path

import pytest

from tests.building import build
from tracelode.collect.ingest import read
from tracelode.mining.mine import find
from tracelode.store import Archive
from tracelode.store.errors import NotCollected


def _alloc(address: int, size: int, time_us: int, action: str = "alloc") -> dict[str, object]:
    return {"action": action, "addr": address, "size": size, "time_us": time_us, "stream": 0, "frames": []}


def test_the_peak_is_of_sizes_asked_for_and_rounded_and_reserved_sizes_stand_apart(tmp_path: Path) -> None:
    # Older: 700 B in a block of 1,024. Then 500 B in one of 512, and 300 B that are released before the end.
    # Asked for at the peak: 700 + 500 + 300 = 1,500; at the end 1,200, in blocks of 1,536, in a segment of 4,096.
    history = [_alloc(5120, 500, 3), _alloc(5632, 300, 4), _alloc(5632, 300, 5, "free_completed")]
    blocks = [
        {"address": 4096, "size": 1024, "requested_size": 700, "state": "active_allocated"},
        {"address": 5120, "size": 512, "requested_size": 500, "state": "active_allocated"},
        {"address": 5632, "size": 2560, "requested_size": 300, "state": "inactive"},
    ]
    segment = {"device": 0, "address": 4096, "total_size": 4096, "stream": 0, "blocks": blocks}
    file = tmp_path / "snapshot.pickle"
    file.write_bytes(pickle.dumps({"segments": [segment], "device_traces": [history]}))
    archive = Archive(tmp_path / "archive")
    trace, _ = read(file, archive)
    found = find(trace, archive, "memory_rounding")
    assert found.rows.rows() == [(0, 0, 2, 1200, 1536, 4096)]
    assert found.sentence == (
        "When the snapshot was taken, 1.17 KiB were asked for, which took up 1.5 KiB in blocks, of 4 KiB reserved."
    )
    assert trace.sql(found.sql).equals(found.rows)
    footprint = find(trace, archive, "memory_footprint")
    assert footprint.rows["peak_bytes"].to_list() == [1500]
    assert any(note.startswith("Tensors of a memory snapshot count with the size") for note in footprint.notes)


def test_only_snapshots_tell_both_sizes(tmp_path: Path) -> None:
    life = {"process": 1, "device": 0, "kind": "tensor", "address": 1, "bytes": 8, "birth_ns": 0}
    with pytest.raises(NotCollected):
        find(*build(tmp_path, allocation=[life]), "memory_rounding")
