"""Runs of any kernels, copies and fills, written in every format: the reader says what the oracle says.

So it is of any graph of Chakra as JSON, of which there is no sample, also where that is damaged.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data.generator import FORMATS, Run, Workload
from data.generator.program import COMPUTE_STREAM, REDUCE_STREAM, Program
from data.generator.records import Copy, Fill, Kernel, Operator
from tests.mutation.mutate import mutant
from tests.oracle import execution_trace
from tests.oracle.rows import difference, disagreement, of_trace, oracle_of
from tracelode.collect.ingest import read
from tracelode.store import Archive, UnreadableFile

SIZES = st.integers(1, 2**31 - 1)
NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"), exclude_characters='"\\\ufffd'), max_size=40)
DIRECTIONS = (("HtoD", "Pinned", "Device"), ("DtoH", "Device", "Pageable"))
NODE: dict[str, st.SearchStrategy[Any]] = {
    "Name": NAMES,
    "NodeType": st.integers(0, 10),
    "is_cpu_op": st.booleans(),
    "data_deps": st.lists(st.integers(0, 5), max_size=3),
}
NODES = st.lists(
    st.fixed_dictionaries(
        NODE,
        optional={
            "runtime": st.integers(0, 2**40) | st.integers(0, 2**40).map(lambda thousandths: thousandths / 1000),
            "ctrlDeps": st.lists(st.integers(0, 5), max_size=3),
            "comm_size": SIZES,
        },
    ),
    min_size=1,
    max_size=6,
)
"""Nodes of a graph as Chakra's feeder reads them from JSON, but for their ids."""

BENIGN = frozenset({"no-record-function-id", "orphan-node"})


@st.composite
def works(draw: st.DrawFn) -> list[Kernel | Copy | Fill]:
    """Device work with any names, sizes and durations (of a microsecond and more: noise must not make them 0)."""
    names = draw(st.lists(NAMES, min_size=1, max_size=3))
    kernels = [
        Kernel(
            name=f"k{name}".rstrip(),
            duration_ns=draw(st.integers(1000, 10**9)),
            grid=(draw(st.integers(1, 1000)), draw(st.integers(1, 9)), 1),
            block=(draw(st.sampled_from((1, 32, 1024))), 1, 1),
            registers=draw(st.integers(1, 255)),
            dynamic_shared=draw(st.integers(0, 65536)),
        )
        for name in names
    ]
    direction, source, target = draw(st.sampled_from(DIRECTIONS))
    copy = Copy(direction=direction, source=source, target=target, bytes=draw(SIZES), speed=24000)
    return draw(
        st.permutations(
            [*kernels, *kernels[:1], copy, Fill(bytes=draw(SIZES), duration_ns=draw(st.integers(1000, 10**9)))]
        )
    )


def run_of(chosen: list[Kernel | Copy | Fill], seed: int) -> Run:
    """A run of one iteration that launches that work on two streams."""

    def program(workload: Workload, kind: str, number: int) -> Program:
        found = Program(workload)
        if kind == "iteration":
            with found.span(Operator(name="aten::add")):
                for place, work in enumerate(chosen):
                    found.launch((work,), (COMPUTE_STREAM, REDUCE_STREAM)[place % 2])
                found.add("allocate", 0, 1024)
                found.add("free", 0)
        found.add("sync", None)
        return found

    return Run(Workload(iterations=1, layers=1, warm_up=0, seed=seed, world_size=2), program)


@pytest.mark.parametrize("format", list(filter(oracle_of, FORMATS)))
def test_any_run_is_read_as_the_oracle_reads_it(
    format: str, tmp_path_factory: pytest.TempPathFactory, own_cache: None
) -> None:
    name, write = FORMATS[format]
    oracle = oracle_of(format)
    assert oracle

    @settings(deadline=None, max_examples=8, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(chosen=works(), seed=st.integers(0, 99))
    def check(chosen: list[Kernel | Copy | Fill], seed: int) -> None:
        _check(tmp_path_factory.mktemp("run"), name, write, run_of(chosen, seed), format)

    check()


def graph_of(nodes: list[dict[str, Any]]) -> bytes:
    """The graph of those nodes, numbered in order."""
    numbered = [{"Id": number, **node} for number, node in enumerate(nodes)]
    return json.dumps({"workload_graph": numbered, "ngpus": 8}, indent=1).encode()


@settings(deadline=None, max_examples=30, derandomize=True)
@given(nodes=NODES)
def test_any_graph_of_chakra_as_json_is_read_as_the_oracle_reads_it(
    nodes: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("graph")
    path = folder / "graph.json"
    path.write_bytes(graph_of(nodes))
    trace, _ = read(path, Archive(folder / "archive"))
    told, found = execution_trace.read(path), of_trace(trace)
    assert len(told["node"]) == len(nodes)
    if "parent-circle" not in {note.kind for note in trace.notes}:
        assert difference(told, found) is None


def test_a_damaged_graph_of_chakra_as_json_is_read_as_the_oracle_reads_it_or_with_a_note(tmp_path: Path) -> None:
    nodes = [{"Name": "gemm", "NodeType": 4, "is_cpu_op": True, "runtime": 12.5, "ctrlDeps": [], "data_deps": []}]
    nodes += [{**nodes[0], "Name": "all-reduce", "NodeType": 7, "ctrlDeps": [0], "data_deps": [0], "comm_size": 4096}]
    content, path, outcomes = graph_of([*nodes, *nodes]), tmp_path / "graph.json", set[str | None]()
    for seed in range(60):
        path.write_bytes(mutant(content, seed))
        try:
            trace, _ = read(path, Archive(tmp_path / f"archive-{seed}"))
        except UnreadableFile:
            outcomes.add("refused")
        else:
            outcomes.add(disagreement("execution_trace", path, trace, BENIGN))
    assert outcomes == {"", None, "refused"}


def _check(folder: Path, name: str, write: Callable[[Run, Path], None], run: Run, format: str) -> None:
    write(run, folder / name)
    trace, _ = read(folder / name, Archive(folder / "archive"))
    oracle = oracle_of(format)
    assert oracle
    assert difference(oracle(folder / name), of_trace(trace)) is None
