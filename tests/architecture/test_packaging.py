import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("collect", "mining", "reports", "store", "tracelode")


def _packages() -> set[str]:
    """The packages there are, by the folders' own `__init__.py` files."""
    found = {"tracelode"}
    for folder in FOLDERS[:-1]:
        found |= {
            f"tracelode.{path.parent.relative_to(ROOT).as_posix().replace('/', '.')}"
            for path in (ROOT / folder).rglob("__init__.py")
        }
    return found


def test_every_folder_with_code_is_packaged() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    assert set(listed) == _packages()


def test_the_import_name_links_to_the_four_folders() -> None:
    for folder in FOLDERS[:-1]:
        link = ROOT / "tracelode" / folder
        assert link.is_symlink()
        assert link.readlink() == Path("..") / folder


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    source = tmp_path_factory.mktemp("source")  # a copy: a build in place leaves files that the next one picks up
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--disable-pip-version-check",
        "-w",
        str(out),
        str(source),
    ]
    subprocess.run(build, check=True, capture_output=True, timeout=200)
    return next(out.glob("*.whl"))


def test_the_wheel_holds_the_code_and_nothing_beside_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {n for n in archive.namelist() if ".dist-info/" not in n}
    wanted = {"tracelode/__init__.py", "tracelode/__main__.py", "tracelode/py.typed"}
    for folder in FOLDERS[:-1]:
        files = [
            p for p in (ROOT / folder).rglob("*") if p.suffix in (".py", ".css", ".js", ".toml", ".cpp", ".h", ".map")
        ]
        wanted |= {f"tracelode/{p.relative_to(ROOT).as_posix()}" for p in files}
    assert names == wanted
    assert {n.split("/")[0] for n in names} == {
        "tracelode"
    }  # nothing called `store` or `reports` lands in site-packages


def test_the_version_needs_no_heavy_library() -> None:
    program = (
        "import sys; sys.argv = ['tracelode', '--version']\n"
        "from tracelode.reports.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(sorted({'numpy', 'numba', 'polars', 'pyarrow', 'duckdb', 'altair', 'rich', 'cupy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("module", ["tracelode.store", "tracelode.mining", "tracelode.collect", "tracelode.reports"])
def test_public_names_exist_and_importing_a_folder_is_cheap(module: str) -> None:
    program = (
        f"import sys, {module} as m\n"
        "assert all(hasattr(m, n) for n in getattr(m, '__all__', ()))\n"
        "print(sorted({'numba', 'polars', 'duckdb', 'altair', 'cupy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
