"""Annotations of GitHub Actions: lines that its runner reads from a step's output; the worst ten checks."""

from ..checks import demanded, moved, unread, verdict_line
from ..report import Check, Report
from ..text import clean, shorten

__all__ = ["MOST", "SUFFIX", "render"]

SUFFIX = ".annotations"
MOST = 10
"""Annotations GitHub takes of one level from a step; of more it shows none of those behind."""

_LEVELS = {"regression": "error", "inconclusive": "warning", "improvement": "notice"}
_LONGEST_TITLE, _LONGEST_MESSAGE = 160, 4000


def render(report: Report) -> str:
    """A line for each of the worst checks; one notice where all is as it was."""
    told = [check for check in demanded(report, "github") if check.verdict in _LEVELS]
    if not told:
        return _line("notice", "tracelode", verdict_line(report.checks))
    left = f"{len(told) - MOST} more: GitHub takes no more than {MOST}\n" if len(told) > MOST else ""
    return "".join(map(_annotation, told[:MOST])) + left


def _annotation(check: Check) -> str:
    title = f"{'not read' if unread(check) else check.verdict}: {check.title} {moved(check)}".rstrip()
    return _line("error" if unread(check) else _LEVELS[check.verdict], title, f"{check.sentence} ({check.series})")


def _line(level: str, title: str, message: str) -> str:
    """A workflow command: text is escaped as `@actions/core` does, but for ends of lines, which `clean` shows."""
    named = _escaped(shorten(clean(title), _LONGEST_TITLE)).replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={named}::{_escaped(shorten(clean(message), _LONGEST_MESSAGE))}\n"


def _escaped(text: str) -> str:
    return text.replace("%", "%25")
