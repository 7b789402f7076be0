from pathlib import Path

from tests.collect.agent.spooled import FAKE, run, spools

BEFORE = "import sys\nassert 'torch' not in sys.modules\nfrom tracelode.collect import agent\n"
USE = "class Net(torch.nn.Module):\n    def forward(self): pass\nNet()()\n"


def names(folder: Path) -> list[str]:
    return [name for one in spools(folder) for name in one.ranges(1)]


def test_hooks_wait_for_the_programs_own_import_and_change_nothing_of_it(folder: Path) -> None:
    program = """
import importlib.util, inspect
finders = len(sys.meta_path)
import torch
assert len(sys.meta_path) == finders - 1
assert vars(torch.__loader__).keys() == {"name", "path"}
assert "Stands for PyTorch" in torch.__doc__ and "class Storage" in inspect.getsource(torch)
"""
    done = run(BEFORE + program + USE, folder, FAKE, TRACELODE_RECORD_HOOKS="module")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert names(folder) == ["Net"]


def test_a_torch_that_is_there_already_is_hooked_at_the_start(folder: Path) -> None:
    program = "import torch\nNot = torch.nn.Module.__call__\n" + USE + "agent.start()\n" + USE
    options = {"TRACELODE_RECORD_HOOKS": "module", "TRACELODE_RECORD_PAUSED": "1"}
    done = run(BEFORE + program, folder, FAKE, **options)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert names(folder) == ["Net"]


def test_torch_is_never_imported_for_the_program(folder: Path) -> None:
    done = run(BEFORE + "agent.mark('m')\nassert 'torch' not in sys.modules", folder, FAKE, TRACELODE_RECORD_HOOKS="op")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_program_without_torch_is_told_so_by_python(folder: Path) -> None:
    program = """
try: import torch.nn
except ModuleNotFoundError as error: print(error)
"""
    done = run(
        "import sys\nsys.path[:] = [path for path in sys.path if 'site-packages' not in path]\n" + program,
        folder,
        TRACELODE_RECORD_HOOKS="op,module,phase,tensor",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "No module named 'torch'\n", "")


def test_a_torch_whose_import_fails_fails_as_ever_and_is_hooked_when_it_works(folder: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken" / "torch"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('no libtorch')\n")
    program = f"""
try: import torch
except ImportError as error: print(error)
sys.path.remove({str(broken.parent)!r})
import torch
"""
    done = run(BEFORE + program + USE, folder, broken.parent, FAKE, TRACELODE_RECORD_HOOKS="module")
    assert (done.returncode, done.stdout, done.stderr) == (0, "no libtorch\n", "")
    assert names(folder) == ["Net"]


def test_a_torch_without_what_hooks_need_runs_and_the_recording_says_so(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "torch.py").write_text("__version__ = '0.1'\n")
    program = "import torch\nagent.mark('m')\n"
    done = run(BEFORE + program, folder, other, TRACELODE_RECORD_HOOKS="op,module,phase,tensor")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (found,) = spools(folder)
    assert found.ranges(4) == ["m"]
    assert found.said("process")["torch"] == "0.1"
    assert found.said("state")["errors"] >= 4
    assert "AttributeError" in found.said("state")["error"]
