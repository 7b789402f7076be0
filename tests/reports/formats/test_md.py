import pytest
from markdown_it import MarkdownIt

from tests.browser.hostile import HOSTILE, INVISIBLE
from tests.reports.formats.judged import SLOWER, UNDECIDED, hostile, judged
from tests.reports.formats.small import small
from tracelode.reports.formats.md import MOST_BYTES, SUFFIX, render
from tracelode.reports.report import Chart, Column, Report, Section, Table, Text
from tracelode.store.parts import load
from tracelode.store.version import VERSION

SECTION = """\
## Kernels

One kernel takes 77 %.

A kernel is named as recorded.

Templates stay.

**Kernels by time**

|  | Time |  |
|---|---:|---|
| void at::native::add&#60;float&#62;(float&#42;) | 9.88\u202fms | ████████████████████ |
| gemm &#91;clone .kd&#93; &#91;/bold&#93; | 2.50\u202fms | █████▏ |
| copy␛&#91;31m | 527\u202fµs | █▏ |

**Kernels**

| Kernel | Calls | Total (ms) | Share (%) | Note |
|---|---:|---:|---:|---|
| void at::native::add&#60;float&#62;(float&#42;) | 1\u202f234 | 9.88 | 76.5 | – |
| gemm &#91;clone .kd&#93; &#91;/bold&#93; | 7 | 2.50 | 19.4 | &#60;new&#62; |

2 of 3 rows

<details><summary>SQL</summary>

```sql
select *
from kernel
```

</details>

**Gaps**

no rows
"""


def report(*sections: Section, health: tuple[str, ...] = ()) -> Report:
    return Report("perf", "t", "v", "a" * 64, (), health, sections)


def test_a_section_reads_as_written_here() -> None:
    assert SECTION in render(small())


def test_the_page_begins_with_health_verdict_and_identity() -> None:
    assert render(small()).startswith(
        "# Where the time goes\n\n> **Data quality**\n>\n> - 2 kernels have no launch.\n\n"
        "One iteration of six takes three times as long.\n\n"
        "|  |  |\n|---|---|\n| host | node17 |\n| device | H100 |\n"
    )


CHECKS = """\
Regression.

## Checks

1 regression, 1 inconclusive.

**Checks, the worst first**

| Verdict | Metric | Change | Value | Baseline | Low limit | High limit | Series |
|---|---|---|---|---|---|---|---|
| regression | Iteration time, median | +6.5 % | 10.7 ms | 10.0 ms | 9.70 ms | 10.3 ms | 5f1e0a |
| inconclusive | GPU busy | −5.3 % | 90.0 % | 95.0 % | 92.0 % | – | 5f1e0a |

- Iteration time, median: Three runs are above the limit.
- GPU busy: Run it two more times.

## Why
"""


def test_checks_stand_between_the_verdict_and_the_sections() -> None:
    assert CHECKS in render(judged(UNDECIDED, SLOWER)).replace("\u202f", " ")


def test_it_is_found_by_its_suffix() -> None:
    assert load("format", "md").SUFFIX == SUFFIX == ".md"
    assert VERSION not in render(small())  # the same report is the same text in all versions


MARKUP = (
    *("- a", "+ a", "1. a", "1) a", "12 iterations", "# a", "> a", "=== a", "    code", "~~~", "```", "a  \nb"),
    *("www.evil.example", "https://evil.example", "@someone #12", "a|b", "\\", "&amp;"),
    *("![x](http://e/x.png)", "[x](javascript:1)"),
)


@pytest.mark.parametrize("text", [*HOSTILE, *INVISIBLE, *MARKUP])
def test_no_text_of_a_trace_is_markup_to_a_parser_of_markdown(text: str) -> None:
    table = Table(text, (Column("name", text),), [{"name": text}], "")
    page = render(report(Section("k", text, text, (Text(text or "x"), table), (text,)), health=(text,)))
    tokens = MarkdownIt("gfm-like", {"html": True, "linkify": False}).parse(page)
    inline = [child for token in tokens for child in token.children or ()]
    kinds = {child.type for child in inline}
    assert kinds <= {"text", "text_special", "strong_open", "strong_close", "softbreak"}
    blocks = {token.type.rpartition("_")[0] or token.type for token in tokens}
    assert blocks <= {"heading", "paragraph", "blockquote", "bullet_list", "list_item", "inline",
                      "table", "thead", "tbody", "tr", "th", "td"}  # fmt: skip
    assert sum(token.type == "heading_open" for token in tokens) == 2
    assert sum(token.type == "tr_open" for token in tokens) == 2
    checks = MarkdownIt("gfm-like", {"html": True, "linkify": False}).parse(render(hostile(text)))
    assert {child.type for token in checks for child in token.children or ()} <= kinds | {"text", "text_special"}
    for link in ("://", "www."):  # GitHub makes links of these in plain text
        assert link not in page


def test_a_cell_shows_the_name_as_it_is() -> None:
    names = [text for text in HOSTILE if len(text) <= 160 and text == " ".join(text.split())]
    page = render(report(Section("k", "h", "", (Table("c", (Column("n", "N"),), [{"n": n} for n in names], "", 99),))))
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(page)
    cells = [
        "".join(child.content for child in tokens[at + 1].children or ())
        for at, token in enumerate(tokens)
        if token.type == "td_open"
    ]
    assert cells == names


def test_a_query_cannot_end_its_fence() -> None:
    sql = "select '````' -- ```\n</details><script>"
    page = render(report(Section("k", "h", "", (Table("c", (Column("n", "N"),), [{"n": 1}], sql),))))
    fences = [token for token in MarkdownIt("gfm-like", {"linkify": False}).parse(page) if token.type == "fence"]
    assert [fence.content for fence in fences] == [sql + "\n"]


def test_what_is_too_large_is_cut_and_said() -> None:
    columns = (Column("n", "N"),)
    many = [
        Section(f"s{at}", f"Section {at}", "x" * 2000, (Table("c", columns, [{"n": "é"}], ""),)) for at in range(50)
    ]
    page = render(report(*many), most_bytes=20_000)
    assert 17_000 < len(page.encode()) <= 20_000
    assert page.endswith("parts did not fit. The HTML report has them all.\n")
    assert "**Cut here**: " in page
    assert len(render(report(*many)).encode()) < MOST_BYTES
    assert "Cut here" not in render(report(*many))


def test_the_bars_of_a_chart_have_the_unit_that_the_chart_says() -> None:
    drawn = {"title": "T", "unit": "share", "labels": ["a"], "values": [0.0457]}
    chart = Chart("C", {"usermeta": {"terminal": drawn}}, "", "")
    report = Report("watch", "T", "V", "0", (), (), (Section("s", "S", "", (chart,)),))
    assert "| a | 4.6\u202f% |" in render(report)
