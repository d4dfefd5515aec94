"""Effects of other traffic on the network: impact factors of GPCNeT, interference of two jobs, fairness of streams.

A factor compares times of the same work with and without others. The iterations of one launch are not independent.
Therefore the interval of one launch comes from resampling blocks of neighbouring iterations. If times with and without
others alternate, they are resampled together. With 6 launches or more, the interval is the rank interval of the
factors of the launches, because each launch contains both.

Whether GPCNeT's congestors made a difference, the factors of the launches decide, by a sign test against 1. The mean is
tested first, and each percentile only if the statistic before it differs: so the chance of a false claim stays at 5 %
for all of them (fixed sequence). Whether another job did, its times beside and alone decide (`labkit.judge.effects`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from labkit import stats
from labkit.benchmarks import resolve
from labkit.benchmarks.congestion import gpcnet
from labkit.errors import DataError
from labkit.judge.effects import Effect, Measured, needed
from labkit.point import notes
from labkit.point.notes import joined
from labkit.point.units import format_number, plural
from labkit.stats.decision import OPEN, RELEVANT, beyond_limit
from labkit.store.samples import Samples
from labkit.store.samples.facts import RANK_HOSTS

LOADED = "congestion.gpcnet_loaded"
CLAIMS = ("longer", "shorter")
STATISTICS: dict[str, float | None] = {"mean": None, "p99": 0.99, "p999": 0.999}  # quantile; None for the mean
_RESAMPLES = 400
_FEWEST = 20  # iterations for an interval inside a launch
_CONDENSED = 200_000  # times of one resample; with more, only every n-th iteration is used

Times = NDArray[np.float64]


@dataclass(frozen=True)
class Factor:
    """Times with others over times without.

    Parameters
    ----------
    centre : median over launches.
    low, high : ends of the interval; NaN without one.
    label : what the interval is.
    effect : times with others against those without.
    """

    centre: float
    low: float
    high: float
    label: str
    effect: Effect

    @property
    def launches(self) -> int:
        """How many."""
        return len(self.effect.value.launches)

    @property
    def doubt(self) -> str:
        """Why no difference may be claimed; empty if one may."""
        return self.effect.doubt

    @property
    def clear(self) -> bool:
        """Whether the launches show that others made a difference."""
        return self.effect.claimed

    @property
    def measured(self) -> Measured:
        """The factor as a value, with the factor of each launch."""
        if not math.isfinite(self.centre):
            return Measured(math.nan)
        now, before = self.effect.value.launches, self.effect.base.launches
        return Measured(self.centre, [one / other for one, other in zip(now, before, strict=True)])

    def text(self, words: str = "") -> str:
        """Format the factor with its interval: ``4.02 times as long (2.42 to 8.12, range of 3 launches)``.

        Parameters
        ----------
        words : after the number.
        """
        return _times(self.centre, self.low, self.high, self.label, words)


@dataclass(frozen=True)
class Impact:
    """Congestion impact of one point.

    Parameters
    ----------
    table : a row for each statistic and phase (loaded, recovered): factor, low, high, label, launches, `differs`:
        ``longer`` or ``shorter`` than before, or why neither may be claimed, and the factor as `measured`.
    reasons : why the victims may be unaffected, or affected by something else than the network.
    effect : the result as a sentence.
    """

    table: pd.DataFrame
    reasons: tuple[str, ...]
    effect: str

    @property
    def doubt(self) -> str:
        """Possible explanations as a sentence; empty without any."""
        if not self.reasons:
            return ""
        return f"{'But' if len(_felt(self.table)) else 'Possible reasons:'} {joined(self.reasons)}."

    @property
    def sentence(self) -> str:
        """The result and its possible explanations."""
        return f"{self.effect} {self.doubt}".rstrip()


def jain_fairness(values: ArrayLike) -> float:
    """Jain's index of the shares of streams: 1 when all get the same, 1/n when one gets all.

    Parameters
    ----------
    values : rate of each stream, in any unit.

    Raises
    ------
    DataError
        If there is no rate, one is negative or not a number, or all are 0.

    Examples
    --------
    >>> jain_fairness([5.0, 5.0]), jain_fairness([1.0, 0.0, 0.0, 0.0])
    (1.0, 0.25)
    """
    rates = np.asarray(values, np.float64).ravel()
    if not rates.size or not np.isfinite(rates).all() or (rates < 0).any() or not rates.any():
        raise DataError(f"The rates are {rates.tolist()[:8]}, but there must be some, none below 0 and one above.")
    rates = rates / rates.max()
    return float(rates.sum() ** 2 / (rates.size * (rates**2).sum()))


def interference(without: Sequence[ArrayLike], beside: Sequence[ArrayLike], statistic: str = "p50") -> Factor:
    """Ratio of a victim's time beside an aggressor to its time alone.

    Parameters
    ----------
    without, beside : times of the victim's iterations, an array for each launch, in the same order; s.
    statistic : ``p50``, ``p95``, ``p99``, ``p999`` or ``mean``.

    Raises
    ------
    DataError
        If the numbers of launches differ, or a launch has no times.
    """
    if len(without) != len(beside) or not without:
        raise DataError(
            f"Launches without the other job: {len(without)}; with it: {len(beside)}. Each needs its counterpart. "
            "Measure as many of both."
        )
    known = stats.QUANTILES | {"mean": None}
    if statistic not in known:
        raise DataError(f"statistic={statistic!r}, but it must be one of {', '.join(known)}.")
    pairs = [
        (np.atleast_2d(np.asarray(b, np.float64)), np.atleast_2d(np.asarray(a, np.float64)))
        for a, b in zip(without, beside, strict=True)
    ]
    return _factor(pairs, known[statistic], paired=False)


def impact(launches: Sequence[Samples]) -> Impact:
    """Congestion impact factors of one point of `congestion.gpcnet_loaded`.

    Parameters
    ----------
    launches : samples of all its launches.

    Raises
    ------
    DataError
        If there are none, or they belong to another benchmark or to several points.
    """
    specs = {samples.spec for samples in launches}
    if len(specs) != 1 or next(iter(specs)).benchmark != LOADED or not all(s.n for s in launches):
        names = ", ".join(sorted({str(spec) for spec in specs})) or "none"
        raise DataError(f"The samples are of {names}, but they must be of one point of {LOADED}, with iterations.")
    rows, phases = [], (("loaded", "time_ns"), ("recovered", "recovered_ns"))
    open_: dict[str, str] = {}  # phase → why its next statistic may not be claimed
    for name, quantile in STATISTICS.items():
        for phase, name_ns in phases:
            pairs = [(seconds(s, name_ns), seconds(s, "isolated_ns")) for s in launches]
            enough = quantile is None or all(stats.reliable(now.size, quantile) for now, _ in pairs)
            if name == "p999" and not enough:
                continue
            one = _factor(pairs, quantile, paired=True)
            differs = (open_.get(phase) or _differs(one)) if enough else "there are too few samples"
            if differs not in CLAIMS:
                open_[phase] = differs
            rows.append((name, phase, one.centre, one.low, one.high, one.label, one.launches, differs, one.measured))
    columns = ["statistic", "phase", "factor", "low", "high", "label", "launches", "differs", "measured"]
    table = pd.DataFrame(rows, columns=columns)
    return Impact(table, _reasons(launches, table), _effect(table))


def seconds(samples: Samples, phase: str) -> Times:
    """Times of one phase, (ranks, iterations), s."""
    return np.asarray(samples.phases[phase] * 1e-9, np.float64)


def _differs(one: Factor) -> str:
    """Return whether the factors of the launches are above or below 1; else why neither may be claimed."""
    factors = one.measured.launches
    if len(factors) < stats.LAUNCHES:
        return needed(1, paired=True)
    side = beyond_limit([factors], [1.0])[0]
    if side == "cannot say" or abs(one.centre - 1) < RELEVANT:
        return OPEN
    return "longer" if side == "above" else "shorter"


def _factor(pairs: Sequence[tuple[Times, Times]], quantile: float | None, *, paired: bool) -> Factor:
    """Factor over launches, each (loaded, isolated) with (ranks, iterations), s."""
    statistic = _statistic(quantile)
    sides = [[statistic(side) for side in one] for one in zip(*pairs, strict=True)]
    now, before = (Measured(stats.headline(side).centre, side) for side in sides)
    effect = Effect(now, before)
    if min(sides[1]) <= 0:
        return Factor(math.nan, math.nan, math.nan, plural(len(pairs), "launch"), effect)
    ratios = [loaded / isolated for loaded, isolated in zip(*sides, strict=True)]
    if len(ratios) > 1:
        overall = stats.headline(ratios)
        return Factor(overall.centre, overall.low, overall.high, overall.label, effect)
    if min(side.shape[1] for side in pairs[0]) < _FEWEST:
        return Factor(ratios[0], math.nan, math.nan, "1 launch", effect)
    low, high = _resampled(*pairs[0], statistic, paired=paired)
    return Factor(ratios[0], low, high, "95 % bootstrap interval inside 1 launch", effect)


def _statistic(quantile: float | None) -> Callable[[Times], float]:
    """Mean or quantile of all times of all ranks together, as GPCNeT takes them."""
    return (lambda times: float(times.mean())) if quantile is None else lambda times: stats.quantile(times, quantile)


def _resampled(now: Times, before: Times, statistic: Callable[[Times], float], *, paired: bool) -> tuple[float, float]:
    """Percentile interval of the ratio under a circular block bootstrap over iterations.

    References
    ----------
    D. N. Politis, J. P. Romano, "A circular block-resampling procedure for stationary data" (1992).
    """
    generator = np.random.default_rng(1)
    now, before = (times[:, :: max(1, times.size // _CONDENSED)] for times in (now, before))

    def draw(n: int) -> NDArray[np.int64]:
        length = max(1, round(n ** (1 / 3)))
        starts = generator.integers(0, n, -(-n // length))
        return np.asarray((starts[:, None] + np.arange(length)) % n, np.int64).ravel()[:n]

    ratios = []
    for _ in range(_RESAMPLES):
        iterations = draw(now.shape[1])
        other = iterations if paired and before.shape == now.shape else draw(before.shape[1])
        base = statistic(before[:, other])
        ratios.append(statistic(now[:, iterations]) / base if base > 0 else math.inf)
    low, high = np.quantile(ratios, [(1 - stats.LEVEL) / 2, (1 + stats.LEVEL) / 2])
    return float(low), float(high)


def _reasons(launches: Sequence[Samples], table: pd.DataFrame) -> tuple[str, ...]:
    """Why the victims felt nothing; if they felt something, what else than the network may be the cause."""
    first = launches[0]
    spec, reasons = resolve(first.spec), []
    roles, hosts = gpcnet.roles(spec), set(RANK_HOSTS.of(first.meta) or ())
    felt = bool(len(_felt(table)))
    shared = any(notes.has(s.badges, "oversubscription") for s in launches)
    if felt:
        if shared or len(hosts) == 1:
            where = "share processors" if shared else "are on one host and share its memory"
            reasons.append(f"victims and congestors {where}, so the cause may not be the network")
        if len(_felt(table, "recovered")):
            reasons.append("the victims stayed slow after the congestors had ended, so something else may slow them")
        return tuple(reasons)
    if len(hosts) == 1:
        reasons.append("all ranks are on one host, so no message crossed a network")
    senders = max(len(group) - 1 for group in roles.congestors)
    if senders < 2:
        reasons.append("no rank had more than one sender, and one sender cannot overload a link: add ranks")
    if not any(np.asarray(s.phases["congestor_ns"]).any() for s in launches):
        reasons.append("the congestors stopped before they finished a round")
    width = table[table["phase"] == "loaded"]["high"] - table[table["phase"] == "loaded"]["low"]
    if not width.notna().any() or width.max() > 1:
        reasons.append("the times scatter too much to show a small effect: measure longer, or more launches")
    if not reasons:
        load = _load(launches)
        reasons.append(
            f"the congestors moved {load:,.0f} MB/s to their busiest rank: where that is less than a link carries, or "
            "the leaf switch does not block and victims share no link with them, nothing fills up"
        )
    return tuple(reasons)


def _load(launches: Sequence[Samples]) -> float:
    """MB/s that the busiest receiver of the congestors took or gave."""
    spec = resolve(launches[0].spec)
    most = max(len(group) - 1 for group in gpcnet.roles(spec).congestors)
    each = np.median([np.median(s.phases["congestor_ns"]) for s in launches]) * 1e-9
    return float(most * gpcnet.load_size(spec) / each / 1e6) if each else 0.0


def _felt(table: pd.DataFrame, phase: str = "loaded") -> pd.DataFrame:
    """Rows of a phase that certainly take longer than before."""
    return table[(table["phase"] == phase) & (table["differs"] == "longer")]


_WORDS = {"mean": "mean", "p99": "99th percentile", "p999": "99.9th percentile"}
_number = partial(format_number, digits=3)


def _times(centre: float, low: float, high: float, label: str, words: str = "") -> str:
    """Return a factor in words, with its interval."""
    if not math.isfinite(centre):
        return "not known"
    ends = "" if math.isnan(low) else f"{_number(low)} to {_number(high)}, "
    return f"{_number(centre)} times{words} ({ends}{label})"


def _effect(table: pd.DataFrame) -> str:
    """What a reader needs to know."""
    claims, unclaimed, after = [], defaultdict(list), ""
    for row in table.to_dict("records"):
        factor = partial(_times, row["factor"], row["low"], row["high"], row["label"])
        name, clear = _WORDS[row["statistic"]], row["differs"] in CLAIMS
        if row["phase"] == "loaded" and clear:
            claims.append(f"the {name} is {factor(' as long')}")
        elif row["phase"] == "loaded":
            unclaimed[row["differs"]].append(f"{name} {factor()}")
        elif name == "mean":
            after = f"After them, the mean is {'' if clear else 'not certainly different: '}{factor()} that before."
    none = [] if len(_felt(table)) else ["No effect is certain."]
    first = [f"Beside the congestors, {joined(claims)}."] if claims else []
    others = [f"No claim, because {why}: {joined(values)}." for why, values in unclaimed.items()]
    return " ".join([*none, *first, *others, after])
