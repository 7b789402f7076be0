from xml.etree import ElementTree

import pytest
from junitparser import Error as ErrorResult
from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite

from tests.browser.hostile import HOSTILE, INVISIBLE
from tests.reports.formats.judged import ABSENT, ALL, SAME, SIGNS, SLOWER, UNMEASURED, hostile, judged
from tracelode.reports.formats.junit import SUFFIX, render
from tracelode.reports.report import Report
from tracelode.reports.text import clean
from tracelode.store.errors import Error
from tracelode.store.parts import load


def read(report: Report) -> list[TestSuite]:
    found = JUnitXml.fromstring(render(report).encode())
    assert isinstance(found, JUnitXml)
    return list(found)


def test_a_check_is_written_as_here() -> None:
    assert (
        render(judged(SLOWER, SAME))
        == """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="tracelode watch" tests="2" failures="1" errors="0" skipped="0">
  <testsuite name="5f1e0a" tests="1" failures="1" errors="0" skipped="0">
    <testcase classname="tracelode.5f1e0a" name="Iteration time, median">
      <failure type="regression" message="Iteration time, median +6.5\u202f%">Three runs are above the limit.</failure>
      <system-out>Three runs are above the limit.
verdict: regression
value: 10.7\u202fms
baseline: 10.0\u202fms
low limit: 9.70\u202fms
high limit: 10.3\u202fms
</system-out>
    </testcase>
  </testsuite>
  <testsuite name="77aa00" tests="1" failures="0" errors="0" skipped="0">
    <testcase classname="tracelode.77aa00" name="Kernels">
      <system-out>As before.
verdict: neutral
value: 120
baseline: 120
low limit: –
high limit: –
</system-out>
    </testcase>
  </testsuite>
</testsuites>
"""
    )


def test_a_regression_fails_and_what_is_undecided_is_skipped() -> None:
    whole = JUnitXml.fromstring(render(ALL).encode())
    assert (whole.tests, whole.failures, whole.errors, whole.skipped) == (5, 1, 0, 2)
    first, second = read(ALL)
    assert [(suite.name, suite.tests, suite.failures, suite.skipped) for suite in (first, second)] == [
        ("5f1e0a", 3, 1, 1),
        ("77aa00", 2, 0, 1),
    ]
    cases: list[TestCase] = [*first, *second]
    assert [(case.name, case.is_passed, case.is_failure, case.is_skipped) for case in cases] == [
        ("Iteration time, median", False, True, False),
        ("GPU busy", False, False, True),
        ("Peak memory", True, False, False),
        ("UVM bytes", False, False, True),
        ("Kernels", True, False, False),
    ]
    assert isinstance(cases[0].result[0], Failure)
    assert cases[0].result[0].text == "Three runs are above the limit."
    assert isinstance(cases[1].result[0], Skipped)
    assert cases[1].result[0].message == "Run it two more times."


def test_what_could_not_be_read_is_an_error_which_no_ci_system_shows_green() -> None:
    whole = JUnitXml.fromstring(render(judged(SAME, ABSENT, UNMEASURED)).encode())
    assert (whole.tests, whole.failures, whole.errors, whole.skipped) == (3, 0, 1, 1)
    suite = next(iter(read(judged(SAME, ABSENT, UNMEASURED))))  # the worst first
    (case,) = suite
    assert (suite.name, suite.errors, suite.skipped, case.is_error) == ("night-9", 1, 0, True)
    assert isinstance(case.result[0], ErrorResult)
    assert case.result[0].message == "Not measured: no kernels."


@pytest.mark.parametrize("text", [*HOSTILE, *INVISIBLE, *SIGNS])
def test_any_text_is_read_back_as_it_is_shown(text: str) -> None:
    shown = clean(text).replace("\ufffe", r"\ufffe").replace("\uffff", r"\uffff")
    for verdict in ("regression", "inconclusive", "improvement"):
        (suite,) = read(hostile(text, verdict))
        (case,) = suite
        assert (suite.name, case.name, case.classname) == (shown, shown, f"tracelode.{shown}")
        assert (case.system_out or "").startswith(f"{shown}\nverdict: {verdict}\n")
        if verdict == "regression":
            assert case.result[0].message == f"{shown} +100.0\u202f%"
            assert (case.result[0].text or "") == shown
        if verdict == "inconclusive":
            assert case.result[0].message == shown


def test_it_is_xml_for_a_parser_of_the_standard() -> None:
    root = ElementTree.fromstring(render(hostile("".join(map(chr, (*range(0x300), 0xD83D, 0xFFFE, 0xFFFF, 0x1F525))))))
    assert root.tag == "testsuites"
    assert "␁" in root[0].attrib["name"]


def test_a_report_without_checks_is_an_error() -> None:
    with pytest.raises(Error, match="junit"):
        render(judged())


def test_it_is_found_by_its_suffix() -> None:
    assert load("format", "junit").SUFFIX == SUFFIX == ".xml"
