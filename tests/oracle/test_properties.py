"""Runs of any kernels, copies and fills, written in every format: the reader says what the oracle says."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data.generator import FORMATS, Run, Workload
from data.generator.program import COMPUTE_STREAM, REDUCE_STREAM, Program
from data.generator.records import Copy, Fill, Kernel, Operator
from tests.oracle.rows import difference, of_trace, oracle_of
from tracelode.collect.ingest import read
from tracelode.store import Archive

SIZES = st.integers(1, 2**31 - 1)
NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"), exclude_characters='"\\\ufffd'), max_size=40)
DIRECTIONS = (("HtoD", "Pinned", "Device"), ("DtoH", "Device", "Pageable"))


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


def _check(folder: Path, name: str, write: Callable[[Run, Path], None], run: Run, format: str) -> None:
    write(run, folder / name)
    trace, _ = read(folder / name, Archive(folder / "archive"))
    oracle = oracle_of(format)
    assert oracle
    assert difference(oracle(folder / name), of_trace(trace)) is None
