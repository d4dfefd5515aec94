"""Result of the gate: a finding for each comparison, the common factors, and the overall verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from labkit.judge.finding import SHARE, TIMES, Count, Decided, Evidence, Finding, Level, Several, Subject, Value, Values
from labkit.judge.rules import common_factor, gate_history, worse_than_past
from labkit.point.columns import METRICS, STATISTICS, Metric
from labkit.point.notes import joined
from labkit.point.units import plural
from labkit.read.records.resolution import sign
from labkit.stats import limits, nights

Outcome = Literal["pass", "fail", "undecided", "blind", "not enough history", "not measured"]
OUTCOMES: tuple[Outcome, ...] = ("fail", "undecided", "blind", "pass", "not enough history", "not measured")
_LEVELS: dict[Outcome, Level] = {"fail": "bad", "pass": "good"}  # of the others nothing is known
_DECIDED = Decided(how="tested", test="exceedance of past launches", correction="Bonferroni")
PASTS = ("the first reference", "all campaigns before them")
STEP = 1e-6  # of a step of the clock, for rounding
BLIND = 1.5  # times worse than usual; a comparison that would pass this is blind
_FARTHEST = 10.0  # times worse than usual; limits beyond this are not printed
COMMON = Metric("common_factor", "cost", 1.0, "times", "common factor", "How much worse all points are than usual.")


@dataclass(frozen=True)
class Drift:
    """The last campaigns together, compared with the past.

    Parameters
    ----------
    campaigns : number of campaigns, including the new one.
    past : the reference, one of `PASTS`.
    change, allowed : how much worse they are, as a fraction, and the limit.
    failed : whether they exceed the limit, and most of their launches the limit of past launches.
    """

    campaigns: int
    past: str
    change: float
    allowed: float
    failed: bool


@dataclass(frozen=True)
class Compared:
    """One statistic of a point and its past: the numbers of a finding.

    Parameters
    ----------
    benchmark, point : which; `point` is its size and settings.
    metric, statistic : as in `labkit.point.columns`.
    value, launches : median over the new launches, and their number.
    usual : median over the launches of the reference.
    limit : limit from the past.
    beyond : new launches that are worse than the limit; `limit.beyond` of them fail.
    differs : conditions that differ from the past, such as the library.
    worse : fixed limit: the point fails if its value is worse than usual by this fraction; 0 for no such limit.
    over : number of new launches that are worse by that fraction.
    coarse : whether the new value, and the usual one, spans fewer than ten clock steps, so it is a bound.
    finest : smallest factor between the values that the clock resolves; 1 without a limit.
    common : common factor of its transport, for which the limit allows; 1 if nothing is removed.
    drift : comparisons of the last campaigns together; none with too few of them.
    campaigns : medians of the campaigns in the order of time, the new one last.
    """

    benchmark: str
    point: str
    metric: str
    statistic: str
    value: float
    launches: int
    usual: float
    limit: limits.Limit
    beyond: int
    differs: tuple[str, ...] = ()
    worse: float = 0.0
    over: int = 0
    coarse: tuple[bool, bool] = (False, False)
    finest: float = 1.0
    common: float = 1.0
    drift: Drift | None = None
    campaigns: tuple[float, ...] = ()

    @cached_property
    def measure(self) -> Metric:
        """Benchmark, point and statistic."""
        return COMMON if self.metric == COMMON.name else METRICS[self.metric]

    @property
    def measured(self) -> bool:
        """Whether it has launches; a common factor has none."""
        return self.measure is not COMMON

    @cached_property
    def expected(self) -> float:
        """The usual value times the common factor."""
        return self.usual * self.common if self.measure.better == "lower" else self.usual / self.common

    @cached_property
    def past(self) -> str:
        """Launches and campaigns of the past, in words; a common factor has campaigns only."""
        return self.limit.past if self.measured else plural(self.limit.campaigns, "campaign")

    @cached_property
    def new_and_usual(self) -> tuple[Value, Value]:
        """The new and the usual value."""
        unit, launches = self.measure.unit, (self.launches, self.limit.launches)
        new, usual = (
            Value(value=value, unit=unit, launches=count, sign=sign(unit) if bound else "")
            for value, count, bound in zip((self.value, self.usual), launches, self.coarse, strict=True)
        )
        return new, usual

    @cached_property
    def times(self) -> float:
        """Smallest factor by which a point must be worse than expected to fail; infinity if it never does."""
        by_past = times_worse(self.limit.value, self.expected, self.measure.better)
        return max(self.finest, min(by_past, self.fixed / self.common))

    @property
    def fixed(self) -> float:
        """Factor by which a value must be worse than usual to exceed the fixed limit; infinity without one."""
        return least_times(self.worse, self.finest) if self.worse else math.inf

    @property
    def fails_by_fixed(self) -> bool:
        """Whether the value exceeds the fixed limit."""
        return self.worse > 0 and times_worse(self.value, self.usual, self.measure.better) >= self.fixed

    @property
    def tested(self) -> bool:
        """Whether a test decides, and not the fixed limit alone."""
        drifts = self.drift is not None and self.drift.failed
        return not math.isnan(self.limit.value) and (self.fails_by_past or drifts or not self.fails_by_fixed)

    @property
    def beyond_past(self) -> bool:
        """Whether the value is beyond the limit from the past, however many launches are."""
        return self.value > self.limit.value if self.measure.better == "lower" else self.value < self.limit.value

    @property
    def fails_by_past(self) -> bool:
        """Whether enough launches are beyond the limit from the past."""
        return not math.isnan(self.limit.value) and self.beyond >= self.limit.beyond

    @cached_property
    def smallest(self) -> float:
        """Smallest change from the expected value that fails, negative for a rate; NaN if it is beyond 10 times."""
        if self.times > _FARTHEST:
            return math.nan
        return self.times - 1 if self.measure.better == "lower" else 1 / self.times - 1

    @cached_property
    def allowed(self) -> float:
        """The limit from the past; NaN if it is too far from the usual value to mean anything."""
        far = times_worse(self.limit.value, self.expected, self.measure.better) > _FARTHEST
        return math.nan if far and not self.beyond_past else self.limit.value

    @cached_property
    def decisive(self) -> tuple[float, str]:
        """The limit that decides, NaN for none, and how many new launches are beyond it, in words; empty for none.

        It is the limit from the past if the point fails by it, and otherwise the stricter of the two limits.
        """
        lower = self.measure.better == "lower"
        fixed = self.usual * self.fixed if lower else self.usual / self.fixed
        past_is_nearer = self.limit.value <= fixed if lower else self.limit.value >= fixed
        if self.worse and not (self.fails_by_past or past_is_nearer):
            return fixed, f"{self.over} of {self.launches} (the median decides)"
        if not self.measured or math.isnan(self.allowed):
            return self.allowed, ""
        undecided = self.beyond_past and not self.fails_by_past
        needed = f"{self.limit.beyond} needed: undecided" if undecided else f"fails at {self.limit.beyond}"
        return self.allowed, f"{self.beyond} of {self.launches} ({needed})"

    @property
    def change(self) -> float:
        """Relative change of the median; NaN if the past has none."""
        return (self.value - self.usual) / abs(self.usual) if self.usual else math.nan

    @property
    def name(self) -> str:
        """Point and statistic in words."""
        statistic = STATISTICS[self.statistic].label if self.statistic in STATISTICS else self.statistic
        return ", ".join(filter(None, [self.point, self.measure.label, statistic]))


@dataclass(frozen=True)
class Common:
    """A factor common to the points of a transport, and whether it was removed from them.

    Parameters
    ----------
    name : the points in words.
    tail : whether it is a factor of tails.
    points : from which it is estimated.
    campaigns : campaigns of the past that have enough of these points.
    times : factor by which the points are worse than usual; NaN with too few of them.
    """

    name: str
    tail: bool
    points: int
    campaigns: int
    times: float

    @property
    def removed(self) -> bool:
        """Whether it can be estimated and judged; else nothing is removed."""
        return self.campaigns >= limits.CAMPAIGNS and not math.isnan(self.times)

    @property
    def finding(self) -> Finding:
        """The finding on the removed factor, or on the reason why none was removed."""
        values: dict[str, Value | Count] = {"points": Count(self.points, "point")}
        if self.removed:
            form = "removed"
            values["change"] = _share(self.times - 1)
        elif math.isnan(self.times):
            form = "few-points"
            values["needed"] = Count(nights.MEMBERS, "point")
        else:
            form = "few-campaigns"
            values |= {"campaigns": Count(self.campaigns, "campaign"), "needed": Count(limits.CAMPAIGNS, "campaign")}
        about = Subject(setting=f"{self.name}{', tail' if self.tail else ''}")
        return common_factor.RULE.found(about, "note", form=form, **values)


@dataclass(frozen=True)
class Result:
    """Result of `gate` for a campaign.

    Parameters
    ----------
    name : name of the campaign.
    verdicts : failed ones first.
    chance : chance of a false alarm in the whole gate.
    comparisons : number of comparisons that share it.
    history : names of the campaigns of the past.
    blind_allowed : whether the result is conclusive despite blind comparisons.
    common : factors common to the points of each transport.
    rejected : past campaigns that were worse and do not enter the reference, with the number of comparisons.
    waiting : past campaigns that do not yet enter the reference.
    """

    name: str
    verdicts: tuple[Finding, ...]
    chance: float
    comparisons: int
    history: tuple[str, ...]
    blind_allowed: bool = False
    common: tuple[Common, ...] = ()
    rejected: tuple[tuple[str, int], ...] = ()
    waiting: tuple[str, ...] = ()

    def count(self, outcome: Outcome) -> int:
        """Return how many verdicts have an outcome."""
        return sum(one.form == outcome for one in self.verdicts)

    @cached_property
    def compared(self) -> list[tuple[Finding, Compared]]:
        """Each verdict with its numbers."""
        numbers = ((one, one.values["numbers"]) for one in self.verdicts)
        return [(one, found) for one, found in numbers if isinstance(found, Compared)]

    @property
    def failed(self) -> bool:
        """Whether any comparison failed."""
        return bool(self.count("fail"))

    @property
    def judged(self) -> bool:
        """Whether at least one comparison had enough launches."""
        return self.failed or bool(self.count("pass") or self.undecided or self.blind)

    @property
    def false_alarms(self) -> float:
        """Chance of any false alarm; NaN if no comparison was tested, or if the fixed limit adds an unknown one."""
        tested = any(not math.isnan(one.limit.value) for _, one in self.compared)
        return self.chance if tested and not self.worse else math.nan

    @property
    def worse(self) -> float:
        """Fraction of the fixed limit, as in `Compared`."""
        return max((one.worse for _, one in self.compared), default=0.0)

    @property
    def undecided(self) -> int:
        """Number of comparisons with a median beyond the limit, but too few launches beyond it."""
        return self.count("undecided")

    @property
    def blind(self) -> int:
        """Number of comparisons that would pass a point that is 50 % worse."""
        return self.count("blind")

    @property
    def inconclusive(self) -> bool:
        """Whether nothing failed only because there was too little data."""
        blind = 0 if self.blind_allowed else self.blind
        return not self.failed and bool(not self.judged or self.undecided or blind)

    @property
    def counts(self) -> dict[Outcome, int]:
        """How many verdicts have each outcome."""
        return {outcome: self.count(outcome) for outcome in OUTCOMES}

    @property
    def doubts(self) -> list[Finding]:
        """Limits of the verdicts, and what to do."""
        rule, about, found = gate_history.RULE, Subject(), []
        if short := sum(
            one.limit.campaigns < limits.CAMPAIGNS for verdict, one in self.compared if verdict.form != "not measured"
        ):
            needed, those = Count(limits.CAMPAIGNS, "campaign"), Count(short, "comparison")
            found.append(rule.found(about, form="few-campaigns", needed=needed, comparisons=those))
        if self.blind:
            counts = {"blind": Count(self.blind, "comparison"), "comparisons": Count(self.comparisons, "comparison")}
            found.append(rule.found(about, "unknown", form="blind", worse=_share(BLIND - 1), **counts))
        if self.undecided:
            counts = {"undecided": Count(self.undecided, "comparison")}
            found.append(rule.found(about, "unknown", form="undecided", **counts))
        if absent := self.count("not measured"):
            points = Count(absent, "point")
            found.append(rule.found(about, form="not-measured", campaign=self.name, points=points))
        if not self.judged:
            found.append(rule.found(about, form="none"))
        return found

    @property
    def outside(self) -> list[Finding]:
        """Past campaigns that are not in the reference, with the reason."""
        rule, about, found = gate_history.RULE, Subject(), []
        if self.rejected:
            names = Several(tuple(f"{name} ({plural(count, 'comparison')})" for name, count in self.rejected))
            found.append(rule.found(about, "note", form="rejected", campaigns=names))
        if self.waiting:
            wait = Count(nights.WAIT, "campaign")
            found.append(rule.found(about, "note", form="waiting", campaigns=Several(self.waiting), needed=wait))
        return found


def times_worse(value: float, usual: float, better: str) -> float:
    """Return the factor by which a value is worse than usual; below 1 if it is better, infinity if unknown.

    Examples
    --------
    >>> times_worse(3.0, 2.0, "lower"), times_worse(4.0, 8.0, "higher"), times_worse(1.0, 0.0, "lower")
    (1.5, 2.0, inf)
    """
    if value == usual:
        return 1.0
    bad, good = (value, usual) if better == "lower" else (usual, value)
    return bad / good if min(bad, good) > 0 else math.inf


def least_times(worse: float, finest: float) -> float:
    """Return how many times worse than usual a value must be to exceed the fixed limit; the clock must resolve it."""
    return max(1 + worse, finest * (1 - STEP))


def judged(one: Compared, outcome: Outcome | None = None) -> Finding:
    """Return the finding of a comparison.

    Parameters
    ----------
    outcome : if it does not follow from the numbers.
    """
    outcome = outcome or _outcome(one)
    return worse_than_past.RULE.found(
        Subject(benchmark=one.benchmark, setting=one.name),
        _LEVELS.get(outcome, "unknown"),
        form=outcome,
        decided=_DECIDED if one.tested else Decided(how="counted"),
        evidence=tuple(_evidence(one, outcome)),
        numbers=one,
    )


def _evidence(one: Compared, outcome: Outcome) -> Iterator[Evidence]:
    """Yield what a comparison shows, and what differs from the past."""
    launches = Count(one.launches, "launch")
    if outcome == "not measured":
        yield Evidence(code="past-has", values={"past": one.limit.past})
    elif outcome == "not enough history":
        needed = Count(one.limit.needed, "launch")
        yield Evidence(code="short", values={"past": one.limit.past, "launches": launches, "needed": needed})
    else:
        new, usual = one.new_and_usual
        yield Evidence(code="change", values={"new": new, "usual": usual, "change": _share(one.change)})
        if math.isfinite(one.allowed):
            limit, fail = Value(value=one.allowed, unit=one.measure.unit), Count(one.limit.beyond, "launch")
            beyond = Count(one.beyond, "launch")
            values: Values = {"limit": limit, "beyond": beyond, "launches": launches, "fail": fail}
            code = "undecided" if outcome == "undecided" else "limit" if one.measured else "limit-alone"
            yield Evidence(code=code, values=values)
        if one.worse:
            over = Count(one.over, "launch")
            code = "worse" if one.fails_by_fixed else "not-worse"
            yield Evidence(code=code, values={"over": over, "launches": launches, "worse": _share(one.worse)})
        if one.drift and one.drift.failed:
            together = {"change": _share(one.drift.change), "allowed": _share(one.drift.allowed)}
            campaigns = Count(one.drift.campaigns, "campaign")
            yield Evidence(code="drift", values={"campaigns": campaigns, "past": one.drift.past, **together})
        if one.common != 1:
            yield Evidence(code="common", values={"change": _share(one.common - 1)})
        if math.isfinite(one.smallest):
            yield Evidence(code="smallest", values={"smallest": _share(one.smallest)})
        else:
            yield Evidence(code="far", values={"times": Value(value=_FARTHEST, unit=TIMES)})
        yield Evidence(code="past", values={"past": one.past})
    if one.differs:
        yield Evidence(code="unlike", values={"what": joined(one.differs)})


def _share(value: float) -> Value:
    return Value(value=value, unit=SHARE)


def _outcome(one: Compared) -> Outcome:
    """Return the outcome that follows from the numbers of a comparison."""
    drifts = one.drift is not None and one.drift.failed
    if drifts or one.fails_by_past or one.fails_by_fixed:
        return "fail"
    if one.beyond_past:
        return "undecided"
    if math.isnan(one.limit.value) and not one.worse:
        return "not enough history"
    return "blind" if one.times > BLIND else "pass"
