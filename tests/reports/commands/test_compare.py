import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.made_runs import BODY, add, after, operations
from tracelode.mining.headline import HEADLINE
from tracelode.reports.cli import tracelode
from tracelode.store import Archive, Error, Facts
from tracelode.store.errors import UnreadableFile

SAMPLES = Path(__file__).parents[3] / "data" / "samples"
RUNS = {"monday": (10, 11, 9), "tuesday": (30, 31, 29), "sunday": (10, 11, 9), "noisy": (10, 60, 5)}
"""The length of kernel `a` in the runs of each side; an iteration takes 90 ns more."""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive with three runs for each of the sides above, `monday-0` to `noisy-2`, and one on another GPU."""
    there = Archive(tmp_path_factory.mktemp("compare") / "archive")
    for side, lengths in RUNS.items():
        for at, length in enumerate(lengths):
            add(there, f"{side}-{at}", operations(10, length={"a": length}), facts=Facts("kineto", base_unix_ns=at))
    add(there, "elsewhere", operations(10), device="Other GPU")
    add(there, "short", operations(3))
    add(there, "lost", operations(10, length={"a": 12}), notes=("lost-events",))
    add(there, "short-elsewhere", operations(3), device="Other GPU")
    warming = after(operations(3, length={"a": 60}), operations(10))
    for at in range(3):
        add(there, f"warming-{at}", warming, facts=Facts("kineto", base_unix_ns=at))
    return there.path


def _run(archive: Path, *words: object) -> Result:
    return CliRunner().invoke(tracelode, ["compare", *map(str, words), "--archive", str(archive)])


def _side(name: str, runs: Iterable[int] = range(3)) -> list[str]:
    return [f"{name}-{at}" for at in runs]


@cache
def _told(archive: Path, *words: object, code: int) -> dict[str, Any]:
    result = _run(archive, *words, "--format", "json")
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def _verdicts(told: Mapping[str, Any]) -> dict[str, str]:
    return {check["metric"]: check["verdict"] for check in told["checks"]}


def _section(told: Mapping[str, Any], key: str) -> dict[str, Any]:
    return next(section for section in told["sections"] if section["key"] == key)


def test_a_slower_kernel_is_a_regression_and_named_first(archive: Path) -> None:
    told = _told(archive, *_side("monday"), "--", *_side("tuesday"), code=3)
    assert _verdicts(told) == {
        "iteration_p50_ns": "regression",
        "iteration_p95_ns": "regression",
        "busy_share": "improvement",
        "exposed_communication_ns": "neutral",
        "idle_ns": "neutral",
        "copied_bytes": "neutral",
        "kernels": "neutral",
    }
    assert told["verdict"].startswith("Regression in 2 of 7 checks: ")
    assert "The largest differences: +20 ns a, slower." in told["verdict"]
    (median,) = [check for check in told["checks"] if check["metric"] == "iteration_p50_ns"]
    assert (median["baseline"], median["value"], median["series"]) == (100, 120, "3 runs → 3 runs")


def test_the_same_again_is_no_regression(archive: Path) -> None:
    told = _told(
        archive, *_side("monday"), "--", *_side("sunday"), "--metric", "kernels", "--metric", "copied_bytes", code=0
    )
    assert set(_verdicts(told).values()) == {"neutral"}
    assert told["verdict"].startswith("No regression in 2 checks.")


def test_faster_is_an_improvement(archive: Path) -> None:
    told = _told(archive, *_side("tuesday"), "--", *_side("monday"), "--metric", "iteration_p50_ns", code=0)
    assert _verdicts(told) == {"iteration_p50_ns": "improvement"}


@pytest.mark.parametrize(
    ("base", "candidate"),
    [(_side("monday", [0]), _side("tuesday", [0])), (_side("monday"), _side("noisy")), (_side("monday"), ["short"])],
)
def test_what_is_not_known_is_inconclusive(archive: Path, base: list[str], candidate: list[str]) -> None:
    told = _told(archive, *base, "--", *candidate, "--metric", "iteration_p50_ns", code=4)
    assert _verdicts(told) == {"iteration_p50_ns": "inconclusive"}
    assert told["checks"][0]["sentence"].count("Inconclusive: ") == 1


def test_one_of_each_needs_no_separator_and_still_says_what_makes_the_difference(archive: Path) -> None:
    told = _told(archive, "monday-0", "tuesday-0", code=4)
    rows = _section(told, "attribution")["blocks"][2]["rows"]
    assert [(row["name"], row["change"], row["delta_ns"]) for row in rows] == [
        ("iteration", "longer", 20),
        ("a", "slower", 20),
    ]


def test_runs_on_another_gpu_are_compared_only_where_that_is_allowed(archive: Path) -> None:
    told = _told(archive, *_side("monday"), "--", "elsewhere", code=4)
    assert "Not comparable, so nothing is decided: gpu: 1 × Made GPU against 1 × Other GPU." in told["verdict"]
    assert set(_verdicts(told).values()) == {"inconclusive"}
    for aspect in ("gpu", "all"):
        allowed = _told(archive, *_side("monday"), "--", "elsewhere", "--allow-mismatch", aspect, code=4)
        assert "not comparable" not in json.dumps(allowed).lower()


def test_runs_that_lost_events_or_have_few_iterations_are_left_out_and_said(archive: Path) -> None:
    told = _told(archive, *_side("monday"), "lost", "short", "--", *_side("tuesday"), code=3)
    assert "does not count: base 5: short: 3 steady iterations, fewer than 5" in told["health"]
    assert any("lost: events are missing: lost-events" in line for line in told["health"])
    (median,) = [check for check in told["checks"] if check["metric"] == "iteration_p50_ns"]
    assert "(+20.0 %" in median["sentence"].replace("\u202f", " ")
    assert "3 runs against 3" in median["sentence"]


def test_what_a_run_that_does_not_count_ran_on_forbids_nothing(archive: Path) -> None:
    told = _told(archive, *_side("monday"), "short-elsewhere", "--", *_side("tuesday"), code=3)
    assert _verdicts(told)["iteration_p50_ns"] == "regression"
    (aspects, runs) = _section(told, "comparability")["blocks"]
    assert [row for row in aspects["rows"] if row["aspect"] == "gpu"] == [
        {"aspect": "gpu", "base": "1 × Made GPU", "candidate": "1 × Made GPU", "verdict": "same"}
    ]
    assert len(runs["rows"]) == 7
    twice = _told(archive, *_side("monday"), "short", "--", *_side("tuesday"), "short", code=3)
    assert _verdicts(twice)["iteration_p50_ns"] == "regression"


def test_first_iterations_that_only_take_longer_are_no_regression(archive: Path) -> None:
    told = _told(
        archive, *_side("sunday"), "--", *_side("warming"),
        "--metric", "iteration_p50_ns", "--metric", "iteration_p95_ns", code=0,
    )  # fmt: skip
    assert {(check["verdict"], check["value"]) for check in told["checks"]} == {("neutral", 100)}


def test_the_same_run_twice_is_one_run(archive: Path) -> None:
    told = _told(archive, "monday-0", "monday-0", "monday-0", "--", *_side("tuesday"), code=4)
    assert (
        "Given more than once, counted once, of the base: monday-0, monday-0."
        in _section(told, "comparability")["notes"]
    )


def test_runs_are_selected_by_sql(archive: Path) -> None:
    by_run = "select run from source where run like 'monday-%' order by run"
    named = _told(archive, *_side("monday"), "--", *_side("tuesday"), code=3)
    assert _told(archive, "--base-sql", by_run, "--", *_side("tuesday"), code=3)["checks"] == named["checks"]
    by_trace = by_run.replace("select run", "select trace_id")
    found = _told(archive, "--base-sql", by_trace, "--candidate-sql", by_run.replace("monday", "tuesday"), code=3)
    assert found["checks"] == named["checks"]


def test_the_numbers_of_runs_and_parts_are_what_their_sql_says(archive: Path) -> None:
    told = _told(archive, *_side("monday"), "--", *_side("tuesday"), code=3)
    (runs,) = [b for b in _section(told, "comparability")["blocks"] if b["caption"] == "Each run"]
    rows = Archive(archive).sql(runs["sql"]).to_dicts()
    keys = [one.name for one in HEADLINE if one.name in rows[0]]
    assert [{key: row[key] for key in ("run", *keys)} for row in runs["rows"]] == rows
    part = _section(told, "attribution")["blocks"][2]
    by_name = {row["name"]: row for row in Archive(archive).sql(part["sql"]).to_dicts()}
    for row in part["rows"]:
        assert row["delta_ns"] == pytest.approx(by_name[row["name"]]["delta_ns"], abs=1)


def test_three_runs_a_side_test_each_operation_against_chance(archive: Path) -> None:
    told = _section(_told(archive, *_side("monday"), "--", *_side("tuesday"), code=3), "attribution")
    (tested,) = [b for b in told["blocks"] if b.get("caption") == "Operations, run against run"]
    assert [row["name"] for row in tested["rows"] if row["changed"]] == ["a"]
    assert any(note.startswith("1 operation of 5 differs by more than chance") for note in told["notes"])
    assert [column["unit"] for column in tested["columns"] if column["title"] == "By chance"] == ["share"]


def test_what_differs_by_chance_alone_is_named_as_no_cause(archive: Path) -> None:
    told = _section(_told(archive, *_side("monday"), "--", *_side("noisy"), code=4), "attribution")
    assert told["sentence"].endswith("15.2 % more; nothing in it differs by more than chance.")
    two = _section(_told(archive, *_side("monday", [0, 1]), "--", *_side("noisy", [0, 1]), code=4), "attribution")
    assert two["sentence"].endswith("The largest differences: +24 ns a, slower.")


def test_an_iteration_of_each_is_aligned(archive: Path) -> None:
    there = Archive(archive)
    add(there, "changed", operations(10, [*BODY[:2], "x", *BODY[3:]]))
    told = _section(_told(archive, "monday-0", "--", "changed", code=4), "aligned")
    assert told["sentence"] == "1 operation inserted, 1 removed, 0 slower, 0 faster."
    assert [row["mark"] for row in told["blocks"][1]["rows"]] == ["same", "removed", "inserted", "same"]


@pytest.mark.parametrize("format", ["html", "csv", "junit", "github"])
def test_every_format_is_written_whatever_the_verdict(archive: Path, tmp_path: Path, format: str) -> None:
    output = tmp_path / "verdict.out"
    result = _run(archive, *_side("monday"), "--", *_side("tuesday"), "--format", format, "-o", output)
    assert result.exit_code == 3
    assert "regression" in output.read_text().lower()
    if format == "html":
        assert json.loads(output.with_suffix(".json").read_text())["checks"]
    assert "Regression in 2 of 7 checks" in result.stderr


def test_what_cannot_be_read_is_no_pass_and_its_verdict_is_written(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{"traceEvents": 1}')
    result = _run(archive, *_side("monday"), "--", tmp_path / "broken.json", "-o", tmp_path / "verdict.json")
    assert isinstance(result.exception, UnreadableFile)
    told = json.loads((tmp_path / "verdict.json").read_text())
    assert set(_verdicts(told).values()) == {"inconclusive"}
    assert told["verdict"].startswith("Inconclusive: nothing was compared: ")


def test_a_run_of_which_nothing_can_be_read_does_not_count_and_the_others_are_compared(
    archive: Path, tmp_path: Path
) -> None:
    night = [SAMPLES / "history" / f"night-{at}.json.gz" for at in (47, 48, 49, 50, 51, 52)]
    (tmp_path / "broken.json").write_text('{"traceEvents": 1}')
    for sides in (
        [*night[:3], tmp_path / "broken.json", "--", *night[3:]],
        [*night[:3], "--", tmp_path / "broken.json", *night[3:]],
    ):
        result = _run(archive, *sides, "-o", tmp_path / "verdict.json")
        assert isinstance(result.exception, UnreadableFile)
        assert str(result.exception).startswith("1 file was not read")
        told = json.loads((tmp_path / "verdict.json").read_text())
        assert _verdicts(told)["iteration_p50_ns"] == "regression"
        assert [line.partition(": ")[2][:13] for line in told["health"] if line.startswith("not read")] == [
            "broken.json: "
        ]
        assert result.stderr.count("error: ") == 1
    result = _run(archive, *night[:3], "--", tmp_path / "gone.json", *night[3:], "-o", tmp_path / "gone.out.json")
    assert isinstance(result.exception, Error)
    assert "gone.json" in str(result.exception)


def test_a_run_with_a_file_that_cannot_be_read_does_not_count(archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "rank0.json.gz").write_bytes((SAMPLES / "two-ranks" / "rank0.json.gz").read_bytes())
    (folder / "rank1.json.gz").write_bytes((SAMPLES / "two-ranks" / "rank1.json.gz").read_bytes()[:3000])
    result = _run(archive, SAMPLES / "two-ranks" / "rank0.json.gz", "--", folder, "-o", tmp_path / "verdict.json")
    told = json.loads((tmp_path / "verdict.json").read_text())
    assert set(_verdicts(told).values()) == {"inconclusive"}
    assert result.exit_code != 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["monday-0"], "the candidate is missing"),
        ([], "the base is missing"),
        (["--", "monday-0"], "the base is missing"),
        (["monday-0", "monday-1", "monday-2"], "Set -- between them"),
        (["monday-0", "--", "monday-1", "--metric", "speed"], "there is no metric speed; there are: iteration_p50_ns"),
        (["monday-0", "--", "monday-1", "--allow-mismatch", "moon"], "there is no aspect moon; there are: all, gpu"),
        (["monday-0", "--", "monday-1", "--base-sql", "select 1"], "the base is given twice"),
        (["monday-0", "--", "monday-1", "--threshold", "0"], "Invalid value for '--threshold'"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(archive: Path, words: list[str], message: str) -> None:
    result = _run(archive, *words)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select run from source where false", "the statement selects no run"),
        ("select 1 as one", "gives no column run or trace_id, but one"),
        ("select run frm source", "sql: "),
        ("select 'gone' as run", "no run or trace gone"),
    ],
)
def test_a_statement_that_gives_no_runs_is_no_pass(archive: Path, query: str, message: str) -> None:
    result = _run(archive, "monday-0", "--candidate-sql", query)
    assert isinstance(result.exception, Error)
    assert message in str(result.exception)


def test_hostile_names_stay_text_in_every_format(archive: Path, tmp_path: Path) -> None:
    there = Archive(tmp_path / "archive")
    name = "<script>alert(1)</script>|`@all`::error::\x01\n=1+1"
    for run, body in (("one", BODY), ("two", (*BODY, name))):
        add(there, run, operations(10, body), facts=Facts("kineto", labels={"model": name}))
    for format in ("html", "md", "terminal", "junit", "github"):
        result = _run(there.path, "one", "--", "two", "--format", format)
        assert result.exit_code == 4
        assert "\x01" not in result.stdout
        assert format != "html" or "<script>alert(1)" not in result.stdout


def test_the_sample_history_has_a_regression_whose_cause_is_named(archive: Path) -> None:
    before, after = (
        [SAMPLES / "history" / f"night-{night}.json.gz" for night in nights]
        for nights in (range(45, 50), range(50, 55))
    )
    told = _told(archive, *before, "--", *after, code=3)
    assert _verdicts(told)["iteration_p50_ns"] == "regression"
    named = _section(told, "attribution")["sentence"].partition("The largest differences: ")[2]
    assert named == "+9.28 µs void nightly::softmax_kernel<4, float>(float*, float const*, int), slower."
