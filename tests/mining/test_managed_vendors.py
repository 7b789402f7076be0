from pathlib import Path
from typing import Any

import pytest

from tests.building import build
from tests.samples import sample
from tracelode.collect.ingest import read
from tracelode.mining.managed_vendors import (
    accesses_hint,
    faults_hint,
    is_amd,
    kind_hint,
    names_hint,
    ordinals,
    recorders,
    touches_hint,
)
from tracelode.mining.mine import mine
from tracelode.store import Archive, Trace

KERNEL = [{"start_ns": 1, "end_ns": 2, "name": "a"}]


def devices(*vendors: str | None) -> list[dict[str, Any]]:
    return [{"process": 1, "device": number, "vendor": vendor} for number, vendor in enumerate(vendors)]


@pytest.mark.parametrize(
    ("vendors", "amd"),
    [(("amd",), True), (("amd", "amd"), True), (("nvidia",), False), (("amd", "nvidia"), False), ((None,), False)],
)
def test_a_trace_is_of_amd_if_all_its_known_devices_are(
    vendors: tuple[str | None, ...], amd: bool, tmp_path: Path
) -> None:
    trace, _ = build(tmp_path, kernel=KERNEL, device=devices(*vendors))
    assert is_amd(trace) is amd


def test_without_devices_the_format_tells_the_vendor(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, kernel=KERNEL)
    assert not is_amd(trace)
    path = tmp_path / "bare.kfd"
    path.write_text("2 0:1\n9 10 -70 1ea0 0\n")  # an eviction that never ends: no device has an event
    assert is_amd(read(path, Archive(tmp_path / "other"))[0])


def test_hints_name_the_tools_of_the_vendor(tmp_path: Path) -> None:
    amd, _ = build(tmp_path / "amd", kernel=KERNEL, device=devices("amd"))
    other, _ = build(tmp_path / "other", kernel=KERNEL, device=devices("nvidia"))
    kinds = ("gpu_fault", "cpu_fault", "HtoD", "thrash", "throttle", "remote_map")

    def all_of(trace: Trace) -> list[str]:
        hints = [kind_hint(trace, kind) for kind in kinds]
        return [
            *hints,
            faults_hint(trace),
            names_hint(trace),
            touches_hint(trace),
            accesses_hint(trace),
            recorders(trace),
        ]

    assert not any("nsys" in hint or "Nsight" in hint or "tracelode record" in hint for hint in all_of(amd))
    assert not any("rocprof" in hint or "AMD" in hint for hint in all_of(other))
    assert "rocprofv3 --kfd-trace" in faults_hint(amd)
    assert "--memory-allocation-trace" in names_hint(amd)
    assert "--cuda-memory-usage=true" in names_hint(other)
    assert "moves to the host" in kind_hint(amd, "cpu_fault")
    assert all(hint.split()[0] in ("record", "look", "run") for hint in (*all_of(amd)[:-1], *all_of(other)[:-1]))


@pytest.mark.parametrize("format", ["rocprofv3_json", "rocpd", "kfd_smi"])
def test_a_program_counts_gpus_alone_where_the_trace_counts_nodes(format: str, tmp_path: Path) -> None:
    trace, _ = read(sample(format), Archive(tmp_path / "archive"))
    assert ordinals(trace) == {(41200, 2): 0}


def test_several_gpus_are_counted_in_the_order_of_their_nodes(tmp_path: Path) -> None:
    path = tmp_path / "run.kfd"
    gpus = ", ".join(f'{{"gpu_id": {number}, "node": {node}}}' for number, node in ((30, 9), (10, 4), (20, 7)))
    path.write_text(f'# {{"tracelode": "kfd_smi", "gpus": [{gpus}]}}\n7 10 -70 @10(14) R\n')  # 0x14 is 20
    trace, archive = read(path, Archive(tmp_path / "archive"))[0], Archive(tmp_path / "archive")
    assert ordinals(trace) == {(70, 4): 0, (70, 7): 1, (70, 9): 2}
    assert mine(trace, archive, "uvm_choices").sql("select hip from uvm_advice").rows() == [(None,)]  # left alone


def test_other_formats_have_the_numbers_of_the_program(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, kernel=KERNEL, device=devices("amd"))
    assert ordinals(trace) == {}
