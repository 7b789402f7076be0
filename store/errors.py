"""The errors a user can act on.

    Error                   anything below; exit code 2 (usage or environment)
    +-- UnreadableFile      the input is not a trace, or is damaged beyond use; exit code 5
    |   +-- OpaqueFile      what holds the content cannot be opened, so that it may be a trace
    +-- NotCollected        the trace has no such table; exit code 5
    +-- ArchiveError        the archive is missing, damaged, too new or cannot be written; exit code 6

Everything else that escapes is a bug in tracelode (exit code 1). Shown in one place, `reports.cli.main`.
"""

__all__ = ["ArchiveError", "Error", "NotCollected", "OpaqueFile", "UnreadableFile"]


class Error(Exception):
    """A fault the user can mend: a message (what, which, why) and a hint (the next step)."""

    exit_code = 2

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint)  # both, so that an error of another process can be raised here
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message


class UnreadableFile(Error):  # noqa: N818 - named for the fault, as the message is
    """The input is not a trace we know, or is damaged beyond use."""

    exit_code = 5


class OpaqueFile(UnreadableFile):
    """What holds the content (a compression, an archive, a database) cannot be opened: it may well be a trace.

    It is damaged, encrypted or packed in a way that is not known.
    Found in a folder it is an error, where what is known to be no trace is left out.
    """


class NotCollected(Error):  # noqa: N818 - named for the fault, as the message is
    """The source of this trace did not record what is asked for."""

    exit_code = 5


class ArchiveError(Error):
    """The archive is missing, damaged, of a newer format, or cannot be written."""

    exit_code = 6
