"""The five kinds of error, by stage, and the one warning.

Every message states what was found, what is required, and what to do.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.errors import known_failures

_SHOWN = 8192  # characters of a message, and of the end of standard error, that other processes get
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,99}")  # of what becomes a file's name


class LabkitError(Exception):
    """Base of everything labkit raises on purpose.

    Attributes
    ----------
    failures : the points that failed, each with its own error, where this error counts several.
    """

    failures: tuple[Failed, ...] = ()

    def _render_traceback_(self) -> list[str]:
        """In a notebook: the message alone; what raised it is not part of the reason (IPython calls this)."""
        return [f"{type(self).__name__}: {self}"]

    @property
    def brief(self) -> str:
        """The reason in a line."""
        return (str(self).splitlines() or ["no reason"])[0][:300]

    def facts(self) -> dict[str, Any]:
        """Plain values that another process must know about the error."""
        return {"error": type(self).__name__, "reason": self.brief, "message": str(self)[:_SHOWN]}

    def under(self, headline: str) -> LabkitError:
        """The same error with another first line."""
        # a run of several points fails as one of these two; the cause keeps its own kind as `__cause__`
        kind = KernelError if isinstance(self, KernelError) else LaunchError
        return kind("\n".join([headline, *str(self).splitlines()[1:]]))


@dataclass(frozen=True)
class Failed:
    """A point that failed.

    Parameters
    ----------
    point : its label.
    launch : number of the launch, from 0.
    error : the reason, with command, exit status and standard error as attributes.
    """

    point: str
    launch: int
    error: LabkitError


class SpecError(LabkitError):
    """The request makes no sense; nothing was started."""


class LaunchError(LabkitError):
    """Ranks or a tool failed to start, died, or did not end in time.

    Parameters
    ----------
    message : what happened, and what to do.
    command : the exact command line.
    exit_status : exit status of the command; None if it was ended from outside.
    rank : the rank that failed, if known.
    stderr : its standard error, at least the beginning and the end.
    lasting : whether a second start would fail in the same way, regardless of `stderr`.
    """

    def __init__(
        self,
        message: str,
        *,
        command: Sequence[str] = (),
        exit_status: int | None = None,
        rank: int | None = None,
        stderr: str = "",
        lasting: bool = False,
    ) -> None:
        super().__init__(message)
        self.command = tuple(command)
        self.exit_status = exit_status
        self.rank = rank
        self.stderr = stderr
        self.lasting = lasting or (self.cause is not None and self.cause.lasting)

    def __str__(self) -> str:
        parts = [super().__str__()]
        if self.cause is not None:
            parts.append(f"cause: {self.cause.line}\n       {self.cause.remedy}")
        if self.rank is not None:
            parts.append(f"rank: {self.rank}")
        if self.command:
            parts.append(f"command: {shlex.join(self.command)}")
        if self.exit_status is not None:
            parts.append(f"exit status: {self.exit_status}")
        if self.stderr.strip():
            parts.append("stderr:\n" + known_failures.excerpt(self.stderr))
        return "\n".join(parts)

    def facts(self) -> dict[str, Any]:
        """Plain values, which also hold the command, exit status, rank and the end of standard error."""
        texts = {"command": list(self.command), "stderr": self.stderr[-_SHOWN:]}
        numbers = {"exit_status": self.exit_status, "rank": self.rank}
        return super().facts() | texts | {name: value for name, value in numbers.items() if value is not None}

    def under(self, headline: str) -> LaunchError:
        """The same error with another first line; it keeps its command, exit status, rank and standard error."""
        message = "\n".join([headline, *super().__str__().splitlines()[1:]])
        return LaunchError(
            message,
            command=self.command,
            exit_status=self.exit_status,
            rank=self.rank,
            stderr=self.stderr,
            lasting=self.lasting,
        )

    @property
    def cause(self) -> known_failures.Cause | None:
        """The cause that the program printed, if labkit knows it."""
        return known_failures.known(self.stderr)

    @property
    def brief(self) -> str:
        """The reason in a line, with the first cause that standard error names."""
        first = known_failures.first(self.stderr)
        return f"{super().brief} ({first[:200]})" if first and first not in super().brief else super().brief


class KernelError(LabkitError):
    """A kernel failed: MPI's own text, or wrong bytes, with the rank it happened on."""


class AbsentError(KernelError):
    """The MPI library lacks a function that a benchmark calls; other benchmarks continue."""


class DataError(LabkitError):
    """A file has the wrong content. The message has the path, the line, the found and the required content."""


class LostError(DataError):
    """Someone moved, replaced or deleted the campaign of a run, or it is no longer writable. The run stops at once."""


def of_point(error: LabkitError) -> LabkitError:
    """Return the error if only this point failed; raise it again if no other point can be measured either."""
    if isinstance(error, LostError):
        raise error
    return error


class ReportError(LabkitError):
    """A notebook or the report failed; the message names it, and the place of the saved parts."""


class LabkitWarning(UserWarning):
    """Doubtful data: the number is kept and marked, never silently passed."""


def named(kind: str, wanted: str, names: Sequence[str] = ()) -> str:
    """Return the name if it consists of letters, digits, dot, plus, minus and underscore; it is never a path.

    Raises
    ------
    SpecError
        If it is not.
    """
    if NAME.fullmatch(wanted):
        return wanted
    choice = f" There are: {', '.join(sorted(names))}." if names else ""
    raise SpecError(
        f"There is no {kind} {wanted[:60]!r}: a name has letters, digits and . + - _ only; a path is not a name."
        f"{choice}"
    )


def alike(wanted: str, names: Sequence[str]) -> str:
    """Return the question "Did you mean …? " with similar names; empty if there are none.

    Examples
    --------
    >>> alike("quik", ["quick", "survey"]), alike("x", ["quick"])
    ('Did you mean quick? ', '')
    """
    import difflib  # only for an error: every rank imports this module

    close = difflib.get_close_matches(wanted[:100], names, n=3, cutoff=0.6)
    return f"Did you mean {' or '.join(close)}? " if close else ""


def unknown_name(
    kind: str, wanted: str, names: Sequence[str], *, see: str = "", error: Callable[[str], LabkitError] = SpecError
) -> LabkitError:
    """Return the error for a name that does not exist: similar names, and all names or the command that lists them."""
    near = alike(wanted, names)
    if see:
        return error(f"There is no {kind} {wanted[:100]!r}. {near}List all {len(names)} with: {see}")
    return error(f"There is no {kind} {wanted[:100]!r}. {near}There are: {', '.join(sorted(names)) or 'none'}.")
