"""Decisions of the tuner from the launches of a campaign's last tuning, without measuring."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from labkit.errors import DataError
from labkit.point.spec import Spec
from labkit.run.measuring import Point
from labkit.store.campaign import Campaign
from labkit.store.samples.facts import FINGERPRINT
from labkit.tuning import files, osu
from labkit.tuning.outcome import Outcome, Tuned, Written
from labkit.tuning.plan import fingerprints, last_of, noted, number_of, parts, remembered
from labkit.tuning.tuner import CONFIRM, FILE, FOLDER, PROGRAM, Tuner

_DIGEST = re.compile("[0-9a-f]{12}")


def read(campaign: Campaign, benchmark: str = "") -> Outcome:
    """Return the result of a campaign's last tuning from its launches, wherever it was measured; measure nothing.

    Parameters
    ----------
    benchmark : benchmark that was tuned (default: the first of the campaign).

    Raises
    ------
    DataError
        If the campaign holds no tuning, or not even its first round.
    """
    return _Reader(noted(campaign, benchmark), campaign, None, lambda text: None, lambda: 0.0).read()


class _Reader(Tuner):
    """The same decisions from the launches of a campaign alone."""

    def read(self) -> Outcome:
        """Read all launches, and decide."""
        named: dict[str, list[tuple[int, int]]] = {}
        for (n, k), fingerprint in fingerprints(self.campaign, self.plan).items():
            self.points[n, k] = Point(self.plan.settings[k].of(self.plan.bases[n]), 0, fingerprint, "")
            named.setdefault(fingerprint, []).append((n, k))
        for one in self.campaign.samples(self.plan.benchmark):
            for pair in named.get(str(FINGERPRINT.of(one.meta))) or self._of_file(one.spec):
                self._keep((*pair, one.launch), one)
        if not all(any((n, k, 0) in self.values for k in range(len(self.plan.settings))) for n in self._bases()):
            raise DataError(f"{self.campaign.path} has no whole round of tuning {self.plan.benchmark}. Tune again.")
        self.begun, self.spent = 0.0, 0
        self.parts = parts(self.campaign, self.plan)
        return self._decided(self.campaign.path / FOLDER, proof=True)

    def _of_file(self, spec: Spec) -> list[tuple[int, int]]:
        """Return the side of a spec in the proof, with or without the files; none for another spec."""
        reads, given = remembered(self.campaign, self.plan.benchmark)[0], dict(spec.environment)
        found = []
        for n, base in enumerate(self.plan.bases):
            alone = files.of_programs(base)
            if _key(alone) != _key(spec):
                continue
            if reads and given == dict(base.environment) | reads:
                found.append((n, len(self.plan.settings)))
            elif alone != base and given == dict(base.environment):
                found.append((n, len(self.plan.settings) + 1))
        return found

    def _add(self, n: int, k: int, spec: Spec) -> None:
        """Add a spec without a fingerprint, because the machine that measured is unknown here."""
        self.points[n, k] = Point(spec, 0, "", "")

    def _written(self, output: Path, tuned: Sequence[Tuned]) -> Written:
        """Return the files that were written when it was measured, as far as they are still there."""
        name = last_of(self.campaign, self.plan.benchmark, f"{FILE}:")
        reads, _ = remembered(self.campaign, self.plan.benchmark)
        return files.present(output, name.removeprefix(f"{FILE}:"), reads)

    def _command(self, written: Written) -> str:
        """Return the shell line that started a program with the files in effect."""
        return remembered(self.campaign, self.plan.benchmark)[1] if written.paths else ""

    def _outside(self, tuned: Sequence[Tuned], written: Written) -> tuple[list[Tuned], str, str]:
        """Return what a program printed when it was measured."""
        digest = last_of(self.campaign, self.plan.benchmark, f"{PROGRAM}:").removeprefix(f"{PROGRAM}:")
        claims = {n: one.base for n, one in enumerate(tuned) if one.claimed}
        test = osu.test_of(self.plan.bases[0])
        if not _DIGEST.fullmatch(digest) or not test or not claims:
            return list(tuned), "", ""
        sides = osu.kept(claims, self.campaign, digest, metric=self.plan.metric, runs=self.plan.confirm)
        return self._seen(tuned, sides), test, ""

    def _whole(self, racing: dict[int, tuple[int, ...]], launch: int) -> bool:
        """Return whether a round was measured to its end: whatever came later proves it."""
        there = [(n, k, launch) in self.values for n, ones in racing.items() for k in ones]
        return all(there) or (any(there) and any(later > launch for _, _, later in self.values))

    def _measure(self, pairs: Sequence[tuple[int, int]], launch: int) -> None:
        """Measure nothing."""

    def _first(self, name: str) -> int:
        """Return the first launch number of a confirmation, without one for those that never began."""
        return CONFIRM * (1 + number_of(self.campaign, self.plan.benchmark, name, add=False))


def _key(spec: Spec) -> tuple[object, ...]:
    """What tells the points of one tuning apart."""
    return (spec.size, spec.ranks, spec.ppn, spec.transport, spec.device, spec.bind, spec.launcher)
