"""Clean text for a terminal: names, warnings and messages may come from anyone and must not control the terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

# escape sequences with their arguments; then all control characters except line end and tab, and marks that change the
# direction of writing, because they make one name look like another
_ACTING = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[]PX^_]|[\x90\x9d\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def plain(text: str) -> str:
    r"""Remove from a text everything that a terminal or a page acts on; line ends and tabs stay.

    Examples
    --------
    >>> plain("\x1b]0;title\x07a\x1b[31mb\x1b[0m\x9b2Jc\rd\te")
    'abcd\te'
    """
    return _ACTING.sub("", text)


class Plain:
    """A stream that writes `plain` text to another one, which provides everything else.

    Parameters
    ----------
    stream : the other stream.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write the cleaned text; return the length of the given one, as files do."""
        self.stream.write(plain(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def plainly() -> Iterator[None]:
    """Clean everything that is printed in this context."""
    with redirect_stdout(cast("TextIO", Plain(sys.stdout))), redirect_stderr(cast("TextIO", Plain(sys.stderr))):
        yield


def raw(stream: TextIO) -> TextIO:
    """Return the stream behind a plain one, for output that must control the terminal: a progress bar."""
    return stream.stream if isinstance(stream, Plain) else stream
