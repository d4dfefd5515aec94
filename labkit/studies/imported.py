"""What do the imported logs say, benchmark by benchmark?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from labkit import benchmarks, figures, studies
from labkit.errors import DataError
from labkit.figures import small_print
from labkit.figures.parts import NOTHING, Figure, Omitted, Text, listed
from labkit.point.columns import METRICS, STATISTICS
from labkit.point.notes import note
from labkit.point.spec import Spec
from labkit.point.units import format_number, format_size, plural
from labkit.read import records
from labkit.read.records.factors import NONE, UNSTATED, differing, level, named
from labkit.read.records.factors import texts as factor_texts
from labkit.store.samples import Samples
from labkit.store.samples.facts import BROUGHT, FINGERPRINT
from labkit.studies._derived import derived

if TYPE_CHECKING:
    import pandas as pd

    from labkit.point.notes import Note

_BESIDE = ("rank_min", "rank_max")  # statistics that logs may print beside the main one
_FURTHER = 3  # settings that have a column each; more stand in one column
_LINES = 8  # files that a figure shows at most
_NUMBERS = ("option_threads", "option_streams", "option_connections", "option_n")  # options that are counts


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook on imported logs.

    Parameters
    ----------
    rows : most rows of a table; `labkit show` prints all of them.
    """

    rows: int = 40


class Study(studies.Study):
    """A table of each imported benchmark, and a figure of those with several points."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = tuple(benchmarks.every())
    origins: ClassVar[tuple[str, ...]] = BROUGHT
    place: ClassVar = "from"
    unit: ClassVar = "file"
    only_reads: ClassVar = True
    values: Parameters

    def specs(self) -> list[Spec]:
        """Nothing is measured."""
        return []

    @derived(lambda study: (study.campaign, study.stamp))
    def _read(self) -> tuple[list[Samples], list[Note]]:
        """All points of the campaign that were imported or published."""
        names = [name for name in self.campaign.benchmarks() if name in self.benchmarks]
        return [s for name in names for s in self.campaign.samples(name) if s.origin in self.origins], []

    def sections(self) -> tuple[str, ...]:
        """Benchmarks with imported points."""
        return tuple(sorted({one.spec.benchmark for one in self.samples}))

    def _rows(self, benchmark: str) -> pd.DataFrame:
        """Rows of the summary of a benchmark; none if nothing was imported."""
        return self.of(benchmark) if self.samples else self.summary

    def _metrics(self, rows: pd.DataFrame, benchmark: str) -> list[str]:
        """Metrics of a benchmark that any row has."""
        return [name for name in benchmarks.get(benchmark).metrics if records.has(rows, name, *STATISTICS)]

    def findings(self) -> Text | Omitted:
        """The number of points of each tool, as a Markdown list."""
        lines = []
        for library, rows in self.summary.groupby("library", sort=True) if self.samples else ():
            names = ", ".join(f"`{name}`" for name in sorted(set(rows["benchmark"])))
            files = rows["testbed"].nunique()
            points = plural(len(rows), "point")
            lines.append(f"{library}: {points} of {names} {self.place} {plural(files, self.unit)}.")
        if lines and self.summary.groupby("benchmark").size().max() > self.values.rows:
            lines.append(f"A table shows at most {plural(self.values.rows, 'point')}; `labkit show` prints all.")
        return listed(lines)

    def table(self, benchmark: str) -> pd.DataFrame:
        """Points of a benchmark with all metrics that the logs have, as texts; no rows if nothing was imported."""
        rows = self._rows(benchmark)
        if not len(rows):
            return rows
        lead = records.quantities(rows)
        told = rows.groupby("testbed")["library"].nunique().max() == 1  # by the file
        factors = sorted(differing(rows, skip=("library",) if told else ()), key=lambda name: name not in lead)
        leads = {name: set(records.statistics_of(rows, name)) for name in self._metrics(rows, benchmark)}
        statistics = [(name, one) for name, found in leads.items() for one in records.HEADLINES if one in found]
        statistics += [(name, one) for name in leads for one in _BESIDE if records.has(rows, name, one)]
        chosen = rows.sort_values([*factors, "message_size_B"], kind="stable").head(self.values.rows)
        texts = {named(name): factor_texts(chosen, name) for name in factors}
        columns = {name: texts.pop(name) for name in list(texts)[: 1 + len(lead)]}
        if benchmarks.get(benchmark).sized and rows["message_size_B"].max() > 0:
            columns["size"] = chosen["message_size_B"].map(lambda size: format_size(int(size)))
        for metric, statistic in statistics:
            head = f"{METRICS[metric].label} ({METRICS[metric].unit}), {STATISTICS[statistic].label}"
            columns[head] = chosen.apply(lambda row, m=metric, s=statistic: records.value_of(row, m, s).text, axis=1)
        if statistics and (chosen["launches"] > 1).any():
            columns |= self._spread(chosen, statistics)
        columns |= texts if len(texts) <= _FURTHER else {"settings": _joined(texts)}  # numbers come first
        return chosen.assign(**columns)[list(columns)]

    def _spread(self, rows: pd.DataFrame, statistics: list[tuple[str, str]]) -> dict[str, pd.Series]:
        """Return columns with the interval of the first number, and the launches behind it."""
        metric, statistic = statistics[0]
        ends = rows.apply(lambda row: records.value_of(row, metric, statistic).range, axis=1)
        return {f"{METRICS[metric].label}, interval": ends, "launches": rows["launches"].map(str)}

    def variables(self) -> pd.DataFrame:
        """Values under names of a tool's own, such as ReFrame's performance variables."""
        cells = records.reported([s for s in self.samples if s.spec.benchmark == "apps.reframe"])
        tests = {FINGERPRINT.of(s.meta): s.spec.values.get("test", "") for s in self.samples}
        chosen = cells[~cells["name"].isin(METRICS)].head(self.values.rows)
        columns = {
            "test": chosen["fingerprint"].map(lambda name: str(tests[name])),
            "variable": chosen["name"],
            "value": chosen["value"].map(format_number),
            "unit": chosen["unit"],
        }
        return chosen.assign(**columns)[list(columns)]

    def figure(self, benchmark: str) -> Figure | Omitted:
        """First metric of a benchmark over size, over a count (ranks, threads), or over what else differs.

        Different quantities, such as the tests of HPC Challenge, have separate panels; single values have no figure.
        """
        rows = self._rows(benchmark)
        metrics = self._metrics(rows, benchmark) if len(rows) else []
        if not metrics:
            return NOTHING
        metric = metrics[0]
        rows = rows[records.statistics_of(rows, metric) != ""]
        files = list(dict.fromkeys(rows["testbed"]))
        if rows["message_size_B"].nunique() > 1:
            rows = rows[rows["testbed"].isin(files[:_LINES])]
            plot = self.bounded(figures.versus_size(rows, metric, tail=None), rows)
            if len(files) > _LINES:
                words = f"{_LINES} of {len(files)} files are drawn, and the campaign has the data of the others"
                small_print.add(plot, note("not-drawn", words))
            return Figure(plot)
        factors = differing(rows)
        counts = [name for name in ("ranks", *_NUMBERS) if name in factors]
        others = sorted(factors, key=lambda name: -rows[name].map(level).nunique())
        apart = [name for name in records.quantities(rows) if name in factors]
        if len(rows) < 2 or not set(factors) - set(apart):  # the table has what differs in its quantity alone
            return NOTHING
        places = apart or counts or others
        try:
            return Figure(self.bounded(figures.bars(rows.sort_values(places[:1]), places[0], metric), rows))
        except DataError as error:  # rows that differ in nothing but their text
            return Omitted(error.brief)


def _joined(texts: dict[str, pd.Series]) -> pd.Series:
    """Return the settings of each row that its log states, as one text."""
    joined = next(iter(texts.values())).copy()
    for place, row in enumerate(zip(*texts.values(), strict=True)):
        stated = [f"{name}={text}" for name, text in zip(texts, row, strict=True) if text not in (NONE, UNSTATED)]
        joined.iloc[place] = ", ".join(stated) or UNSTATED
    return joined
