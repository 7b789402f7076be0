from pathlib import Path

import pytest

from tests.native.programs import missing
from tracelode.collect import native_library
from tracelode.store import Error

HEADERS = ("cupti_activity.h", "cuda.h", "crt/host_defines.h")


@pytest.fixture(autouse=True)
def _nothing_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*native_library.TOOLKITS, "CXX", "TRACELODE_COLLECTOR", "TRACELODE_REPLAYER", "TRACELODE_CUPTI"):
        monkeypatch.delenv(name, raising=False)


def toolkit(folder: Path) -> Path:
    for name in HEADERS:
        header = folder / "include" / name
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text("// empty\n")
    return folder


def sources(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "part.cpp").write_text(text)
    return folder


def test_the_collector_is_built_once_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if missing():
        pytest.skip(str(missing()))
    monkeypatch.setenv("CUDA_HOME", str(toolkit(tmp_path / "cuda")))
    monkeypatch.setattr(
        native_library, "SOURCES", sources(tmp_path / "native", 'extern "C" int answer() { return 42; }')
    )
    built = native_library.library(tmp_path / "cache")
    before = built.stat().st_mtime_ns
    assert native_library.library(tmp_path / "cache") == built
    assert built.stat().st_mtime_ns == before
    assert sorted(path.name for path in built.parent.iterdir()) == [".lock", built.name]
    (native_library.SOURCES / "part.cpp").write_text('extern "C" int answer() { return 43; }')
    assert native_library.library(tmp_path / "cache") != built


def test_sources_that_do_not_compile_give_the_compilers_first_complaint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if missing():
        pytest.skip(str(missing()))
    monkeypatch.setenv("CUDA_HOME", str(toolkit(tmp_path / "cuda")))
    monkeypatch.setattr(native_library, "SOURCES", sources(tmp_path / "native", "int answer( {"))
    with pytest.raises(Error, match=r"does not compile: .*error"):
        native_library.library(tmp_path / "cache")
    assert not list(tmp_path.rglob("*.so"))


def test_a_missing_compiler_is_named_with_the_way_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(Error, match=r"no C\+\+ compiler: no-such-compiler") as caught:
        native_library.library(tmp_path)
    assert "apt install g++" in caught.value.hint


def test_missing_headers_are_named_with_the_way_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_library, "_header_folders", lambda: iter([[tmp_path]]))
    with pytest.raises(Error, match=r"headers are not there: cupti_activity\.h") as caught:
        native_library.headers()
    assert "tracelode[collector]" in caught.value.hint


def test_headers_of_a_named_toolkit_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", str(toolkit(tmp_path / "cuda")))
    assert native_library.headers()[0] == tmp_path / "cuda" / "include"


def test_a_named_library_is_taken_and_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = tmp_path / "libtracelode_events.so"
    monkeypatch.setenv("TRACELODE_COLLECTOR", str(named))
    with pytest.raises(Error, match="no such file"):
        native_library.library(tmp_path)
    named.write_bytes(b"")
    assert native_library.library(tmp_path) == named


def test_the_replayer_needs_a_compiler_and_no_headers_and_is_built_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_library, "_header_folders", lambda: iter([[tmp_path]]))
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(Error, match=r"no C\+\+ compiler: no-such-compiler"):
        native_library.replayer(tmp_path)
    if missing():
        pytest.skip(str(missing()))
    monkeypatch.delenv("CXX")
    built = native_library.replayer(tmp_path / "cache")
    before = built.stat().st_mtime_ns
    assert native_library.replayer(tmp_path / "cache").stat().st_mtime_ns == before
    monkeypatch.setenv("TRACELODE_REPLAYER", str(tmp_path / "other.so"))
    with pytest.raises(Error, match="no such file") as caught:
        native_library.replayer(tmp_path / "cache")
    assert caught.value.hint == "TRACELODE_REPLAYER names the replayer's library"


def test_cupti_is_what_is_named_else_that_of_the_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "nvidia" / "cu13" / "lib" / "libcupti.so.13"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"")
    monkeypatch.setattr(
        native_library.sysconfig, "get_paths", lambda: {"purelib": str(tmp_path), "platlib": str(tmp_path)}
    )
    assert native_library.cupti() == library
    other = tmp_path / "other.so"
    monkeypatch.setenv("TRACELODE_CUPTI", str(other))
    with pytest.raises(Error, match="no such file"):
        native_library.cupti()
    other.write_bytes(b"")
    assert native_library.cupti() == other


def test_a_machine_without_a_driver_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(native_library.ctypes, "CDLL", absent)
    with pytest.raises(Error, match=r"no NVIDIA driver on this machine: libcuda\.so\.1") as caught:
        native_library.driver()
    assert caught.value.exit_code == 2
