"""The five kinds of error, by stage, and the one warning.

Every message says what is, what must be, and what to do.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from labkit import causes

_SHOWN = 8192  # characters of a message, and of the end of standard error, that are told to others
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,99}")  # of what becomes a file's name


class LabkitError(Exception):
    """Base of everything labkit raises on purpose.

    Attributes
    ----------
    failures : the points that failed, each with its own error, where this error counts several.
    """

    failures: tuple[Failed, ...] = ()

    @property
    def brief(self) -> str:
        """The reason in a line."""
        return (str(self).splitlines() or ["no reason"])[0][:300]

    def facts(self) -> dict[str, Any]:
        """What another process must know of it, as plain values."""
        return {"error": type(self).__name__, "reason": self.brief, "message": str(self)[:_SHOWN]}

    def under(self, headline: str) -> LabkitError:
        """The same error below another first line, with all that it knows."""
        kind = KernelError if isinstance(self, KernelError) else LaunchError
        return kind("\n".join([headline, *str(self).splitlines()[1:]]))


@dataclass(frozen=True)
class Failed:
    """A point that failed.

    Parameters
    ----------
    point : its label.
    launch : which one, from 0.
    error : why, whole: command, exit status and standard error are still apart.
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
    exit_status : of the command; None when it was ended from outside.
    rank : the rank that failed, where known.
    stderr : what it wrote on standard error, its beginning and its end at least.
    lasting : whether a second start would fail alike, whatever `stderr` tells.
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
            parts.append("stderr:\n" + causes.excerpt(self.stderr))
        return "\n".join(parts)

    def facts(self) -> dict[str, Any]:
        """What another process must know of it: also command, exit status, rank, and the end of standard error."""
        known = {"command": list(self.command), "stderr": self.stderr[-_SHOWN:]}
        numbers = {"exit_status": self.exit_status, "rank": self.rank}
        return super().facts() | known | {name: value for name, value in numbers.items() if value is not None}

    def under(self, headline: str) -> LaunchError:
        """The same error below another first line; command, exit status, rank and standard error stay its own."""
        said = "\n".join([headline, *super().__str__().splitlines()[1:]])
        return LaunchError(
            said,
            command=self.command,
            exit_status=self.exit_status,
            rank=self.rank,
            stderr=self.stderr,
            lasting=self.lasting,
        )

    @property
    def cause(self) -> causes.Cause | None:
        """The cause that the program printed, if labkit knows it."""
        return causes.known(self.stderr)

    @property
    def brief(self) -> str:
        """The reason in a line, with the first cause that standard error tells."""
        first = causes.first(self.stderr)
        return f"{super().brief} ({first[:200]})" if first and first not in super().brief else super().brief


class KernelError(LabkitError):
    """A kernel failed: MPI's own text, or wrong bytes, with the rank it happened on."""


class AbsentError(KernelError):
    """The MPI library lacks a function that a benchmark calls; other benchmarks continue."""


class DataError(LabkitError):
    """A file is not what it must be: path, line, found, wanted."""


class LostError(DataError):
    """Someone moved, replaced or deleted the campaign of a run, or it is no longer writable. The run stops at once."""


def of_point(error: LabkitError) -> LabkitError:
    """The error as one of a point, after which the others go on; raised again where nothing can go on."""
    if isinstance(error, LostError):
        raise error
    return error


class ReportError(LabkitError):
    """A notebook or the report failed; says which, and where what exists was saved."""


class LabkitWarning(UserWarning):
    """Doubtful data: the number is kept and marked, never silently passed."""


def named(kind: str, wanted: str, names: Sequence[str] = ()) -> str:
    """The name, if it is one: letters, digits, dot, plus, minus and underscore; never a path, never several lines.

    Raises
    ------
    SpecError
        If it is not.
    """
    if NAME.fullmatch(wanted):
        return wanted
    there = f" There are: {', '.join(sorted(names))}." if names else ""
    raise SpecError(
        f"There is no {kind} {wanted[:60]!r}: a name has letters, digits and . + - _ only; a path is not a name.{there}"
    )


def alike(wanted: str, names: Sequence[str]) -> str:
    """The question "Did you mean …? " with the names that are alike; empty if none is.

    Examples
    --------
    >>> alike("quik", ["quick", "survey"]), alike("x", ["quick"])
    ('Did you mean quick? ', '')
    """
    import difflib

    close = difflib.get_close_matches(wanted[:100], names, n=3, cutoff=0.6)
    return f"Did you mean {' or '.join(close)}? " if close else ""


def known(kind: str, wanted: str, names: Sequence[str], *, see: str = "") -> SpecError:
    """Error for a name that does not exist: near matches, and all names or the command `see` that lists them."""
    near = alike(wanted, names)
    if see:
        return SpecError(f"There is no {kind} {wanted[:100]!r}. {near}List all {len(names)} with: {see}")
    return SpecError(f"There is no {kind} {wanted[:100]!r}. {near}There are: {', '.join(sorted(names)) or 'none'}.")
