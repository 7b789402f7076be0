from pathlib import Path
from typing import Any

from benchmarks.gpu.checks import of_clock, of_launches, of_steps, same
from benchmarks.gpu.recorded import Recorded, cost, look
from benchmarks.gpu.running import Ran
from data.generator.spool import Spool

LAUNCHED: dict[str, Any] = {
    "launched": {
        "kernels": {"tracelode_empty": 2, "tracelode_spin": 3},
        "graph_nodes": {"tracelode_node": 4},
        "graph_launches": 2,
        "copies": 1,
        "copied_bytes": 4096,
    },
    "sections": [{"name": "10 us kernels", "begin_ns": 1_000_000, "end_ns": 1_050_000}],
    "spin_ns": 10_000,
    "timer_step_ns": 32,
}


def _recorded(folder: Path, spool: Spool) -> Recorded:
    spool.write(folder / "host-1-a" / "events.spool")
    (found,) = look(folder)
    return found


def _kernels(spool: Spool, name: str, *starts: int, ns: int = 1_000, table: str = "kernel") -> Spool:
    number = spool.name(name)
    spool.rows("config", {"id": number, "name": number})
    return spool.rows(table, *({"start": start, "end": start + ns, "config": number} for start in starts))


def _launches(spin_ns: int = 10_100) -> Spool:
    spool = _kernels(Spool(), "tracelode_empty", 10, 20)
    _kernels(spool, "tracelode_spin", 1_000_000, 1_011_000, 1_022_000, ns=spin_ns)
    spool.rows("copy", {"kind": 1, "bytes": 4096}, {"kind": 2, "bytes": 8})
    return spool.rows("graph_launch", {"start": 5}, {"start": 6})


def _failed(checks: list[dict[str, Any]]) -> list[str]:
    return [check["check"] for check in checks if not check["ok"]]


def test_a_recording_of_what_was_launched_passes(tmp_path: Path) -> None:
    assert _failed(of_launches(LAUNCHED, _recorded(tmp_path, _launches()), nodes=False)) == []


def test_a_lost_kernel_a_strange_one_and_a_lost_copy_are_found(tmp_path: Path) -> None:
    spool = _kernels(Spool(), "tracelode_empty", 10)
    _kernels(spool, "tracelode_spin", 1_000_000, 1_011_000, 1_022_000, ns=10_100)
    _kernels(spool, "another", 7).rows("graph_launch", {"start": 5}, {"start": 6})
    assert _failed(of_launches(LAUNCHED, _recorded(tmp_path, spool), nodes=False)) == [
        "kernels tracelode_empty",
        "kernels that it did not launch",
        "copies to the device",
        "bytes of these",
    ]


def test_kernels_of_graphs_are_wanted_node_by_node_only_where_that_was_asked(tmp_path: Path) -> None:
    spool = _kernels(_launches(), "tracelode_node", 1, 2, 3, 4, table="graph_kernel")
    recorded = _recorded(tmp_path, spool)
    assert _failed(of_launches(LAUNCHED, recorded, nodes=True)) == ["graph launches"]
    assert _failed(of_launches(LAUNCHED, recorded, nodes=False)) == ["kernels tracelode_node of graphs"]


def test_spans_that_cannot_be_true_are_found(tmp_path: Path) -> None:
    short = of_launches(LAUNCHED, _recorded(tmp_path / "a", _launches(spin_ns=9_000)), nodes=False)
    assert _failed(short) == ["mean ns of a 10 us kernel", "ns of all of these"]
    long = of_launches(LAUNCHED, _recorded(tmp_path / "b", _launches(spin_ns=20_000)), nodes=False)
    assert _failed(long) == ["mean ns of a 10 us kernel", "ns of all of these"]


def test_the_residual_of_the_clock_is_the_farther_end_of_what_a_marker_allows(tmp_path: Path) -> None:
    # The module's own first run, then two markers: begins 300 and 200 ns before, ends 400 and 700 ns after.
    told = {"markers": [[0, 10_300, 30_000, 40_000], [50_000, 60_200, 80_000, 90_000]], "uncertainty_ns": 500.0}
    spool = Spool()
    number = spool.name("tracelode_marker")
    spool.rows("config", {"id": 0, "name": number})
    spool.rows("kernel", *({"start": a, "end": b} for a, b in ((1, 2), (10_000, 30_400), (60_000, 80_700))))
    assert of_clock(told, _recorded(tmp_path, spool)) == {
        "markers": 2,
        "recorded": 2,
        "begin_less_first_instruction_ns": {"least": -300, "median": -250, "most": -200},
        "end_less_last_instruction_ns": {"least": 400, "median": 550, "most": 700},
        "constant_offset_ns": [-200, 400],
        "outside_launch_and_wait": 0,
        "residual_ns": {"median": 700, "worst": 700},
        "uncertainty_ns": 500.0,
        "claim_ns": 700,
    }


def test_an_uncertainty_above_the_residual_is_what_can_be_claimed(tmp_path: Path) -> None:
    told = {"markers": [[0, 10_300, 30_000, 40_000]], "uncertainty_ns": 900.0}
    spool = _kernels(Spool(), "tracelode_marker", 1, 10_000, ns=20_100)
    assert of_clock(told, _recorded(tmp_path, spool))["claim_ns"] == 900.0


def test_times_that_no_one_offset_explains_say_so(tmp_path: Path) -> None:
    told = {"markers": [[0, 10_000, 11_000, 90_000], [0, 50_000, 51_000, 90_000]], "uncertainty_ns": 1.0}
    spool = _kernels(Spool(), "tracelode_marker", 1, 15_000, 45_000)
    found = of_clock(told, _recorded(tmp_path, spool))
    assert (found["constant_offset_ns"], found["residual_ns"]["worst"]) == (None, 5_000)


def test_without_all_markers_there_is_no_claim(tmp_path: Path) -> None:
    told = {"markers": [[0, 1, 2, 3]], "uncertainty_ns": 900.0}
    assert of_clock(told, _recorded(tmp_path, Spool())) == {"markers": 1, "recorded": 0}


def test_a_step_has_the_kernels_of_its_time(tmp_path: Path) -> None:
    spool = _kernels(Spool(), "outside", 0, 99_000)
    _kernels(spool, "inside", 10_000, 10_500, 12_000, 13_000).rows("graph_launch", {"start": 11_000})
    told = {"sections": [{"name": "mlp eager", "begin_ns": 10_000, "end_ns": 20_000, "steps": 2}]}
    # 10,000 to 11,500 and 12,000 to 14,000 of 10,000 ns.
    assert of_steps(told, _recorded(tmp_path, spool)) == {
        "mlp eager": {"kernels": 2.0, "graph_launches": 0.5, "busy": 0.35}
    }


def test_the_cost_of_a_recording_is_what_its_last_state_says(tmp_path: Path) -> None:
    spool = _kernels(Spool(), "one", 1, 2)
    for worker in (1, 300):
        spool.text(
            {"what": "state", "records": {"kernel": 2, "copy": 1}, "kept": {"kernel": 2}, "dropped": 5}
            | {"refused_buffers": 1, "invalid": {"zero": 1}, "unknown": {}, "worker_cpu_ns": worker}
        )
    recorded = _recorded(tmp_path, spool)
    assert cost(recorded) == {
        "kernels": 2,
        "records": 3,
        "kept": 2,
        "dropped": 5,
        "refused_buffers": 1,
        "invalid": {"zero": 1},
        "unknown": {},
        "worker_cpu_ns_per_record": 100.0,
        "spool_bytes": len(spool.data),
        "spool_mb_per_million_kernels": round(len(spool.data) / 2, 2),
    }


def test_what_a_recording_does_not_say_is_not_made_up(tmp_path: Path) -> None:
    found = cost(_recorded(tmp_path, Spool()))
    assert (found["dropped"], found["worker_cpu_ns_per_record"], found["spool_mb_per_million_kernels"]) == (None,) * 3


def test_names_of_two_files_of_a_process_do_not_mix(tmp_path: Path) -> None:
    other = Spool()
    other.name("a range of the program")
    other.write(tmp_path / "host-1-a" / "python.spool")
    assert _recorded(tmp_path, _kernels(Spool(), "kernel", 1)).counts() == {"kernel": 1}


def test_a_program_that_ends_or_writes_otherwise_is_found() -> None:
    without = Ran(7, "42\n", "a\n", 1)
    assert _failed(same(without, Ran(7, "42\n", "a\n", 2))) == []
    assert _failed(same(without, Ran(1, "41\n", "a\ntracelode: no\n", 2))) == [
        "exit status",
        "output",
        "standard error",
    ]
    assert _failed(same(without, Ran(7, "42\n", "a\nrecorded\n", 2), errors=False)) == []
