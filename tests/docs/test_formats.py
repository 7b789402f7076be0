"""Every reader has a page that says where its files come from, how they are made, and what is and is not in them."""

import re
from pathlib import Path

import pytest

from tracelode.store.parts import names

FOLDER = Path(__file__).parents[2] / "docs" / "formats"
PAGES = sorted(path.name for path in FOLDER.glob("*.md") if path.name != "README.md")


@pytest.mark.parametrize("reader", names("reader"))
def test_a_reader_has_a_page_and_stands_in_the_index(reader: str) -> None:
    own = f"{reader.replace('_', '-')}.md"
    assert [page for page in PAGES if page == own or f"`{reader}`" in (FOLDER / page).read_text()]
    assert f"`{reader}`" in (FOLDER / "README.md").read_text()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_stands_in_the_index_and_shows_the_command_that_makes_the_file(page: str) -> None:
    assert f"]({page})" in (FOLDER / "README.md").read_text()
    text = (FOLDER / page).read_text()
    assert text.startswith("# ")
    assert re.search(r"## Where it comes from\n[^#]*```|\| `nsys export", text)


def test_links_between_pages_lead_somewhere() -> None:
    for page in (*PAGES, "README.md", "../sql.md"):
        links = re.findall(r"\]\(([^)#]+)[^)]*\)", (FOLDER / page).read_text())
        assert [link for link in links if "://" not in link and not ((FOLDER / page).parent / link).exists()] == []
