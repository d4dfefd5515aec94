"""Parameters of LogGP and of Hockney's model from measured times, per segment of message sizes.

Each quantity is a straight line through its times in a segment, fitted for every launch by itself: launches are the
units of the intervals, never iterations. The parameters follow from the lines of one launch, then the median over
launches and its interval. The lack of fit that all launches share widens the interval (below):

- `alpha`, `beta`: fixed and per-byte part of the time T of a message, half the round trip (Hockney).
- `o_s`, `o_r` and `O_s`, `O_r`: the same for the overheads. LogGP has no per-byte part; LogGOPS [4]_ adds it.
- `g`, `G`: the gap between messages in saturation is g + (m-1)G [2]_, [3]_.
- `L`: T - o_s - o_r, each line at 1 B: latency as Alexandrov et al. define it. Netgauge's L is half the round trip.

A parameter is not resolved if its interval reaches 0 or below, if its line lies far off the times (`POOR`), or if data
are missing: it then has no value but a reason. Weights are relative and common to all launches, so a fit is linear in
the times and as good at small sizes as at large ones.

Launches repeat the properties of a size (its alignment, a bend of the curve), so their spread does not show it. The
residuals of the medians over launches do: their variance s² has the scatter of the medians (pure error) and the lack of
fit in it, and s² (X'X)⁻¹ is the covariance of the line through them [6]_. The half-width of an interval is the root of
the sum of two squares: the half-width over launches, and Student's t times this deviation. The scatter of single points
is in both, which makes the interval a little too wide. s² is pooled over the ranges of a quantity, because some have
few sizes.

References
----------
.. [1] D. Culler et al., LogP: Towards a Realistic Model of Parallel Computation, PPoPP 1993, doi 10.1145/155332.155333.
.. [2] A. Alexandrov et al., LogGP, SPAA 1995, doi 10.1145/215399.215427.
.. [3] T. Hoefler, A. Lichei, W. Rehm, Low-Overhead LogGP Parameter Assessment for Modern Interconnection Networks,
   IPDPS 2007, doi 10.1109/IPDPS.2007.370593; its program is Netgauge's pattern loggp.
.. [4] T. Hoefler, T. Schneider, A. Lumsdaine, LogGOPSim, HPDC 2010, doi 10.1145/1851476.1851564.
.. [5] T. Kielmann, H. Bal, K. Verstoep, Fast Measurement of LogP Parameters for Message Passing Platforms, LNCS 1800.
.. [6] N. R. Draper, H. Smith, Applied Regression Analysis, Wiley 1998, ch. 2 (lack of fit and pure error).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labkit import stats
from labkit.errors import DataError
from labkit.models.loggp_engine import Costs, Line, Segment
from labkit.point.units import format_share, format_size, plural
from labkit.stats.limits import student
from labkit.stats.rank_interval import LEVEL

POOR = 0.2  # deviation from which a line does not describe its times
_OFF = (
    f"a line behind it lies more than {format_share(POOR)} off its times, which were disturbed or change within the "
    "range; measure more sizes, on an idle machine"
)
QUANTITIES: Mapping[str, str] = {  # quantity → what must be measured for it
    "time": "a ping-pong (mpi.latency)",
    "gap": "windows of messages (mpi.bandwidth)",
    "send": "the overhead of the sender (mpi.delayed_overhead)",
    "receive": "the overhead of the receiver (mpi.delayed_overhead)",
    "both": "the overhead of both ends (mpi.host_overhead or mpi.delayed_overhead)",
}
PARAMETERS: Mapping[str, str] = {
    "L": "latency of the network",
    "o_s": "overhead of the sender",
    "o_r": "overhead of the receiver",
    "g": "gap between messages",
    "G": "gap per byte",
    "O_s": "overhead of the sender per byte",
    "O_r": "overhead of the receiver per byte",
    "alpha": "time of a message without data",
    "beta": "time per byte",
}


_WEIGHTS: Mapping[str, tuple[int, int]] = {  # of the fixed part and that per byte in a parameter
    **dict.fromkeys(("L", "g"), (1, 1)),
    **dict.fromkeys(("o_s", "o_r", "alpha"), (1, 0)),
    **dict.fromkeys(("O_s", "O_r", "G", "beta"), (0, 1)),
}


@dataclass(frozen=True)
class Times:
    """One quantity of one path.

    Parameters
    ----------
    sizes : (sizes,), B, rising.
    seconds : (launches, sizes), s: one median of each launch.
    """

    sizes: tuple[int, ...]
    seconds: NDArray[np.float64]

    def within(self, first: float, last: float) -> Times:
        """Those of the sizes from `first` to `last`."""
        inside = [k for k, size in enumerate(self.sizes) if first <= size <= last]
        return Times(tuple(self.sizes[k] for k in inside), self.seconds[:, inside])


@dataclass(frozen=True)
class Estimate:
    """A parameter of a segment.

    Parameters
    ----------
    name : one of `PARAMETERS`.
    value : median over launches, s or s/B; NaN if it is not resolved.
    low, high : interval over launches, or their range below 6, widened by the lack of fit; NaN for one launch. Of a
        parameter that is not resolved `low` is NaN, and `high` is NaN or a bound that it does not exceed.
    launches : behind it.
    why : reason for which it is not resolved; empty if it is.
    """

    name: str
    value: float
    low: float
    high: float
    launches: int
    why: str = ""

    @property
    def resolved(self) -> bool:
        """Whether it has a value."""
        return not self.why


@dataclass(frozen=True)
class Fitted:
    """Lines of one quantity in a segment.

    Parameters
    ----------
    fixed, per_byte : (launches,), s and s/B.
    sizes : sizes that the line goes through, B.
    deviation : root mean square of how far the medians over launches lie off their line, as a part of the time; NaN for
        two sizes, through which any line goes.
    worst : the size that lies off farthest, B.
    farthest : how far, as a part of the time, with its sign.
    unscaled : (2, 2), covariance of the fixed part and that per byte for a deviation of 1.
    """

    fixed: NDArray[np.float64]
    per_byte: NDArray[np.float64]
    sizes: tuple[int, ...]
    deviation: float
    worst: int
    farthest: float
    unscaled: NDArray[np.float64]

    def at(self, size: float) -> NDArray[np.float64]:
        """Time of a size in each launch, (launches,), s."""
        return np.asarray(self.fixed + self.per_byte * size)

    def line(self, launch: int) -> Line:
        """Line of a launch."""
        return Line(float(self.fixed[launch]), float(self.per_byte[launch]))


@dataclass(frozen=True)
class Range:
    """Parameters of one range of sizes.

    Parameters
    ----------
    first, last : smallest and largest size that was measured in it, B.
    lines : quantity → its lines; without those that have fewer than two sizes here.
    parameters : each of `PARAMETERS`.
    """

    first: int
    last: int
    lines: Mapping[str, Fitted]
    parameters: Mapping[str, Estimate]


@dataclass(frozen=True)
class Model:
    """Parameters of one path.

    Parameters
    ----------
    ranges : from small sizes to large ones.
    launches : launches that all quantities have.
    """

    ranges: tuple[Range, ...]
    launches: int

    def costs(self, launch: int) -> Costs:
        """What messages cost by the lines of one launch, for `loggp_engine.finish`.

        Without windows the gap is the time of a message, as in Hockney's model. Without separate overheads each end has
        half of both. Where a line is negative at an end of its range, its chord from 0 represents it.
        """
        segments = []
        bounds = [_between(one.last, other.first) for one, other in zip(self.ranges, self.ranges[1:], strict=False)]
        begins = [0, *(bound + 1 for bound in bounds)]
        for one, begin, last in zip(self.ranges, begins, [*bounds, 1 << 62], strict=True):
            used = {name: _usable(line.line(launch), one, begin, last) for name, line in one.lines.items()}
            time = used["time"]
            half = Line(used["both"].fixed / 2, used["both"].per_byte / 2) if "both" in used else Line(0.0)
            send, receive = (_below(used.get(name, half), time, begin, one.last) for name in ("send", "receive"))
            segments.append(Segment(time=time, gap=used.get("gap", time), send=send, receive=receive, last=last))
        return Costs(tuple(segments))


def fit(measured: Mapping[str, Times], ranges: Sequence[tuple[int, int]]) -> Model:
    """Fit the parameters of every range of sizes.

    Parameters
    ----------
    measured : quantities of `QUANTITIES` by name, at least `time`, all of the same launches in the same order.
    ranges : first and last size of each, from `labkit.judge.protocol` or one for all sizes, B.

    Raises
    ------
    DataError
        If there is no ping-pong, launches differ, a time is not above 0, or a range has fewer than two of its sizes.

    Examples
    --------
    >>> sizes = (1, 1001, 2001)
    >>> model = fit({"time": Times(sizes, np.array([[5e-6, 6e-6, 7e-6]] * 6))}, [(1, 2001)])
    >>> beta = model.ranges[0].parameters["beta"]
    >>> round(beta.value, 12), model.ranges[0].parameters["L"].why[:60]
    (1e-09, 'mpi.host_overhead or mpi.delayed_overhead was not measured')
    """
    if "time" not in measured or not ranges:
        raise DataError("There is no ping-pong, but every parameter needs one. Measure mpi.latency.")
    counts = {name: len(one.seconds) for name, one in measured.items()}
    if len(set(counts.values())) > 1 or not min(counts.values()):
        raise DataError(f"Launches differ: {counts}. Give the same launches of every quantity.")
    for name, one in measured.items():
        if one.seconds.shape != (counts[name], len(one.sizes)) or not (one.seconds > 0).all():
            raise DataError(
                f"The times of {name!r} must be above 0 and (launches, {len(one.sizes)} sizes). Correct them."
            )
    launches = counts["time"]
    lines = [_lines_within(measured, first, last) for first, last in ranges]
    names = dict.fromkeys(name for one in lines for name in one)
    spare = {name: _pooled([one[name] for one in lines if name in one]) for name in names}
    made = []
    for within, (first, last) in zip(lines, ranges, strict=True):
        absent = {name: _absent(name, measured, first, last) for name in QUANTITIES if name not in within}
        made.append(Range(first, last, within, _parameters(within, spare, absent, launches)))
    return Model(tuple(made), launches)


def _lines_within(measured: Mapping[str, Times], first: int, last: int) -> dict[str, Fitted]:
    """Lines of the quantities in one range."""
    chosen = {name: one.within(first, last) for name, one in measured.items()}
    lines = {name: _lines(one) for name, one in chosen.items() if len(one.sizes) > 1}
    if "time" not in lines:
        raise DataError(
            f"{format_size(first)} to {format_size(last)} has {plural(len(chosen['time'].sizes), 'size')} of "
            "mpi.latency, but a "
            "line needs two. Measure more sizes."
        )
    return lines


def _absent(quantity: str, measured: Mapping[str, Times], first: int, last: int) -> str:
    """Why a quantity has no line in a range."""
    source = QUANTITIES[quantity].partition("(")[2].rstrip(")")
    if quantity not in measured:
        return f"{source} was not measured"
    sizes = measured[quantity].within(first, last).sizes
    return f"{source} has {plural(len(sizes), 'size')} in this range, and a line needs two"


def _pooled(lines: Sequence[Fitted]) -> float:
    """Student's t at 95 % times the deviation of the lines of a quantity, as a part; 0 without any.

    Lines that are too far off to have parameters do not count.
    """
    fair = [(len(one.sizes) - 2, one.deviation) for one in lines if one.deviation <= POOR]
    degrees = sum(count for count, _ in fair)
    if not degrees:
        return 0.0
    return student((1 - LEVEL) / 2, degrees) * math.sqrt(sum(count * off**2 for count, off in fair) / degrees)


def _lines(times: Times) -> Fitted:
    """Straight line of each launch by least squares, with relative weights that all launches share."""
    m, centre = np.asarray(times.sizes, np.float64), np.median(times.seconds, axis=0)
    design = np.stack([1 / centre, m / centre], axis=1)
    fixed, per_byte = (
        np.linalg.lstsq(design / _norms(design), (times.seconds / centre).T, rcond=None)[0] / _norms(design).T
    )
    line = np.linalg.lstsq(design / _norms(design), np.ones(len(m)), rcond=None)[0] / _norms(design)[0]
    off = 1 - design @ line
    degrees = len(m) - 2
    worst = int(np.abs(off).argmax())
    deviation = math.sqrt(float((off**2).sum()) / degrees) if degrees else math.nan
    norms = _norms(design)
    unscaled = np.linalg.inv((design / norms).T @ (design / norms)) / (norms.T @ norms)
    return Fitted(fixed, per_byte, times.sizes, deviation, times.sizes[worst], float(off[worst]), unscaled)


def _norms(design: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lengths of the columns: bytes and one differ by nine powers of ten, which least squares do not like."""
    return np.asarray(np.linalg.norm(design, axis=0, keepdims=True))


def _parameters(
    lines: Mapping[str, Fitted], spare: Mapping[str, float], absent: Mapping[str, str], launches: int
) -> dict[str, Estimate]:
    """All parameters of a range; `spare` is the reach of the lack of fit of each quantity."""

    def estimate(name: str, values: NDArray[np.float64] | None, *, needs: str, negative: str) -> Estimate:
        if values is None:
            return Estimate(name, math.nan, math.nan, math.nan, launches, absent[needs])
        ends = ("send", "receive") if {"send", "receive"} <= set(lines) else ("both",)
        used = ["time", *ends] if name == "L" else [needs]
        why = _OFF if any(lines[one].deviation > POOR for one in used) else ""
        if why:
            return Estimate(name, math.nan, math.nan, math.nan, launches, why)
        weight = np.array(_WEIGHTS[name], np.float64)
        reach = math.hypot(*(spare[one] * math.sqrt(weight @ lines[one].unscaled @ weight) for one in used))
        return _estimate(name, values, reach, negative)

    def of(quantity: str, part: str) -> NDArray[np.float64] | None:
        return getattr(lines[quantity], part) if quantity in lines else None

    flat = "the time does not grow with the size by more than its spread over launches"
    crossing = "the line, extended to a message without data, does not stay above 0"
    time, gap = lines["time"], lines.get("gap")
    overhead = lines["send"].at(1) + lines["receive"].at(1) if {"send", "receive"} <= set(lines) else None
    if overhead is None and "both" in lines:
        overhead = lines["both"].at(1)
    rows = [
        estimate(
            "L",
            None if overhead is None else time.at(1) - overhead,
            needs="both",
            negative="the overheads of both ends take as long as the message, so they overlap or contain its transfer",
        ),
        estimate("o_s", of("send", "fixed"), needs="send", negative=crossing),
        estimate("o_r", of("receive", "fixed"), needs="receive", negative=crossing),
        estimate("g", None if gap is None else gap.at(1), needs="gap", negative=crossing),
        estimate("G", of("gap", "per_byte"), needs="gap", negative=flat),
        estimate("O_s", of("send", "per_byte"), needs="send", negative=flat),
        estimate("O_r", of("receive", "per_byte"), needs="receive", negative=flat),
        estimate("alpha", time.fixed, needs="time", negative=crossing),
        estimate("beta", time.per_byte, needs="time", negative=flat),
    ]
    return {one.name: one for one in rows}


def _estimate(name: str, values: NDArray[np.float64], reach: float, negative: str) -> Estimate:
    """Median over launches with its interval, widened by a reach; without a value where it does not lie above 0."""
    headline = stats.headline(values)
    low = headline.centre - math.hypot(headline.centre - headline.low, reach)
    high = headline.centre + math.hypot(headline.high - headline.centre, reach)
    if headline.centre > 0 and not low <= 0:
        return Estimate(name, headline.centre, low, high, headline.launches)
    bound = high if high > 0 else math.nan
    return Estimate(name, math.nan, math.nan, bound, headline.launches, negative)


# ---- what predictions use --------------------------------------------------------------------------------------------


def _between(last: int, first: int) -> int:
    """A size between two ranges, where labkit lets one end: their geometric mean, B."""
    return max(last, min(first - 1, int(math.sqrt(max(last, 1) * first))))


def _usable(line: Line, within: Range, begin: int, last: int) -> Line:
    """A line that is nowhere negative from `begin` to `last`."""
    lowest = line.at(begin)
    if lowest >= 0 and (line.per_byte >= 0 or (last < 1 << 62 and line.at(last) >= 0)):
        return line
    if line.per_byte < 0:
        return Line(max(line.at(within.last), 0.0))
    return Line(0.0, max(line.at(within.last), 0.0) / within.last)


def _below(line: Line, time: Line, begin: int, last: int) -> Line:
    """The line, or the time of a message if it exceeds that: no end works longer than its message takes."""
    return time if line.at(begin) > time.at(begin) or line.at(last) > time.at(last) else line
