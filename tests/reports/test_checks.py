from dataclasses import replace

import pytest

from tests.reports.formats.judged import ABSENT, ALL, SAME, SLOWER, SMALLER, UNDECIDED, judged
from tracelode.reports.checks import change, demanded, exit_code, moved, sections, verdict_line, worst_first
from tracelode.reports.report import Check, Table
from tracelode.store.errors import Error


@pytest.mark.parametrize(
    ("checks", "code"),
    [
        ([], 4),
        ([SAME], 0),
        ([SAME, SMALLER], 0),
        ([SAME, UNDECIDED], 4),
        ([ABSENT], 4),
        ([UNDECIDED, SLOWER, SAME], 3),
    ],
)
def test_the_worst_verdict_is_the_exit_code_and_no_check_is_no_pass(checks: list[Check], code: int) -> None:
    assert exit_code(checks) == code


@pytest.mark.parametrize(
    ("checks", "line"),
    [
        ([], "Inconclusive: nothing was checked."),
        ([SAME], "No regression in 1 check."),
        ([SAME, SMALLER], "No regression in 2 checks; 1 improved: Peak memory of 5f1e0a (−50.0\u202f%)."),
        ([UNDECIDED], "Inconclusive: 1 of 1 check undecided: GPU busy (−5.3\u202f%)."),
        ([SAME, ABSENT], "Inconclusive: 1 of 2 checks undecided: UVM bytes."),
        ([SLOWER, SMALLER], "Regression in 1 of 2 checks: Iteration time, median (+6.5\u202f%)."),
        ([SLOWER, UNDECIDED], "Regression in 1 of 2 checks: Iteration time, median (+6.5\u202f%); 1 inconclusive."),
    ],
)
def test_one_sentence_says_what_is_worst(checks: list[Check], line: str) -> None:
    assert verdict_line(checks) == line


def test_the_sentence_names_three_and_counts_the_others() -> None:
    checks = [replace(SLOWER, metric=str(at), title=f"M{at}", value=10e6 + at * 1e6) for at in range(1, 6)]
    assert verdict_line(checks) == (
        "Regression in 5 of 5 checks: M5 (+50.0\u202f%), M4 (+40.0\u202f%), M3 (+30.0\u202f%) and 2 more."
    )


def test_regressions_come_first_and_the_largest_change_before_others() -> None:
    larger = replace(SLOWER, metric="z", value=20e6)
    from_nothing = replace(SLOWER, metric="a", baseline=0.0)
    given = [SAME, SMALLER, ABSENT, SLOWER, UNDECIDED, larger, from_nothing]
    assert worst_first(given) == [from_nothing, larger, SLOWER, UNDECIDED, ABSENT, SMALLER, SAME]


@pytest.mark.parametrize(
    ("value", "baseline", "share", "words"),
    [
        (110.0, 100.0, 0.1, "+10.0\u202f%"),
        (90.0, 100.0, -0.1, "−10.0\u202f%"),
        (100.0, 100.0, 0.0, "0.0\u202f%"),
        (0.0, 0.0, 0.0, "0.0\u202f%"),
        (5.0, 0.0, float("inf"), "0\u202fns → 5\u202fns"),
        (None, 100.0, None, ""),
        (100.0, None, None, ""),
    ],
)
def test_a_change_is_relative_to_the_baseline(
    value: float | None, baseline: float | None, share: float | None, words: str
) -> None:
    check = replace(SLOWER, value=value, baseline=baseline)
    assert change(check) == (None if share is None else pytest.approx(share))
    assert moved(check) == words


def test_a_report_that_judges_shows_its_checks_before_all_else() -> None:
    first, *rest = sections(ALL)
    assert tuple(rest) == ALL.sections
    assert first.sentence == "1 regression, 2 inconclusive, 1 improvement, 1 neutral."
    assert first.notes == (
        "Iteration time, median: Three runs are above the limit.",
        "GPU busy: Run it two more times.",
        "UVM bytes: Not collected.",
    )
    table = first.blocks[0]
    assert isinstance(table, Table)
    assert table.rows[0] == {
        "verdict": "regression",
        "metric": "Iteration time, median",
        "change": "+6.5\u202f%",
        "value": "10.7\u202fms",
        "baseline": "10.0\u202fms",
        "low": "9.70\u202fms",
        "high": "10.3\u202fms",
        "series": "5f1e0a",
    }
    assert [row["verdict"] for row in table.rows[1:]] == ["inconclusive", "inconclusive", "improvement", "neutral"]
    assert table.rows[2]["value"] == table.rows[2]["low"] == "–"


def test_what_several_checks_say_alike_is_said_once() -> None:
    alike = [replace(UNDECIDED, metric=title, title=title) for title in ("A", "B")]
    first, *_ = sections(judged(*alike, UNDECIDED, ABSENT))
    assert first.notes == ("A, B, GPU busy: Run it two more times.", "UVM bytes: Not collected.")


def test_a_report_that_judges_nothing_shows_no_checks() -> None:
    assert sections(judged()) == judged().sections


def test_a_format_of_checks_refuses_a_report_without_them() -> None:
    with pytest.raises(Error, match="the format junit holds checks, and the report watch has none") as caught:
        demanded(judged(), "junit")
    assert caught.value.exit_code == 2
    assert "compare and watch make checks" in caught.value.hint
