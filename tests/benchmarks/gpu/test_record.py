"""The whole measurement, with the stubs in the place of the driver and of CUPTI, and a program in that of CUDA ones."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.gpu.record import short_name
from tests.native.programs import Programs
from tests.native.replays import COPY, GRAPH, KERNEL, Replay, recently

ROOT = Path(__file__).parents[3]
STREAM = {"deviceId": 0, "contextId": 1, "streamId": 7}
PLACE = {**STREAM, "gridX": 1, "gridY": 1, "gridZ": 1, "blockX": 32, "blockY": 1, "blockZ": 1}
EMPTY, SPIN, NODES, COPIES = 400, 100, 50, 30


@dataclass(frozen=True)
class Stage:
    """A folder with the programs, and how to start the measurement over it."""

    folder: Path
    programs: Programs

    def measure(self, *words: str, driver: bool = True) -> "subprocess.CompletedProcess[str]":
        """Runs the measurement."""
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.programs.folder / "cache"), "PYTHONPATH": str(ROOT)}
        if driver:
            environment["LD_LIBRARY_PATH"] = str(self.programs.driver.parent)
        environment |= {
            "TRACELODE_CUPTI": str(self.programs.cupti),
            "TRACELODE_COLLECTOR": str(self.programs.collector),
        }
        out = self.folder / "out"
        command = [
            sys.executable,
            "-m",
            "benchmarks.gpu.record",
            "-o",
            str(out),
            "--programs",
            str(self.folder),
            *words,
        ]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=250)

    def results(self) -> dict[str, Any]:
        """What was written."""
        (path,) = (self.folder / "out").glob("*.json")
        assert path.name.endswith("-gpu-record.json")
        return json.loads(path.read_text())

    def runs(self) -> list[str]:
        """The programs in their order, each with how graphs were recorded under it."""
        return (self.folder / "log").read_text().splitlines()


def _kernels(replay: Replay, name: str, start: int, count: int, ns: int, **columns: int) -> int:
    at = start + np.arange(count) * (ns + 100)
    number = [replay.text(name)] * count
    replay.add(
        KERNEL, count, start=at, end=at + ns, name=number, correlationId=1 + np.arange(count), **PLACE, **columns
    )
    return int(at[-1]) + ns


def _launches(layout: Any, path: Path, base: int, *, nodes: bool) -> dict[str, Any]:
    """Writes the records of launch.cu's stand-in, and gives what it says of them."""
    replay = Replay(layout)
    end = _kernels(replay, "tracelode_empty", base, EMPTY, 1_000)
    last = _kernels(replay, "tracelode_spin", end + 1_000, SPIN, 10_016)
    if nodes:
        _kernels(replay, "tracelode_node", last + 5_000, NODES, 1_000, graphId=3, graphNodeId=9)
    else:
        replay.add(GRAPH, 5, start=last + 5_000, end=last + 6_000, graphId=3, **STREAM)
    replay.add(COPY, COPIES, start=base, end=base + 50, bytes=4096, copyKind=1, **STREAM)
    replay.write(path)
    figure = {"median": 2.0, "p10": 1.9, "p90": 2.2}
    sections = [
        {"name": name, "begin_ns": begin, "end_ns": until, "issue_us": dict(figure), "total_us": {"median": 4.0}}
        for name, begin, until in (("empty kernels", base, end), ("10 us kernels", end, last + 1_000))
    ]
    launched = {
        "kernels": {"tracelode_empty": EMPTY, "tracelode_spin": SPIN},
        "graph_nodes": {"tracelode_node": NODES},
        "graph_launches": 5,
        "copies": COPIES,
        "copied_bytes": COPIES * 4096,
    }
    spin = {"spin_ns": 10_000, "timer_step_ns": 32}
    return {"program": "launch", "sections": sections, "launched": launched, **spin, "driver": 13000, "runtime": 13000}


def _markers(layout: Any, path: Path) -> dict[str, Any]:
    """The same of clock.cu's: markers recorded 300 ns before their first and 500 ns after their last instruction."""
    replay, base = Replay(layout), recently()
    _kernels(replay, "tracelode_marker", base, 1, 1_000)
    starts = base + 100_000 * np.arange(1, 6)
    replay.add(KERNEL, 5, start=starts, end=starts + 20_800, name=[replay.text("tracelode_marker")] * 5, **PLACE)
    replay.write(path)
    markers = [[start - 5_000, start + 300, start + 20_300, start + 30_000] for start in starts.tolist()]
    return {"program": "clock", "uncertainty_ns": 600.0, "drift_ppm": 1.5, "markers": markers}


def _steps(layout: Any, folder: Path) -> dict[str, Any]:
    """The same of steps.py: 4 eager steps of 5 kernels, then 4 replays of a graph of 5."""
    base, captured = recently(), recently() + 1_000_000
    for nodes in (False, True):
        replay = Replay(layout)
        if nodes:
            _kernels(replay, "kernel", captured, 20, 1_000, graphId=3, graphNodeId=9)
        else:
            _kernels(replay, "kernel", base, 20, 1_000)
            starts = captured + 10_000 * np.arange(4)
            replay.add(GRAPH, 4, start=starts, end=starts + 6_000, graphId=3, **STREAM)
        replay.write(folder / ("steps-node.replay" if nodes else "steps.replay"))
    sections = [
        {
            "name": f"mlp {mode}",
            "steps": 4,
            "begin_ns": begin - 1000,
            "end_ns": begin + 50_000,
            "step_us": {"median": 10.0},
        }
        for mode, begin in (("eager", base), ("graph", captured))
    ]
    return {"program": "steps", "torch": "2.11.0", "cuda": "13.0", "sections": sections}


@pytest.fixture
def stage(programs: Programs, layout: Any, tmp_path: Path) -> Stage:
    source = (Path(__file__).parent / "program.py").read_text()
    for name in ("launch", "clock", "steps"):
        (tmp_path / name).write_text(f"#!{sys.executable}\n{source}")
        (tmp_path / name).chmod(0o755)
    base = recently()
    told = {"launch": _launches(layout, tmp_path / "launch.replay", base, nodes=False)}
    _launches(layout, tmp_path / "launch-node.replay", base, nodes=True)
    told["clock"] = _markers(layout, tmp_path / "clock.replay")
    told["steps"] = _steps(layout, tmp_path)
    check = Replay(layout)
    _kernels(check, "tracelode_add", recently(), 10, 1_000)
    check.write(tmp_path / "check.replay")
    for name, said in told.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(said))
    (tmp_path / "fail").write_text("")
    return Stage(tmp_path, programs)


def test_without_a_gpu_it_says_so_in_one_line_and_writes_nothing(stage: Stage) -> None:
    done = stage.measure(driver=False)
    if done.returncode == 0:
        pytest.skip("this machine has a GPU")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: no NVIDIA GPU on this machine: nothing was measured\n"
    assert not (stage.folder / "out").exists()


def test_the_cost_of_each_tool_is_told_with_what_its_recordings_hold(stage: Stage) -> None:
    done = stage.measure("--parts", "launch")
    assert done.returncode == 0, done.stderr
    results = stage.results()
    turns = ["none", "graph", "graph", "none", "graph", "graph", "none", "node", "node", "none"]
    assert stage.runs() == [f"launch {how}" for how in turns]
    launch = results["parts"]["launch"]
    assert launch["state"] == "done", launch
    assert list(launch["figures"]) == ["events", "calls", "nodes"]
    for tool, found in launch["figures"].items():
        for recording in found["recordings"]:
            assert recording["failed_checks"] == [] and recording["checks"] == 10, tool
            assert recording["kernels"] == EMPTY + SPIN + NODES * (tool == "nodes")
            assert recording["dropped"] == 0 and recording["invalid"] == {"zero": 0, "inverted": 0, "future": 0}
            assert recording["worker_cpu_ns_per_record"] > 0
        issue, total = (found["sections"]["empty kernels"][figure] for figure in ("issue_us", "total_us"))
        assert (issue["base"], issue["added"], issue["added_percent"], issue["seen"]) == (2.0, 0.5, 25.0, True)
        assert (total["base"], total["with_tool"], total["drift"]) == (4.0, 4.5, 0.0)
    assert results["gpu"]["cupti"] and results["gpu"]["collector_clock"] == "monotonic_raw"
    assert results["gpu"]["driver"] == 13000 and results["versions"]["tracelode"] and results["machine"]


def test_training_steps_are_told_with_the_kernels_and_launches_of_each(stage: Stage) -> None:
    assert stage.measure("--parts", "steps", "--python", str(stage.folder / "steps")).returncode == 0
    results = stage.results()
    steps = results["parts"]["steps"]
    assert steps["state"] == "done", steps
    assert list(steps["figures"]) == ["events", "torch.profiler", "calls", "nodes", "hooks"]
    of_a_step = {name: found["recordings"][1]["of_a_step"] for name, found in steps["figures"].items()}
    eager = {"kernels": 5, "graph_launches": 0, "busy": 0.3922}  # 20 of 51 us
    assert of_a_step["events"] == {"mlp eager": eager, "mlp graph": {"kernels": 0, "graph_launches": 1, "busy": 0.0}}
    assert of_a_step["torch.profiler"] == {"mlp eager": {"kernels": 5}, "mlp graph": {"kernels": 5}}
    assert of_a_step["nodes"] == {"mlp graph": {"kernels": 5, "graph_launches": 0, "busy": 0.3922}}
    assert of_a_step["hooks"] == {"mlp eager": eager}
    for name, modes in (("torch.profiler", ("eager", "graph")), ("nodes", ("graph",)), ("hooks", ("eager",))):
        sections = steps["figures"][name]["sections"]
        assert list(sections) == [f"mlp {mode}" for mode in modes]
        for mode in modes:
            found = sections[f"mlp {mode}"]["step_us"]
            assert (found["base"], found["added"], found["added_percent"]) == (10.0, 0.5, 5.0)
            assert found["added_us_per_launch"] == (0.1 if mode == "eager" else 0.5)
    assert (results["gpu"]["torch"], results["gpu"]["cuda"]) == ("2.11.0", "13.0")


def test_the_clock_is_told_with_what_can_be_claimed(stage: Stage) -> None:
    assert stage.measure("--parts", "clock").returncode == 0
    clock = stage.results()["parts"]["clock"]
    assert clock["state"] == "done", clock
    assert clock["figures"]["alone"] == {"program": "clock", "uncertainty_ns": 600.0, "drift_ppm": 1.5}
    residual = clock["figures"]["residual"]
    assert residual["residual_ns"] == {"median": 500, "worst": 500}
    assert (residual["constant_offset_ns"], residual["claim_ns"]) == ([-300, 500], 600.0)


def test_programs_are_the_same_recorded_and_what_cannot_be_measured_has_a_reason(stage: Stage) -> None:
    done = stage.measure("--parts", "build,same,samples,steps", "--python", "/no/such/python")
    assert done.returncode == 0, done.stderr
    parts = stage.results()["parts"]
    assert parts["build"]["state"] == "done", parts["build"]
    no_torch = "no Python with PyTorch was found: name one with --python"
    assert (parts["same"]["state"], parts["same"]["reason"]) == ("in part", f"steps: {no_torch}")
    same = parts["same"]["figures"]["launch"]
    assert list(same) == ["events", "calls", "nodes", "tracelode record"]
    assert all(check["ok"] for checks in same.values() for check in checks), same
    for name in ("samples", "steps"):
        assert (parts[name]["state"], parts[name]["reason"]) == ("left out", no_torch)
        assert "figures" not in parts[name]


def test_a_tool_under_which_the_program_fails_is_not_measured_and_the_others_are(stage: Stage) -> None:
    (stage.folder / "fail").write_text("node")
    assert stage.measure("--parts", "launch").returncode == 0
    launch = stage.results()["parts"]["launch"]
    assert (launch["state"], launch["reason"]) == ("in part", "nodes: exit status 1: it fell over")
    assert launch["figures"]["nodes"] == {"state": "not measured", "reason": "exit status 1: it fell over"}
    assert launch["figures"]["events"]["sections"]["empty kernels"]["issue_us"]["added"] == 0.5


def test_parts_for_which_there_is_no_time_are_left_out_and_the_results_written(stage: Stage) -> None:
    assert stage.measure("--parts", "launch,clock", "--seconds", "0").returncode == 0
    parts = stage.results()["parts"]
    assert [part["state"] for part in parts.values()] == ["left out"] * 2
    assert [part["reason"] for part in parts.values()] == ["the time for all parts was up"] * 2


def test_results_are_named_for_the_device() -> None:
    assert short_name([{"name": "NVIDIA H200"}]) == "h200"
    assert short_name([{"name": "NVIDIA RTX PRO 6000"}, {"name": "other"}]) == "rtx-pro-6000"
    assert short_name([]) == "gpu"
