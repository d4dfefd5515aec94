"""The five kinds of error, by stage, and the one warning.

Every message says what is, what must be, and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence


class LabkitError(Exception):
    """Base of everything labkit raises on purpose."""

    @property
    def brief(self) -> str:
        """The reason in a line."""
        return (str(self).splitlines() or ["no reason"])[0][:300]


class SpecError(LabkitError):
    """The request makes no sense; nothing was started."""


class LaunchError(LabkitError):
    """Ranks or a tool could not be started, died, or did not end in time.

    Parameters
    ----------
    message : what happened, and what to do.
    command : the exact command line.
    exit_status : of the command; None when it was ended from outside.
    rank : the rank that failed, where known.
    stderr : the end of what it wrote on standard error.
    """

    def __init__(
        self,
        message: str,
        *,
        command: Sequence[str] = (),
        exit_status: int | None = None,
        rank: int | None = None,
        stderr: str = "",
    ) -> None:
        super().__init__(message)
        self.command = tuple(command)
        self.exit_status = exit_status
        self.rank = rank
        self.stderr = stderr

    def __str__(self) -> str:
        parts = [super().__str__()]
        if self.rank is not None:
            parts.append(f"rank: {self.rank}")
        if self.command:
            parts.append(f"command: {' '.join(self.command)}")
        if self.exit_status is not None:
            parts.append(f"exit status: {self.exit_status}")
        if self.stderr.strip():
            parts.append("end of stderr:\n" + "\n".join(self.stderr.strip().splitlines()[-20:]))
        return "\n".join(parts)

    @property
    def brief(self) -> str:
        """The reason in a line, with the last words on standard error."""
        words = self.stderr.split("\n") if self.stderr.strip() else []
        last = next((line.strip() for line in reversed(words) if line.strip(" -=*\t")), "")
        return f"{super().brief} ({last[:200]})" if last and last not in super().brief else super().brief


class KernelError(LabkitError):
    """A kernel failed: MPI's own text, or wrong bytes, with the rank it happened on."""


class AbsentError(KernelError):
    """The MPI library at hand does not have what a benchmark calls; the others are measured all the same."""


class DataError(LabkitError):
    """A file is not what it must be: path, line, found, wanted."""


class LostError(DataError):
    """The campaign that is measured into was moved, replaced, deleted or cannot be written: the run stops at once."""


class ReportError(LabkitError):
    """A notebook or the report failed; says which, and where what exists was saved."""


class LabkitWarning(UserWarning):
    """Doubtful data: the number is kept and marked, never silently passed."""


def known(kind: str, wanted: str, names: Sequence[str]) -> SpecError:
    """Error for a name that does not exist, listing those that do (closest first)."""
    import difflib

    close = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
    rest = [name for name in sorted(names) if name not in close]
    return SpecError(f"There is no {kind} {wanted!r}. There are: {', '.join([*close, *rest])}.")
