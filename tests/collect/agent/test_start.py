import ast
from pathlib import Path

import pytest

from tests.collect.agent.spooled import START, run, spools

PROGRAM = "import sys\nagent = sys.modules['tracelode_agent']\nagent.mark('m')\n"


def test_the_sitecustomize_that_was_there_before_runs_in_its_own_name(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.before = __file__\n")
    program = """
import sitecustomize
assert sitecustomize.__file__ == sys.before
assert sys.before.endswith("sitecustomize.py") and not "agent" in sys.before
"""
    done = run(PROGRAM + program, folder, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [one.ranges(4) for one in spools(folder)] == [["m"]]


def test_without_another_sitecustomize_there_is_none(folder: Path) -> None:
    program = """
import importlib.util
assert "sitecustomize" not in sys.modules
assert importlib.util.find_spec("sitecustomize") is None
"""
    done = run(PROGRAM + program, folder)
    if done.returncode:  # the system has one of its own, as Debian does
        assert "AssertionError" in done.stderr
        pytest.skip("this Python has a sitecustomize")
    assert [one.ranges(4) for one in spools(folder)] == [["m"]]


def test_a_broken_sitecustomize_is_told_by_python_as_ever(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("raise ValueError('theirs')\n")
    done = run(PROGRAM, folder, tmp_path)
    assert done.returncode == 0
    assert "Error in sitecustomize" in done.stderr
    assert "theirs" in done.stderr
    assert [one.ranges(4) for one in spools(folder)] == [["m"]]


def test_the_programs_path_does_not_have_our_folder(folder: Path) -> None:
    done = run("import sys; print([path for path in sys.path if 'agent' in path])", folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


@pytest.mark.parametrize("flag", ["-S", "-I", "-E"])
def test_a_python_that_runs_no_sitecustomize_runs_without_the_agent(folder: Path, flag: str) -> None:
    done = run("import sys; print('tracelode_agent' in sys.modules)", folder, flags=(flag,))
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")
    assert not folder.exists()


def test_without_a_folder_to_record_into_nothing_is_imported(folder: Path) -> None:
    program = "import sys; print(sorted(name for name in sys.modules if 'tracelode_agent' in name))"
    done = run(program, folder, TRACELODE_RECORD_DIR="")
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


def test_the_agent_imports_nothing_but_the_standard_library(folder: Path) -> None:
    listing = """
import sys
strange = {name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names) - {"tracelode_agent"}
print(sorted(strange))
"""
    parts = [path.stem for path in START.parent.glob("*.py") if path.stem != "__init__"]
    loading = f"for part in {parts}: __import__(f'tracelode_agent.{{part}}')\n"
    loaded = run(loading + listing, folder)
    bare = run(listing, folder, TRACELODE_RECORD_DIR="")  # what the environment itself loads, as by .pth files
    assert (loaded.returncode, loaded.stdout, loaded.stderr) == (0, bare.stdout, "")


def test_an_agent_that_cannot_start_leaves_the_program_alone(tmp_path: Path, folder: Path) -> None:
    broken = tmp_path / "agent" / "start"
    broken.mkdir(parents=True)
    (broken / "sitecustomize.py").write_text((START / "sitecustomize.py").read_text())
    (broken.parent / "__init__.py").write_text("raise RuntimeError('broken')\n")
    done = run("print('runs')", folder, PYTHONPATH=str(broken))
    assert (done.returncode, done.stdout, done.stderr) == (0, "runs\n", "")


def test_the_agent_is_written_for_every_python_since_3_8() -> None:
    sources = sorted(START.parent.rglob("*.py"))
    assert len(sources) > 10
    for source in sources:
        ast.parse(source.read_text(), str(source), feature_version=(3, 8))
