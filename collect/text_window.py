"""Text that comes in pieces, held from where its reader stands: what lies behind is dropped."""

import codecs
from collections.abc import Iterable, Iterator

__all__ = ["TextWindow", "decoded"]

PIECE = 1 << 16


def decoded(blocks: Iterable[bytes], encoding: str = "utf-8", errors: str = "replace") -> Iterator[str]:
    """The content as text in pieces of at most 65,536 characters, as `bytes.decode` gives the whole."""
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    for block in blocks:
        text = decoder.decode(block)
        for begin in range(0, len(text), PIECE):
            yield text[begin : begin + PIECE]
    yield decoder.decode(b"", final=True)


class TextWindow:
    """What is held is `text`; its reader stands `at` a place of it, and moves that on.

    `before` counts the characters that were dropped, `lines` the line breaks among them.
    """

    def __init__(self, pieces: Iterable[str]) -> None:
        self._pieces = iter(pieces)
        self.text = ""
        self.at = self.before = self.lines = 0

    @property
    def place(self) -> int:
        """Where the reader stands in the whole text, in characters from 0."""
        return self.before + self.at

    def more(self) -> bool:
        """Takes as much again as is held from where the reader stands, at least a piece; False at the end of all.

        What lies behind is dropped, so that `at` is 0 then, and other places in `text` are less by what it was. Since
        what is held doubles, to look at all of it anew each time costs no more than to look at it twice.
        """
        held = len(self.text) - self.at
        parts: list[str] = []
        taken = 0
        for piece in self._pieces:
            parts.append(piece)
            taken += len(piece)
            if taken and taken >= held:
                break
        if not taken:
            return False
        self.before += self.at
        self.lines += self.text.count("\n", 0, self.at)
        self.text = "".join((self.text[self.at :], *parts))
        self.at = 0
        return True
