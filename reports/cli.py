"""The command line: finds the verbs in `reports/commands/`, and shows every error in one place.

Exit codes: 0 ok, 1 a bug in tracelode, 2 usage or environment, 3 regression, 4 inconclusive, 5 bad input,
6 archive problem, 130 interrupted. Standard output carries data; everything else goes to standard error.
"""

import gc
import os
import re
import sys
from typing import NoReturn

import click

from ..store.errors import Error, NotCollected
from ..store.parts import load, names
from ..store.version import VERSION
from .text import clean

__all__ = ["main"]

EPILOG = "TRACE is a trace file, or the beginning of a trace's id in the archive. Each verb explains itself: --help."

MOST_NEW = 50_000
"""Objects made before Python looks for cycles: imports and reports make many that stay, and looking at them again and
again took a twentieth of a report's time."""


class Verbs(click.Group):
    """The verbs, one module each, imported only when used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs' names."""
        return list(names("command"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb of that name."""
        if cmd_name not in names("command"):
            return None
        module = load("command", cmd_name)
        command: click.Command = module.command
        command.short_help = (module.__doc__ or "").splitlines()[0]  # a part's help is its first line
        return command


@click.command(cls=Verbs, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="tracelode")
def tracelode() -> None:
    """Turns GPU traces into answers: where the time goes, which iteration is slow, and why."""


def main() -> NoReturn:
    """Runs the command line and exits with the documented code."""
    gc.set_threshold(MOST_NEW)
    try:
        code: object = tracelode.main(prog_name="tracelode", standalone_mode=False)
    except NotCollected as error:
        told = error.message if error.message.endswith("was not collected") else f"not collected: {error.message}"
        _stop(told, error.hint, error.exit_code)
    except Error as error:
        _stop(error.message, error.hint, error.exit_code)
    except click.exceptions.NoArgsIsHelpError as asked:
        click.echo(asked.format_message(), err=True)
        sys.exit(2)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "tracelode"
        _stop(_one_line(error), f"{path} --help", 2)
    except click.ClickException as error:
        _stop(_one_line(error), "tracelode --help", 2)
    except (KeyboardInterrupt, click.Abort):
        _stop("interrupted", "nothing is left half-written; run it again", 130)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): not an error, and nothing must be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    sys.exit(code if isinstance(code, int) else 0)  # click gives the code that a verb ends with by `Context.exit`


def _one_line(error: click.ClickException) -> str:
    """The message of click, which sets the choices there are one below the other, in one line."""
    return re.sub(r"\s*\n\s*", " ", error.format_message())


def _stop(message: str, hint: str, code: int) -> NoReturn:
    click.echo(f"error: {clean(message)}\nhint: {clean(hint)}", err=True)
    sys.exit(code)
