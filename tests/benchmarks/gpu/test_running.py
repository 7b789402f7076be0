import json
import sys
import time
from pathlib import Path

import pytest

from benchmarks.gpu.running import Book, Clock, LeftOut, Part, plain, run


def _book(folder: Path, seconds: float = 60) -> tuple[Book, list[str]]:
    said: list[str] = []
    return Book(folder / "results.json", Clock.of(seconds), said.append, {"machine": "here"}), said


def _parts(book: Book) -> dict[str, dict[str, object]]:
    return json.loads(book.path.read_text())["parts"]


def test_a_program_ends_with_its_status_and_what_it_wrote() -> None:
    done = run(["sh", "-c", "echo out; echo err >&2; exit 3"], {"PATH": "/usr/bin:/bin"}, Clock.of(30))
    assert (done.status, done.output, done.told) == (3, "out\n", "err\n")
    assert done.fault() == "exit status 3: err"


def test_a_program_whose_time_is_up_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    begin = time.monotonic()
    done = run(["sh", "-c", "echo begun; sleep 60 & sleep 60"], {"PATH": "/usr/bin:/bin"}, Clock.of(0.5))
    assert done.status is None and done.output == "begun\n"
    assert done.fault().startswith("not done in")
    assert time.monotonic() - begin < 30


def test_a_program_that_is_not_there_is_told_as_shells_do() -> None:
    done = run(["/no/such/program"], {}, Clock.of(30))
    assert (done.status, done.fault()) == (127, "exit status 127: /no/such/program: No such file or directory")


@pytest.mark.parametrize("program", ["print('no figures')", "print('[1]')", "print('{}'); raise SystemExit(4)"])
def test_what_is_no_object_of_a_program_that_did_well_gives_no_figures(program: str) -> None:
    with pytest.raises(LeftOut):
        run([sys.executable, "-c", program], {}, Clock.of(30)).figures()


def test_programs_without_a_tool_do_not_inherit_a_recording() -> None:
    environment = {
        "PATH": "/bin",
        "CUDA_INJECTION64_PATH": "/x.so",
        "TRACELODE_RECORD_DIR": "/r",
        "TRACELODE_CUPTI": "/c",
    }
    assert plain(environment) == {"PATH": "/bin", "TRACELODE_CUPTI": "/c"}


def test_a_part_that_fails_keeps_what_it_found_and_the_next_one_comes(tmp_path: Path) -> None:
    book, said = _book(tmp_path)

    def fails(part: Part) -> None:
        part.found["first"] = 1
        raise ValueError("broken")

    book.part("one", 10, fails)
    book.part("two", 10, lambda part: part.found.update(second=2))
    one, two = _parts(book).values()
    assert (one["state"], one["reason"], one["figures"]) == ("failed", "ValueError: broken", {"first": 1})
    assert (two["state"], two["figures"]) == ("done", {"second": 2})
    assert [line.partition(",")[0] for line in said] == ["one: failed", "two: done"]


def test_a_part_that_cannot_be_done_says_why_and_has_no_figures(tmp_path: Path) -> None:
    book, _ = _book(tmp_path)

    def cannot(part: Part) -> None:
        raise LeftOut("no nvcc")

    book.part("one", 10, cannot)
    (one,) = _parts(book).values()
    assert (one["state"], one["reason"]) == ("left out", "no nvcc") and "figures" not in one


def test_parts_after_the_end_of_all_time_are_left_out(tmp_path: Path) -> None:
    book, _ = _book(tmp_path, seconds=0)
    book.part("one", 10, lambda part: part.found.update(never=1))
    (one,) = _parts(book).values()
    assert (one["state"], one["reason"]) == ("left out", "the time for all parts was up") and "figures" not in one


def test_a_part_has_no_more_time_than_all_have(tmp_path: Path) -> None:
    book, _ = _book(tmp_path, seconds=5)
    left: list[float] = []
    book.part("one", 100, lambda part: left.append(part.clock.left))
    book.part("two", 1, lambda part: left.append(part.clock.left))
    assert 1 < left[0] <= 5 and 0 < left[1] <= 1


def test_what_a_part_keeps_is_in_the_file_while_it_is_at_work(tmp_path: Path) -> None:
    book, _ = _book(tmp_path)
    seen: list[dict[str, dict[str, object]]] = []

    def works(part: Part) -> None:
        part.found["half"] = 1
        part.keep()
        seen.append(_parts(book))

    book.part("one", 10, works)
    assert seen == [{"one": {"state": "not ended", "figures": {"half": 1}}}]
    assert json.loads(book.path.read_text())["machine"] == "here"
