"""The parts of the measurement on a GPU, each of which can be done or left out for itself."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.gpu.running import Book, Clock, LeftOut, Part, run
from benchmarks.gpu.tools import (
    CALLS,
    EVENTS,
    HOOKS,
    NODES,
    OF_LAUNCH,
    OF_STEPS,
    TO_RECORD,
    TO_SHOW,
    Tool,
    Workplace,
    missing,
)
from benchmarks.gpu.turns import NO_TOOL, in_turns, table

__all__ = ["PARTS", "Measurement"]

PARTS = {"build": 45, "clock": 15, "launch": 40, "steps": 125, "samples": 75, "same": 50, "tests": 20}
"""The parts in their order, the most important ones first, and how many seconds each may take."""

HERE = Path(__file__).parent

PROGRAMS = ("launch", "clock")
SAMPLES = ("resnet", "bert", "gpt2")
SAMPLE_STEPS, SAMPLE_BYTES = 6, 1_000_000
TESTS = ("tests/native", "tests/collect/agent", "tests/collect/test_record.py", "tests/collect/test_native_library.py")

Command = Callable[[str], list[str]]
"""The command that is to run with the tool of that name."""

Look = Callable[[Tool, dict[str, Any], Any], dict[str, Any]]
"""Says of a tool, of what the program told and of its recording what is to be kept."""


class Measurement:
    """The parts, one after another; each says in its docstring what it does."""

    def __init__(self, place: Workplace, book: Book, programs: Path | None, repeats: int):
        self.place, self.book, self.repeats = place, book, repeats
        self.programs = programs or place.folder / "programs"
        self.given = programs is not None

    def parts(self, output: Path) -> dict[str, tuple[float, Callable[[Part], None]]]:
        """By name the seconds of each part and what it does; samples go to the output folder."""
        works = {name: getattr(self, name) for name in PARTS} | {"samples": lambda part: self.samples(part, output)}
        return {name: (PARTS[name], work) for name, work in works.items()}

    def command(self, program: str, *words: str) -> list[str]:
        """The command of a compiled program; `LeftOut` where it was not compiled."""
        path = self.programs / program
        if not path.is_file():
            raise LeftOut(f"{program} was not compiled")
        return [str(path), *words]

    def build(self, part: Part) -> None:
        """Compiles the CUDA programs, side by side, and the collector, which all recordings then use."""
        from tracelode.collect import native_library

        compilers = dict[str, "subprocess.Popen[str]"]()
        if not self.given and shutil.which("nvcc"):
            self.programs.mkdir()
            for name in PROGRAMS:
                words = ["-O2", "-std=c++17", "-arch=native", str(HERE / f"{name}.cu"), "-o", str(self.programs / name)]
                compilers[name] = subprocess.Popen(
                    ["nvcc", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
                )
        try:
            collector = native_library.library(self.place.folder)
            os.environ["TRACELODE_COLLECTOR"] = self.place.environment["TRACELODE_COLLECTOR"] = str(collector)
            part.found["collector"] = "built"
        finally:
            for name, compiler in compilers.items():
                part.found[name] = _waited_for(compiler, part.clock)
        if not self.given and not compilers:
            raise LeftOut("no nvcc: launch.cu and clock.cu cannot be compiled")
        if failed := [name for name in compilers if part.found[name] != "compiled"]:
            raise LeftOut(f"not compiled: {', '.join(failed)}")

    def same(self, part: Part) -> None:
        """Runs programs whose output depends on nothing, with and without recording, also by the command line."""
        reasons: list[str] = []
        for name, command_of, words, status, tools, by_command in (
            ("launch", self.command, ("launch", "--check"), 7, (EVENTS, CALLS, NODES), EVENTS),
            ("steps", self.place.steps, ("--check",), 3, (), HOOKS),
        ):
            try:
                found = part.found[name] = self._same(command_of(*words), status, tools, by_command, part.clock)
            except LeftOut as reason:
                reasons.append(f"{name}: {reason}")
                continue
            reasons += [f"{name} is not the same with {tool}" for tool, checks in found.items() if not _fine(checks)]
        if lacking := missing(TO_RECORD):
            reasons.append(f"tracelode record was not run itself: no {', '.join(lacking)}")
        if reasons:
            raise LeftOut("; ".join(reasons))

    def _same(
        self, command: Sequence[str], status: int, tools: Sequence[Tool], by_command: Tool, clock: Clock
    ) -> dict[str, Any]:
        from benchmarks.gpu.checks import same

        without = run(command, self.place.environment, clock)
        if without.status != status:
            raise LeftOut(without.fault())
        found: dict[str, Any] = {}
        for tool in tools:
            ran, folder = self.place.start(tool, command, clock)
            found[tool.name] = same(without, ran)
            self.place.forget(folder)
        if not missing(TO_RECORD):
            archive = ("--archive", str(self.place.folder / "same"))
            ran = self.place.tracelode(["record", *archive, *by_command.words, "--", *command], clock)
            found["tracelode record"] = same(without, ran, errors=False)
        return found

    def clock(self, part: Part) -> None:
        """The device's clock against the host's, alone and under the recorder."""
        from benchmarks.gpu.checks import of_clock
        from benchmarks.gpu.recorded import look

        told = run(self.command("clock"), self.place.environment, part.clock).figures()
        part.found["alone"] = {name: value for name, value in told.items() if name != "markers"}
        ran, folder = self.place.start(EVENTS, self.command("clock"), part.clock)
        told = ran.figures()
        part.found["recorded"] = {name: value for name, value in told.items() if name != "markers"}
        recordings = look(folder) if folder else []
        if len(recordings) != 1:
            raise LeftOut(f"{len(recordings)} processes were recorded, not 1: {ran.told.strip()[-300:]}")
        part.found["residual"] = of_clock(told, recordings[0])
        self.place.forget(folder)

    def launch(self, part: Part) -> None:
        """What each kind of work costs the host and in all, with each tool."""
        from benchmarks.gpu.checks import of_launches

        def checked(tool: Tool, told: dict[str, Any], recorded: Any) -> dict[str, Any]:
            checks = of_launches(told, recorded, nodes=tool == NODES)
            return {"checks": len(checks), "failed_checks": [check for check in checks if not check["ok"]]}

        command = self.command("launch", str(self.repeats))
        self._turns(part, OF_LAUNCH, ("issue_us", "total_us"), lambda _: command, checked)

    def steps(self, part: Part) -> None:
        """What training steps cost with each tool, eager and captured as a graph."""
        from benchmarks.gpu.checks import of_steps

        def counted(_: Tool, told: dict[str, Any], recorded: Any) -> dict[str, Any]:
            return {"of_a_step": of_steps(told, recorded)}

        modes = {NO_TOOL: "eager,graph"} | {tool.name: tool.variants for tool in OF_STEPS}
        self._turns(part, OF_STEPS, ("step_us",), lambda name: self.place.steps("--modes", modes[name]), counted)

    def _turns(
        self, part: Part, tools: tuple[Tool, ...], figures: tuple[str, ...], command_of: Any, look_at: Any
    ) -> None:
        """Runs a program with each tool in turn; keeps what each adds, what its recordings hold, and what they cost."""
        from benchmarks.gpu.recorded import cost, look

        by_name, longest, launches = {tool.name: tool for tool in tools}, 0.0, dict[str, float]()

        def start(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
            nonlocal longest
            tool, begin = by_name.get(name, Tool(NO_TOOL)), time.monotonic()
            ran, folder = self.place.start(tool, command_of(name), part.clock)
            told, seen = ran.figures(), dict[str, Any]()
            if folder:
                recordings = look(folder)
                if len(recordings) != 1:
                    raise LeftOut(f"{len(recordings)} processes were recorded, not 1: {ran.told.strip()[-300:]}")
                seen = {**cost(recordings[0]), **look_at(tool, told, recordings[0])}
                self._about_cupti(recordings[0])
            elif tool.profiler:
                counts = {one["name"]: {"kernels": one["kernels"] / one["steps"]} for one in told["sections"]}
                seen = {"of_a_step": counts}
            for section, count in seen.get("of_a_step", {}).items():
                launches.setdefault(section, 1 if section.endswith(" graph") else count["kernels"])
            self.place.forget(folder)
            longest = max(longest, time.monotonic() - begin)
            self._about_program(told)
            return told, seen

        failed: list[str] = []
        for name, four in in_turns(list(by_name), start, lambda: part.clock.left > 3.2 * longest):
            if isinstance(four, str):
                part.found[name] = {"state": "not measured", "reason": four}
                failed.append(f"{name}: {four}")
                continue
            sections = [{section["name"]: section for section in told["sections"]} for told, _ in four]
            compared = table(sections, figures, lambda section: launches.get(section))
            part.found[name] = {"recordings": [seen for _, seen in four[1:3]], "sections": compared}
            part.keep()
        if failed:
            raise LeftOut("; ".join(failed))

    def _about_cupti(self, recorded: Any) -> None:
        told = next((text for text in recorded.told("process") if "cupti" in text), {})
        self.book.about["gpu"]["cupti"] = told.get("cupti")
        self.book.about["gpu"]["collector_clock"] = told.get("clock")

    def _about_program(self, told: dict[str, Any]) -> None:
        """The versions that the programs tell: they may be of another Python than this."""
        names = ("torch", "cuda") if told.get("program") == "steps" else ("driver", "runtime")
        self.book.about["gpu"] |= {name: told[name] for name in names if told.get(name)}

    def samples(self, part: Part, output: Path) -> None:
        """Records some steps of each model into an archive, packs that, and then shows what is in it."""
        if lacking := missing(TO_RECORD):
            raise LeftOut(f"tracelode record needs {', '.join(lacking)}")
        reasons, root = list[str](), self.place.folder / "samples"
        steps = ("--modes", "eager", "--steps", str(SAMPLE_STEPS), "--blocks", "1")
        for name in SAMPLES:
            folder, command = root / name, self.place.steps("--models", name, *steps)
            places = ["--archive", str(folder / "archive"), "--keep", str(folder / "spool"), "--run", name]
            ran = self.place.tracelode(["record", *places, "--hooks", "op,module,phase", "--", *command], part.clock)
            part.found[name] = {"status": ran.status, "seconds": round(ran.seconds, 1)}
            if ran.status == 0:
                part.found[name] |= _packed(folder, output / f"recording-{name}.tar.gz")
            else:
                reasons.append(f"{name}: {ran.fault()}")
            part.keep()
        if lacking := missing(TO_SHOW):
            reasons.append(f"info, mine and report need {', '.join(lacking)}")
        else:
            recorded = [name for name in SAMPLES if part.found[name]["status"] == 0]
            reasons += [fault for name in recorded for fault in self._show(part, name, root / name)]
            if reports := sorted(root.glob("*/report/*")):
                _pack(output / "recording-reports.tar.gz", root, reports)
        if reasons:
            raise LeftOut("; ".join(reasons))

    def _show(self, part: Part, name: str, folder: Path) -> list[str]:
        """Has info, mine and report do with a sample what they do with any trace; what went wrong."""
        report = folder / "report"
        report.mkdir()
        trace = next(path.name for path in (folder / "archive" / "traces").iterdir() if path.is_dir())
        faults: list[str] = []
        for words, target in (
            (("info",), "info.txt"),
            (("mine",), "mine.txt"),
            (("report", "perf"), "report.html"),
        ):
            places = ("--archive", str(folder / "archive"), "-o", str(report / target))
            ran = self.place.tracelode([*words, trace, *places], part.clock)
            told: dict[str, Any] = {"seconds": round(ran.seconds, 1), "status": ran.status}
            part.found[name][words[0]] = told
            if ran.status != 0:
                faults.append(f"{name}: {words[0]}: {ran.fault()}")
            elif words[0] == "mine":
                told["says"] = (report / target).read_text().partition("\n")[0]
            part.keep()
        return faults

    def tests(self, part: Part) -> None:
        """The recorder's tests that need a GPU."""
        if missing(("pytest",)):
            raise LeftOut("no pytest")
        there = [str(path) for path in (self.place.root / name for name in TESTS) if path.exists()]
        command = [sys.executable, "-m", "pytest", "-m", "gpu", "-q", "-p", "no:cacheprovider", *there]
        ran = run(command, self.place.environment, part.clock)
        if ran.status == 5:
            raise LeftOut("none of the recorder's tests is marked gpu")
        found = {"status": ran.status, "last_lines": ran.output.splitlines()[-15:]}
        part.found.update(found)
        if ran.status != 0:
            raise LeftOut(f"the tests ended with status {ran.status}")


def _waited_for(compiler: "subprocess.Popen[str]", clock: Clock) -> str:
    """What became of a compilation."""
    try:
        told, _ = compiler.communicate(timeout=clock.left)
    except subprocess.TimeoutExpired:
        compiler.kill()
        compiler.communicate()
        return "not compiled in time"
    return "compiled" if compiler.returncode == 0 else told[-500:]


def _fine(checks: Sequence[dict[str, Any]]) -> bool:
    return all(check["ok"] for check in checks)


def _packed(folder: Path, target: Path) -> dict[str, Any]:
    """Packs a sample's spool and archive, and says how large each is."""
    from benchmarks.gpu.recorded import look

    sizes = {
        f"{part}_bytes": sum(path.stat().st_size for path in (folder / part).rglob("*") if path.is_file())
        for part in ("spool", "archive")
    }
    _pack(target, folder, [folder / "spool", folder / "archive"])
    packed = target.stat().st_size
    rows = sum(path.stat().st_size for path in folder.rglob("kernel.parquet"))
    kernels = sum(len(one.every_kernel) for one in look(folder / "spool"))
    each = {"kernels": kernels, "parquet_mb_per_million_kernels": round(rows / kernels, 2) if kernels else None}
    return {**sizes, **each, "packed_bytes": packed, "small_enough": packed <= SAMPLE_BYTES}


def _pack(target: Path, root: Path, paths: list[Path]) -> None:
    import tarfile

    with tarfile.open(target, "w:gz", compresslevel=9) as file:
        for path in paths:
            file.add(path, path.relative_to(root))
