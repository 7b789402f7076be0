"""JUnit XML, which every CI system reads: a suite for each series, a case for each check."""

from collections.abc import Sequence
from xml.etree import ElementTree

from ..checks import demanded, moved, unread
from ..report import Check, Report
from ..text import clean
from ..units import show

__all__ = ["SUFFIX", "render"]

SUFFIX = ".xml"
_NO_CHARACTER = {0xFFFE: r"\ufffe", 0xFFFF: r"\uffff"}
"""What XML 1.0 takes for no character, besides what `clean` shows."""


def render(report: Report) -> str:
    """The checks, the worst first: a regression is a failure, what could not be read an error.

    What is inconclusive is skipped, since it is no pass.
    """
    checks = demanded(report, "junit")
    by_series: dict[str, list[Check]] = {}
    for check in checks:
        by_series.setdefault(check.series, []).append(check)
    root = ElementTree.Element("testsuites", {"name": f"tracelode {_text(report.topic)}"} | _counts(checks))
    for series, those in by_series.items():
        suite = ElementTree.SubElement(root, "testsuite", {"name": _text(series)} | _counts(those))
        for check in those:
            _case(suite, check)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _counts(checks: Sequence[Check]) -> dict[str, str]:
    verdicts, errors = [check.verdict for check in checks], sum(map(unread, checks))
    return {
        "tests": str(len(checks)),
        "failures": str(verdicts.count("regression")),
        "errors": str(errors),
        "skipped": str(verdicts.count("inconclusive") - errors),
    }


def _case(suite: ElementTree.Element, check: Check) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname=f"tracelode.{_text(check.series)}", name=_text(check.title)
    )
    if check.verdict == "regression":
        message = f"{check.title} {moved(check)}".rstrip()
        failure = ElementTree.SubElement(case, "failure", type="regression", message=_text(message))
        failure.text = _text(check.sentence)
    elif unread(check):
        ElementTree.SubElement(case, "error", type=_text(check.metric), message=_text(check.sentence))
    elif check.verdict == "inconclusive":
        ElementTree.SubElement(case, "skipped", type="inconclusive", message=_text(check.sentence))
    numbers = {"value": check.value, "baseline": check.baseline, "low limit": check.low, "high limit": check.high}
    shown = "".join(f"{name}: {show(number, check.unit)}\n" for name, number in numbers.items())
    ElementTree.SubElement(case, "system-out").text = f"{_text(check.sentence)}\nverdict: {check.verdict}\n{shown}"


def _text(text: str) -> str:
    return clean(text).translate(_NO_CHARACTER)
