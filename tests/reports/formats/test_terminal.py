import re

import numpy as np
import pytest
from rich.cells import cell_len

from tests.browser.hostile import HOSTILE, INVISIBLE
from tests.reports.formats.judged import SLOWER, UNDECIDED, judged
from tests.reports.formats.small import small
from tracelode.reports.formats.terminal import SUFFIX, fitted, render
from tracelode.reports.report import Chart, Column, Lane, Report, Section, Table, Timeline
from tracelode.store.parts import load

EXPECTED = """\
Where the time goes
! 2 kernels have no launch.

One iteration of six takes three times as long.

host    node17
device  H100

Timeline
Two streams.

All operations
stream 7: busy 70.0 % of 1.00 µs, 3 operations
█████████████████████████████▅       ██████████████████████▂
stream 8: busy 10.0 % of 1.00 µs, 1 operation
                                                                  ▄███████
12 operations left out
see the timeline in the HTML report

Iterations
Iteration 4 takes 30 ms.

Six iterations
▃▃▃▃█▃
Duration: 10.0 ms to 30.0 ms

- Iterations were found without markers.

Kernels
One kernel takes 77 %.

A kernel is named as recorded.
Templates stay.

Kernels by time
void at::native:…<float>(float*) 9.88 ms █████████████████████████████████
gemm [clone .kd] [/bold]         2.50 ms ████████▍
copy␛[31m                         527 µs █▊
Time

Kernels
Kernel                               Calls  Total (ms)  Share (%)  Note
────────────────────────────────────────────────────────────────────────
void at::native::add<float>(float*)  1 234        9.88       76.5  –
gemm [clone .kd] [/bold]                 7        2.50       19.4  <new>
2 of 3 rows

Gaps
no rows

Unified memory
Not collected.

Glossary
busy  Something runs.
"""

NARROW = """\
Kernels
void
at::native::add<float>(fl
oat*)
  Calls 1 234 · Total
  (ms) 9.88 · Share (%)
  76.5 · Note –
gemm [clone .kd] [/bold]
  Calls 7 · Total (ms)
  2.50 · Share (%) 19.4 ·
  Note <new>
2 of 3 rows
"""


def plain(text: str) -> str:
    return text.replace("\u202f", " ")


def of_table(rows: list[dict[str, object]], *columns: Column, limit: int = 25) -> Report:
    return Report("perf", "T", "V", "0", (), (), (Section("s", "S", "", (Table("C", columns, rows, "", limit),)),))


def test_it_is_found_among_the_formats() -> None:
    assert load("format", "terminal").render is render
    assert SUFFIX == ".txt"


CHECKS = """\
Regression.


Checks
1 regression, 1 inconclusive.

Checks, the worst first
Verdict       Metric                  Change  Value    Baseline  Low limit  High limit  Series
──────────────────────────────────────────────────────────────────────────────────────────────
regression    Iteration time, median  +6.5 %  10.7 ms  10.0 ms   9.70 ms    10.3 ms     5f1e0a
inconclusive  GPU busy                −5.3 %  90.0 %   95.0 %    92.0 %     –           5f1e0a

- Iteration time, median: Three runs are above the limit.
- GPU busy: Run it two more times.

Why
"""


def test_checks_stand_between_the_verdict_and_the_sections() -> None:
    assert CHECKS in plain(render(judged(UNDECIDED, SLOWER), width=120, color=False))


def test_a_report_as_text_in_full() -> None:
    assert plain(render(small(), width=74, color=False)) == EXPECTED


def test_a_table_too_wide_for_the_terminal_is_set_row_by_row() -> None:
    assert NARROW in plain(render(small(), width=25, color=False))


@pytest.mark.parametrize("width", range(20, 201))
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = render(small(), width=width, color=False).splitlines()
    assert max(map(cell_len, lines)) <= width


@pytest.mark.parametrize("width", [1, 2, 5, 10])
def test_even_an_absurd_width_is_kept(width: int) -> None:
    assert max(map(cell_len, render(small(), width=width, color=False).splitlines())) <= width


def test_long_names_are_cut_in_the_middle_and_numbers_never() -> None:
    rows = [{"name": "a" * 60 + "z" * 60, "n": 123_456_789}]
    text = plain(render(of_table(rows, Column("name", "Name"), Column("n", "Number", "count")), width=40, color=False))
    assert "aaaaaaaaaaaaa…zzzzzzzzzzzzz  123 456 789\n" in text


@pytest.mark.parametrize("text", [*HOSTILE, *INVISIBLE])
def test_hostile_text_is_shown_as_it_is_and_commands_nothing(text: str) -> None:
    shown = INVISIBLE.get(text, text)
    report = of_table([{"a": text}], Column("a", text))
    report = Report(text, text, text, text, ((text, text),), (text,), report.sections, {text: text})
    out = render(report, width=1000, color=False)
    assert out.count(shown) == 9
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", out)


def test_colour_is_used_only_where_asked_for() -> None:
    assert "\x1b[" in render(small(), width=80, color=True)
    assert "\x1b[" not in render(small(), width=80, color=False)


def test_coloured_text_is_the_plain_text_with_colours() -> None:
    coloured = re.sub(r"\x1b\[[0-9;]*m", "", render(small(), width=80, color=True))
    assert [line.rstrip() for line in coloured.splitlines()] == render(small(), width=80, color=False).splitlines()


@pytest.mark.parametrize(
    ("terminal", "environment", "colour"),
    [
        (True, {}, True),
        (False, {}, False),
        (False, {"FORCE_COLOR": "1"}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_colour_follows_the_output_and_the_environment(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, environment: dict[str, str], colour: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    assert ("\x1b[" in render(small(), width=80)) == colour


def test_the_width_is_that_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "33")
    assert render(small(), color=False) == render(small(), width=33, color=False)


def test_a_chart_without_a_terminal_form_says_where_it_is() -> None:
    chart = Chart("T", {"mark": "bar", "data": {"values": []}}, "", "")
    report = Report("perf", "T", "V", "0", (), (), (Section("s", "S", "", (chart,)),))
    assert render(report, width=80, color=False).endswith("T\nsee the chart in the HTML report\n")


def test_a_timeline_without_operations_says_so() -> None:
    none = np.array([], dtype=np.int64)
    report = Report(
        "perf",
        "T",
        "V",
        "0",
        (),
        (),
        (Section("s", "S", "", (Timeline("A", 0, [], [Lane("x", none, none, none)], ""),)),),
    )
    assert render(report, width=80, color=False).endswith("A\nno operations\n")


def _alone(*blocks: Table | Chart, sentence: str = "") -> Report:
    return Report("perf", "T", "V", "0", (), (), (Section("s", "S", sentence, blocks),))


@pytest.mark.parametrize("width", range(24, 60))
def test_no_number_is_cut_at_any_width(width: int) -> None:
    columns = (Column("id", "Correlation", "id"), Column("what", "What"), Column("time", "Time", "ns"))
    rows = [
        {"id": 12_345_678_901_234, "what": "copy of 1234.5 MiB between devices 31415 and 27182", "time": 1_234_567},
        {"id": 98_765_432_109_876, "what": "at::a_kernel<65536>", "time": 98_765},
    ]
    labels = {"title": "T", "labels": ["step · 18.81 µs of 4096 idle", "x"], "values": [1.5e6, 2e3]}
    chart = Chart("C", {"usermeta": {"terminal": labels}}, "", "")
    sentence = (
        "Of 1\u202f234\u202f567 operations 98\u202f765 take 1.25\u202fms each on the 65\u202f536 lanes of it all."
    )
    text = render(_alone(Table("R", columns, rows, ""), chart, sentence=sentence), width=width, color=False)
    whole = {"12345678901234", "98765432109876", "1234.5", "31415", "27182", "65536", "18.81", "4096", "1.50", "2.00"}
    whole |= {"1\u202f234\u202f567", "98\u202f765", "65\u202f536", "1.25", "1.235", "0.099"}
    for number in re.findall(r"\d[\d.,\u202f]*", text):
        assert number.rstrip(".,\u202f") in whole, text
    assert {"12345678901234", "1\u202f234\u202f567"} <= set(re.findall(r"\d[\d\u202f]*", text))


def test_what_the_text_was_fitted_to_is_its_width_and_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "33")
    assert fitted() == "33"
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert fitted() == "33-colour"


def test_the_bars_of_a_chart_have_the_unit_that_the_chart_says() -> None:
    drawn = {"title": "T", "unit": "bytes", "labels": ["a", "b"], "values": [3 << 20, 2048]}
    text = render(_alone(Chart("C", {"usermeta": {"terminal": drawn}}, "", "")), width=60, color=False)
    assert "3.00 MiB" in text.replace("\u202f", " ")
    assert "2.00 KiB" in text.replace("\u202f", " ")
