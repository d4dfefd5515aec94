"""The twelve rules of Hoefler and Belli: those that data can show as checks, the others as duties of the author."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import pandas as pd

from labkit import stats
from labkit.analysis.lint.evidence import Breach, Evidence, Rule
from labkit.columns import METRICS, Metric, split
from labkit.records import statistic_of
from labkit.records.factors import NONE, level, named
from labkit.samples.facts import DEFINITION, FINGERPRINT, MEASURED, wrong
from labkit.units import format_number, format_share, format_size, plural

_STEP = 8  # largest ratio of neighbouring sizes that a line may join
_WIDE = 0.25  # spread of iterations from which a median alone says little
_NO_REASON = ("", "failed", "skipped", "no reason was recorded")
_HOST = ("cpu_model", "kernel", "distribution", "memory_total_B")  # a host is not described without these


@dataclass(frozen=True)
class Judgement:
    """One of the twelve rules, with what only an author can judge.

    Parameters
    ----------
    number : of the rule.
    text : the rule in short.
    author : what the author must do; empty where the data show all of it.
    """

    number: int
    text: str
    author: str


JUDGEMENT = (
    Judgement(1, "State the base case of a speed-up, and its absolute performance.", "Name the base case in the text."),
    Judgement(
        2, "Give the reason for a choice of benchmarks or resources.", "Say why these benchmarks, sizes and nodes."
    ),
    Judgement(3, "Average costs arithmetically, rates harmonically.", ""),
    Judgement(4, "Do not average ratios.", "Average times first in your own tables too, then divide."),
    Judgement(5, "Say whether data are deterministic; if not, give confidence intervals.", ""),
    Judgement(6, "Do not assume a normal distribution without a check.", ""),
    Judgement(7, "Compare by sound statistics.", "Claim a difference only where intervals do not overlap."),
    Judgement(
        8, "Ask whether the median is the right measure.", "Say which percentile the application needs, and why."
    ),
    Judgement(
        9,
        "Document all factors, their levels, and the set-up.",
        "Describe cabling, switches and other load of the system.",
    ),
    Judgement(10, "Say how parallel times are measured, synchronised and summarised.", ""),
    Judgement(
        11,
        "Show upper bounds.",
        "Give the bound (link rate, memory bandwidth) with its source; a campaign does not hold it.",
    ),
    Judgement(12, "Plot enough; join points only where interpolation is valid.", "Join sizes, never categories."),
)


def _values(row: Mapping[str, Any], wanted: str = "") -> Iterator[tuple[Metric, str]]:
    """Yield metric and statistic of every number of a row; of one statistic if it is given."""
    for column, value in row.items():
        parts = split(column)
        if parts and (not wanted or parts[1] == wanted) and value == value:
            yield METRICS[parts[0]], parts[1]


def base_case(evidence: Evidence) -> Iterator[Breach]:
    """Yield points with an impact factor but without the absolute time of its base case."""
    for row in evidence.each():
        names = {metric.name for metric, _ in _values(row)}
        ratios = sorted(name for name in names if METRICS[name].unit == "times")
        if ratios and not names & {"alone_us", "isolated_us"}:
            yield evidence.breach(row, f"{ratios[0]} without the time alone")


def no_reason(evidence: Evidence) -> Iterator[Breach]:
    """Yield what was skipped or failed without a recorded reason."""
    for what, reason in evidence.failed:
        if reason.strip() in _NO_REASON:
            yield Breach("", what, "skipped or failed, with no reason recorded")


def failed(evidence: Evidence) -> Iterator[Breach]:
    """Yield what was skipped or failed for a recorded reason."""
    for what, reason in evidence.failed:
        if reason.strip() not in _NO_REASON:
            yield Breach("", what, f"skipped or failed: {' '.join(reason.split())[:160]}")


def uneven_sizes(evidence: Evidence) -> Iterator[Breach]:
    """Yield levels of a factor that were measured at other sizes than the other levels."""
    for name, rows in evidence.by_benchmark():
        for factor in evidence.factors[name]:
            levels = rows["message_size_B"].groupby(rows[factor].map(level)).agg(set)
            every = set().union(*levels)
            for value, sizes in levels.items():
                if value != NONE and (lacking := sorted(every - sizes)):
                    text = ", ".join(format_size(int(size)) for size in lacking[:3])
                    more = f" and {plural(len(lacking) - 3, 'more size')}" if len(lacking) > 3 else ""
                    yield evidence.of(rows, f"not measured at {text}{more}", f"{named(factor)}={value}")


def mean_of_rates(evidence: Evidence) -> Iterator[Breach]:
    """Yield rates whose only statistic is a mean that labkit did not compute."""
    for row in evidence.each():
        for metric, _ in _values(row, "mean"):
            if metric.kind == "rate" and row["origin"] != "measured" and statistic_of(row, metric.name) == "mean":
                yield evidence.breach(row, f"the {row['origin']} {metric.label} is a mean of unknown kind")


def mean_of_ratios(evidence: Evidence) -> Iterator[Breach]:
    """Yield averaged shares and ratios."""
    for row in evidence.each():
        for metric, _ in _values(row, "mean"):
            if metric.unit in ("%", "times") and row["origin"] != "measured":
                yield evidence.breach(row, f"the {row['origin']} {metric.label} is a mean of ratios")


def one_launch(evidence: Evidence) -> Iterator[Breach]:
    """Yield points with one launch."""
    return (evidence.breach(row, "1 launch") for row in evidence.random() if row["launches"] == 1)


def few_launches(evidence: Evidence) -> Iterator[Breach]:
    """Yield points with too few launches for a confidence interval."""
    for row in evidence.random():
        if 1 < row["launches"] < stats.LAUNCHES:
            yield evidence.breach(row, f"{plural(row['launches'], 'launch')}, which give a range only")


def only_mean(evidence: Evidence) -> Iterator[Breach]:
    """Yield costs of which only a mean is known."""
    for row in evidence.each():
        for metric, _ in _values(row, "mean"):
            if metric.kind == "cost" and statistic_of(row, metric.name) == "mean":
                yield evidence.breach(row, f"only the mean of the {metric.label} is known")


def time_order(evidence: Evidence) -> Iterator[Breach]:
    """Yield factors whose levels were measured one after the other, so that a drift looks like an effect."""
    records = evidence.records
    factors = [c for c in dict.fromkeys(c for some in evidence.factors.values() for c in some) if c in records]
    columns = list(dict.fromkeys(["benchmark", "origin", "start", *factors]))
    timed = records.loc[records["start"].astype(bool), columns] if len(records) else records
    for name, rows in timed.groupby("benchmark", sort=True) if len(timed) else ():
        for factor in (one for one in evidence.factors[str(name)] if one in factors):
            spans = rows["start"].groupby(rows[factor].map(level)).agg(["min", "max"]).sort_values("min")
            spans = spans[spans.index != NONE]
            ends = list(zip(spans["min"], spans["max"], strict=True))
            if len(ends) > 1 and all(before[1] < after[0] for before, after in pairwise(ends)):
                order = " before ".join(map(str, spans.index[:3]))
                yield evidence.of(rows, f"{named(factor)}: all points of {order}")


def confounded(evidence: Evidence) -> Iterator[Breach]:
    """Yield pairs of factors that always change together."""
    for name, rows in evidence.by_benchmark():
        texts = {c: rows[c].map(level) for c in evidence.factors[name]}
        complete = [c for c, values in texts.items() if NONE not in set(values)]
        for first, second in combinations(complete, 2):
            if _together(texts[first], texts[second]):
                yield evidence.of(rows, f"{named(first)} and {named(second)} always change together")


def _together(first: pd.Series, second: pd.Series) -> bool:
    """Return whether each level of one column goes with one level of the other, both ways."""
    return bool(second.groupby(first).nunique().max() == 1 and first.groupby(second).nunique().max() == 1)


def no_tail(evidence: Evidence) -> Iterator[Breach]:
    """Yield points with samples but without a 99th percentile."""
    for row in evidence.random():
        if row["n"] and row["timing"] == "each" and not any(_values(row, "p99")):
            yield evidence.breach(row, f"no p99: n = {row['n']:,}, launches: {row['launches']}")


def doubtful_tail(evidence: Evidence) -> Iterator[Breach]:
    """Yield points whose 99th percentile has fewer than ten samples beyond it."""
    for row in evidence.each():
        if "p99" in row["unreliable"] and any(_values(row, "p99")):
            yield evidence.breach(row, f"p99 with fewer than {stats.BEYOND} samples beyond it")


def wide(evidence: Evidence) -> Iterator[Breach]:
    """Yield points whose iterations spread so far that a median alone says little."""
    for row in evidence.each():
        if row["spread_within"] > _WIDE:
            yield evidence.breach(row, f"iterations spread by {format_share(row['spread_within'])} of the median")


def undocumented(evidence: Evidence) -> Iterator[Breach]:
    """Yield points of labkit's own whose metadata or host description lack something."""
    for point in evidence.points:
        if point.origin not in MEASURED:
            continue
        lacking = [text for text in wrong(point.meta, point.origin) if text.endswith("is missing")]
        lacking += [f"{key} of the host is missing" for key in _HOST if not point.host.get(key)]
        if lacking:
            label = evidence.labels.get(FINGERPRINT.of(point.meta), "")
            yield Breach(point.spec.benchmark, f"{label} launch {point.launch}".strip(), ", ".join(lacking[:3]))


def unnamed_system(evidence: Evidence) -> Iterator[Breach]:
    """Yield imported points that do not name their library."""
    for row in evidence.each():
        if row["origin"] not in MEASURED and not row["library"]:
            yield evidence.breach(row, f"{row['origin']}, without the name of a library")


def uncommitted(evidence: Evidence) -> Iterator[Breach]:
    """Yield versions of labkit that nobody else can get."""
    counts: dict[str, int] = {}
    for point in evidence.points:
        versions = point.host.get("versions")
        commit = str(versions.get("commit") or "") if isinstance(versions, Mapping) else ""
        if commit.endswith("-dirty"):
            counts[commit] = counts.get(commit, 0) + 1
    for commit, count in counts.items():
        yield Breach("", "", f"labkit {commit} measured {plural(count, 'launch')}")


def unsaid_method(evidence: Evidence) -> Iterator[Breach]:
    """Yield points that do not say how they were timed or what their numbers are."""
    for row in evidence.each():
        point = evidence.specs.get(str(row["fingerprint"]))
        if row["n"] and not (row["cadence"] and row["timing"]):
            yield evidence.breach(row, "cadence or timing is not recorded")
        elif not row["n"] and row["origin"] == "reported" and point and not DEFINITION.of(point.meta):
            yield evidence.breach(row, "the tool's definition of its numbers is not recorded")


def sparse_sizes(evidence: Evidence) -> Iterator[Breach]:
    """Yield neighbouring sizes so far apart that a line between them may hide a protocol change."""
    for _, rows in evidence.by_benchmark():
        sizes = sorted({int(size) for size in rows["message_size_B"] if size > 0})
        gaps = [(a, b) for a, b in pairwise(sizes) if b > _STEP * a] if len(sizes) > 2 else []
        for low, high in gaps:
            ratio = format_number(high / low, digits=2)
            yield evidence.of(rows, f"no size between {format_size(low)} and {format_size(high)}, {ratio} times apart")


def round_ranks(evidence: Evidence) -> Iterator[Breach]:
    """Yield benchmarks that were measured at powers of two of ranks only."""
    for _, rows in evidence.by_benchmark():
        ranks = sorted({int(count) for count in rows["ranks"]})
        if len(ranks) > 2 and all(math.log2(count).is_integer() for count in ranks):
            yield evidence.of(rows, f"ranks {', '.join(map(str, ranks))} are all powers of two")


_MORE_LAUNCHES = "Run again with --launches 6; labkit adds the missing launches."
_MORE_LOGS = "To import launches, run the tool 6 times, and import all outputs with one --testbed."
TWELVE = (
    Rule(
        "base-case",
        "error",
        1,
        "a ratio has the absolute time of its base case beside it",
        "Measure the base case in the same campaign.",
        base_case,
        "Import the output of the base case into the same campaign.",
    ),
    Rule(
        "no-reason",
        "error",
        2,
        "whatever is left out has a reason",
        "Measure it, or record why not: labkit run records reasons.",
        no_reason,
    ),
    Rule("failed", "note", 2, "readers know what is missing and why", "Keep the reason in the report.", failed),
    Rule(
        "uneven-sizes",
        "warning",
        2,
        "all levels of a factor are measured at the same sizes",
        "Measure the missing sizes; labkit skips what is there.",
        uneven_sizes,
        "Import the output for the missing sizes too, or compare only sizes that all levels have.",
    ),
    Rule(
        "mean-of-rates",
        "warning",
        3,
        "a mean of rates is total work over total time",
        "Find out how the tool averages and say so, or measure with labkit.",
        mean_of_rates,
        "Find out how the tool averages, and say so.",
    ),
    Rule(
        "mean-of-ratios",
        "warning",
        4,
        "ratios are made from averaged times",
        "Compute the ratio from the tool's times or counts.",
        mean_of_ratios,
    ),
    Rule(
        "one-launch",
        "error",
        5,
        f"at least {stats.LAUNCHES} launches, for a 95 % interval",
        _MORE_LAUNCHES,
        one_launch,
        _MORE_LOGS,
    ),
    Rule(
        "few-launches",
        "warning",
        5,
        f"at least {stats.LAUNCHES} launches, for a 95 % interval",
        _MORE_LAUNCHES,
        few_launches,
        _MORE_LOGS,
    ),
    Rule(
        "only-mean",
        "warning",
        6,
        "a median or percentiles, because times are not normally distributed",
        "Measure with timing=each, or with a tool that reports percentiles.",
        only_mean,
        "Import the output of a tool that reports percentiles.",
    ),
    Rule(
        "time-order",
        "warning",
        7,
        "levels that are compared are measured in turn",
        "Measure both in one run: --factor takes the levels in random order.",
        time_order,
        "State the order of the runs, and that a drift over time would look like a difference.",
    ),
    Rule(
        "confounded",
        "warning",
        7,
        "factors that are compared change one at a time",
        "Measure the missing combinations, or name both as the cause.",
        confounded,
        "Name both factors as possible causes, or import outputs of the missing combinations.",
    ),
    Rule(
        "no-tail",
        "warning",
        8,
        "percentiles beside the median: p99 needs 100 samples in each launch",
        "Measure longer: --time-cap, or -i 1000.",
        no_tail,
    ),
    Rule(
        "doubtful-tail",
        "note",
        8,
        "at least 1000 samples in each launch for a reliable p99",
        "Measure longer, or make no statement about p99.",
        doubtful_tail,
    ),
    Rule(
        "wide",
        "note",
        8,
        "a distribution that one number describes",
        "Show the distribution; look for several modes.",
        wide,
    ),
    Rule("undocumented", "error", 9, "metadata and host are complete", "Measure again with this labkit.", undocumented),
    Rule(
        "unnamed-system",
        "warning",
        9,
        "imported numbers name their system and library",
        "Import again with --testbed or --published.",
        unnamed_system,
    ),
    Rule(
        "uncommitted",
        "warning",
        9,
        "others can get the version of labkit that measured",
        "Commit the changes and measure again, or publish them.",
        uncommitted,
    ),
    Rule(
        "unsaid-method",
        "warning",
        10,
        "timing, synchronisation and definition are recorded",
        "Measure again with this labkit, or cite the tool's definition.",
        unsaid_method,
    ),
    Rule(
        "sparse-sizes",
        "note",
        12,
        f"neighbouring sizes at most {_STEP} times apart where a line joins them",
        "Measure sizes in between, or show points without a line.",
        sparse_sizes,
        "Show points without a line.",
    ),
    Rule(
        "round-ranks",
        "note",
        12,
        "some numbers of ranks are no powers of two",
        "Measure other numbers of ranks too: algorithms differ there.",
        round_ranks,
        "State that other numbers of ranks were not measured; libraries may use other algorithms there.",
    ),
)
