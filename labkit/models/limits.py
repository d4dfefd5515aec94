"""The bounds of many points as curves against message size, or against another horizontal axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from labkit import benchmarks
from labkit.models import bounds
from labkit.models.bounds import Bound
from labkit.models.costs import Costs
from labkit.models.inside import AND_COPIES
from labkit.point.columns import METRICS
from labkit.store.samples import Samples

METRICS_OF_LATENCY = ("round_trip_us", "latency_us")  # a benchmark that has both is judged by the first


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What binds at each place of a figure, of the points that share it.

    Parameters
    ----------
    name : what binds.
    benchmarks : benchmarks whose points it bounds.
    kind : ``bound`` above a rate, ``floor`` below a time.
    metric : as in `labkit.point.columns.METRICS`.
    values : place, such as a message size in B → limit in the metric's unit.
    formulas : place → how it follows.
    measured : whether it is a measurement itself.
    sizes : sizes of the messages of its points, B.
    soft : whether values may lie beyond it, as `Bound.soft`.
    """

    name: str
    benchmarks: tuple[str, ...]
    kind: Literal["bound", "floor"]
    metric: str
    values: Mapping[Any, float]
    formulas: Mapping[Any, str]
    measured: bool
    sizes: tuple[int, ...] = ()
    soft: bool = False


def limit_curves(
    samples: Iterable[Samples],
    metric: str,
    costs: Mapping[str, Costs] | None = None,
    stated: bounds.Stated | None = None,
    *,
    at: Callable[[Samples], Any] = lambda one: one.spec.size,
) -> list[Limit]:
    """Curves of the bounds that bind; none for a metric or for benchmarks without bounds.

    Parameters
    ----------
    samples : samples of the points in a figure; several launches of a point count once.
    metric : metric of the figure.
    costs, stated : as in `labkit.models.bounds.of_bandwidth`.
    at : the place of a point in the figure, by which curves are sorted.
    """
    curves: list[tuple[str, dict[str, None], dict[Any, tuple[float, Bound]], set[int]]] = []
    for one in samples:
        binding = _binding(one, metric, costs, stated)
        bound = _reference(binding, metric) if binding is not None else None
        if bound is None or one.spec.size is None or not bound.value:
            continue
        place, value, name = at(one), bound.value * METRICS[metric].factor, bound.name.removesuffix(AND_COPIES)
        fitting = (curve for curve in curves if curve[0] == name and curve[2].get(place, (value,))[0] == value)
        curve = next(fitting, None)
        if curve is None:
            curves.append(curve := (name, {}, {}, set()))
        curve[1][one.spec.benchmark] = None
        curve[2][place] = value, bound
        curve[3].add(one.spec.size)
    kind: Literal["bound", "floor"] = "floor" if metric in METRICS_OF_LATENCY else "bound"
    return [
        Limit(
            name=points[max(points)][1].name,
            benchmarks=tuple(names),
            kind=kind,
            metric=metric,
            values={place: points[place][0] for place in sorted(points)},
            formulas={place: points[place][1].formula for place in sorted(points)},
            measured=any(bound.measured for _, bound in points.values()),
            sizes=tuple(sorted(sizes)),
            soft=any(bound.soft for _, bound in points.values()),
        )
        for _, names, points, sizes in curves
    ]


def _binding(
    one: Samples, metric: str, costs: Mapping[str, Costs] | None, stated: bounds.Stated | None
) -> Bound | None:
    """The bound of a point that binds, if the metric is the one that it bounds."""
    if metric == "bandwidth_MBps":
        known = bounds.of_bandwidth(one, stated, costs)
    elif bounds.crossings_of(one.spec.benchmark) and metric == _latency(one.spec.benchmark):
        known = bounds.of_latency(one, stated, costs)
    else:
        return None
    return known[0] if known else None


def _reference(bound: Bound, metric: str) -> Bound:
    """Return what verdicts compare with, as a bound of the figure."""
    if bound.usual_name and (bound.measured or metric != "bandwidth_MBps"):
        return replace(bound, name=bound.usual_name, value=bound.usual, soft=True)
    return bound


def _latency(benchmark: str) -> str:
    """The metric of a benchmark that a floor bounds."""
    metrics = benchmarks.get(benchmark).metrics
    return next((name for name in METRICS_OF_LATENCY if name in metrics), "")
