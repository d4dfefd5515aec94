"""The twelve rules of Hoefler and Belli: those that data can show as checks, the others as duties of the author."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, islice, pairwise
from operator import itemgetter
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from labkit import stats
from labkit.judge.lint.evidence import Breach, Evidence, Rule
from labkit.judge.plausibility.view import Columns, Row, holding, in_files
from labkit.point.columns import Metric
from labkit.point.units import format_number, format_share, format_size, plural
from labkit.read.records import statistics_of
from labkit.read.records.factors import NONE, coded, level, named, one_each
from labkit.store.samples import Samples
from labkit.store.samples.facts import DEFINITION, MEASURED, wrong

T = TypeVar("T")
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
    Judgement(7, "Compare by sound statistics.", "Claim a difference only where launches show it."),
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


def _have(evidence: Evidence, wanted: Callable[[Metric, str], bool]) -> NDArray[np.bool_]:
    """Return which points have a number of a wanted metric and statistic, (points,)."""
    columns = [~np.isnan(values) for metric, statistic, values in evidence.numbers if wanted(metric, statistic)]
    return np.asarray(np.any([np.zeros(len(evidence.summary), bool), *columns], axis=0), bool)


def _means(evidence: Evidence, wanted: Callable[[Metric], bool], *, only: bool) -> Iterator[tuple[Row, Metric]]:
    """Yield points and the wanted metrics of which they have a mean; with `only`, no better statistic."""
    columns, metrics = [], []
    for metric, statistic, values in evidence.numbers:
        if statistic == "mean" and wanted(metric):
            there = ~np.isnan(values)
            columns.append(there & (statistics_of(evidence.summary, metric.name) == "mean") if only else there)
            metrics.append(metric)
    for row, column in evidence.pairs(columns):
        yield row, metrics[column]


def base_case(evidence: Evidence) -> Iterator[Breach]:
    """Yield points with an impact factor but without the absolute time of its base case."""
    ratios = sorted({metric.name for metric, _, _ in evidence.numbers if metric.unit == "times"})
    base = _have(evidence, lambda metric, _: metric.name in ("alone_us", "isolated_us"))
    first = np.full(len(evidence.summary), -1)
    for place in reversed(range(len(ratios))):
        first[_have(evidence, lambda metric, _, name=ratios[place]: metric.name == name)] = place  # type: ignore[misc]
    for row in evidence.rows((first >= 0) & ~base):
        yield evidence.breach(row, f"{ratios[first[row.place]]} without the time alone")


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
        measured, breach = rows["message_size_B"].to_numpy(), evidence.of(rows)
        sizes = np.unique(measured)
        for factor in evidence.factors[name]:
            codes, levels = coded(rows[factor])
            at = np.unique(codes * len(sizes) + np.searchsorted(sizes, measured))
            own = np.split(at % len(sizes), np.searchsorted(at, np.arange(1, len(levels)) * len(sizes)))
            for value, places in sorted(zip(map(str, levels), own, strict=True), key=itemgetter(0)):
                there, count = set(places.tolist()), len(sizes) - len(places)
                if value != NONE and count:
                    lacking = islice((size for place, size in enumerate(sizes) if place not in there), 3)
                    text = ", ".join(format_size(int(size)) for size in lacking)
                    more = f" and {plural(count - 3, 'more size')}" if count > 3 else ""
                    yield breach(f"{named(factor)}={value}", f"not measured at {text}{more}")


def mean_of_rates(evidence: Evidence) -> Iterator[Breach]:
    """Yield rates whose only statistic is a mean that labkit did not compute."""
    for row, metric in _means(evidence, lambda metric: metric.kind == "rate", only=True):
        if row["origin"] != "measured":
            yield evidence.breach(row, f"the {row['origin']} {metric.label} is a mean of unknown kind")


def mean_of_ratios(evidence: Evidence) -> Iterator[Breach]:
    """Yield averaged shares and ratios."""
    for row, metric in _means(evidence, lambda metric: metric.unit in ("%", "times"), only=False):
        if row["origin"] != "measured":
            yield evidence.breach(row, f"the {row['origin']} {metric.label} is a mean of ratios")


def one_launch(evidence: Evidence) -> Iterator[Breach]:
    """Yield points with one launch."""
    return (
        evidence.breach(row, "1 launch") for row in evidence.rows(evidence.random & (evidence.column("launches") == 1))
    )


def few_launches(evidence: Evidence) -> Iterator[Breach]:
    """Yield points with too few launches for a confidence interval."""
    launches = evidence.column("launches")
    few = (launches > 1) & (launches < stats.LAUNCHES)
    for row in evidence.rows(evidence.random & few):
        yield evidence.breach(row, f"{plural(row['launches'], 'launch')}, which give a range only")


def only_mean(evidence: Evidence) -> Iterator[Breach]:
    """Yield costs of which only a mean is known."""
    for row, metric in _means(evidence, lambda metric: metric.kind == "cost", only=True):
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
                yield evidence.of(rows)("", f"{named(factor)}: all points of {order}")


def confounded(evidence: Evidence) -> Iterator[Breach]:
    """Yield pairs of factors that always change together."""
    for name, rows in evidence.by_benchmark():
        levels = {factor: coded(rows[factor]) for factor in evidence.factors[name]}
        complete = {factor: codes for factor, (codes, texts) in levels.items() if NONE not in texts}
        for first, second in combinations(complete, 2):
            if one_each(complete[first], complete[second]) and one_each(complete[second], complete[first]):
                yield evidence.of(rows)("", f"{named(first)} and {named(second)} always change together")


def no_tail(evidence: Evidence) -> Iterator[Breach]:
    """Yield points with samples but without a 99th percentile."""
    timed = (evidence.column("n") > 0) & (evidence.column("timing") == "each")
    for row in evidence.rows(evidence.random & timed & ~_have(evidence, lambda _, statistic: statistic == "p99")):
        yield evidence.breach(row, f"no p99: n = {row['n']:,}, launches: {row['launches']}")


def doubtful_tail(evidence: Evidence) -> Iterator[Breach]:
    """Yield points whose 99th percentile has fewer than ten samples beyond it."""
    doubtful = holding(evidence.column("unreliable"), lambda names: "p99" in names)
    for row in evidence.rows(doubtful & _have(evidence, lambda _, statistic: statistic == "p99")):
        yield evidence.breach(row, f"p99 with fewer than {stats.BEYOND} samples beyond it")


def wide(evidence: Evidence) -> Iterator[Breach]:
    """Yield points whose iterations spread so far that a median alone says little."""
    for row in evidence.rows(evidence.column("spread_within") > _WIDE):
        yield evidence.breach(row, f"iterations spread by {format_share(row['spread_within'])} of the median")


def undocumented(evidence: Evidence) -> Iterator[Breach]:
    """Yield points of labkit's own whose metadata or host description lack something."""
    for row, texts in _of_kinds(evidence, lambda one: _lacking(one) if one.origin in MEASURED else []):
        label = f"{evidence.label(row['fingerprint'])} launch {row['launch']}".strip()
        yield Breach(row["benchmark"], label, ", ".join(texts[:3]))


def _of_kinds(evidence: Evidence, function: Callable[[Samples], T]) -> Iterator[tuple[Row, T]]:
    """Yield the launches of whose metadata a function makes something, in the order of their files, and what."""
    found = [*map(function, evidence.launches.kinds)] if evidence.launches else []
    if evidence.launches and any(found):
        kind, columns = evidence.launches.kind, Columns(evidence.records)
        rows = np.flatnonzero(np.array([bool(one) for one in found])[kind])
        for row in in_files(columns, rows).tolist():
            yield Row(columns, row), found[kind[row]]


def _lacking(one: Samples) -> list[str]:
    """Return what the metadata of a launch and the description of its host lack."""
    missing = [text for text in wrong(one.meta, one.origin) if text.endswith("is missing")]
    return missing + [f"{key} of the host is missing" for key in _HOST if not one.host.get(key)]


def unnamed_system(evidence: Evidence) -> Iterator[Breach]:
    """Yield imported points that do not name their library."""
    origins = evidence.column("origin").astype(str)
    for row in evidence.rows(~np.isin(origins, MEASURED) & (evidence.column("library") == "")):
        yield evidence.breach(row, f"{row['origin']}, without the name of a library")


def uncommitted(evidence: Evidence) -> Iterator[Breach]:
    """Yield versions of labkit that nobody else can get."""
    for commit, count in Counter(commit for _, commit in _of_kinds(evidence, _commit)).items():
        yield Breach("", "", f"labkit {commit} measured {plural(count, 'launch')}")


def _commit(one: Samples) -> str:
    """Return the commit of the labkit that measured a launch, if it had changes; else nothing."""
    versions = one.host.get("versions")
    commit = str(versions.get("commit") or "") if isinstance(versions, Mapping) else ""
    return commit if commit.endswith("-dirty") else ""


def unsaid_method(evidence: Evidence) -> Iterator[Breach]:
    """Yield points that do not say how they were timed or what their numbers are."""
    column = evidence.column
    undefined = evidence.of_kinds(lambda one: not DEFINITION.of(one.meta))
    unsaid = (column("n") > 0) & ((column("cadence") == "") | (column("timing") == ""))
    for row in evidence.rows(unsaid | ((column("n") == 0) & (column("origin") == "reported") & undefined)):
        what = "cadence or timing is" if row["n"] else "the tool's definition of its numbers is"
        yield evidence.breach(row, f"{what} not recorded")


def sparse_sizes(evidence: Evidence) -> Iterator[Breach]:
    """Yield neighbouring sizes so far apart that a line between them may hide a protocol change."""
    for _, rows in evidence.by_benchmark():
        sizes = [int(size) for size in np.unique(rows["message_size_B"]).tolist() if size > 0]
        gaps = [(a, b) for a, b in pairwise(sizes) if b > _STEP * a] if len(sizes) > 2 else []
        for low, high in gaps:
            ratio = format_number(high / low, digits=2)
            yield evidence.of(rows)(
                "", f"no size between {format_size(low)} and {format_size(high)}, {ratio} times apart"
            )


def round_ranks(evidence: Evidence) -> Iterator[Breach]:
    """Yield benchmarks that were measured at powers of two of ranks only."""
    for _, rows in evidence.by_benchmark():
        ranks = [int(count) for count in np.unique(rows["ranks"]).tolist()]
        if len(ranks) > 2 and all(math.log2(count).is_integer() for count in ranks):
            yield evidence.of(rows)("", f"ranks {', '.join(map(str, ranks))} are all powers of two")


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
