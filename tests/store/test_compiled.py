import importlib.util
import math
import os
import tempfile
from pathlib import Path
from types import ModuleType

import pytest
from numba.core import config

from tracelode.store.compiled import jit

KERNEL = """
from tracelode.store.compiled import jit

@jit()
def double(number: int) -> int:
    return number * 2
"""


@jit()
def sum_below(limit: int) -> int:
    total = 0
    for number in range(limit):
        total += number
    return total


@jit(error_model="numpy")
def divide(dividend: float, divisor: float) -> float:
    return dividend / divisor


@pytest.fixture
def kernel_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module whose cache can lie neither beside it nor in the user's cache: files stand where the folders would."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "__pycache__").touch()
    (package / "kernel.py").write_text(KERNEL)
    (tmp_path / "home").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / "cache"))
    monkeypatch.setattr(config, "CACHE_DIR", "")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return package / "kernel.py"


def load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("kernel", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cached_in(folder: Path) -> list[str]:
    return sorted({file.name.split("-")[0] for file in folder.rglob("*.nbi")})


def test_a_compiled_function_computes_what_the_python_one_does():
    assert sum_below(5) == 10


def test_options_reach_the_compiler():
    assert divide(1.0, 0.0) == math.inf


def test_where_no_cache_folder_can_be_written_the_temporary_folder_serves_every_later_process(kernel_file: Path):
    assert load(kernel_file).double(21) == 42
    folder = Path(tempfile.gettempdir()) / f"tracelode-numba-{os.getuid()}"
    assert cached_in(folder) == ["kernel.double"]
    assert folder.stat().st_mode & 0o777 == 0o700
    again = load(kernel_file)
    assert again.double(21) == 42
    assert sum(again.double.stats.cache_hits.values()) == 1


def test_other_packages_keep_their_cache_folder(kernel_file: Path):
    load(kernel_file)
    assert config.CACHE_DIR == ""


def test_a_folder_that_others_can_write_is_not_used(kernel_file: Path):
    open_to_all = Path(tempfile.gettempdir()) / f"tracelode-numba-{os.getuid()}"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    assert load(kernel_file).double(21) == 42
    assert cached_in(open_to_all) == []
    assert cached_in(Path(tempfile.gettempdir())) == ["kernel.double"]


def test_a_link_to_another_folder_is_not_used(kernel_file: Path, tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (Path(tempfile.gettempdir()) / f"tracelode-numba-{os.getuid()}").symlink_to(elsewhere)
    assert load(kernel_file).double(21) == 42
    assert cached_in(elsewhere) == []


def test_without_any_writable_folder_it_compiles_without_a_cache(kernel_file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(kernel_file / "no folder"))
    assert load(kernel_file).double(21) == 42
