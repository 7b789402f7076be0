import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from tests.reports.formats.runner_commands import obeyed

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "docs" / "recipes"
HISTORY = ROOT / "data" / "samples" / "history"
PLACE, PROGRAM = "/srv/tracelode", "/opt/tracelode/bin/tracelode"
"""Where the recipes expect the traces and the program."""
PASSED, USAGE, REGRESSION, INCONCLUSIVE, UNREADABLE = 0, 2, 3, 4, 5
CODES = (PASSED, USAGE, REGRESSION, INCONCLUSIVE, UNREADABLE)
FAILURE = {code: 0 if code == INCONCLUSIVE else code for code in CODES}
"""The exit code of a batch to that of a recipe that takes inconclusive for no failure."""
GITHUB_SHELL = ("bash", "--noprofile", "--norc", "-eo", "pipefail")


def shell(script: str, folder: Path, *interpreter: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Runs a script in that shell, else /bin/sh; `tracelode` is what lies in the folder's bin/, else the real one."""
    known = {"PATH": f"{folder / 'bin'}:{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(folder)}
    kept = {name: os.environ[name] for name in ("XDG_CACHE_HOME",) if name in os.environ}
    command = [*(interpreter or ("/bin/sh",)), "-c", script.replace(PLACE, str(folder))]
    return subprocess.run(
        command, env=known | kept | variables, cwd=folder, capture_output=True, text=True, timeout=280, check=False
    )


def ends_with(folder: Path, code: int) -> None:
    """Puts a `tracelode` into the folder that ends with that code, and keeps the words it was called with."""
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / "tracelode"
    program.write_text(f'#!/bin/sh\necho "$PWD: $*" >>{folder}/called\necho "batch: summary" >&2\nexit {code}\n')
    program.chmod(0o755)


def called(folder: Path) -> list[str]:
    """The words that `tracelode` was called with, each after the folder it was called in."""
    return (folder / "called").read_text().splitlines()


def steps() -> list[dict[str, Any]]:
    """The steps of the workflow that run in a shell."""
    workflow = yaml.safe_load((RECIPES / "github-workflow.yml").read_text())
    (job,) = workflow["jobs"].values()
    assert job["defaults"]["run"] == {"shell": "bash", "working-directory": PLACE}
    return [step for step in job["steps"] if "run" in step]


def run_workflow(folder: Path) -> tuple[list[int], str, str]:
    """Runs the steps as GitHub's runner does: their exit codes, what they print, and the summary."""
    summary = folder / "summary.md"
    codes: list[int] = []
    printed = ""
    for step in steps():
        if any(codes) and step.get("if") != "${{ !cancelled() }}":
            continue
        done = shell(step["run"], folder, *GITHUB_SHELL, GITHUB_STEP_SUMMARY=str(summary))
        codes.append(done.returncode)
        printed += done.stdout + done.stderr
    return codes, printed, summary.read_text() if summary.exists() else ""


def command_of(name: str) -> str:
    """What a pod of that recipe runs."""
    job = yaml.safe_load((RECIPES / name).read_text())
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["/bin/sh", "-c"]
    assert container["workingDir"] == container["volumeMounts"][0]["mountPath"] == PLACE
    return container["args"][0]


@pytest.mark.parametrize("code", CODES)
def test_cron_mails_what_was_said_unless_all_is_well_or_inconclusive(tmp_path: Path, code: int) -> None:
    (line,) = [line for line in (RECIPES / "crontab").read_text().splitlines() if not line.startswith("#")]
    *when, command = line.split(maxsplit=5)
    assert all(re.fullmatch(r"[\d*,/-]+", field) for field in when)
    assert "%" not in command  # cron would end the line there
    ends_with(tmp_path, code)
    done = shell(command.replace(PROGRAM, "tracelode"), tmp_path)
    assert called(tmp_path) == [f"{tmp_path}: batch pipeline.toml"]
    assert done.stdout == ("" if code in (PASSED, INCONCLUSIVE) else "batch: summary\n")
    assert (tmp_path / "batch.log").read_text() == "batch: summary\n"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
@pytest.mark.parametrize("fault", ["", "Execstart=/bin/true", "OnCalendar=never"])
def test_systemd_takes_the_units_as_they_are_and_none_with_a_fault(tmp_path: Path, fault: str) -> None:
    (tmp_path / "tracelode").symlink_to(Path(sys.executable).parent / "tracelode")
    for unit in RECIPES.glob("tracelode*.*"):
        text = unit.read_text().replace(PROGRAM, str(tmp_path / "tracelode"))
        (tmp_path / unit.name).write_text(f"{text}\n[{'Timer' if unit.suffix == '.timer' else 'Service'}]\n{fault}\n")
    units = sorted(str(path) for path in tmp_path.glob("*.[st]*"))
    assert len(units) == 3
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode == 0 and not done.stderr) is not bool(fault), done.stderr


def test_systemd_takes_inconclusive_for_no_failure() -> None:
    service = (RECIPES / "tracelode.service").read_text().splitlines()
    assert f"ExecStart={PROGRAM} batch pipeline.toml" in service
    assert f"SuccessExitStatus={INCONCLUSIVE}" in service
    assert "OnFailure=tracelode-failed.service" in service


@pytest.mark.parametrize("code", CODES)
def test_the_workflow_fails_unless_all_is_well_or_inconclusive_and_shows_what_there_is(
    tmp_path: Path, code: int
) -> None:
    ends_with(tmp_path, code)
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "check.annotations").write_text("::error::of the night before\n")
    codes, printed, summary = run_workflow(tmp_path)
    assert codes == [FAILURE[code], 0]
    assert called(tmp_path) == [f"{tmp_path}: batch pipeline.toml"]
    assert (printed, summary) == ("batch: summary\n", "")


@pytest.mark.parametrize("name", ["slurm-shards.sbatch", "slurm-check.sbatch"])
@pytest.mark.parametrize("code", CODES)
def test_slurm_jobs_are_bash_and_call_the_batch(tmp_path: Path, name: str, code: int) -> None:
    script = (RECIPES / name).read_text()
    assert script.startswith("#!/bin/bash\n#SBATCH ")
    directives = [line for line in script.splitlines() if line.startswith("#SBATCH")]
    assert script.splitlines()[1 : 1 + len(directives)] == directives  # sbatch reads none after a command
    ends_with(tmp_path, code)
    done = shell(
        script, tmp_path, "bash", SLURM_ARRAY_TASK_ID="3", SLURM_ARRAY_TASK_COUNT="16", SLURM_CPUS_PER_TASK="4"
    )
    shard = "--shard 3/16 " if "shards" in name else ""
    assert called(tmp_path) == [f"{tmp_path}: batch pipeline.toml {shard}--jobs 4"]
    assert done.returncode == (code if shard else FAILURE[code])


def test_kubernetes_gives_each_index_its_shard(tmp_path: Path) -> None:
    spec = yaml.safe_load((RECIPES / "kubernetes-shards.yaml").read_text())["spec"]
    assert spec["completionMode"] == "Indexed"
    ends_with(tmp_path, PASSED)
    for index in range(spec["completions"]):
        shell(command_of("kubernetes-shards.yaml"), tmp_path, JOB_COMPLETION_INDEX=str(index))
    assert called(tmp_path) == [f"{tmp_path}: batch pipeline.toml --shard {index}/16 --jobs 4" for index in range(16)]


@pytest.mark.parametrize("code", CODES)
def test_kubernetes_tries_no_answer_again(tmp_path: Path, code: int) -> None:
    ends_with(tmp_path, code)
    done = shell(command_of("kubernetes-check.yaml"), tmp_path)
    assert done.returncode == FAILURE[code]
    for name in ("kubernetes-shards.yaml", "kubernetes-check.yaml"):
        spec = yaml.safe_load((RECIPES / name).read_text())["spec"]
        rule = spec["podFailurePolicy"]["rules"][0]["onExitCodes"]
        (container,) = spec["template"]["spec"]["containers"]
        assert rule["containerName"] == container["name"]
        assert set(rule["values"]) == {USAGE, UNREADABLE} | ({REGRESSION} if "check" in name else set())
        assert spec["template"]["spec"]["restartPolicy"] == "Never"  # a policy for failures takes no other


def test_airflow_gets_one_task_that_skips_what_is_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, dict[str, Any]]] = []

    class Made:
        """What Airflow's classes are called with."""

        def __init__(self, *names: str, **options: Any) -> None:
            made.append(("".join(names), options))

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

    package = "airflow"
    for part in (
        "",
        ".providers",
        ".providers.standard",
        ".providers.standard.operators",
        ".providers.standard.operators.bash",
    ):
        module = ModuleType(package + part)
        module.DAG = module.BashOperator = Made  # type: ignore[attr-defined]  # a module made here
        monkeypatch.setitem(sys.modules, module.__name__, module)
    runpy.run_path(str(RECIPES / "airflow_dag.py"))
    (dag, options), (_, task) = made
    assert (dag, options["schedule"], options["max_active_runs"]) == ("tracelode", "17 3 * * *", 1)
    assert task["bash_command"] == "tracelode batch pipeline.toml"
    assert (task["cwd"], task["skip_on_exit_code"], task["retries"]) == (PLACE, INCONCLUSIVE, 0)


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the recipes have it, with nine nights of the sample history; its pages for each run are not made."""
    folder = tmp_path_factory.mktemp("nights")
    pipeline = (RECIPES / "pipeline.toml").read_text()
    (folder / "pipeline.toml").write_text(re.sub(r"\[\[report\]\].*?\n\n", "", pipeline, flags=re.DOTALL))
    (folder / "nightly").mkdir()
    for night in range(41, 50):
        shutil.copy(HISTORY / f"night-{night}.json.gz", folder / "nightly")
    return folder


def test_shards_leave_a_check_that_finds_the_regression_of_later_nights(nights: Path) -> None:
    for shard in ("0", "1"):
        variables = {"SLURM_ARRAY_TASK_ID": shard, "SLURM_ARRAY_TASK_COUNT": "2", "SLURM_CPUS_PER_TASK": "1"}
        done = shell((RECIPES / "slurm-shards.sbatch").read_text(), nights, "bash", **variables)
        assert done.returncode == PASSED, done.stderr
    codes, printed, summary = run_workflow(nights)
    assert codes == [PASSED, PASSED], printed
    assert "batch: 9 runs (9 unchanged)" in printed
    assert obeyed(printed)[0].name == "notice"
    assert "No regression in 7 checks." in summary

    for night in range(50, 53):
        shutil.copy(HISTORY / f"night-{night}.json.gz", nights / "nightly")
    codes, printed, summary = run_workflow(nights)
    assert codes == [REGRESSION, PASSED], printed
    assert "batch: 12 runs (9 unchanged)" in printed
    assert obeyed(printed)[0].name == "error"
    assert "Median iteration" in summary
    assert sorted(path.name for path in (nights / "checks").iterdir()) == [
        "check.annotations", "check.html", "check.json", "check.md", "check.prom", "check.xml",
    ]  # fmt: skip


def test_every_recipe_is_in_the_list() -> None:
    listed = set(re.findall(r"\]\(([\w.-]+)\)", (RECIPES / "README.md").read_text()))
    assert listed == {path.name for path in RECIPES.iterdir() if path.is_file()} - {"README.md"}
