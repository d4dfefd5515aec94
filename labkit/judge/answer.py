"""Judge a campaign: whether its numbers are good, why not, and what to do next.

Everything that shows an answer, from the terminal to the report, shows this one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from labkit import benchmarks
from labkit.benchmarks import CollectiveBenchmark, FileBenchmark, OneSidedBenchmark
from labkit.judge import causes, rules
from labkit.judge.checking import check
from labkit.judge.finding import DEFECT, Finding, Wanted, best, likeliest, ordered
from labkit.judge.rule import METHOD
from labkit.judge.view import View
from labkit.models.bounds import Stated
from labkit.models.costs import Costs
from labkit.point.columns import METRICS
from labkit.point.notes import listed
from labkit.point.spec import Spec
from labkit.point.units import plural
from labkit.read.columnar import Launches

if TYPE_CHECKING:
    import pandas as pd

Verdict = Literal["bad", "doubtful", "unknown", "no reference", "not judged", "good"]
VERDICTS: tuple[Verdict, ...] = ("bad", "doubtful", "unknown", "no reference", "not judged", "good")
PATHS = ("bandwidth-of-path", "latency-of-path")  # rules that judge paths
STEPS = 3  # things to do next that are named
NO_REFERENCE = "no reference"  # form of a verdict that has nothing to compare with
UNJUDGED = ("functional", "crowded")  # forms of verdicts on what shows the emulation, and can never be judged
FAMILIES = {
    "mpi": "MPI",
    "sockets": "sockets",
    "storage": "storage",
    "verbs": "RDMA verbs",
    "congestion": "congestion",
    "apps": "patterns of applications",
    "shmem": "OpenSHMEM",
    "rpc": "remote procedure calls",
    "kv": "key-value stores",
    "services": "microservices",
    "gpu": "GPUs",
    "learning": "distributed training",
}


@dataclass(frozen=True)
class Topic:
    """A family of benchmarks on a path, and the verdict on it.

    The best setting of a benchmark on a system represents the path; worse settings are named beside it. With several
    benchmarks or systems, the worst decides.

    Parameters
    ----------
    name : in words.
    findings : verdicts, the worst first.
    """

    name: str
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """Verdict of the deciding finding; else why nothing is known."""
        if self.lead.level in ("bad", "doubtful", "good"):
            return self.lead.level
        forms = {one.form for one in self.findings}
        if forms <= {NO_REFERENCE, *UNJUDGED}:
            return "no reference" if forms == {NO_REFERENCE} else "not judged"
        return "unknown"

    @cached_property
    def _best(self) -> tuple[Finding, ...]:
        """The best setting of each benchmark on each system; one beyond its bound is wrong, and represents itself."""
        groups: dict[tuple[object, ...], list[Finding]] = {}
        for one in self.findings:
            key = (_judged(one), one.form == DEFECT, one.subject.benchmark, one.subject.system)
            groups.setdefault(key, []).append(one)
        return tuple(best(some) if judged else some[0] for (judged, *_), some in groups.items())

    @cached_property
    def lead(self) -> Finding:
        """The finding that decides the verdict."""
        judged = [one for one in self._best if _judged(one)]
        return ordered(judged or self._best)[0]

    @cached_property
    def worse(self) -> tuple[Finding, ...]:
        """Settings that are not good, and are worse than the best one of their benchmark; the worst first."""
        return tuple(one for one in self.findings if one.level in ("bad", "doubtful") and one not in self._best)

    @property
    def cause(self) -> Finding | None:
        """The likeliest cause; None if it is unknown."""
        return likeliest(self.lead)

    @property
    def excluded(self) -> list[Finding]:
        """Causes that the data exclude."""
        return [one for one in self.lead.causes if one.against]


def _judged(one: Finding) -> bool:
    """Whether a verdict compares its value with a reference, also if its interval is too wide to decide."""
    return one.level != "unknown" or (math.isfinite(one.cost) and one.form not in UNJUDGED)


@dataclass(frozen=True)
class Step:
    """Something to do next.

    Parameters
    ----------
    command : command to run, or a sentence.
    why : findings behind it.
    """

    command: str
    why: tuple[Finding, ...]

    @property
    def runnable(self) -> bool:
        """Whether it is a command, and not a sentence."""
        return not self.command.endswith(".")

    @property
    def about(self) -> str:
        """Name of the topic, in words."""
        more = f" and {plural(len(self.why) - 1, 'more finding')}" if len(self.why) > 1 else ""
        return f"{str(self.why[0].subject) or 'the whole campaign'}{more}"


@dataclass(frozen=True)
class Settled:
    """A number that was not good, and the verdict after its cause was removed.

    Parameters
    ----------
    was : verdict before.
    cause : cause that it had.
    now : verdict on a point that was measured to decide the cause.
    """

    was: Finding
    cause: Finding
    now: Finding


@dataclass(frozen=True)
class Answer:
    """labkit's answer about a campaign.

    Parameters
    ----------
    campaign : its name.
    findings : all of them, in the order in which they are shown.
    argument : the campaign as an argument of a command.
    settled : numbers that were not good before the deciding measurement.
    """

    campaign: str
    findings: tuple[Finding, ...]
    argument: str = ""
    settled: tuple[Settled, ...] = ()

    @cached_property
    def topics(self) -> tuple[Topic, ...]:
        """Topics, the worst answers first."""
        some: dict[str, list[Finding]] = {}
        for one in self.findings:
            if one.kind == "verdict" and one.subject.benchmark:
                some.setdefault(topic_of(one), []).append(one)
        topics = [Topic(name, tuple(own)) for name, own in some.items()]
        return tuple(sorted(topics, key=lambda one: VERDICTS.index(one.verdict)))

    @cached_property
    def others(self) -> tuple[Finding, ...]:
        """Findings about the numbers that are not verdicts of topics: violations, changes and observations."""
        every = rules.every()
        return tuple(one for one in self.findings if one.kind != "verdict" and every[one.code].about != METHOD)

    @cached_property
    def of_method(self) -> tuple[Finding, ...]:
        """Findings about the method of measuring, as `labkit lint` shows them."""
        every = rules.every()
        return tuple(one for one in self.findings if one.kind != "verdict" and every[one.code].about == METHOD)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Next steps without repetition, the most useful first."""
        found: dict[str, list[Finding]] = {}
        for one in _asking(self):
            for command in filter(None, _commands(one)):
                found.setdefault(command, []).append(one)
                break
        return tuple(Step(command, tuple(some)) for command, some in found.items())[:STEPS]

    @cached_property
    def undecided(self) -> tuple[Wanted, ...]:
        """Points to measure for missing references, or to separate causes of numbers that are not good."""
        topics = [one for one in self.topics if one.verdict != "good"]
        asked = [topic.lead for topic in topics]
        asked += [one for topic in topics for one in topic.findings if one.level != "good" and one is not topic.lead]
        likely = [cause for one in (*asked, *self.others) for cause in one.causes if cause.supported]
        return tuple(dict.fromkeys(point for one in (*asked, *likely) for point in one.measure))

    @property
    def accusing(self) -> tuple[Finding, ...]:
        """Verdicts other than good, for the leading and the worse settings of all topics."""
        shown = (one for topic in self.topics for one in (topic.lead, *topic.worse))
        return tuple(one for one in shown if one.level in ("bad", "doubtful"))

    def since(self, before: Answer, names: Mapping[Spec, str]) -> Answer:
        """Return this answer with the numbers that were not good in an earlier answer and are settled now.

        Parameters
        ----------
        names : fingerprints of the points that were measured since.
        """
        good = {name: one for topic in self.topics for one in topic.findings if one.level == "good"
                for name in one.subject.points}  # fmt: skip
        still = {name for one in self.accusing for name in one.subject.points}
        settled = []
        for was in before.accusing:
            pairs = ((cause, good.get(names.get(wanted.spec, ""))) for cause in was.causes if cause.supported
                     for wanted in cause.measure)  # fmt: skip
            found = next(((cause, now) for cause, now in pairs if now is not None), None)
            if found is not None and still.isdisjoint(was.subject.points):
                settled.append(Settled(was, *found))
        return replace(self, settled=tuple(settled))

    @property
    def counts(self) -> str:
        """How many topics have each verdict, in words; empty without any."""
        return counted(self.topics)


def counted(topics: Sequence[Topic]) -> str:
    """Return how many topics have each verdict, in words; empty without any."""
    counts = Counter(one.verdict for one in topics)
    parts = [_counted(one, counts[one]) for one in reversed(VERDICTS) if counts[one]]
    return f"of {plural(len(topics), 'topic')}, {listed(parts)}" if parts else ""


def _counted(verdict: Verdict, count: int) -> str:
    if verdict == "no reference":
        return f"{count} {'has' if count == 1 else 'have'} {verdict}"
    return f"{count} {'is' if count == 1 else 'are'} {verdict}"


def _asking(answer: Answer) -> Iterator[Finding]:
    """Yield the findings that something can be done about: the verdicts of all topics first."""
    for topic in answer.topics:
        if topic.verdict != "good":
            yield topic.lead
    yield from answer.others
    yield from answer.of_method


def _commands(one: Finding) -> Iterator[str]:
    """Yield what to do about a finding, the likeliest cause first; empty texts for nothing."""
    rule = rules.every()[one.code]
    own = one.command, rule.imported if one.subject.imported and rule.imported else rule.remedy
    if one.kind == "observation" and not any(own):  # a cause of what is not a fault asks for nothing
        return
    for cause in one.causes:
        if cause.likely:
            yield (todo := cause.command or causes.every()[cause.code].remedy)
            if not todo:  # it is explained, and nothing is to be done
                return
    yield from own
    yield from (cause.command or causes.every()[cause.code].remedy for cause in one.causes if cause.supported)


def topic_of(one: Finding) -> str:
    """Describe the topic of a verdict: family, kind and path.

    Examples
    --------
    >>> from labkit.judge.finding import Subject
    >>> subject = Subject(benchmark="mpi.latency")
    >>> topic_of(Finding(code="", kind="verdict", level="good", subject=subject, values={"path": "TCP"}))
    'MPI latency over TCP'
    """
    path = one.values.get("path", "")
    return f"{field_of(one.subject.benchmark)}{f' over {path}' if path else ''}"


def field_of(benchmark: str) -> str:
    """Describe what a benchmark is about: family and kind.

    Examples
    --------
    >>> field_of("mpi.allreduce"), field_of("sockets.tcp_rr")
    ('MPI collectives', 'sockets latency')
    """
    family = benchmark.partition(".")[0]
    return f"{FAMILIES.get(family, family)} {_kind(benchmark)}"


def _kind(name: str) -> str:
    known = benchmarks.look_up(name)
    if isinstance(known, CollectiveBenchmark):
        return "collectives"
    if isinstance(known, FileBenchmark):
        return "files"
    if known and name.startswith("storage."):
        return known.title
    metric = next(iter(known.metrics)) if known else ""
    if not metric:
        return name.partition(".")[2]
    label = "latency" if METRICS[metric].kind == "cost" else METRICS[metric].label
    return f"one-sided {label}" if isinstance(known, OneSidedBenchmark) else label


def answer(view: View, only: Collection[str] = ()) -> Answer:
    """Judge a campaign by all rules, and find causes for numbers that are not good.

    Parameters
    ----------
    view : view of the campaign.
    only : codes of the rules to apply; all if left out.
    """
    chosen = [one for code, one in rules.every().items() if not only or code in only]
    return Answer(view.name, check(view, chosen), view.argument)


def verdicts(view: View) -> Answer:
    """Judge a campaign by the rules that give verdicts, without a look for causes."""
    chosen = [one for one in rules.every().values() if one.kind == "verdict"]
    return Answer(view.name, check(view, chosen, explain=False), view.argument)


def of_paths(
    launches: Launches,
    summary: pd.DataFrame,
    stated: Stated | None = None,
    machine: Mapping[str, Costs] | None = None,
) -> tuple[Finding, ...]:
    """Judge bandwidths and latencies by the bounds of their paths.

    Parameters
    ----------
    launches : launches of a campaign.
    summary : summary of the same campaign, or of some of its points.
    stated, machine : as in `View`.

    Returns
    -------
    A verdict for each setting, the worst first, with its causes.
    """
    if not len(summary):
        return ()
    seen = View("", launches.records, summary, launches, stated=stated, machine=machine)
    return answer(seen, PATHS).findings
