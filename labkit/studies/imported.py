"""What do the imported logs say, benchmark by benchmark?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from labkit import benchmarks, figures, records, studies
from labkit.columns import METRICS, STATISTICS
from labkit.errors import DataError
from labkit.records.factors import differing, level, named
from labkit.samples import Samples
from labkit.samples.facts import BROUGHT, FINGERPRINT
from labkit.spec import Spec
from labkit.studies import markdown_list
from labkit.studies._derived import derived
from labkit.units import format_number, format_size

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from labkit.notes import Note

_NUMBERS = ("option_threads", "option_streams", "option_connections", "option_n")  # options that are counts


@dataclass(frozen=True, kw_only=True)
class Parameters(studies.Parameters):
    """Parameters of the notebook on imported logs.

    Parameters
    ----------
    rows : of a table at most; `labkit show` prints all of them.
    """

    rows: int = 40


class Study(studies.Study):
    """A table of each imported benchmark, and a figure of those with several points."""

    parameters: ClassVar = Parameters
    benchmarks: ClassVar = tuple(name for name, b in benchmarks.every().items() if b.logs or b.equivalents)
    values: Parameters

    def specs(self) -> list[Spec]:
        """Nothing is measured."""
        return []

    @derived(lambda study: (study.campaign, study.stamp))
    def _read(self) -> tuple[list[Samples], list[Note]]:
        """All points of the campaign that were imported or published."""
        names = [name for name in self.campaign.benchmarks() if name in self.benchmarks]
        return [s for name in names for s in self.campaign.samples(name) if s.origin in BROUGHT], []

    def _rows(self, benchmark: str) -> pd.DataFrame:
        """Rows of the summary of a benchmark; none where nothing was imported."""
        return self.of(benchmark) if self.samples else self.summary

    def _metrics(self, rows: pd.DataFrame, benchmark: str) -> list[str]:
        """Metrics of a benchmark that any row has."""
        present = [name for name in benchmarks.get(benchmark).metrics if name in METRICS]
        return [
            name
            for name in present
            if any(f"{name}_{s}" in rows and rows[f"{name}_{s}"].notna().any() for s in STATISTICS)
        ]

    def findings(self) -> str:
        """How many points of which tools there are, as a Markdown list."""
        lines = []
        for library, rows in self.summary.groupby("library", sort=True) if self.samples else ():
            names = ", ".join(f"`{name}`" for name in sorted(set(rows["benchmark"])))
            files = rows["testbed"].nunique()
            lines.append(f"{library}: {len(rows)} points of {names} from {files} {'file' if files == 1 else 'files'}.")
        return markdown_list(lines) if lines else studies.LEFT_OUT

    def table(self, benchmark: str) -> pd.DataFrame:
        """Points of a benchmark with all metrics that the logs have, as texts; no rows where nothing was imported."""
        rows = self._rows(benchmark)
        if not len(rows):
            return rows
        factors = differing(rows, skip=("library", "engine"))
        statistics = {name: records.headline_statistic(rows, name) for name in self._metrics(rows, benchmark)}
        chosen = rows.sort_values([*factors, "message_size_B"], kind="stable").head(self.values.rows)
        columns = {named(name): chosen[name].map(level) for name in factors}
        if benchmarks.get(benchmark).sized and rows["message_size_B"].max() > 0:
            columns["size"] = chosen["message_size_B"].map(lambda size: format_size(int(size)))
        for metric, statistic in statistics.items():
            head = f"{METRICS[metric].label} ({METRICS[metric].unit}), {STATISTICS[statistic].label}"
            columns[head] = chosen.apply(lambda row, m=metric, s=statistic: records.value_of(row, m, s).text, axis=1)
        return chosen.assign(**columns)[list(columns)]

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

    def figure(self, benchmark: str) -> go.Figure | str:
        """First metric of a benchmark over size, over a count (ranks, threads), or over what else differs."""
        rows = self._rows(benchmark)
        metrics = self._metrics(rows, benchmark) if len(rows) else []
        if not metrics:
            return studies.LEFT_OUT
        metric = metrics[0]
        rows = rows[rows[f"{metric}_{records.headline_statistic(rows, metric)}"].notna()]
        if rows["message_size_B"].nunique() > 1:
            return self.bounded(figures.versus_size(rows, metric, tail=None), rows)
        factors = differing(rows)
        counts = [name for name in ("ranks", *_NUMBERS) if name in factors]
        others = sorted(factors, key=lambda name: -rows[name].map(level).nunique())
        if len(rows) < 2 or not factors:
            return studies.LEFT_OUT
        try:
            return self.bounded(
                figures.bars(rows.sort_values(counts or others[:1]), (counts or others)[0], metric), rows
            )
        except DataError as error:  # rows that differ in nothing but their text
            return f"*Omitted: {error.brief}*"
