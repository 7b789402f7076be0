"""Holds the samples of graphs and totals against what writes them, and against each other."""

from pathlib import Path

import pytest

from data.generator.graphs import OPERATORS, main, write_graphs
from tracelode.collect.ingest import read
from tracelode.store import Archive, Trace

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
NAMES = ("chakra.et", "execution-trace.json", "execution-trace.profile.json", "proton.json")


def trace(name: str, tmp_path: Path) -> Trace:
    return read(SAMPLES / name, Archive(tmp_path / "archive"))[0]


def test_the_samples_are_what_the_generator_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["graphs", str(tmp_path / "by-command")])
    main()
    write_graphs(tmp_path / "again")
    for folder in ("by-command", "again"):
        assert {path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()} == {
            name: (SAMPLES / name).read_bytes() for name in NAMES
        }


def test_the_samples_stay_small() -> None:
    assert all((SAMPLES / name).stat().st_size < 20_000 for name in NAMES)


def test_all_four_tell_of_the_same_work(tmp_path: Path) -> None:
    names = [one.name for one in OPERATORS]
    kernels = sorted((one.kernel, one.kernel_us * 1000) for one in OPERATORS if one.kernel)
    graph = trace("execution-trace.json", tmp_path).sql(
        "select name from node where external is not null order by external"
    )
    assert graph["name"].to_list() == names
    chakra = trace("chakra.et", tmp_path)
    hosts = chakra.sql("select name from node where args ->> '$.is_cpu_op' = 'true' order by id")
    assert hosts["name"].to_list() == names
    device = chakra.sql("select name, time_ns from node where args ->> '$.is_cpu_op' = 'false' order by all")
    profile = trace("execution-trace.profile.json", tmp_path).sql("select name, duration_ns from kernel order by all")
    totals = trace("proton.json", tmp_path).sql("select name, time_ns from total where count > 0 order by all")
    assert device.rows() == profile.rows() == totals.rows() == kernels
