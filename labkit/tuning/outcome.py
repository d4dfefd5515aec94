"""The result of tuning: the race, the confirmation and the proofs of each point."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from labkit.judge.comparison.judging import FASTER, SAME, UNDECIDED, Judgement
from labkit.point.spec import Spec
from labkit.stats.racing import Standing
from labkit.tuning.everywhere import Compromise
from labkit.tuning.plan import Plan


@dataclass(frozen=True)
class Tuned:
    """Result for one point.

    Parameters
    ----------
    base : its default spec, resolved.
    race : how its race stands; settings by their index in the plan.
    winner : index of the setting that won the race; 0 for the default.
    confirmed : the winner against the default in interleaved fresh launches; None if the default won, or if the budget
        ended before.
    reason : why nothing is claimed; empty for a claim.
    proved : ranks that read the written files against ranks that do not; None if nothing was written or measured.
    outside : the same with a program that is not labkit's.
    """

    base: Spec
    race: Standing
    winner: int
    confirmed: Judgement | None = None
    reason: str = ""
    proved: Judgement | None = None
    outside: Judgement | None = None

    @property
    def contradicted(self) -> Judgement | None:
        """Ranks that read the files and are not faster; None if there are none."""
        return next((one for one in (self.proved, self.outside) if one is not None and one.verdict != FASTER), None)

    @property
    def tied(self) -> bool:
        """Whether the launches found the winner neither faster nor slower than the default."""
        return self.confirmed is not None and self.confirmed.verdict in (SAME, UNDECIDED)

    @property
    def claimed(self) -> bool:
        """Whether the winner is confirmed to be faster than the default."""
        return self.confirmed is not None and self.confirmed.verdict == FASTER


@dataclass(frozen=True)
class Written:
    """Written files.

    Parameters
    ----------
    paths : paths of the files, in the order in which they were written.
    reads : variables that make ranks read the files, or that the files set; empty if there are none.
    digest : digest of their contents; empty if there are none.
    left_out : settings that are in no file, each with its reason.
    """

    paths: tuple[Path, ...] = ()
    reads: tuple[tuple[str, str], ...] = ()
    digest: str = ""
    left_out: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Outcome:
    """The result of tuning.

    Parameters
    ----------
    plan : what was requested.
    points : one for each base of the plan.
    written : files, and what could not be written with its reason.
    compromise : best compromise among settings without rules by size, if none is best or tied at every point.
    command : shell line that starts a program with the files in effect; empty if there are none.
    ended : why measuring ended early; empty if it did not.
    starts, exhaustive : launches of a setting at a point that the race took, and that all settings would take in all
        rounds.
    program : program from outside labkit that read the files; empty if none was run.
    unproved : why no such program confirmed every claim; empty if one did, or if there is no claim.
    """

    plan: Plan
    points: tuple[Tuned, ...]
    written: Written = field(default_factory=Written)
    compromise: Compromise | None = None
    command: str = ""
    ended: str = ""
    starts: int = 0
    exhaustive: int = 0
    program: str = ""
    unproved: str = ""
