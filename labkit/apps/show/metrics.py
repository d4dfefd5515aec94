"""Write a campaign as metrics for monitoring: OpenMetrics, InfluxDB's line protocol, node_exporter's textfile.

Names are those of the data dictionary behind ``labkit_``: the column ``latency_us_p99`` is ``labkit_latency_us`` with
the label ``statistic="p99"``. The format follows from the name of the file:

``.om``     OpenMetrics 1.0, with the time of the campaign
``.prom``   Prometheus' text format without times, as node_exporter's textfile collector takes it
``.lp``     InfluxDB's line protocol, with the time of the campaign in ns
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from labkit.apps.show.gated import line
from labkit.errors import SpecError
from labkit.io import atomic
from labkit.judge import answer, matching_points
from labkit.judge.gate.verdicts import OUTCOMES
from labkit.point.columns import ENDS, METRICS, statistic_column
from labkit.read.records import HEADLINES

if TYPE_CHECKING:
    import pandas as pd

    from labkit.judge.gate import Result
    from labkit.report.sources import Source

PREFIX = "labkit"
WRITTEN = (*HEADLINES, "min", "p95", "p99", "p999", *ENDS)  # statistics
LEVELS = ("good", "doubtful", "bad")  # verdicts on topics, as 0, 1 and 2
_POINT = {
    "size": "message_size_B",
    "ranks": "ranks",
    "transport": "transport",
    "testbed": "testbed",
    "origin": "origin",
}

Labels = Mapping[str, str]


@dataclass
class Family:
    """A metric with all its values.

    Parameters
    ----------
    name : name with its unit as suffix.
    text : what it is.
    unit : suffix of the name; empty for a number without unit.
    rows : labels, statistic and value; the statistic is empty if the metric has one value only.
    """

    name: str
    text: str
    unit: str = ""
    rows: list[tuple[Labels, str, float]] = field(default_factory=list)

    def add(self, value: float, statistic: str = "", **labels: str) -> None:
        """Add a value, unless it is missing."""
        if math.isfinite(value):
            self.rows.append(({name: line(text) for name, text in labels.items()}, statistic, float(value)))


def families(source: Source, gated: Result | None = None) -> list[Family]:
    """Return the metrics of a campaign: results, verdicts, and the gate's.

    Parameters
    ----------
    gated : verdicts by earlier campaigns, if there are any.
    """
    found = [_about(source), _created(source)]
    if len(source.summary):
        points = _points(source)
        found += [*_results(source.summary, points), *_counts(source.summary, points), _verdicts(source)]
    if gated is not None:
        found += _gated(gated)
    return [one for one in found if one.rows]


def _name(*parts: str) -> str:
    return "_".join((PREFIX, *parts))


def _about(source: Source) -> Family:
    """Return what the campaign is; its value is 1."""
    one = Family(_name("campaign_info"), "Campaign, suite and version of labkit. The value is 1.")
    facts = {name: str(source.facts.get(name) or "") for name in ("name", "suite", "labkit")}
    one.add(1, campaign=facts["name"], suite=facts["suite"], version=facts["labkit"])
    return one


def _created(source: Source) -> Family:
    one = Family(_name("campaign_created_seconds"), "Start of the campaign, in s since 1970.", "seconds")
    one.add(created(source.facts))
    return one


def created(facts: Mapping[str, Any]) -> float:
    """Return when a campaign began, in s since 1970; NaN if it does not say so."""
    try:
        return datetime.fromisoformat(str(facts.get("created"))).timestamp()
    except ValueError:
        return math.nan


def _points(source: Source) -> list[Labels]:
    """Return the labels of each row of the summary: benchmark, point (with the gate's name) and settings."""
    keys = matching_points.identifying(source.records, matching_points.Past(()))
    points = matching_points.grouped(source.records, keys)
    names = dict(zip(points.firsts["fingerprint"].astype(str), matching_points.labelled(points, keys), strict=True))
    several = source.summary["campaign"].nunique() > 1  # of a merged campaign
    rows: list[Labels] = []
    for row in source.summary.to_dict("records"):
        labels = {"benchmark": str(row["benchmark"]), "point": names.get(str(row["fingerprint"]), "")}
        labels |= {label: str(row[column]) for label, column in _POINT.items()}
        rows.append(labels | ({"campaign": str(row["campaign"])} if several else {}))
    return rows


def _results(summary: pd.DataFrame, points: list[Labels]) -> Iterator[Family]:
    """Yield a family for each metric, with its statistics over launches."""
    for name, metric in METRICS.items():
        unit = "per_s" if name.endswith("_per_s") else name.rpartition("_")[2]
        one = Family(_name(name), f"{metric.label} in {metric.unit}: {metric.meaning}", unit)
        for statistic in WRITTEN:
            if (column := statistic_column(name, statistic)) in summary:
                for labels, value in zip(points, summary[column].tolist(), strict=True):
                    one.add(value, statistic, **labels)
        one.rows.sort(key=lambda row: tuple(row[0].values()))
        yield one


def _counts(summary: pd.DataFrame, points: list[Labels]) -> Iterator[Family]:
    """Yield what the statistics rest on, and the badges of points."""
    launches = Family(_name("launches"), "Launches behind the statistics of a point.")
    iterations = Family(_name("iterations"), "Iterations behind the statistics of a point; 0 if a tool printed them.")
    badges = Family(_name("badge"), "Condition that could mislead a reader of the numbers. The value is 1.")
    for labels, row in zip(points, summary.to_dict("records"), strict=True):
        launches.add(row["launches"], **labels)
        iterations.add(row["n"], **labels)
        for code in dict.fromkeys(badge.code for badge in row["badges"]):
            badges.add(1, **labels, badge=code)
    yield from (launches, iterations, badges)


def _verdicts(source: Source) -> Family:
    """Return the verdicts of `labkit explain`, without unknown topics."""
    codes = ", ".join(f"{code} {level}" for code, level in enumerate(LEVELS))
    one = Family(_name("verdict"), f"Verdict of labkit explain on a topic: {codes}.")
    for topic in answer.verdicts(source.view).topics:
        if topic.verdict in LEVELS:
            one.add(LEVELS.index(topic.verdict), topic=topic.name)
    return one


def _gated(result: Result) -> Iterator[Family]:
    """Yield the gate's result: the number of verdicts of each kind, and the change of each point."""
    counts = Family(_name("gate_comparisons"), "Comparisons of the gate with this verdict.")
    for outcome in OUTCOMES:
        counts.add(result.count(outcome), verdict=outcome)
    failed = Family(_name("gate_failed"), "Whether a point is worse than its past: 1 if it fails, 0 if it passes.")
    change = Family(_name("gate_change_ratio"), "Change of a point from its usual value, as a fraction.", "ratio")
    for verdict, one in result.compared:
        labels = {"benchmark": one.benchmark, "point": one.point, "metric": one.metric}
        if verdict.form in ("pass", "fail"):
            failed.add(verdict.form == "fail", one.statistic, **labels)
            change.add(one.change, one.statistic, **labels)
    yield from (counts, failed, change)


# ---- formats ----------------------------------------------------------------------------------------------------


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _exposed(every: list[Family], *, time: str, units: bool) -> Iterator[str]:
    """Yield the lines that OpenMetrics and Prometheus' text format have in common."""
    for one in every:
        yield f"# HELP {one.name} {one.text.replace(chr(92), chr(92) * 2)}"
        yield f"# TYPE {one.name} gauge"
        if units and one.unit:
            yield f"# UNIT {one.name} {one.unit}"
        for labels, statistic, value in one.rows:
            every_label = {**labels, **({"statistic": statistic} if statistic else {})}
            inner = ",".join(f'{name}="{_escaped(text)}"' for name, text in every_label.items())
            yield f"{one.name}{f'{{{inner}}}' if inner else ''} {value!r}{time}"


def openmetrics(every: list[Family], when: float) -> str:
    """Return OpenMetrics 1.0.

    Parameters
    ----------
    when : time of the values, s since 1970; NaN for none.
    """
    time = "" if math.isnan(when) else f" {when:.3f}"
    return "\n".join([*_exposed(every, time=time, units=True), "# EOF", ""])


def textfile(every: list[Family], when: float) -> str:
    """Return Prometheus' text format; node_exporter refuses times in it."""
    return "\n".join([*_exposed(every, time="", units=False), ""])


_LINE = re.compile(r"([,= ])")


def _word(text: str) -> str:
    """Return a key or a tag of the line protocol; a backslash at its end would escape what follows it."""
    return _LINE.sub(r"\\\1", text).rstrip("\\")


def influx(every: list[Family], when: float) -> str:
    """Return InfluxDB's line protocol: a measurement for each metric, a field for each statistic."""
    time = "" if math.isnan(when) else f" {round(when * 1e9)}"
    lines = []
    for one in every:
        points: dict[str, dict[str, float]] = {}
        for labels, statistic, value in one.rows:
            tags = "".join(f",{_word(name)}={_word(text)}" for name, text in sorted(labels.items()) if _word(text))
            points.setdefault(tags, {})[statistic or "value"] = value
        for tags, values in points.items():
            lines.append(f"{one.name}{tags} {','.join(f'{_word(k)}={v!r}' for k, v in values.items())}{time}")
    return "\n".join([*lines, ""])


FORMATS: Mapping[str, Callable[[list[Family], float], str]] = {".om": openmetrics, ".prom": textfile, ".lp": influx}


def format_of(file: str) -> Callable[[list[Family], float], str]:
    """Return the writer of the format that a file name implies.

    Raises
    ------
    SpecError
        If its ending is none of `FORMATS`.
    """
    suffix = PurePath(file).suffix
    if suffix not in FORMATS:
        raise SpecError(
            f"--metrics {file}, but its ending must be .om (OpenMetrics), .prom (node_exporter's textfile) or .lp "
            f"(InfluxDB's line protocol). Name it for example {PurePath(file).stem or 'labkit'}.om."
        )
    return FORMATS[suffix]


def write(file: str, source: Source, gated: Result | None = None) -> None:
    """Write the metrics of a campaign; a file appears whole.

    Raises
    ------
    SpecError
        If the ending of the file is none of `FORMATS`.
    DataError
        If it cannot be written.
    """
    made = format_of(file)
    atomic.text(file, made(families(source, gated), created(source.facts)))
