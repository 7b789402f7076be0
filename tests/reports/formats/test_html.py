import re
import subprocess
import sys
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.browser.hostile import HOSTILE, INVISIBLE
from tests.reports.formats.judged import SLOWER, UNDECIDED, hostile, judged
from tests.reports.formats.small import KERNELS, small
from tracelode.reports.charts.style import PALETTE
from tracelode.reports.formats import html
from tracelode.reports.formats.html import SUFFIX, render
from tracelode.reports.report import Column, Report, Section, Table, Text
from tracelode.store.parts import load

FOLDER = Path(html.__file__).parent


class Page(HTMLParser):
    """The elements of a page in order, each with its attributes and its own text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._open: list[list[str]] = [[]]
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        words: list[str] = []
        self.elements.append((tag, dict(attrs), words))
        if tag not in ("meta", "link", "br"):
            self._open.append(words)

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].append(data)

    def texts(self, tag: str) -> list[str]:
        return ["".join(words) for name, _, words in self.elements if name == tag]

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes, _ in self.elements if name == tag]


def of_table(rows: list[dict[str, Any]], *columns: Column, limit: int = 25) -> Report:
    return Report("perf", "T", "V", "0", (), (), (Section("s", "S", "", (Table("C", columns, rows, "", limit),)),))


def test_checks_are_the_first_section_and_the_first_in_the_contents() -> None:
    page = Page(render(judged(UNDECIDED, SLOWER)))
    assert page.texts("h2") == ["Contents", "Checks", "Why"]
    assert page.texts("a")[1:3] == ["Checks", "Why"]
    assert page.texts("td")[:3] == ["regression", "Iteration time, median", "+6.5\u202f%"]
    assert page.texts("li")[2:] == ["Iteration time, median: Three runs are above the limit.",
                                    "GPU busy: Run it two more times."]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_a_check_is_an_element(text: str) -> None:
    page, harmless = Page(render(hostile(text))), Page(render(hostile("x" * len(text))))
    assert [name for name, *_ in page.elements] == [name for name, *_ in harmless.elements]
    assert f"{text}: {text}" in page.texts("li")


def test_it_is_found_among_the_formats() -> None:
    assert load("format", "html").render is render
    assert SUFFIX == ".html"


def test_the_page_allows_its_own_style_and_script_and_nothing_else() -> None:
    page = Page(render(small()))
    policy = next(a["content"] for a in page.attributes("meta") if a.get("http-equiv") == "Content-Security-Policy")
    style, script = page.texts("style")[0], page.texts("script")[-1]

    def digest(text: str) -> str:
        return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

    assert policy == (
        f"default-src 'none'; style-src {digest(style)}; script-src {digest(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    assert [name for name, _, _ in page.elements].index("meta") < [name for name, _, _ in page.elements].index("style")
    assert page.attributes("meta")[1]["http-equiv"] == "Content-Security-Policy"


def test_the_page_names_no_other_file() -> None:
    page = Page(render(small()))
    for tag, attributes, _ in page.elements:
        assert not {"src", "srcset", "style", "action", "data", "xlink:href"} & attributes.keys()
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#") or (tag, attributes["href"]) == ("link", "data:,")
    assert not re.search(r"https?:", re.sub(r"<script>.*</script>", "", render(small()), flags=re.S))


def test_the_structure_of_a_page() -> None:
    page = Page(render(small()))
    assert page.texts("h1") == ["Where the time goes"]
    assert page.texts("h2") == [
        "Data quality", "Contents", "Timeline", "Iterations", "Kernels", "Unified memory", "Glossary",
    ]  # fmt: skip
    assert page.texts("dt") == ["host", "device", "busy"]
    assert page.texts("dd") == ["node17", "H100", "Something runs."]
    assert page.texts("figcaption") == ["All operations", "Six iterations", "Kernels by time"]
    assert page.texts("code") == [
        "select * from kernel", "select * from iteration", "select name from kernel", "select *\nfrom kernel",
        "select 1 where false", "3f9a" * 16,
    ]  # fmt: skip
    links = [a["href"] for a in page.attributes("a")]
    ids = {a["id"] for _, a, _ in page.elements if "id" in a}
    assert links == ["#findings", "#1-timeline", "#2-iterations", "#3-kernels", "#4-uvm", "#glossary"]
    assert {link[1:] for link in links if link} <= ids
    assert len(ids) == sum("id" in a for _, a, _ in page.elements)
    assert page.attributes("html") == [{"lang": "en"}]


def test_a_table_has_its_caption_headings_and_cells() -> None:
    text = render(small())
    table = text[text.rindex("<table") : text.rindex("</table>") + 8]
    page = Page(table)
    assert page.texts("caption") + page.texts("span")[:1] == ["", "Kernels"]
    assert page.texts("th") == ["Kernel", "Calls", "Total", "Share", "Note"]
    assert [a["class"] for a in page.attributes("span") if "class" in a] == ["unit", "unit"]
    assert {a["scope"] for a in page.attributes("th")} == {"col"}
    assert [a.get("class") for a in page.attributes("th")] == ["t", "n", "n", "n", None]
    assert [cell.replace("\u202f", " ") for cell in page.texts("td")] == [
        KERNELS[0]["name"], "1 234", "9.877", "76.5", "–",
        KERNELS[1]["name"], "7", "2.500", "19.4", "<new>",
        "copy␛[31m", "9 007 199 254 740 993", "0.527", "4.1", "x",
    ]  # fmt: skip
    exact = [a.get("data-v") for a in page.attributes("td")]
    assert exact == [
        None, "1234", "9876543", "0.7654", None,
        None, None, "2500000", "0.1937", None,
        None, "9007199254740993", "527000", "0.0409", None,
    ]  # fmt: skip
    assert [a.get("class") for a in page.attributes("tr")] == [None, None, None, "more"]
    assert "2 of 3 rows" in text


def test_no_more_rows_than_the_page_can_bear_and_the_rest_is_counted() -> None:
    rows = [{"a": at} for at in range(1234)]
    text = render(of_table(rows, Column("a", "A", "count")))
    assert text.count("<td") == 500
    assert "25 of 1\u202f234 rows; 500 of them in this page, all in the JSON report" in text


def test_the_end_of_the_page_names_runs_where_they_were_judged() -> None:
    assert " · trace <code>" in render(small())
    assert " · runs <code>" in render(replace(judged(SLOWER), trace_id="ab12"))


def test_a_paragraph_ends_at_an_empty_line() -> None:
    section = Section("s", "S", "", (Text("One\nline.\n \nTwo."),))
    page = Page(render(Report("perf", "T", "V", "0", (), (), (section,))))
    assert page.texts("p")[2:4] == ["One line.", "Two."]


def test_sections_of_the_same_or_an_odd_key_have_ids_of_their_own() -> None:
    sections = tuple(Section(key, key, "") for key in ("a", "a", "<b> C", ""))
    page = Page(render(Report("perf", "T", "V", "0", (), (), sections)))
    assert [a["id"] for a in page.attributes("h2") if "id" in a] == ["1-a", "2-a", "3-b-c", "4-section"]


@pytest.mark.parametrize("text", [*HOSTILE, *INVISIBLE], ids=range(len(HOSTILE) + len(INVISIBLE)))
def test_hostile_text_adds_no_element_and_no_attribute(text: str) -> None:
    def page_with(word: str) -> Page:
        blocks = (Text(word), Table(word, (Column("a", word), Column("b", "B", "ns")), [{"a": word, "b": word}], word))
        sections = (Section(word, word, word, blocks, (word,)),)
        return Page(render(Report(word, word, word, word, ((word, word),), (word,), sections, {word: word})))

    def shape(page: Page) -> list[tuple[str, list[str]]]:
        return [(tag, sorted(attributes)) for tag, attributes, _ in page.elements]

    harmless = "x" * len(INVISIBLE.get(text, text))
    assert shape(page_with(text)) == shape(page_with(harmless))
    assert page_with(text).texts("h1") == [INVISIBLE.get(text, text)]


def test_a_page_without_a_timeline_carries_no_script_for_one() -> None:
    assert "DecompressionStream" not in render(of_table([{"a": 1}], Column("a", "A")))
    assert "DecompressionStream" in render(small())


def test_style_and_scripts_stay_small() -> None:
    assets = sorted(FOLDER.glob("*.css")) + sorted(FOLDER.glob("*.js"))
    assert [path.name for path in assets] == ["html.css", "columns.js", "html.js", "panel.js", "timeline.js"]
    assert sum(path.stat().st_size for path in assets) <= 60_000


def test_scripts_never_turn_text_into_markup() -> None:
    for path in FOLDER.glob("*.js"):
        code = path.read_text()
        for way in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            'setAttribute("style',
        ):
            assert way not in code, (path.name, way)


def test_the_timeline_has_the_colours_of_the_charts() -> None:
    found = re.search(r"COLOURS = \[(.*?)\]", (FOLDER / "columns.js").read_text())
    assert found
    assert re.findall(r'"(#\w+)"', found[1])[:7] == list(PALETTE[:7])


def test_the_same_report_is_the_same_page_in_every_process() -> None:
    program = (
        "import sys\nfrom tests.reports.formats.small import small\nfrom tracelode.reports.formats.html import render\n"
        "sys.stdout.write(render(small()))"
    )
    here = render(small())
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, cwd=Path(__file__).parents[3]
    )
    assert done.stdout.decode() == here == render(replace(small()))


def test_no_region_is_called_as_another_even_where_a_table_has_the_heading_of_its_section() -> None:
    table = Table("Iterations", (Column("a", "A"),), [{"a": "x"}], "")
    page = Page(render(Report("perf", "T", "V", "0", (), (), (Section("s", "Iterations", "", (table,)),))))
    ids = {attributes["id"]: "".join(words) for _, attributes, words in page.elements if attributes.get("id")}
    regions = [
        attributes.get("aria-label") or ids[str(attributes["aria-labelledby"])]
        for tag, attributes, _ in page.elements
        if tag == "section" or attributes.get("role") == "region"
    ]
    assert regions == ["Iterations", "Table: Iterations"]
