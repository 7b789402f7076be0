"""The replayer in a program: what it asks the driver for, and that the program is none the wiser."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.native.preloads import MIB, Preloads, built
from tests.native.programs import HERE, WARNINGS, include_folder
from tracelode.collect.replay import Orders

HARMLESS = (7, "the answer is 42\n", "")
AB = [(1 * MIB, 0), (4 * MIB, 0)]
"""Two objects, which the stub puts at 0 and at 2 MiB."""

ALLOCATED = ("alloc", "a", str(1 * MIB), "alloc", "b", str(4 * MIB))


@pytest.fixture(scope="session")
def preloads(tmp_path_factory: pytest.TempPathFactory) -> Preloads:
    return built(tmp_path_factory, "plain", "-O2")


def two_steps() -> Orders:
    return Orders(AB, ["step"], [(0, 0, [(0, 0, MIB)]), (0, 1, [(1, MIB, 2 * MIB)])])


@pytest.mark.parametrize(
    ("program", "way"),
    [
        ("managed", "dlsym"),
        ("managed", "global"),
        ("managed", "proc"),
        ("managed", "proc11"),
        ("managed", "thread"),
        ("linked", "linked"),
        ("linked", "dlsym"),
    ],
)
def test_what_the_plan_says_is_asked_for_before_the_launch_however_the_program_finds_the_driver(
    preloads: Preloads, program: str, way: str
) -> None:
    words = (*ALLOCATED, "launch", "other", "launch", "step", "launch", "step", "launch", "step")
    done = preloads.run(two_steps(), *words, program=program, APP_WAY=way)
    assert (done.status, done.output, done.told) == HARMLESS
    launch = "launch per thread" if way == "thread" else "launch"
    assert done.calls == [
        "alloc 0x10000000000 1048576",
        "alloc 0x10000200000 4194304",
        f"{launch} other stream 0",
        "stream 100 flags 1",
        "prefetch 0x10000000000 1048576 device 0 stream 100",
        f"{launch} step stream 0",
        "prefetch 0x10000300000 2097152 device 0 stream 100",
        f"{launch} step stream 0",
        f"{launch} step stream 0",
    ]
    assert done.count == {"steps": 2, "reached": 2, "objects": 2, "asked": 2, "asked_bytes": 3 * MIB}


def test_launches_of_every_kind_count_once(preloads: Preloads) -> None:
    steps = [(0, at, [(1, at * MIB, MIB)]) for at in range(4)]
    words = (*ALLOCATED, "unseen", "step", "ex", "step", "cooperative", "step", "launch", "step")
    done = preloads.run(Orders(AB, ["step"], steps), *words)
    assert [call.split(" device")[0] for call in done.calls[3:]] == [
        "prefetch 0x10000200000 1048576",
        "launch step stream 0",
        "prefetch 0x10000300000 1048576",
        "ex",
        "launch step stream 5",
        "prefetch 0x10000400000 1048576",
        "cooperative step stream 0",
        "prefetch 0x10000500000 1048576",
        "launch step stream 0",
    ]


def test_a_program_without_a_plan_runs_as_without_the_replayer(preloads: Preloads) -> None:
    done = preloads.run(None, *ALLOCATED, "launch", "step", TRACELODE_REPLAY_PLAN="")
    assert (done.status, done.output, done.told, done.counts) == (*HARMLESS, [])
    assert done.prefetches == []


@pytest.mark.parametrize(
    "content",
    [b"", b"tracelode replay 2\n" + bytes(24), two_steps().packed()[:-1], two_steps().packed() + b"\0"],
    ids=["empty", "another version", "cut", "longer"],
)
def test_a_damaged_plan_is_none(preloads: Preloads, content: bytes) -> None:
    done = preloads.run(content, *ALLOCATED, "launch", "step")
    assert (done.status, done.output, done.told, done.counts, done.prefetches) == (*HARMLESS, [], [])


@pytest.mark.parametrize(
    "part", [(2, 0, MIB), (0, 0, 0), (0, 0, MIB + 1), (0, MIB, 1), (1, 2**64 - 1, 2), (2**64 - 1, 0, 1)]
)
def test_a_plan_with_a_part_outside_its_object_is_none(preloads: Preloads, part: tuple[int, int, int]) -> None:
    done = preloads.run(Orders(AB, ["step"], [(0, 0, [part])]), *ALLOCATED, "launch", "step")
    assert (done.status, done.prefetches, done.counts) == (7, [], [])


def test_another_programs_plan_asks_for_nothing_and_the_counts_say_so(preloads: Preloads) -> None:
    orders = Orders([(3 * MIB, 0)], ["foreign"], [(0, 0, [(0, 0, MIB)])])
    done = preloads.run(orders, *ALLOCATED, "launch", "step")
    assert (done.prefetches, done.count) == ([], {"steps": 1})


def test_never_more_is_asked_for_than_the_device_has_free(preloads: Preloads) -> None:
    orders = Orders(
        [(8 * MIB, 0), (30 * MIB, 0), (9 * MIB, 0)], ["step"], [(0, 0, [(at, 0, 8 * MIB) for at in (0, 1, 2)])]
    )
    allocated = ("alloc", "a", str(8 * MIB), "alloc", "b", str(30 * MIB), "alloc", "c", str(9 * MIB))
    done = preloads.run(orders, *allocated, "launch", "step", STUB_FREE=str(20 * MIB))
    assert done.prefetches == [(0, 8 * MIB), (8 * MIB, 8 * MIB)]
    expected = {"reached": 1, "cut": 1, "asked": 2, "asked_bytes": 16 * MIB, "no_room": 1, "no_room_bytes": 8 * MIB}
    assert done.count == {"steps": 1, "objects": 3, **expected}


def test_what_is_still_on_its_way_takes_room_too(preloads: Preloads) -> None:
    orders = Orders([(16 * MIB, 0)], ["step"], [(0, at, [(0, at * 8 * MIB, 8 * MIB)]) for at in (0, 1)])
    words = ("alloc", "a", str(16 * MIB), "launch", "step", "launch", "step")
    done = preloads.run(orders, *words, STUB_FREE=str(12 * MIB), STUB_SLOW="1")
    assert done.prefetches == [(0, 8 * MIB)]
    assert done.count["no_room"] == 1


def test_a_part_of_a_page_takes_the_room_of_the_page(preloads: Preloads) -> None:
    orders = Orders([(MIB, 0)], ["step"], [(0, 0, [(0, 65_000, 1000), (0, 0, 1)])])
    words = ("alloc", "a", str(MIB), "launch", "step")
    assert preloads.run(orders, *words, STUB_FREE=str(2 * 65536)).prefetches == [(65_000, 1000)]
    done = preloads.run(orders, *words, STUB_FREE=str(2 * 65536 - 1))
    assert (done.prefetches, done.count["no_room"]) == ([(0, 1)], 1)


def test_what_was_asked_for_is_asked_for_again_only_in_the_parts_that_are_new(preloads: Preloads) -> None:
    parts = [(0, 0, MIB), (0, MIB // 2, MIB), (0, 3 * MIB, MIB), (0, 0, 4 * MIB), (0, MIB, MIB)]
    orders = Orders([(4 * MIB, 0)], ["step"], [(0, at, [part]) for at, part in enumerate(parts)])
    done = preloads.run(orders, "alloc", "a", str(4 * MIB), *["launch", "step"] * 5)
    half = MIB // 2
    assert done.prefetches == [(0, MIB), (MIB, half), (3 * MIB, MIB), (3 * half, 3 * half)]
    assert (done.count["asked_bytes"], done.count["there"]) == (4 * MIB, 1)


def test_once_the_device_was_full_what_was_asked_for_may_be_gone_and_is_asked_for_again(preloads: Preloads) -> None:
    sizes = [(8 * MIB, 0), (30 * MIB, 0), (9 * MIB, 0)]
    orders = Orders(sizes, ["step"], [(0, at, [(one, 0, sizes[one][0])]) for at, one in enumerate((0, 1, 2, 0))])
    allocated = ("alloc", "a", str(8 * MIB), "alloc", "b", str(30 * MIB), "alloc", "c", str(9 * MIB))
    words = (*allocated, *["launch", "step"] * 3, "free", "b", "launch", "step")
    done = preloads.run(orders, *words, STUB_FREE=str(40 * MIB))
    assert done.prefetches == [(0, 8 * MIB), (8 * MIB, 30 * MIB), (0, 8 * MIB)]
    assert done.count["no_room_bytes"] == 9 * MIB


def test_memory_freed_and_addresses_used_again_are_other_objects(preloads: Preloads) -> None:
    orders = Orders([(MIB, 1)], ["step"], [(0, at, [(0, 0, MIB)]) for at in range(4)])
    first = ("alloc", "a", str(MIB), "launch", "step", "free", "a")
    words = (*first, "alloc", "b", str(MIB), "launch", "step", "free", "b", "alloc", "c", str(MIB), "launch", "step")
    done = preloads.run(orders, *words)
    assert [call.split()[1] for call in done.calls if call.startswith("alloc")] == ["0x10000000000"] * 3
    assert [call.split()[0] for call in done.calls] == [
        *("alloc", "stream", "launch", "free"),
        *("alloc", "prefetch", "launch", "free"),
        *("alloc", "launch"),
    ]
    assert (done.count["no_object"], done.count["cut"], done.count["objects"]) == (2, 2, 1)


def test_memory_goes_only_once_nothing_is_on_its_way_to_it(preloads: Preloads) -> None:
    words = (*ALLOCATED, "launch", "step", "free", "b", "free", "a")
    done = preloads.run(two_steps(), *words, STUB_SLOW="1")
    assert done.calls[-2:] == ["free 0x10000200000 while something is on the way", "free 0x10000000000"]


def test_memory_that_went_unseen_is_forgotten_when_its_address_comes_again(preloads: Preloads) -> None:
    orders = Orders([(MIB, 0), (3 * MIB, 0)], ["step"], [(0, 0, [(0, 0, MIB), (1, 0, MIB)])])
    done = preloads.run(orders, "alloc", "a", str(MIB), "end", "a", "alloc", "b", str(3 * MIB), "launch", "step")
    assert done.prefetches == [(0, MIB)]
    assert (done.count["no_object"], done.count["asked"], done.count["objects"]) == (1, 1, 2)


def test_memory_that_went_unseen_is_refused_by_the_driver_and_does_no_harm(preloads: Preloads) -> None:
    done = preloads.run(two_steps(), *ALLOCATED, "end", "a", "launch", "step")
    assert (done.status, done.output, done.told) == HARMLESS
    assert done.count == {"steps": 2, "reached": 1, "cut": 1, "objects": 2, "refused": 1}


def test_a_context_that_ends_takes_along_what_was_asked_for(preloads: Preloads) -> None:
    orders = Orders([(MIB, 0)], ["step"], [(0, at, [(0, 0, MIB)]) for at in (0, 1)])
    done = preloads.run(orders, "alloc", "a", str(MIB), "launch", "step", "context", "launch", "step")
    assert [call for call in done.calls if call.startswith(("stream", "prefetch"))] == [
        "stream 100 flags 1",
        "prefetch 0x10000000000 1048576 device 0 stream 100",
        "stream 101 flags 1",
        "prefetch 0x10000000000 1048576 device 0 stream 101",
    ]


def test_a_function_found_in_two_ways_is_the_same(preloads: Preloads) -> None:
    done = preloads.run(two_steps(), *ALLOCATED, "launch", "step", "given", "step")
    assert done.prefetches == [(0, MIB), (3 * MIB, 2 * MIB)]


def test_while_a_graph_is_captured_nothing_is_asked_for_or_counted(preloads: Preloads) -> None:
    words = (*ALLOCATED, "capture", "0", "launch", "step", "free", "b", "captured", "graph", "launch", "step")
    done = preloads.run(two_steps(), *words)
    assert done.output == "captured 0\nthe answer is 42\n"
    assert done.prefetches == [(0, MIB)]
    assert {name: done.count[name] for name in ("captured", "graphs", "reached")} == {
        "captured": 1,
        "graphs": 1,
        "reached": 1,
    }


def test_the_default_stream_of_a_thread_can_be_captured(preloads: Preloads) -> None:
    for stream, prefetches in (("2", []), ("0", [(0, MIB)])):
        words = (*ALLOCATED, "capture", stream, "launch", "step", "captured")
        done = preloads.run(two_steps(), *words, APP_WAY="thread")
        assert (done.output, done.prefetches) == ("captured 0\nthe answer is 42\n", prefetches)


def test_a_capture_in_another_stream_is_not_broken(preloads: Preloads) -> None:
    orders = Orders(AB, ["step"], [(0, 0, [(0, 0, MIB)])])
    done = preloads.run(orders, *ALLOCATED, "capture", "0", "seventh", "step", "captured")
    assert done.output == "captured 0\nthe answer is 42\n"
    assert done.prefetches == [(0, MIB)]


@pytest.mark.parametrize(
    ("changes", "told"), [({"STUB_MANAGED": "0"}, {"unusable": 1}), ({"STUB_REFUSE": "1"}, {"refused": 1})]
)
def test_a_device_that_prefetches_nothing_is_counted(
    preloads: Preloads, changes: dict[str, str], told: dict[str, int]
) -> None:
    done = preloads.run(two_steps(), *ALLOCATED, "launch", "step", **changes)
    assert (done.status, done.output, done.told) == HARMLESS
    assert done.count == {"steps": 2, "reached": 1, "cut": 1, "objects": 2, **told}


def test_an_old_driver_tells_no_names_so_they_are_taken_from_the_look_up(preloads: Preloads) -> None:
    orders = Orders(AB, ["step", "second"], [(0, 0, [(0, 0, MIB)]), (1, 0, [(1, 0, MIB)])])
    words = (*ALLOCATED, "unseen", "second", "launch", "step")
    done = preloads.run(orders, *words, driver="old")
    assert done.prefetches == [(0, MIB)]
    assert done.count == {"steps": 2, "reached": 1, "objects": 2, "asked": 1, "asked_bytes": MIB, "unnamed": 1}
    assert preloads.run(orders, *words).prefetches == [(2 * MIB, MIB), (0, MIB)]


def test_threads_that_launch_at_once_ask_for_everything_once(preloads: Preloads) -> None:
    steps = [(0, at, [(0, at % 64 * MIB, MIB)]) for at in range(800)]
    done = preloads.run(
        Orders([(64 * MIB, 0)], ["step"], steps), "alloc", "a", str(64 * MIB), "threads", "8", "step", "100"
    )
    assert sorted(done.prefetches) == [(at * MIB, MIB) for at in range(64)]
    assert done.count == {
        "steps": 800,
        "reached": 800,
        "objects": 1,
        "asked": 64,
        "asked_bytes": 64 * MIB,
        "there": 800 - 64,
    }


def test_threads_that_allocate_launch_and_free_at_once_ask_for_nothing_that_is_gone(preloads: Preloads) -> None:
    memory = [(MIB, at) for at in range(400)]
    orders = Orders(memory, ["step"], [(0, at, [(at, 0, MIB), (399 - at, 0, MIB)]) for at in range(400)])
    done = preloads.run(orders, "churn", "8", "50")
    assert (done.status, done.output, done.told) == HARMLESS
    assert (done.count["objects"], done.count["reached"]) == (400, 400)
    assert done.count["asked"] == len(done.prefetches) > 0
    assert "refused" not in done.count


def test_a_forked_child_begins_anew(preloads: Preloads) -> None:
    orders = Orders([(MIB, 0)], ["step"], [(0, at, [(0, 0, MIB)]) for at in (0, 1)])
    done = preloads.run(orders, "alloc", "a", str(MIB), "launch", "step", "fork")
    assert done.output == "child 3\nthe answer is 42\n"
    assert [{name: one[name] for name in ("reached", "asked")} for one in done.counts] == [
        {"reached": 1, "asked": 1}
    ] * 2
    assert done.counts[0]["process"] != done.counts[1]["process"]


def test_counts_are_told_when_a_program_ends_in_order(preloads: Preloads) -> None:
    words = (*ALLOCATED, "launch", "step")
    assert len(preloads.run(two_steps(), *words, "quick").counts) == 1
    killed = preloads.run(two_steps(), *words, "kill")
    assert (killed.status, killed.counts) == (-9, [])
    assert preloads.run(two_steps(), *words, TRACELODE_REPLAY_COUNTS="/no/such/folder/file").status == 7


def test_names_are_recognised_as_other_tools_write_them(preloads: Preloads) -> None:
    pairs = {
        "_Z3addiPfS_": "add(int, float *, float *)",
        "_Z4copyPKfPf": "copy(const float *, float *)",
        "_Z4gemmIfEvPT_i": "void gemm<float>(T1 *, int)",
        "_Z5scaleILi4ELb1EEvPKf": "void scale<(int)4, (bool)1>(const float *)",
        "_Z4fillILm16EEvPf": "void fill<(unsigned long)16>(float *)",
        "_ZN12_GLOBAL__N_16hiddenEv": "<unnamed>::hidden()",
        "_Z4eachIZ3runvEUliE_EvT_": "void each<run()::[lambda(int) (instance 1)]>(T1)",
        "_Z4eachIZ3runvEUliE0_EvT_": "void each<run()::[lambda(int) (instance 2)]>(T1)",
        "plain": "plain",
        "_Znonsense": "_Znonsense",
    }
    steps = [(at, 0, [(0, at * MIB, MIB)]) for at in range(len(pairs))]
    launches = [word for name in pairs for word in ("launch", name)]
    for names in (list(pairs.values()), list(pairs)):
        done = preloads.run(Orders([(10 * MIB, 0)], names, steps), "alloc", "a", str(10 * MIB), *launches)
        assert done.prefetches == [(at * MIB, MIB) for at in range(len(pairs))]


def test_a_name_that_several_kernels_could_have_is_none_of_them(preloads: Preloads) -> None:
    names = ["void gemm<float>(T1 *, int)", "void gemm<float>(T1 *, long)"]
    orders = Orders(AB, names, [(0, 0, [(0, 0, MIB)]), (1, 0, [(0, 0, MIB)])])
    assert preloads.run(orders, *ALLOCATED, "launch", "_Z4gemmIfEvPT_i").count["steps"] == 2
    assert preloads.run(orders, *ALLOCATED, "launch", "_Z4gemmIfEvPT_i").prefetches == []


@pytest.mark.parametrize(
    "name", ["", "%s%n%d", "\x1b[2J", "<" * 900, "(" * 900 + ")]", "_Z" + "N" * 3000, "ü\ud800", "a\nb", "-", "1,2u>"]
)
def test_hostile_names_do_no_harm(preloads: Preloads, name: str) -> None:
    orders = Orders(AB, [name, "step", name + "\0x"], [(0, 0, [(1, 0, MIB)]), (1, 0, [(0, 0, MIB)])])
    shown = name.encode(errors="surrogatepass").decode(errors="surrogateescape")
    done = preloads.run(orders, *ALLOCATED, "launch", shown, "launch", "step")
    assert (done.status, done.output, done.told) == HARMLESS
    assert done.prefetches == [(2 * MIB, MIB), (0, MIB)]


@settings(max_examples=25, deadline=None)
@given(at=st.integers(0, len(two_steps().packed()) - 1), value=st.integers(0, 255))
def test_a_changed_byte_of_the_plan_leaves_the_program_alone(preloads: Preloads, at: int, value: int) -> None:
    content = bytearray(two_steps().packed())
    content[at] = value
    done = preloads.run(bytes(content), *ALLOCATED, "launch", "step", "launch", "step")
    assert (done.status, done.output, done.told) == HARMLESS
    assert all(begin + size <= 6 * MIB for begin, size in done.prefetches)


def test_a_library_that_asks_for_what_comes_after_it_is_answered_as_before(preloads: Preloads, tmp_path: Path) -> None:
    source = tmp_path / "second.c"
    source.write_text(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\n"
        "int puts(const char *text) {\n"
        '  int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "puts");\n'
        "  return next == puts ? 1 : next(text);\n}\n"
        "__attribute__((constructor)) static void begin(void) {\n"
        '  printf("%d\\n", dlsym(RTLD_NEXT, "no_such_symbol") == 0 && dlerror() != 0);\n}\n'
    )
    second = tmp_path / "second.so"
    command = ["gcc", "-O2", "-fno-builtin", "-fPIC", "-shared", str(source), "-o", str(second), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    done = preloads.run(two_steps(), "launch", "step", LD_PRELOAD=f"{preloads.replayer}:{second}")
    assert (done.status, done.output) == (7, "1\nthe answer is 42\n")


def test_another_library_that_stands_in_for_the_driver_is_called_between(preloads: Preloads, tmp_path: Path) -> None:
    source = tmp_path / "wrapper.c"
    source.write_text(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\n"
        "typedef unsigned u;\n"
        "int cuLaunchKernel(void *k, u a, u b, u c, u d, u e, u f, u g, void *s, void **p, void **x) {\n"
        '  int (*next)(void *, u, u, u, u, u, u, u, void *, void **, void **) = dlsym(RTLD_NEXT, "cuLaunchKernel");\n'
        '  return printf("between\\n"), next(k, a, b, c, d, e, f, g, s, p, x);\n}\n'
    )
    wrapper = tmp_path / "wrapper.so"
    subprocess.run(
        ["gcc", "-fPIC", "-shared", str(source), "-o", str(wrapper), "-ldl"], check=True, capture_output=True
    )
    words = (*ALLOCATED, "launch", "step")
    preload = f"{preloads.replayer}:{wrapper}"
    done = preloads.run(two_steps(), *words, program="linked", APP_WAY="linked", LD_PRELOAD=preload)
    assert (done.status, done.output) == (7, "between\nthe answer is 42\n")
    assert [call.split()[0] for call in done.calls] == ["alloc", "alloc", "stream", "prefetch", "launch"]


def test_nothing_but_what_it_stands_in_for_can_be_seen_of_the_library(preloads: Preloads) -> None:
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", preloads.replayer], capture_output=True, text=True, check=True
    )
    names = {line.split()[-1] for line in symbols.stdout.splitlines()}
    assert "dlsym" in names and "cuLaunchKernel" in names
    assert {name for name in names if not name.startswith("cu")} == {"dlsym"}
    told = subprocess.run(["readelf", "-Wd", preloads.replayer], capture_output=True, text=True, check=True).stdout
    needed = {line.split("[")[1].rstrip("]\n") for line in told.splitlines() if "NEEDED" in line}
    assert {name.split(".")[0] for name in needed} <= {"libc", "libm", "ld-linux-x86-64", "ld-linux-aarch64", "libdl"}


def test_what_is_declared_of_the_driver_is_what_nvidia_declares() -> None:
    include = include_folder()
    if include is None:
        pytest.skip("NVIDIA's headers are not installed")
    command = ["g++", "-std=c++17", *WARNINGS, "-fsyntax-only", "-I", str(include), str(HERE / "declarations.cpp")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
