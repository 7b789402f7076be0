"""Builds HTML and SVG: plain text is always escaped, and only what `element` made passes as it is."""

from dataclasses import dataclass
from html import escape

from .text import clean

__all__ = ["Markup", "element", "fragment", "raw"]

_VOID = frozenset({"br", "hr", "input", "link", "meta"})

Attribute = str | int | float | bool | None
"""The value of an attribute: true stands alone, false and None leave it out."""


@dataclass(frozen=True)
class Markup:
    """Text that is markup already. A `str` never is."""

    text: str


def element(tag: str, *children: "str | Markup | None", **attributes: Attribute) -> Markup:
    """One element. `class_` means `class`; an underscore inside a name means a hyphen. None is no child.

    >>> element("td", "<b>", class_="n", data_v=3).text
    '<td class="n" data-v="3">&lt;b&gt;</td>'
    """
    named = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    start = tag + "".join(_attribute(name, value) for name, value in named.items())
    if tag in _VOID:
        return Markup(f"<{start}>")
    return Markup(f"<{start}>{fragment(*children).text}</{tag}>")


def fragment(*children: str | Markup | None) -> Markup:
    """Children without an element around them."""
    return Markup("".join(_child(c) for c in children if c is not None))


def raw(text: str) -> Markup:
    """Markup from our own files or encoders. Never for text of a trace."""
    return Markup(text)


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(clean(str(value), keep=chr(10)))}"'


def _child(child: str | Markup) -> str:
    return child.text if isinstance(child, Markup) else escape(clean(child, keep="\n\t"), quote=False)
