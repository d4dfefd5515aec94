"""Points whose iterations lie around two times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from labkit.judge.finding import SHARE, TIMES, Count, Decided, Evidence, Finding, Value, Values
from labkit.judge.rule import PLAUSIBILITY, Rule
from labkit.judge.rules._deciding import IMPORTED, OPEN, REMEDY, level_of
from labkit.judge.view import View
from labkit.judge.view.points import Row
from labkit.stats.modes import Modes


def check(view: View) -> Iterator[Finding]:
    """Yield points whose iterations lie around two times, in more than half of the launches."""
    numbers, of_modes = view.record_columns["launch"], {name for name, _ in view.modes}
    for table in view.tables.values() if of_modes else ():
        for place, name in enumerate(table.columns["fingerprint"].tolist()):
            if name in of_modes:
                launches = [int(numbers[row]) for row in table.launches_of(place).tolist()]
                modes = [(launch, two) for launch in launches if (two := view.modes.get((name, launch)))]
                if 2 * len(modes) > len(launches):
                    yield _found(view, table.row(place), modes, len(launches))


def _found(view: View, row: Row, modes: Sequence[tuple[int, Modes]], launches: int) -> Finding:
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
        command=view.again(row),
        measured=upper,
        other=lower,
        share=Value(value=two.share, unit=SHARE, of=f"launch {launch}"),
        times=Value(value=times, unit=TIMES),
    )


RULE = Rule(
    code="two-modes",
    kind="violation",
    level="doubtful",
    about=PLAUSIBILITY,
    must="iterations lie around one time",
    why="iterations repeat the same work",
    says="the iterations lie around two times, a valley between: {other}, and {measured} of {share}; {times:2}",
    clues={"seen": "so in {seen} of {launches}, {samples}"},
    remedy=REMEDY,
    imported=IMPORTED,
    check=check,
)
