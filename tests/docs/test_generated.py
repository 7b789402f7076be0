from pathlib import Path

import pytest

from docs.generate import PAGES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_what_the_code_says(name: str) -> None:
    assert (DOCS / name).read_text() == PAGES[name](), "stale: make docs"


def test_every_page_the_readme_links_to_is_there() -> None:
    import re

    readme = (DOCS.parent / "README.md").read_text()
    links = re.findall(r"\]\(([^)]+)\)", readme)
    assert links
    assert [link for link in links if not (DOCS.parent / link).exists()] == []
