"""What a notebook calls: typed parameters, a plan of specs, tables, figures and computed sentences.

A study is one file, named as its notebook is behind the number: ``notebooks/10-latency.ipynb`` calls
``studies/latency.py``, whose class is ``Study`` and whose parameters are the frozen dataclass ``Parameters``.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from labkit import benchmarks, campaign, measuring, records
from labkit.analysis import doubts
from labkit.campaign import Campaign
from labkit.errors import SpecError, known
from labkit.samples import Samples
from labkit.spec import Effort, Spec, validated
from labkit.units import format_number, format_size, parse_sizes

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

CAMPAIGN, IDENTITY, SETTING = "LABKIT_CAMPAIGN", "LABKIT_CAMPAIGN_ID", "LABKIT_SETTING"
EFFORT = ("launches", "ci", "time_cap", "seed")
LEFT_OUT = "*Omitted: the parameters select nothing to measure here.*"


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """What every notebook can be told.

    Parameters
    ----------
    campaign : folder to measure into; empty for the one `labkit run` works on, else one of the notebook's own, so
        that a notebook that died goes on where it was.
    launches : fresh starts of every point; the headline interval needs 6.
    ci : stop a point when its interval is narrower than this part of the median.
    time_cap : s of timed iterations for a point and launch.
    seed : of the random order.
    measure : False to show only what the campaign holds already.
    """

    campaign: str = ""
    launches: int = 6
    ci: float = 0.02
    time_cap: float = 1.0
    seed: int = 1
    measure: bool = True


class Study:
    """One question, from parameters to sentences.

    Parameters
    ----------
    values : the notebook's parameters.

    Raises
    ------
    SpecError
        For an unknown parameter, a wrong value, or an impossible point; nothing was measured.
    """

    parameters: ClassVar[type[Parameters]] = Parameters
    benchmarks: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **values: Any) -> None:
        name = type(self).__module__.rpartition(".")[2]
        self.values = validated(self.parameters, values, what=f"notebook {name}")
        count = getattr(self.values, "iterations", 0) or None
        self.effort = Effort(iterations=count, **{f: getattr(self.values, f) for f in EFFORT})
        self.points = measuring.expand(self._asked(), self.effort) if self.values.measure else []

    def specs(self) -> list[Spec]:
        """What has to be measured."""
        raise NotImplementedError

    def _asked(self) -> list[Spec]:
        """What has to be measured, in the setting that a suite sweeps."""
        return [settled(spec, json.loads(os.environ.get(SETTING, "{}"))) for spec in self.specs()]

    @cached_property
    def campaign(self) -> Campaign:
        """Where the samples lie."""
        given = self.values.campaign or os.environ.get(CAMPAIGN, "")
        if not self.values.measure and not given:
            raise SpecError("measure=False, but no campaign is set. Set campaign to a folder.")
        if not self.values.campaign and (wanted := os.environ.get(IDENTITY)):
            return Campaign.existing(given, wanted)
        return Campaign(given or campaign.root() / f"notebook-{type(self).__module__.rpartition('.')[2]}")

    def run(self, progress: measuring.Report | None = None) -> Campaign:
        """Measure what is missing."""
        if self.values.measure:
            measuring.measure(self._asked(), self.effort, into=self.campaign, progress=progress)
        return self.campaign

    @cached_property
    def samples(self) -> list[Samples]:
        """Samples of this study: those of its points.

        When only reading, those with the options and paths of its specs at any size, on its testbeds where they were
        used; of a benchmark that has none of these, all.
        """
        wanted = {(p.spec.benchmark, p.fingerprint, p.launch) for p in self.points}
        if not wanted:
            return [s for name in self.benchmarks for s in self._read(name)]
        names = {name: {point[1:] for point in wanted if point[0] == name} for name in self.benchmarks}
        return [s for name, points in names.items() for s in self.campaign.samples(name, points)]

    def _read(self, benchmark: str) -> list[Samples]:
        """Samples of a benchmark that somebody else measured, for this study or for others too."""
        asked = [benchmarks.resolve(spec) for spec in self._asked() if spec.benchmark == benchmark]
        wanted = {(benchmarks.identity(spec).options, spec.transport) for spec in asked}
        found = list(self.campaign.samples(benchmark))
        own = [s for s in found if (benchmarks.identity(s.spec).options, s.spec.transport) in wanted]
        places = {spec.testbed for spec in asked}
        return [s for s in own if s.spec.testbed in places] or own or found

    @cached_property
    def records(self) -> pd.DataFrame:
        """One row per spec and launch."""
        return records.table(self.samples, campaign=self.campaign.name)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """One row per spec, over its launches."""
        return records.summary(self.records)

    def of(self, benchmark: str) -> pd.DataFrame:
        """Rows of the summary that belong to one benchmark, by size."""
        return self.summary[self.summary["benchmark"] == benchmark].sort_values("message_size_B")

    def drawn(self, draw: Callable[..., go.Figure], rows: pd.DataFrame, metric: Any, **how: Any) -> go.Figure | str:
        """A figure of some rows of the summary, or a sentence where the parameters left them out."""
        return draw(rows, metric, **how) if len(rows) else LEFT_OUT

    def selected(self, benchmark: str) -> pd.DataFrame:
        """Rows of `of` at a handful of sizes spread over the sweep, for a table that fits a page."""
        rows = self.of(benchmark)
        sizes = sorted(rows["message_size_B"].unique())
        chosen = sizes[:: max(1, -(-len(sizes) // 8))]
        return rows[rows["message_size_B"].isin(chosen)].sort_values(["transport", "message_size_B"])

    @staticmethod
    def columns(metric: str) -> list[str]:
        """Columns of a table of results: path, size, median with its interval, tail, counts."""
        tail = [f"{metric}_p99"]
        return [
            "transport",
            "message_size_B",
            f"{metric}_p50",
            f"{metric}_low",
            f"{metric}_high",
            *tail,
            "n",
            "launches",
        ]

    def warnings(self) -> str:
        """Badges and warnings of all points as a Markdown list; a sentence when there are none."""
        total = len(self.records)
        lines = [
            f"- {text} ({count} of {total} records)"
            for column in ("badges", "warnings")
            for text, count in doubts.kinds(self.records[column])
        ]
        absent = self.campaign.facts.get("absent", {})
        lines += [f"- omitted: {reason}" for name, reason in absent.items() if name in self.benchmarks]
        return "\n".join(lines) or "No record has a warning."


def settled(spec: Spec, setting: Mapping[str, str]) -> Spec:
    """A spec of MPI ranks in a setting: what it leaves open (hosts not over shared memory), variables and variables."""
    benchmark = benchmarks.get(spec.benchmark)
    if not benchmark.mpi or not setting:
        return spec
    opened = {name: value for name, value in setting.items() if getattr(spec, name, None) == "auto"}
    variables = {name.removeprefix("env."): value for name, value in setting.items() if name.startswith("env.")}
    spec = spec.replace(**opened, environment={**variables, **dict(spec.environment)})
    hosts = () if spec.hosts or spec.transport == "shm" else tuple(words(setting.get("hosts", "")))
    return spec.replace(hosts=hosts) if hosts else spec


def names() -> list[str]:
    """All studies there are files for."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def get(name: str) -> type[Study]:
    """The study class of that name.

    Raises
    ------
    SpecError
        If there is none.
    """
    if name not in names():
        raise known("study", name, names())
    found: type[Study] = importlib.import_module(f"{__name__}.{name}").Study
    return found


def of_notebook(notebook: str | Path) -> type[Study]:
    """The study that a notebook calls: ``10-latency.ipynb`` → ``latency``, and so does ``10-latency-mine.ipynb``."""
    name = Path(notebook).stem.partition("-")[2].replace("-", "_")
    fitting = [study for study in names() if f"{name}_".startswith(f"{study}_")]
    return get(max(fitting, key=len, default=name))


def defaults(study: type[Study]) -> dict[str, Any]:
    """Parameters of a study with their default values."""
    return {f.name: f.default for f in dataclasses.fields(study.parameters)}


def words(text: str | Sequence[str]) -> list[str]:
    """A list from ``a, b`` or from a list."""
    parts = text.split(",") if isinstance(text, str) else list(text)
    return [part.strip() for part in parts if part.strip()]


def counts(text: str, what: str) -> list[int]:
    """Whole numbers from ``2,4`` or ``1:1024:*4``.

    Raises
    ------
    SpecError
        If the text names none; it calls them by the parameter's name.
    """
    try:
        return list(parse_sizes(text)) if text.strip() else []
    except SpecError:
        raise SpecError(f"{what}={text!r}, but it must be whole numbers, as in 2,4,8 or 1:64:*4.") from None


def number(value: float) -> str:
    """A number for people, to three digits, never in powers of ten where it can be helped.

    Examples
    --------
    >>> number(0.26), number(12345.6), number(17.04)
    ('0.26', '12,346', '17')
    """
    return format_number(value, digits=3)


def centre(row: Mapping[str, Any], metric: str) -> float:
    """Median of a summary row; the mean where a tool gives no median, NaN where it gives neither."""
    median = row.get(f"{metric}_p50", float("nan"))
    return float(median if median == median else row.get(f"{metric}_mean", float("nan")))


def statement(row: Mapping[str, Any], metric: str) -> str:
    """Value, unit and interval of a summary row: ``0.260 µs (95 % interval of 6 launches: 0.250 to 0.270)``."""
    value = records.value_of(row, metric)
    how = " on average" if value.statistic == "mean" else ""
    about = f" ({value.label}: {value.range})" if value.low == value.low else ""
    return f"{value.text} {value.unit}{how}{about}"


def above(row: Mapping[str, Any], other: Mapping[str, Any], metric: str) -> bool:
    """Whether the interval of a summary row lies wholly above that of another; False where either has none."""
    one, two = records.value_of(row, metric), records.value_of(other, metric)
    return one.statistic == two.statistic and one.low > two.high


def markdown_list(sentences: Iterable[str]) -> str:
    """Sentences as a Markdown list."""
    return "\n".join(f"- {sentence}" for sentence in sentences)


def size_words(size: float) -> str:
    """Size for a sentence."""
    return format_size(int(size))
