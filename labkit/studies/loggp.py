"""What do messages cost by the LogGP model, and does it predict collectives?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import benchmarks, figures, stats, studies
from labkit.errors import SpecError
from labkit.figures.fits import Fit, fits
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.judge import loggp
from labkit.judge.loggp import Path
from labkit.models import schedules
from labkit.models.loggp import PARAMETERS, Estimate, Range
from labkit.point.notes import joined
from labkit.point.spec import Spec, sweep
from labkit.point.units import format_number, format_range, format_share, parse_sizes, plural
from labkit.read import records
from labkit.stats.decision import RELEVANT, decide
from labkit.studies import _algorithms, bare, counts, number, size_words, words
from labkit.studies._derived import of_samples

SCALE = {"L": 1e6, "o_s": 1e6, "o_r": 1e6, "g": 1e6, "alpha": 1e6, "G": 1e9, "O_s": 1e9, "O_r": 1e9, "beta": 1e9}
NAMES = {"alpha": "α", "beta": "β"}
QUANTITIES = {
    "time": "message (T)",
    "gap": "gap in a window",
    "send": "sender's overhead",
    "receive": "receiver's overhead",
    "both": "both overheads",
}
LATENCY = "latency_us"
_KEYS = ["transport", "collective", "algorithm", "ranks", "message_size_B"]
_ALIKE = (-math.log1p(RELEVANT), math.log1p(RELEVANT))  # of distances that do not differ


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Started):
    """Parameters of the LogGP notebook.

    Parameters
    ----------
    sizes : message sizes, MIN:MAX or a list, above 0; 8 or more, so that protocol changes are found.
    window : messages in flight for the gap.
    collectives : collectives that are measured and predicted; empty leaves them out.
    collective_sizes : message sizes of the collectives.
    ranks : ranks that take part, a list. More ranks than cores share them, and the records say so.
    predicted_ranks : numbers of ranks that are predicted without measuring them.
    algorithms : also measure collectives with each algorithm that Open MPI can be made to take.
    reduce_local : measure what combining two vectors costs, for the collectives that reduce.
    transports : paths to compare.
    """

    sizes: str = "1:1Mi"
    window: int = 64
    collectives: str = "bcast,allreduce,allgather,alltoall"
    collective_sizes: str = "8:512Ki:*16"
    ranks: str = "2"
    predicted_ranks: str = "2:1024"
    algorithms: bool = False
    reduce_local: bool = True
    transports: str = "shm,tcp"


class Study(studies.Study):
    """Parameters of LogGP and Hockney per path and range of sizes; collectives predicted and measured."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = (*loggp.SOURCES, loggp.REDUCTION, *schedules.ALGORITHMS)
    values: Parameters

    def specs(self) -> list[Spec]:
        """Ping-pong, windows and overheads over all sizes; collectives; reducing in memory."""
        v = self.values
        common: dict[str, Any] = {"transport": words(v.transports), "launcher": v.launcher, "testbed": v.testbed}
        sizes = [size for size in parse_sizes(v.sizes) if size]
        specs = sweep("mpi.latency", sizes=sizes, **common)
        specs += sweep("mpi.bandwidth", sizes=sizes, window=v.window, **common)
        specs += sweep("mpi.delayed_overhead", sizes=sizes, **common)
        ranks = counts(v.ranks, "ranks")
        for name in words(v.collectives):
            if f"mpi.{name}" not in schedules.ALGORITHMS:
                have = ", ".join(one.removeprefix("mpi.") for one in schedules.ALGORITHMS)
                raise SpecError(f"collectives={name!r} has no known algorithms. There are: {have}.")
            sized = benchmarks.get(f"mpi.{name}").sized
            ours = sweep(f"mpi.{name}", sizes=v.collective_sizes if sized else 0, ranks=ranks, **common)
            specs += [*ours, *(_algorithms.forced(ours) if v.algorithms else ())]
        if v.reduce_local and any(f"mpi.{name}" in loggp.COMBINING for name in words(v.collectives)):
            largest = max(parse_sizes(v.collective_sizes))
            specs += sweep(loggp.REDUCTION, sizes=largest, launcher=v.launcher, testbed=v.testbed)
        return specs

    @of_samples
    def paths(self) -> list[Path]:
        """Parameters of each path."""
        return loggp.paths(self.samples)

    def path(self, transport: str) -> Path | None:
        """Parameters of one path; None if it has no ping-pong."""
        return next((one for one in self.paths if one.transport == transport), None)

    # ---- parameters --------------------------------------------------------------------------------------------------

    def table(self, *names: str) -> pd.DataFrame:
        """Parameters of each path and range with their interval, and how well the worst of their lines fits.

        Ranges without a measurement for any of these parameters are left out.
        """
        rows = []
        for path in self.paths:
            for one in path.model.ranges:
                if not any(loggp.LINES[name][0] in one.lines for name in names):
                    continue
                cells = {_head(name): _cell(one.parameters[name]) for name in names}
                fit = {"deviation": _deviation(one, names)}
                rows.append({"transport": path.transport, "sizes": _sizes(one)} | cells | fit)
        return pd.DataFrame(rows)

    def quality(self) -> pd.DataFrame:
        """How well each line fits: sizes, deviation and the size that lies off farthest."""
        rows = [
            {
                "transport": path.transport,
                "sizes": _sizes(one),
                "line": QUANTITIES[name],
                "points": len(line.sizes),
                "deviation": format_share(line.deviation),
                "farthest off": f"{format_share(line.farthest, sign=True)} at {size_words(line.worst)}",
            }
            for path in self.paths
            for one in path.model.ranges
            for name, line in one.lines.items()
        ]
        return pd.DataFrame(rows)

    def fit_figure(self, transport: str) -> Figure | Omitted:
        """Times of one path with the fitted lines of each range."""
        path = self.path(transport)
        if path is None:
            return NOTHING
        drawn = {}
        for name, times in path.times.items():
            lines = [one.lines[name] for one in path.model.ranges if name in one.lines]
            ends = [
                tuple((float(size), float(np.median(line.at(size)))) for size in (line.sizes[0], line.sizes[-1]))
                for line in lines
            ]
            drawn[QUANTITIES[name]] = Fit(times.sizes, times.seconds, ends)  # type: ignore[arg-type]
        return Figure(fits(drawn))

    def unresolved(self) -> Text | Omitted:
        """Parameters that are not resolved, with the reason, as a Markdown list."""
        if not self.paths:
            return NOTHING
        reasons: dict[str, dict[str, list[str]]] = {}
        for path in self.paths:
            for one in path.model.ranges:
                place = f"{_sizes(one)} over {path.transport}"
                by_reason: dict[str, list[str]] = {}
                for name, estimate in one.parameters.items():
                    if not estimate.resolved:
                        by_reason.setdefault(estimate.why, []).append(NAMES.get(name, name))
                for why, names in by_reason.items():
                    reasons.setdefault(why, {}).setdefault(", ".join(names), []).append(place)
        sentences = [
            f"{names} of {joined(places)}: {why}." for why, where in reasons.items() for names, places in where.items()
        ]
        return listed(sentences) if sentences else Text("All parameters are resolved.")

    # ---- predictions -------------------------------------------------------------------------------------------------

    def measured(self) -> pd.DataFrame:
        """Rows of the plain collectives with an algorithm that the library chose, with the name of the collective."""
        return _algorithms.free(self._collectives()).assign(algorithm="measured")

    def _collectives(self) -> pd.DataFrame:
        """Rows of the plain collectives, with the name of the collective."""
        rows = self.summary[self.summary["benchmark"].isin(list(schedules.ALGORITHMS))]
        for option in ("in_place", "rotate"):
            if f"option_{option}" in rows:
                rows = rows[~rows[f"option_{option}"].fillna(False).astype(bool)]
        if "option_cadence" in rows:
            rows = rows[rows["option_cadence"].fillna("isolated") == "isolated"]
        return rows.assign(collective=rows["benchmark"].str.removeprefix("mpi."))

    @of_samples
    def predicted(self) -> pd.DataFrame:
        """Predictions of the measured collectives by every algorithm, on the path of each."""
        tables = [
            loggp.predicted(path, _points(rows))
            for path in self.paths
            if path.resolved and len(rows := self._on(self.measured(), path.transport))
        ]
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()

    @staticmethod
    def _on(rows: pd.DataFrame, transport: str) -> pd.DataFrame:
        """Rows over one path."""
        return rows[rows["transport"] == transport]

    def collective_figure(self, name: str, transport: str) -> Figure | Omitted:
        """Measured times of a collective and what each algorithm would take, with the most ranks, against size."""
        rows = self._on(self.measured(), transport)
        rows = rows[(rows["collective"] == name) & (rows["message_size_B"] > 0)]
        if rows.empty:
            return NOTHING
        if transport in self._unpredicted():
            return Omitted(_unpredicted(transport))
        rows = rows[rows["ranks"] == rows["ranks"].max()]
        guess = self.predicted.reindex(columns=list(dict.fromkeys([*_KEYS, *self.predicted])))
        guess = guess[(guess["collective"] == name) & (guess["transport"] == transport)]
        guess = guess[(guess["ranks"] == rows["ranks"].iloc[0]) & (guess["message_size_B"] > 0)]
        return Figure(figures.versus_size(_together(rows, guess), LATENCY, series=["algorithm"], tail=None))

    def ranks_figure(self, name: str, transport: str) -> Figure | Omitted:
        """What each algorithm would take on more ranks at the largest size, beside the measured times."""
        path, rows = self.path(transport), self._on(self.measured(), transport)
        rows = rows[rows["collective"] == name]
        if path is None or rows.empty:
            return NOTHING
        if not path.resolved:
            return Omitted(_unpredicted(transport))
        size = int(rows["message_size_B"].max())
        points = [(f"mpi.{name}", ranks, size) for ranks in counts(self.values.predicted_ranks, "predicted_ranks")]
        rows = rows[rows["message_size_B"] == size]
        both = _together(rows, loggp.predicted(path, points))
        return Figure(figures.versus(both, "ranks", shown=LATENCY, series=["algorithm"]))

    def algorithms_figure(self, name: str, transport: str) -> Figure | Omitted:
        """A collective by each forced algorithm, measured and predicted, with the most ranks, against size."""
        rows, guess = self._forced()
        rows = self._on(rows, transport) if len(rows) else rows
        rows = rows[(rows["collective"] == name) & (rows["message_size_B"] > 0)] if len(rows) else rows
        if rows.empty:
            return NOTHING
        rows = rows[rows["ranks"] == rows["ranks"].max()]
        same = rows[_KEYS].drop_duplicates()
        both = _together(rows, guess.merge(same, on=_KEYS))
        return Figure(figures.versus_size(both, LATENCY, series=["algorithm"], tail=None))

    def algorithms_table(self) -> pd.DataFrame:
        """Each forced algorithm and size: time measured and predicted, and their ratio."""
        rows, guess = self._forced()
        if rows.empty:
            return pd.DataFrame()
        both = rows.merge(guess[[*_KEYS, f"{LATENCY}_p50"]], on=_KEYS, suffixes=("", "_predicted"))
        return pd.DataFrame(
            {
                "transport": row["transport"],
                "collective": row["collective"],
                "algorithm": row["algorithm"],
                "ranks": row["ranks"],
                "size": size_words(row["message_size_B"]),
                "measured (µs)": f"{bare(row, LATENCY)} ({records.value_of(row, LATENCY).range})",
                "predicted (µs)": number(row[f"{LATENCY}_p50_predicted"]),
                "predicted / measured": format_number(
                    row[f"{LATENCY}_p50_predicted"] / row[f"{LATENCY}_p50"], digits=3
                ),
            }
            for row in both.sort_values(_KEYS).to_dict("records")
        )

    def _forced(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Rows of collectives with a forced algorithm on paths with a prediction, and the predictions of them."""
        rows = _algorithms.tagged(self._collectives())
        if rows.empty:
            return rows, rows
        tables = [
            loggp.predicted(path, _points(here))
            for path in self.paths
            if path.resolved and len(here := self._on(rows, path.transport))
        ]
        if not tables:
            return rows.iloc[:0], rows.iloc[:0]
        guess = pd.concat(tables, ignore_index=True)
        return rows, guess.merge(rows[_KEYS].drop_duplicates(), on=_KEYS)

    def comparison(self) -> pd.DataFrame:
        """Each measured collective: the algorithm with the nearest prediction, and others that may be as near."""
        rows = []
        for (transport, name, ranks), group in self._off().groupby(["transport", "collective", "ranks"], sort=False):
            found = {str(algorithm): one for algorithm, one in group.groupby("algorithm")}
            far = {algorithm: _distances(one) for algorithm, one in found.items()}
            nearest = min(found, key=lambda algorithm: float(found[algorithm]["off"].abs().median()))
            best, others = found[nearest], [one for one in far if one != nearest]
            nearer = decide([(far[nearest], far[one]) for one in others], [_ALIKE] * len(others))
            worst = best.loc[best["off"].abs().idxmax()]
            rows.append(
                {
                    "transport": transport,
                    "collective": name,
                    "ranks": ranks,
                    "deviates least": nearest,
                    "may be as near": ", ".join(
                        one for one, said in zip(others, nearer, strict=True) if said.outcome != "differ"
                    ),
                    "algorithms": len(far),
                    "sizes": len(best),
                    "predicted / measured": format_number(float(np.exp(best["off"].median())), digits=3),
                    "farthest": f"{format_number(float(np.exp(worst['off'])), digits=3)} at "
                    f"{size_words(worst['message_size_B'])}",
                }
            )
        return pd.DataFrame(rows)

    def _off(self) -> pd.DataFrame:
        """Predictions with `off`, the logarithm of predicted over measured, and `offs`, the same of each launch."""
        if self.predicted.empty:
            return self.predicted.reindex(columns=["transport", "collective", "ranks", "algorithm", "off"])
        keys = ["transport", "collective", "ranks", "message_size_B"]
        sound = records.sound(self.measured(), LATENCY)
        rows = sound[keys].assign(
            measured=sound[f"{LATENCY}_p50"],
            measured_of_launches=[records.launches_of(row, LATENCY, "p50")[0] for row in sound.to_dict("records")],
        )
        both = self.predicted.merge(rows, on=keys)
        launches = zip(both["of_launches"], both["measured_of_launches"], strict=True)
        offs = [np.log([one / other for one, other in zip(*each, strict=False)]) for each in launches]
        return both.assign(off=np.log(both[f"{LATENCY}_p50"] / both["measured"]), offs=pd.Series(offs, dtype=object))

    # ---- sentences ---------------------------------------------------------------------------------------------------

    def findings(self) -> Text | Omitted:
        """Findings as a Markdown list."""
        return listed([*self._parameters(), *self._predictions()])

    def _parameters(self) -> Iterator[str]:
        """The resolved parameters of the first range of each path."""
        for path in self.paths:
            first = path.model.ranges[0]
            words_of = [
                f"{NAMES.get(name, name)} = {_cell(first.parameters[name])} {_unit(name)}"
                for name in ("L", "o_s", "o_r", "g", "G", "alpha", "beta")
                if first.parameters[name].resolved
            ]
            lacking = len(PARAMETERS) - sum(one.resolved for one in first.parameters.values())
            changes = sum(one.abrupt for one in path.breaks.breaks) if path.breaks else 0
            ranges = f", with {plural(changes, 'protocol change')}" if changes else ""
            label, off = stats.launches_label(len(path.launches)), format_share(first.lines["time"].deviation)
            known = (
                f"have {', '.join(words_of)} (in brackets: {label}); {lacking} of {len(PARAMETERS)} parameters are not "
                "resolved"
            )
            known = known if words_of else "have no resolved parameter"
            which = f"Over {path.transport}{ranges}, messages of {_sizes(first)}"
            yield f"{which} {known}. Their time lies {off} off its line."

    def _unpredicted(self) -> list[str]:
        """Paths with measured collectives that cannot be predicted."""
        measured = set(self.measured()["transport"]) if len(self.summary) else set()
        return [path.transport for path in self.paths if path.transport in measured and not path.resolved]

    def _predictions(self) -> Iterator[str]:
        """Which algorithm comes nearest to each collective, and what cannot be predicted."""
        yield from map(_unpredicted, self._unpredicted())
        for row in self.comparison().to_dict("records"):
            off = (
                f"predicted over measured is {row['predicted / measured']} (median over "
                f"{plural(row['sizes'], 'size')}), at worst {row['farthest']}"
            )
            which = f"{row['collective']} on {row['ranks']} ranks over {row['transport']}"
            if row["algorithms"] == 1:
                yield f"{which} by {row['deviates least']}: {off}."
            elif row["may be as near"]:
                yield (
                    f"{which}: no algorithm is shown to be the nearest. {row['deviates least']} deviates least: {off}. "
                    f"{row['may be as near']} may be as near."
                )
            else:
                yield f"{which}: {row['deviates least']} comes nearest, {off}."


def _distances(rows: pd.DataFrame) -> NDArray[np.float64]:
    """How far predictions of an algorithm are off in each launch: the median over sizes, logarithm without sign."""
    count = min(map(len, rows["offs"]))
    return np.asarray(np.median(np.abs([offs[:count] for offs in rows["offs"]]), axis=0))


def _unpredicted(transport: str) -> str:
    """Why a path has no predictions."""
    return f"Collectives over {transport} are not predicted, because no parameter of this path is resolved."


def _points(rows: pd.DataFrame) -> list[tuple[str, int, int]]:
    """Collective, ranks and size of each row."""
    return [(row["benchmark"], int(row["ranks"]), int(row["message_size_B"])) for row in rows.to_dict("records")]


def _together(measured: pd.DataFrame, predicted: pd.DataFrame) -> pd.DataFrame:
    """Rows for one figure: what was measured first, and columns that both have."""
    columns = [name for name in predicted if name in measured]
    return pd.concat([measured[columns], predicted[columns]], ignore_index=True)


def _unit(name: str) -> str:
    """Unit of a parameter on show."""
    return "µs" if SCALE[name] == 1e6 else "ns/B"


def _head(name: str) -> str:
    """Head of a parameter's column."""
    return f"{NAMES.get(name, name)} ({_unit(name)})"


def _cell(one: Estimate) -> str:
    """Value with its interval; another text gives the reason if there is none."""
    scale = SCALE[one.name]
    if not one.resolved:
        bound = "" if math.isnan(one.high) else f", at most {number(one.high * scale)}"
        return f"not resolved{bound}"
    value = format_number(one.value * scale, width=(one.high - one.low) * scale)
    interval = "" if math.isnan(one.low) else f" ({format_range(one.low * scale, one.high * scale)})"
    return value + interval


def _deviation(one: Range, names: tuple[str, ...]) -> str:
    """Deviation of the worst of the lines that parameters come from."""
    used = {line for name in names for line in loggp.LINES[name] if line in one.lines}
    deviations = [one.lines[line].deviation for line in used]
    return format_share(max((value for value in deviations if not math.isnan(value)), default=float("nan")))


def _sizes(one: Range) -> str:
    """Sizes of a range in words."""
    return f"{size_words(one.first)} to {size_words(one.last)}"
