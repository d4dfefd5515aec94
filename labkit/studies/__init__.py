"""A study is the code behind one notebook: typed parameters, a plan of specs, tables, figures and computed sentences.

A study is one file with the name of its notebook without the number: ``notebooks/10-latency.ipynb`` calls
``studies/latency.py``. Its class is ``Study``, and its parameters are the frozen dataclass ``Parameters``.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import pkgutil
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from labkit import benchmarks, figures, testbeds, tools
from labkit.errors import LabkitError, LaunchError, SpecError, unknown_name
from labkit.figures.parts import NOTHING, Figure, Omitted, Text
from labkit.io import project, safe_read
from labkit.models import costs
from labkit.models.costs import Costs
from labkit.point import doubts
from labkit.point.columns import end_column
from labkit.point.notes import Note, note
from labkit.point.spec import Effort, Keep, Spec, validated
from labkit.point.units import plural
from labkit.read import records
from labkit.run import launch, measuring, older
from labkit.store import campaign, notebooks
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import BROUGHT
from labkit.studies import _several
from labkit.studies._derived import derived, of_samples
from labkit.studies._reading import fits, matching, settings
from labkit.studies._sentences import amount as amount
from labkit.studies._sentences import bare as bare
from labkit.studies._sentences import centre as centre
from labkit.studies._sentences import counts as counts
from labkit.studies._sentences import ends as ends
from labkit.studies._sentences import number as number
from labkit.studies._sentences import path_words as path_words
from labkit.studies._sentences import resolved as resolved
from labkit.studies._sentences import size_words as size_words
from labkit.studies._sentences import statement as statement
from labkit.studies._sentences import tail as tail
from labkit.studies._sentences import unresolved as unresolved
from labkit.studies._sentences import words as words

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

# of a kernel, see `Given`
CAMPAIGN, IDENTITY = "LABKIT_CAMPAIGN", "LABKIT_CAMPAIGN_ID"
SETTING, SESSION = "LABKIT_SETTING", "LABKIT_SESSION"
EFFORT = ("launches", "ci", "time_cap", "time_limit", "seed", "keep")
_UNLIKE = 2  # settings that warnings name
_OPTION = re.compile(r"(?<![\w`-])--[a-z][\w-]*")  # of a command; as code, or its signs would become a dash


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Parameters of every notebook.

    Parameters
    ----------
    campaign : folder to measure into; empty for the one `labkit run` works on, else a folder of the notebook, so
        that a notebook that was interrupted resumes.
    launches : fresh starts of every point; the headline interval needs 6.
    ci : stop a point when its interval is narrower than this part of the median.
    time_cap : s of timed iterations for a point and launch.
    time_limit : s without progress after which labkit ends a start or a point.
    seed : seed of the random order.
    keep : samples to keep of many ranks, as in `labkit.point.spec.Effort`: auto, all or extremes.
    measure : False to show only what the campaign already holds.
    """

    campaign: str = ""
    launches: int = Effort.launches
    ci: float = Effort.ci
    time_cap: float = 1.0  # below that of Effort: a notebook has many points
    time_limit: float = Effort.time_limit
    seed: int = Effort.seed
    keep: Keep = Effort.keep
    measure: bool = True


@dataclass(frozen=True, kw_only=True)
class Started(Parameters):
    """Parameters of notebooks that start ranks.

    Parameters
    ----------
    launcher : how ranks start.
    testbed : where they run.
    """

    launcher: str = "auto"
    testbed: str = "local"


@dataclass(frozen=True)
class Given:
    """What a run gives the study of a notebook, beside its parameters.

    Parameters
    ----------
    campaign : folder of the campaign that the run works on; empty for none.
    identity : identity of that campaign.
    setting : launcher, bind, transport, hosts, ``env.NAME`` of all MPI ranks, unless the study sets them.
    session : start of the session in which the run measures, see `labkit.run.sessions`; empty without a schedule.
    """

    campaign: str = ""
    identity: str = ""
    setting: Mapping[str, str] = field(default_factory=dict)
    session: str = ""

    @classmethod
    def by(cls, run: Campaign, setting: Mapping[str, str] | None = None, session: str = "") -> Given:
        """Return what a run that works on a campaign gives."""
        return cls(str(safe_read.resolved(run.path)), run.identity, setting or {}, session)

    def variables(self) -> dict[str, str]:
        """Return the environment with which the kernel of the notebook starts.

        As parameters of papermill they would be in the executed notebook, which others get with the campaign.
        """
        whole = {CAMPAIGN: self.campaign, IDENTITY: self.identity, SETTING: json.dumps(dict(self.setting))}
        return whole | {SESSION: self.session}

    @classmethod
    def to_kernel(cls) -> Given:
        """Return what this process got, if it is the kernel of a run; else nothing is given."""
        named, identity = os.environ.get(CAMPAIGN, ""), os.environ.get(IDENTITY, "")
        return cls(named, identity, json.loads(os.environ.get(SETTING, "{}")), os.environ.get(SESSION, ""))


class Study:
    """One question, from parameters to sentences.

    `focus` lists benchmark and column of comparisons for the report's first page; the first measured one counts.
    Without it, the page states the most distinct comparison of the study's benchmarks. A study that `only_reads`
    measures nothing on any machine. One that `answers` says whether the numbers of its campaign are good.

    Parameters
    ----------
    given : by a run; by default what the run gave to this kernel.
    values : the notebook's parameters.

    Raises
    ------
    SpecError
        For an unknown parameter, a wrong value, or an impossible point; nothing was measured.
    """

    parameters: ClassVar[type[Parameters]] = Parameters
    benchmarks: ClassVar[tuple[str, ...]] = ()
    focus: ClassVar[tuple[tuple[str, str], ...]] = ()
    only_reads: ClassVar[bool] = False
    answers: ClassVar[bool] = False

    def __init__(self, given: Given | None = None, /, **values: Any) -> None:
        self.given = Given.to_kernel() if given is None else given
        name = type(self).__module__.rpartition(".")[2]
        self.values = validated(self.parameters, _as_text(self.parameters, values), what=f"notebook {name}")
        if self.values.measure and (bare := getattr(self.values, "testbed", "")):
            changed: dict[str, Any] = {"testbed": testbeds.running(bare)}
            self.values = dataclasses.replace(self.values, **changed)
        count = getattr(self.values, "iterations", 0) or None
        self.effort = Effort(iterations=count, **{f: getattr(self.values, f) for f in EFFORT})
        self._campaign: Campaign | None = None
        self.points = measuring.expand(self._requested(), self.effort) if self.values.measure else []

    def __init_subclass__(cls) -> None:
        """Make the methods that notebooks show return one part per merged campaign, see `_several.shown`."""
        super().__init_subclass__()
        for name, method in list(vars(cls).items()):
            if not name.startswith("_") and _several.is_shown(method):
                setattr(cls, name, _several.shown(method))

    @cached_property
    def apart(self) -> dict[str, Study]:
        """One study per campaign if the points come from several campaigns; otherwise empty."""
        if self.values.measure or self.records.empty or self.records["campaign"].nunique() < 2:
            return {}
        return {name: self._of_member(name) for name in dict.fromkeys(map(str, self.records["campaign"]))}

    def _of_member(self, name: str) -> Study:
        """Return a study of one of the campaigns that were merged."""
        values = dataclasses.asdict(self.values)
        own = type(self).__module__.rpartition(".")[2]
        given = _several.parameters_of(own, self.campaign.facts, name).items()
        values |= {k: v for k, v in given if k in values and k not in ("measure", "campaign")}
        one = type(self)(self.given, **values)
        one.read_from(_several.Part(self.campaign, name))
        one.apart = {}
        return one

    @contextmanager
    def as_one(self) -> Iterator[None]:
        """Treat the points of all campaigns as one campaign."""
        kept, self.apart = self.apart, {}
        try:
            yield
        finally:
            self.apart = kept

    def specs(self) -> list[Spec]:
        """Points to measure where every tool is installed."""
        raise NotImplementedError

    @property
    def lacking(self) -> list[str]:
        """Which tools are missing, and how to install them: a line for each benchmark and tool."""
        return list(dict.fromkeys(reason.splitlines()[0] for reason in self._reasons.values() if reason))

    @cached_property
    def _reasons(self) -> dict[Spec, str]:
        """The points in the setting that a suite sweeps, each with the tool that it lacks here; empty if none."""
        return {spec: self._reason(spec) for spec in (settled(spec, self.given.setting) for spec in self.specs())}

    def _reason(self, spec: Spec) -> str:
        if self.values.measure and (lacking := testbeds.lacks(spec.testbed)):
            return f"left out {spec.testbed}: {lacking}"
        tools_of = benchmarks.tools_of(spec.benchmark) if self.values.measure else ()
        try:
            if tools_of:
                tools.available(tools_of, benchmarks.resolve(spec), self.effort)
        except LaunchError as error:
            return str(error)
        return ""

    def sections(self) -> tuple[str, ...]:
        """Benchmarks that each get a section in a notebook that calls `notebook.sections`."""
        return ()

    def _requested(self) -> list[Spec]:
        """Points to measure with the installed tools; all of them if the study only reads."""
        return [spec for spec, reason in self._reasons.items() if not reason]

    @property
    def campaign(self) -> Campaign:
        """Campaign with the samples."""
        if self._campaign is None:
            self._campaign = self._named_campaign()
        return self._campaign

    def read_from(self, source: Campaign) -> None:
        """Read the samples from another campaign than the parameters name."""
        self._campaign = source

    def _named_campaign(self) -> Campaign:
        """The campaign of the parameters, else the run's."""
        given = self.values.campaign or self.given.campaign
        if not self.values.measure and not given:
            raise SpecError("measure=False, but no campaign is set. Set campaign to a folder.")
        if not self.values.campaign and self.given.identity:
            return Campaign.existing(given, self.given.identity)
        if self.values.campaign and (self.only_reads or not self.values.measure):  # none is made
            return Campaign(campaign.find(given))
        name = given or f"notebook-{type(self).__module__.rpartition('.')[2]}"
        bare = Path(name).name == name and not Path(name).exists()  # `-p campaign X` names a campaign, not a path
        return Campaign(campaign.root() / name if bare else name)

    def run(self, progress: measuring.Report | None = None) -> Campaign:
        """Measure what is missing."""
        if self.values.measure:
            self.measure(self._requested(), progress)
        return self.campaign

    def measure(self, specs: list[Spec], progress: measuring.Report | None = None) -> None:
        """Measure what is missing of some specs, in the session of the run."""
        session = self.given.session
        measuring.measure(specs, self.effort, into=self.campaign, progress=progress, session=session)

    def measured_before(self, points: Collection[tuple[str, str, int]]) -> list[str]:
        """Say which points, already in the campaign, have a different effort than the study requests.

        Parameters
        ----------
        points : benchmark, fingerprint and launch.
        """
        own = {(p.spec.benchmark, p.fingerprint, p.launch) for p in self.points} & set(points)
        wanted = {name: {point[1:] for point in own if point[0] == name} for name in {point[0] for point in own}}
        old = (one for name, keys in sorted(wanted.items()) for one in self.campaign.samples(name, keys))
        advice = "Choose a new campaign for this effort, or add launches with labkit measure --add-launches"
        return list(older.texts(old, self.effort, advice))

    @property
    def samples(self) -> list[Samples]:
        """Samples of this study's points.

        When only reading, those with the options, the path and the testbed of its specs, at any size.
        """
        return self._read[0]

    @property
    def unlike(self) -> list[Note]:
        """Points of the study's benchmarks that no notebook of the campaign asks for, these parameters neither."""
        return self._read[1]

    @derived(lambda study: (study.campaign, tuple(study.points), study.stamp))
    def _read(self) -> tuple[list[Samples], list[Note]]:
        """Samples of this study, and notes on those left out."""
        wanted = {(p.spec.benchmark, p.fingerprint, p.launch) for p in self.points}
        if wanted or self.values.measure:
            names = {name: {point[1:] for point in wanted if point[0] == name} for name in self.benchmarks}
            return [s for name, points in names.items() for s in self.campaign.samples(name, points)], []
        samples: list[Samples] = []
        left_out: list[Note] = []
        others: list[Study] | None = None

        def elsewhere(point: Samples) -> bool:
            nonlocal others
            others = _others(self) if others is None else others
            return any(one.asks_for(point) for one in others)

        for name in dict.fromkeys(self.benchmarks):  # a duplicate name would count each launch twice
            matches, notes = matching(self.campaign.samples(name), self.wanted.get(name, []), self._place, elsewhere)
            samples += matches
            left_out += notes
        return samples, left_out

    @property
    def stamp(self) -> tuple[int, ...]:
        """Modification times of the benchmarks' folders of samples: they change when a file comes or goes."""
        return self._changed(self.benchmarks)

    def _changed(self, names: Iterable[str]) -> tuple[int, ...]:
        """Modification times of the folders of samples of benchmarks; 0 for those that are not there."""
        folders = [self.campaign.path / "samples" / name for name in names]
        return tuple(folder.stat().st_mtime_ns if folder.is_dir() else 0 for folder in folders)

    def asks_for(self, point: Samples) -> bool:
        """Whether the parameters ask for the options, the path and the testbed of a point, at any size."""
        return fits(point, self.wanted.get(point.spec.benchmark, ()), self._place)

    @cached_property
    def wanted(self) -> dict[str, list[Mapping[str, Any]]]:
        """Values that the parameters ask for, by benchmark, where samples are only read."""
        settings_of = {name: settings(self._requested_of(name), self._place) for name in self.benchmarks}
        return {name: wanted for name, wanted in settings_of.items() if wanted}

    def _requested_of(self, benchmark: str) -> list[Spec]:
        """Specs of a benchmark that the parameters ask for, where samples are only read."""
        return [spec for spec in self._requested() if spec.benchmark == benchmark]

    @staticmethod
    def _place(testbed: str) -> str:
        """Part of a testbed's description that must be the same where samples are only read."""
        return testbed

    @of_samples
    def records(self) -> pd.DataFrame:
        """One row per spec and launch."""
        return records.table(self.samples, campaign=self.campaign.name)

    @of_samples
    def summary(self) -> pd.DataFrame:
        """One row per spec, over its launches."""
        return records.summary(self.records)

    def of(self, benchmark: str) -> pd.DataFrame:
        """Rows of the summary that belong to one benchmark, by size."""
        return self.summary[self.summary["benchmark"] == benchmark].sort_values("message_size_B")

    def drawn(self, draw: Callable[..., go.Figure], rows: pd.DataFrame, what: Any, **how: Any) -> Figure | Omitted:
        """Draw a figure of rows of the summary, with their bounds where some are known.

        Parameters
        ----------
        what : second argument of `draw`: the metric, or the column to the right.

        """
        if not len(rows):
            return NOTHING
        return Figure(self.bounded(draw(rows, what, **how), rows))

    def bounded(self, figure: go.Figure, rows: pd.DataFrame) -> go.Figure:
        """Return a figure of rows of the summary with their bounds, where some are known."""
        return figures.with_bounds(figure, rows, self.samples, lambda: self.costs)

    @derived(lambda study: (study.campaign, study._changed(costs.BENCHMARKS)))
    def costs(self) -> dict[str, Costs]:
        """What the hosts of the campaign cost without a network, if that was measured."""
        return costs.read(self.campaign)

    @_several.shown
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

    def counted(self, rows: pd.DataFrame, metric: str) -> pd.DataFrame:
        """Rows with the tool's own rate over its run (median over launches) as the mean of `metric`.

        Rates that follow from the times of single operations leave out what passes between two of them. There is no
        interval.
        """
        if rows.empty:
            return rows
        values = records.reported(self.samples)
        means = values[(values["name"] == metric) & values["statistic"].isin(["mean", "value"])]
        counts_of = rows["fingerprint"].map(means.groupby("fingerprint")["value"].median())
        ends = {end_column(metric, "mean", end): float("nan") for end in ("low", "high")}  # those of another mean
        each = means.groupby(["fingerprint", "launch"])["value"].median()
        rows = records.with_launches(rows, metric, "mean", each)
        return rows.assign(**{f"{metric}_mean": counts_of}, **ends)

    @_several.shown
    def warnings(self) -> Text:
        """Badges and warnings of all points; a sentence when there are none."""
        total = len(self.records)
        every = plural(total, "launch")
        badges = [f"{one} ({count})" for one, count in doubts.kinds(self.records["badges"])]
        said = f"badges in {every}: {', '.join(badges)}"
        notes = [note("badges", said)] if badges else []
        for one, count in doubts.kinds(self.records["warnings"]):
            text = _OPTION.sub(r"`\g<0>`", one.text)
            notes.append(note(one.code, f"{text} ({count} of {every})"))
        absent = self.campaign.facts.get("absent", {})
        reasons = [reason for name, reason in absent.items() if name in self.benchmarks]
        notes += [note("omitted", f"omitted: {reason}") for reason in (*reasons, *self.lacking)]
        notes += [note(one.code, f"left out: {one.text}") for one in self.unlike[:_UNLIKE]]
        if more := self.unlike[_UNLIKE:]:
            count = sum(int(one.value("count") or 0) for one in more)
            files = "1 more sample file" if count == 1 else f"{count} more sample files"
            others = "another setting" if len(more) == 1 else f"{len(more)} other settings"
            notes.append(note("other-setting", f"left out: {files}, with {others}"))
        return Text(notes=tuple(notes)) if notes else Text("No launch has a badge or a warning.")


def _as_text(parameters: type[Parameters], values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of parameters, numbers as text where they are lists: papermill reads ``-p ranks 2`` as a number."""
    texts = {field.name for field in dataclasses.fields(parameters) if isinstance(field.default, str)}
    numbers = {k: str(v) for k, v in values.items() if k in texts and type(v) in (int, float)}
    return {**values, **numbers}


def settled(spec: Spec, setting: Mapping[str, str]) -> Spec:
    """Apply a setting to a spec of MPI ranks: fields that are auto, variables, and hosts except over shared memory."""
    benchmark = benchmarks.get(spec.benchmark)
    if not benchmark.mpi or not setting:
        return spec
    fields = {name: value for name, value in setting.items() if getattr(spec, name, None) == "auto"}
    variables = {name.removeprefix("env."): value for name, value in setting.items() if name.startswith("env.")}
    spec = spec.replace(**fields, environment={**variables, **dict(spec.environment)})
    hosts = () if spec.hosts or spec.transport == "shm" else launch.named(setting.get("hosts", ""))
    return spec.replace(hosts=hosts) if hosts else spec


def present(rows: pd.DataFrame, shown: Mapping[str, str]) -> dict[str, str]:
    """Those quantities, name → column, that some row has: a tail needs enough samples in a launch."""
    return {name: column for name, column in shown.items() if column in rows and rows[column].notna().any()}


def too_few(rows: pd.DataFrame) -> Omitted:
    """Return why no row has some percentiles; for points that labkit measured, also what to do."""
    if rows["origin"].isin(BROUGHT).all():
        return Omitted("the imported logs do not state these percentiles.", "too-few")
    return Omitted("no launch has enough samples for these percentiles. Raise time_cap.", "too-few")


def names() -> list[str]:
    """Names of all studies."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def get(name: str) -> type[Study]:
    """The study class of that name.

    Raises
    ------
    SpecError
        If there is none.
    """
    if name not in names():
        raise unknown_name("study", name, names())
    study: type[Study] = importlib.import_module(f"{__name__}.{name}").Study
    return study


def of_notebook(notebook: str | Path) -> type[Study]:
    """Study that a notebook calls: ``10-latency.ipynb`` and ``10-latency-mine.ipynb`` → ``latency``."""
    name = Path(notebook).stem.partition("-")[2].replace("-", "_")
    matches = [study for study in names() if f"{name}_".startswith(f"{study}_")]
    return get(max(matches, key=len, default=name))


def defaults(study: type[Study]) -> dict[str, Any]:
    """Parameters of a study with their default values."""
    return {f.name: f.default for f in dataclasses.fields(study.parameters)}


def of_campaign(facts: Mapping[str, Any], campaign: Path) -> dict[str, Study]:
    """Return the study of each notebook that a campaign names, set to read; without those that ask for no point.

    Parameters
    ----------
    facts : from campaign.json; they may come from anyone.
    campaign : its folder.
    """
    found: dict[str, Study] = {}
    swept = notebooks.settings(facts)
    for name, given in notebooks.parameters(facts).items():
        try:
            kind = of_notebook(path) if (path := project.notebook_of(name)) else None
            if kind and "measure" in defaults(kind):
                setting = Given(setting=swept.get(name, {}))
                study = kind(setting, **{**given, "measure": False, "campaign": str(campaign)})
                if study.wanted:
                    found[name] = study
        except LabkitError:  # the campaign may come from another labkit, or from anyone
            continue
    return found


def _others(study: Study) -> list[Study]:
    """Return the studies of the other notebooks of a study's campaign.

    If no notebook of the campaign has the study's parameters, the user changed them; then any notebook of the same
    study counts as this one.
    """
    every = [*of_campaign(study.campaign.facts, study.campaign.path).values()]
    alike = [one for one in every if type(one) is type(study)]
    if any(_chosen(one) == _chosen(study) for one in alike):
        return [one for one in every if one not in alike or _chosen(one) != _chosen(study)]
    return [one for one in every if one not in alike]


def remember(study: Study) -> None:
    """Name the notebook of a study in the campaign that it measured into by hand; a suite names its own.

    Parameters
    ----------
    study : study of a notebook among those of labkit or the project; of another one, the campaign does not change.
    """
    campaign, values = study.campaign, study.values
    names = [stem for stem in project.notebooks() if of_notebook(stem) is type(study)]
    by_suite = bool(study.given.campaign) or "suite" in campaign.facts
    if by_suite or campaign.bundled or not names or not values.measure or study.only_reads:
        return
    given = {
        field.name: value
        for field in dataclasses.fields(values)
        if (value := getattr(values, field.name)) != field.default and field.name not in ("campaign", "measure")
    }
    campaign.update({"parameters": {**notebooks.section(campaign.facts, "parameters"), names[0]: given}})


def _chosen(study: Study) -> tuple[dict[str, Any], Mapping[str, str]]:
    """Return the parameters of a study that choose its points, and its setting."""
    every = {field.name for field in dataclasses.fields(Parameters)}
    return {k: v for k, v in dataclasses.asdict(study.values).items() if k not in every}, study.given.setting
