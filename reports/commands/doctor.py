"""Checks tracelode on this machine."""

import sys
from collections.abc import Callable

import click


@click.command()
def command() -> None:
    """Checks the installation: libraries, where caches go, and every mining engine against an independent one.

    Then it says what this machine can record, and whether it can replay plans. What it cannot is no fault: the line
    begins with -- and ends with the way to get what is missing.
    """
    from ...store.errors import Error

    failed: list[str] = []
    checks: dict[str, Callable[[], str]] = {
        "python": lambda: sys.version.split()[0],
        "libraries": _libraries,
        "cache": _cache,
        "compiler": _compiler,
        "suffix engine": _suffix,
        "sql": _sql,
        "charts": _charts,
    }
    for name, check in checks.items():
        try:
            click.echo(f"ok    {name:<14}{check()}")
        except Exception as error:  # noqa: BLE001 - a doctor reports whatever is wrong, and goes on
            click.echo(f"FAIL  {name:<14}{type(error).__name__}: {error}")
            failed.append(name)
    offers: dict[str, Callable[[], str]] = {
        "record: driver": _driver,
        "record: collector": _collector,
        "record: CUPTI": _cupti,
        "replay: replayer": _replayer,
    }
    for name, look in offers.items():
        try:
            click.echo(f"ok    {name:<18}{look()}")
        except Error as error:
            click.echo(f"--    {name:<18}{error.message} ({error.hint})")
    if failed:
        raise Error(f"{', '.join(failed)} failed", "install again: pip install --force-reinstall tracelode")


def _libraries() -> str:
    from importlib.metadata import requires, version

    needed = [line.split(";")[0].strip() for line in requires("tracelode") or [] if "extra ==" not in line]
    names = [
        next(part for part in line.replace(">", " ").replace("<", " ").replace("=", " ").split()) for line in needed
    ]
    return ", ".join(f"{name} {version(name)}" for name in names)


def _cache() -> str:
    from ..options import cache_archive

    return str(cache_archive().path)


def _compiler() -> str:
    import numpy as np

    from ...collect.nesting import Nesting

    lane, nothing = np.zeros(2, np.int32), np.zeros(0, np.int64)
    nesting = Nesting(np.zeros(0, np.int32), nothing)
    found, depth = nesting.add(lane, np.array([0, 1]), np.array([9, 5]), np.zeros(2, np.int64))
    if found.tolist() != [-1, 0] or depth.tolist() != [0, 1]:
        raise AssertionError(f"a compiled function gives {found.tolist()}, {depth.tolist()}")
    return "compiled code runs and gives the right answer"


def _suffix() -> str:
    """Builds a short sequence with every engine there is, and asks suffix-trees where each of its repeats occurs.

    A longer one, which the array engines take apart, must give the same arrays with each.
    """
    import numpy as np
    from suffix_trees.STree import STree

    from ...mining.suffix import build
    from ...mining.suffix.device import is_there
    from ...mining.suffix.engine import ENGINES

    random = np.random.default_rng(1)
    short = random.integers(0, 4, 400).astype(np.int32)
    long = np.where(random.random(20_000) < 0.01, random.integers(0, 40, 20_000), np.arange(20_000) % 37).astype(
        np.int32
    )
    tree, expected, told = STree("".join(chr(65 + s) for s in short)), build(long, engine="cpu"), list[str]()
    for engine in ENGINES:
        if engine == "cuda" and not is_there():
            told.append("cuda: no device with CuPy")
            continue
        repeats = build(short, engine=engine).intervals(3, 12)
        for index in range(len(repeats)):
            start, length = int(repeats.sa[repeats.left[index]]), int(repeats.length[index])
            word = "".join(chr(65 + s) for s in short[start : start + length])
            if sorted(tree.find_all(word)) != repeats.occurrences(index).tolist():
                raise AssertionError(f"engine {engine}: {word} is elsewhere than suffix-trees finds it")
        found = build(long, engine=engine)
        if not (np.array_equal(found.sa, expected.sa) and np.array_equal(found.lcp, expected.lcp)):
            raise AssertionError(f"engine {engine}: other arrays than those of the engine cpu")
        told.append(f"{engine}: {len(repeats)} repeats where suffix-trees finds them")
    return ", ".join(told)


def _sql() -> str:
    from ...store.query import connect

    with connect({}) as database:
        return f"DuckDB {database.execute('select version()').fetchall()[0][0]}"


def _charts() -> str:
    import vl_convert

    picture = vl_convert.vegalite_to_svg({"mark": "point", "data": {"values": [{}]}})
    return f"a chart of {len(picture):,} characters drawn without a network"


def _driver() -> str:
    from ...collect import native_library

    native_library.driver()
    return "there is an NVIDIA driver"


def _collector() -> str:
    from ...collect import native_library
    from ..options import cache_folder

    return str(native_library.library(cache_folder()))


def _cupti() -> str:
    from ...collect import native_library
    from ...store.errors import Error

    found = native_library.cupti()
    if found is None:
        raise Error("not found", "pip install 'tracelode[collector]', unless the loader finds one (ldconfig)")
    return str(found)


def _replayer() -> str:
    from ...collect import replay
    from ..options import cache_folder

    return str(replay.library(cache_folder()))
