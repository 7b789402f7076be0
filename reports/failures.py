"""Errors that stop nothing else: each is told when it is met, and all are raised as one when the rest is done."""

from collections.abc import Iterable, Sequence

import click

from ..store.errors import Error
from .text import clean

__all__ = ["ABOVE", "as_one", "tell"]

ABOVE = "the errors above say why"
"""The hint of an error that stands for others."""


def tell(errors: Iterable[Error]) -> None:
    """Says each error with its hint on standard error."""
    for error in errors:
        click.echo(f"error: {clean(error.message)}\nhint: {clean(error.hint)}", err=True)


def as_one(errors: Sequence[Error], said: str, hint: str = ABOVE) -> Error:
    """An error that stands for all those, of which there is one at least, and is as bad as the worst."""
    worst = max(errors, key=lambda error: error.exit_code)
    return type(worst)(said, hint)
