"""Makes text of a trace safe to look at: names come from strangers and may hold anything."""

import unicodedata

__all__ = ["clean", "shorten", "utf8"]

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS = frozenset("\u200c\u200d")  # Persian and emoji need them, and they reorder nothing


def clean(text: str, *, keep: str = "") -> str:
    r"""Shows every control, bidirectional, invisible or surrogate character instead of obeying it.

    ASCII controls become their pictures (␛), the rest their escapes (`\u202e`). Characters in `keep` stay.

    >>> clean("a\x1b[2Jb")
    'a␛[2Jb'
    """
    if text.isprintable():
        return text
    return "".join(c if c in keep else _visible(c) for c in text)


def shorten(text: str, length: int) -> str:
    """Cuts out the middle, where long names differ least.

    >>> shorten("void at::native::add<float>", 11)
    'void …loat>'
    """
    if len(text) <= length:
        return text
    if length <= 1:
        return "…"[:length]
    tail = (length - 1) // 2
    return text[: length - 1 - tail] + "…" + text[len(text) - tail :]


def utf8(text: str) -> str:
    r"""The text with what no encoding holds as escapes: a path may have bytes that are no text.

    >>> utf8("run\udcff")
    'run\\udcff'
    """
    return text.encode("utf-8", "backslashreplace").decode()


def _visible(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN or character in _JOINERS:
        return character
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
