"""Text that goes to a terminal: names, warnings and messages may come from anyone, and must not act there."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

# escape sequences with what belongs to them; then every control character but line end and tab, and marks that turn the
# direction of writing, which make one name look like another
_ACTING = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[]PX^_]|[\x90\x9d\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def plain(text: str) -> str:
    r"""Text without anything that a terminal or a page acts on; line ends and tabs stay.

    Examples
    --------
    >>> plain("\x1b]0;title\x07a\x1b[31mb\x1b[0m\x9b2Jc\rd\te")
    'abcd\te'
    """
    return _ACTING.sub("", text)


class Plain:
    """A stream that writes `plain` text; everything else is the stream's own.

    Parameters
    ----------
    stream : where it goes.
    """

    def __init__(self, stream: TextIO) -> None:
        self.own = stream

    def write(self, text: str) -> int:
        """Write it cleaned; returns how long it was, as files do."""
        self.own.write(plain(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)


@contextmanager
def plainly() -> Iterator[None]:
    """Whatever is printed meanwhile is plain."""
    with redirect_stdout(cast("TextIO", Plain(sys.stdout))), redirect_stderr(cast("TextIO", Plain(sys.stderr))):
        yield


def own(stream: TextIO) -> TextIO:
    """The stream behind a plain one, for what is meant to act on the terminal: a progress bar."""
    return stream.own if isinstance(stream, Plain) else stream
