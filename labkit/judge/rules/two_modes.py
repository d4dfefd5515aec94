"""Points whose iterations lie around two times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from labkit import benchmarks, stats
from labkit.judge.finding import SHARE, TIMES, Count, Decided, Evidence, Finding, Value, Values
from labkit.judge.rule import PLAUSIBILITY, Rule
from labkit.judge.rules._deciding import IMPORTED, OPEN, REMEDY, level_of
from labkit.judge.rules._iterations import in_most
from labkit.judge.view import View
from labkit.judge.view.points import Row
from labkit.read.records import in_effect, per_rank, rerun
from labkit.stats.modes import Modes
from labkit.store.samples import Samples


def check(view: View) -> Iterator[Finding]:
    """Yield points whose iterations lie around two times, in more than half of the launches."""
    found = [*in_most(view, view.two_modes)]
    samples = view.first_launches([str(row["fingerprint"]) for row, _, _ in found])
    for row, modes, launches in found:
        yield _found(view, row, modes, launches, samples.get(str(row["fingerprint"])))


def _found(view: View, row: Row, modes: Sequence[tuple[int, Modes]], launches: int, samples: Samples | None) -> Finding:
    """Return the finding of a point with two modes."""
    # of the launch in the middle: modes of different launches need not be the same
    launch, two = sorted(modes, key=lambda one: one[1].high / one[1].low)[(len(modes) - 1) // 2]
    name, origin, times = str(row["fingerprint"]), str(row["origin"]), two.high / two.low
    upper, lower = (
        Value(value=value * 1e6, unit="µs", launches=1, origin=origin, of=f"launch {launch}", fingerprint=name)
        for value in (two.high, two.low)
    )
    decided = Decided() if len(modes) > 1 else OPEN
    seen: Values = {
        "seen": str(len(modes)),
        "launches": Count(launches, "launch"),
        "samples": Count(int(row["n"]), "sample"),
    }
    return RULE.found(
        view.points(row, setting=view.setting(row)),
        level=level_of(decided),
        cost=times,
        decided=decided,
        evidence=(Evidence(code="seen", values=seen),),
        command=_apart(samples, launches) or (view.again(row) if launches < stats.LAUNCHES else ""),
        measured=upper,
        other=lower,
        share=Value(value=two.share, unit=SHARE, of=f"launch {launch}"),
        times=Value(value=times, unit=TIMES),
    )


def _apart(samples: Samples | None, launches: int) -> str:
    """Return the command that shows whether cores cause the modes: it binds ranks that were free; else nothing."""
    if samples is None or rerun.imported(samples.spec) or not benchmarks.get(samples.spec.benchmark).mpi:
        return ""
    free = samples.spec.bind in ("auto", "none") and not in_effect.bound(samples) and in_effect.enough_cores(samples)
    if not free or per_rank.emulated_hosts(samples):  # emulated hosts share cores, so ranks are bound to none
        return ""
    return rerun.command(samples.spec.replace(bind="core"), "--launches", str(max(launches, stats.LAUNCHES)))


RULE = Rule(
    code="two-modes",
    kind="violation",
    level="doubtful",
    about=PLAUSIBILITY,
    must="iterations lie around one time",
    why="iterations repeat the same work",
    says="{share} of the iterations take about {measured}, {times:2} the {other} of the others",
    clues={"seen": "so in {seen} of {launches}, {samples}"},
    remedy=REMEDY,
    imported=IMPORTED,
    check=check,
)
