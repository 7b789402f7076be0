from dataclasses import replace

import pytest

from tests.browser.hostile import HOSTILE, INVISIBLE
from tests.reports.formats.judged import ABSENT, ALL, SAME, SIGNS, SLOWER, UNDECIDED, UNMEASURED, hostile, judged
from tests.reports.formats.runner_commands import obeyed
from tracelode.reports.formats.github import MOST, SUFFIX, render
from tracelode.reports.text import clean, shorten
from tracelode.store.errors import Error
from tracelode.store.parts import load


def test_the_lines_are_as_written_here() -> None:
    assert render(ALL) == (
        "::error title=regression%3A Iteration time%2C median +6.5\u202f%25::Three runs are above the limit. (5f1e0a)\n"
        "::warning title=inconclusive%3A GPU busy −5.3\u202f%25::Run it two more times. (5f1e0a)\n"
        "::warning title=inconclusive%3A UVM bytes::Not collected. (77aa00)\n"
        "::notice title=improvement%3A Peak memory −50.0\u202f%25::It is below the limit. (5f1e0a)\n"
    )


def test_one_notice_says_that_all_is_as_it_was() -> None:
    assert render(judged(SAME)) == "::notice title=tracelode::No regression in 1 check.\n"


def test_what_could_not_be_read_is_an_error_before_what_is_undecided() -> None:
    assert render(judged(ABSENT, UNDECIDED, UNMEASURED)).splitlines()[0] == (
        "::error title=not read%3A Measurement of the run::Not measured: no kernels. (night-9)"
    )


def test_the_worst_ten_are_told_and_the_others_counted() -> None:
    slower = [replace(SLOWER, metric=str(at), title=f"M{at}", value=10e6 + at * 1e6) for at in range(1, 9)]
    undecided = [replace(UNDECIDED, metric=str(at), title=f"U{at}", value=None) for at in range(4)]
    text = render(judged(*undecided, *slower))
    commands = obeyed(text)
    assert [command.name for command in commands] == ["error"] * 8 + ["warning"] * 2
    assert len(commands) == MOST == 10
    assert commands[0].properties == {"title": "regression: M8 +80.0\u202f%"}
    assert text.endswith("\n2 more: GitHub takes no more than 10\n")


@pytest.mark.parametrize("text", [*HOSTILE, *INVISIBLE, *SIGNS])
def test_any_text_is_read_back_as_it_is_shown_and_no_text_is_a_command(text: str) -> None:
    (command,) = obeyed(render(hostile(text)))
    assert command.name == "error"
    assert command.properties == {"title": shorten(f"regression: {clean(text)} +100.0\u202f%", 160)}
    assert command.message == shorten(f"{clean(text)} ({clean(text)})", 4000)


@pytest.mark.parametrize("text", ["%25", "%0A", "%3A%2C", "%250D"])
def test_what_looks_like_an_escape_is_text(text: str) -> None:
    (command,) = obeyed(render(hostile(text)))
    assert command.message == f"{text} ({text})"


def test_a_report_without_checks_is_an_error() -> None:
    with pytest.raises(Error, match="github"):
        render(judged())


def test_it_is_found_by_its_suffix() -> None:
    assert load("format", "github").SUFFIX == SUFFIX == ".annotations"
