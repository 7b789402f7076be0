import doctest
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from tracelode.reports import markup
from tracelode.reports.markup import element, fragment, raw
from tracelode.reports.text import clean


class Seen(HTMLParser):
    """The elements, attributes and text a parser sees."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_examples_in_its_docstrings_run() -> None:
    assert doctest.testmod(markup).failed == 0


def test_only_markup_passes_unescaped() -> None:
    assert element("p", "<i>", element("i", "&"), raw("<hr>"), None).text == "<p>&lt;i&gt;<i>&amp;</i><hr></p>"
    assert fragment("a<", None, "b").text == "a&lt;b"


def test_attributes_are_escaped_renamed_or_left_out() -> None:
    made = element("input", class_="a", aria_label="\"'<&>", hidden=True, disabled=False, title=None, tabindex=0)
    assert made.text == '<input class="a" aria-label="&quot;&#x27;&lt;&amp;&gt;" hidden tabindex="0">'


def test_elements_without_content_have_no_end() -> None:
    assert element("br").text == "<br>"
    assert element("td").text == "<td></td>"


@given(st.text())
def test_any_text_is_one_piece_of_text_to_a_parser(text: str) -> None:
    seen = Seen()
    seen.feed(element("td", text, title=text).text)
    seen.close()
    assert seen.tags == [("td", {"title": clean(text, keep="\n")})]
    assert seen.text == clean(text, keep="\n\t")
