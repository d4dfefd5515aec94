"""Print how often labkit's explanation is right: of situations whose cause is known, and of healthy ones. Asserts nothing.

``python bench/diagnosis.py inject`` makes the cases that are missing, each a campaign with a ``case.json``: what was
injected, and how the data show it. ``python bench/diagnosis.py score`` judges them, which takes minutes. Without a
command, the last scores are printed. The kinds of situations are the files of `bench/situations`.

The score is F1 of the pairs (place, cause) of a case: a place is a benchmark; labkit says its likeliest cause of each
verdict that is not good, of leading and of worse settings. Precision and recall, the places alone and the causes alone
stand beside it. The form of the score is that of NIKA [1]_. Which cases belong to the test half stands in
``bench/situations/split.toml``: it was drawn before any cause was tuned on them.

References
----------
.. [1] NIKA, a benchmark of network incident diagnosis, github.com/sands-lab/nika.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
from bench import situations
from bench.situations import Kind, NotShownError, Parameters, _recorded
from labkit import __version__
from labkit.apps import deciding
from labkit.errors import LabkitError, SpecError
from labkit.host import machine
from labkit.io import folders
from labkit.io.markdown import table
from labkit.judge.answer import Answer, answer
from labkit.judge.finding import Finding, likeliest
from labkit.judge.view import View
from labkit.models import costs
from labkit.point.spec import Spec
from labkit.point.units import parse_duration
from labkit.report import sources
from labkit.store.campaign import Campaign

SPLIT = Path(situations.__file__).parent / "split.toml"
HALVES = ("development", "test")
DRAWS = 2000  # of the bootstrap
_MEASURES = ("precision", "recall", "f1")
PATIENCE = 120  # s to wait until it is quiet
QUIET = 2.5  # load of a machine on which nothing else runs than the cases before
_SPLIT_SEED = 20261126
_HEAD = """\
# Groups of cases of each kind that belong to the test half: the numbers of the cases, or of the parts of a healthy kind.
# Drawn once, by `python bench/diagnosis.py split`, before any cause was tuned; that command only adds new kinds.
"""
Pair = tuple[str, str]  # place, cause
Codes = tuple[str, ...]  # that name one fault


@dataclass(frozen=True)
class Counts:
    """What of two sets is in both.

    Parameters
    ----------
    right, expected, said : number of members in both, that are true, and that labkit says.
    """

    right: int
    expected: int
    said: int

    @property
    def precision(self) -> float:
        """Part of what is said that is true; 0 if nothing is said."""
        return self.right / self.said if self.said else 0.0

    @property
    def recall(self) -> float:
        """Part of what is true that is said."""
        return self.right / self.expected

    @property
    def f1(self) -> float:
        """Harmonic mean of both."""
        return 2 * self.right / (self.expected + self.said)


@dataclass(frozen=True)
class Scored:
    """What labkit says about a case, beside the truth.

    Parameters
    ----------
    kind, number, group : of the case; cases of one group are not independent.
    verdict : ``right``, ``wrong`` or ``none``; empty for a kind whose verdict has no truth.
    expected : pairs that are true, each with all codes that name it.
    said : pairs that labkit says.
    blamed : places that labkit calls not good, whether it says a cause or not.
    elsewhere : expected pairs that are among its supported causes, but not the likeliest.
    accused : topics that are not good.
    ruled : whether the rule of a fault of method names it; None for other kinds.
    """

    kind: str
    number: int
    group: int
    verdict: str
    expected: tuple[tuple[str, Codes], ...] = ()
    said: frozenset[Pair] = frozenset()
    blamed: frozenset[str] = frozenset()
    elsewhere: int = 0
    accused: tuple[str, ...] = ()
    ruled: bool | None = None

    @property
    def pairs(self) -> Counts:
        """Of pairs of a place and a cause."""
        right = sum(any((place, code) in self.said for code in codes) for place, codes in self.expected)
        return Counts(right, len(self.expected), len(self.said))

    @property
    def places(self) -> Counts:
        """Of places alone."""
        expected = {place for place, _ in self.expected}
        return Counts(len(expected & self.blamed), len(expected), len(self.blamed))

    @property
    def causes(self) -> Counts:
        """Of causes alone; a code that names several faults counts once."""
        expected, said = {codes for _, codes in self.expected}, {code for _, code in self.said}
        right = sum(any(code in codes for codes in expected) for code in said)
        missed = sum(said.isdisjoint(codes) for codes in expected)
        return Counts(right, right + missed, len(said))

    @property
    def detected(self) -> bool:
        """Whether something is called not good, if and only if something is wrong."""
        return bool(self.blamed) is bool(self.expected)


def groups(kind: Kind) -> list[int]:
    """Return the group of each case: its own number, or what its parameters say."""
    return [int(case.get("group", number)) for number, case in enumerate(situations.parameters(kind))]


def drawn(kind: Kind) -> list[int]:
    """Return the groups of a kind that belong to the test half."""
    every = sorted(set(groups(kind)))
    random = np.random.default_rng([_SPLIT_SEED, *kind.name.encode()])
    return sorted(random.choice(every, len(every) // 2, replace=False).tolist())


def split() -> dict[str, list[int]]:
    """Return the groups of the test half by kind, as they are on record."""
    found: dict[str, list[int]] = tomllib.loads(SPLIT.read_text())["test"] if SPLIT.exists() else {}
    return found


def draw() -> None:
    """Add the kinds that are not in the split; what is on record stays."""
    known = split()
    known |= {name: drawn(kind) for name, kind in situations.every().items() if name not in known}
    SPLIT.write_text(_HEAD + "[test]\n" + "".join(f"{name} = {known[name]}\n" for name in sorted(known)))


def half(kind: str, group: int) -> str:
    """Return the half of a group of cases."""
    return HALVES[group in split()[kind]]


def inject(folder: Path, kinds: Iterable[Kind], budget: float, say: Callable[[str], None] = print) -> None:
    """Make the cases that are missing; list those whose injection the data do not show in ``rejected.json``.

    Parameters
    ----------
    budget : s after which no further case begins.
    """
    end = time.monotonic() + budget
    rejected = json.loads(_rejected(folder).read_text()) if _rejected(folder).exists() else {}
    for kind in kinds:
        for number, (case, group) in enumerate(zip(situations.parameters(kind), groups(kind), strict=True)):
            place = folder / f"{kind.name}-{number}"
            if (place / "case.json").exists():
                continue
            if time.monotonic() >= end:
                say("the budget ends; the same command goes on")
                return
            shutil.rmtree(place, ignore_errors=True)  # of a run that was interrupted
            try:
                made(kind, case, place, {"number": number, "group": group, "half": half(kind.name, group)})
                rejected.pop(place.name, None)
            except (NotShownError, LabkitError, OSError) as error:
                shutil.rmtree(place, ignore_errors=True)
                rejected[place.name] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
                say(f"rejected: {place.name}: {rejected[place.name]}")
            _rejected(folder).parent.mkdir(parents=True, exist_ok=True)
            _rejected(folder).write_text(json.dumps(rejected, indent=1))


def made(kind: Kind, case: Parameters, place: Path, about: dict[str, Any]) -> Campaign:
    """Make a case, and write down what it is."""
    place.parent.mkdir(parents=True, exist_ok=True)
    began, patience = machine.load_snapshot(), PATIENCE
    while kind.source == "measured" and began["load_1"] > QUIET:  # other programs would be a second fault
        if patience <= 0:
            raise NotShownError(f"the machine is busy: its load is {began['load_1']:.1f}, and must be at most {QUIET}")
        patience -= 5
        time.sleep(5)  # the load of the case before fades
        began = machine.load_snapshot()
    campaign = kind.make(case, place)
    facts = {
        "kind": kind.name,
        "seed": situations.SEED,
        "source": kind.source,
        "labels": [[label.place, list(label.causes)] for label in kind.labels],
        "rule": kind.rule,
        "parameters": dict(case),
        "shown": kind.shown(campaign, case),
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "labkit": __version__,
        "load": began,
        **about,
    }
    (place / "case.json").write_text(json.dumps(facts, indent=1, default=str))
    return campaign


def _rejected(folder: Path) -> Path:
    return folder / "rejected.json"


def _last(folder: Path) -> Path:
    return folder / "scored.md"


def stored(folder: Path, halves: Sequence[str]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the cases of some halves."""
    for file in sorted(folder.glob("*/case.json")):
        case = json.loads(file.read_text())
        if case["kind"] in situations.every() and case["half"] in halves:
            yield file.parent, case


def asked(place: Path, kind: Kind) -> Answer:
    """Return what `labkit explain` answers about a campaign."""
    campaign = Campaign.existing(place)
    view = sources.read(place).view
    return answer(replace(view, stated=kind.stated, machine=costs.read(campaign), here=deciding.here(campaign)))


def decided(place: Path, kind: Kind, budget: float) -> tuple[Answer, tuple[Finding, ...]]:
    """Return what it answers after measuring what is undecided, into a copy of the campaign.

    Also returned is what it says of the settings that the case has: of those that were measured to decide something,
    nothing was injected. A setting that is good now, because a cause was removed, had this cause.
    """
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(shutil.copytree(place, Path(folder) / place.name))
        after = deciding.decide(Campaign.existing(copied), lambda: asked(copied, kind), budget)
        had, view = sources.read(place).view, sources.read(copied).view
        own = {_setting(had, name) for name in had.summary["fingerprint"]}
        accusing = [one for one in after.accusing if _setting(view, one.subject.points[0]) in own]
    return after, (*accusing, *(replace(one.was, causes=(one.cause,)) for one in after.settled))


def _setting(view: View, fingerprint: str) -> Spec | None:
    """Return what a point has in common with those of other sizes."""
    spec = view.spec(fingerprint)
    return spec and spec.replace(size=8)


def scored(case: dict[str, Any], kind: Kind, said: Answer, accusing: Sequence[Finding]) -> Scored:
    """Compare an answer, and what of it says that something is not good, with the truth."""
    expected = tuple((str(place), tuple(codes)) for place, codes in case["labels"])
    pairs = {(one.subject.benchmark, cause.code) for one in accusing if (cause := likeliest(one)) is not None}
    every = {(one.subject.benchmark, each.code) for one in accusing for each in one.causes if each.supported}
    missed = [(place, codes) for place, codes in expected if not any((place, code) in pairs for code in codes)]
    ruled = any(one.code == kind.rule for one in said.findings) if kind.rule else None
    return Scored(
        case["kind"],
        case["number"],
        case["group"],
        "" if kind.rule else verdict(said, accusing, [place for place, _ in expected]),
        expected,
        frozenset(pairs),
        frozenset(one.subject.benchmark for one in accusing),
        sum(any((place, code) in every for code in codes) for place, codes in missed),
        tuple(topic.name for topic in said.topics if topic.verdict in ("bad", "doubtful")),
        ruled,
    )


def verdict(said: Answer, accusing: Sequence[Finding], places: Sequence[str]) -> str:
    """Return whether the verdict is right: that every place is not good, or, without places, that all topics are good."""
    if not places:
        verdicts = {topic.verdict for topic in said.topics}
        return "wrong" if verdicts & {"bad", "doubtful"} else "right" if "good" in verdicts else "none"
    accused = {one.subject.benchmark for one in accusing}
    known = {one.subject.benchmark for topic in said.topics for one in topic.findings if one.level != "unknown"}
    if set(places) <= accused:
        return "right"
    return "wrong" if set(places) & known else "none"


def interval(values: Sequence[float], clusters: Sequence[object]) -> tuple[float, float]:
    """Return a 95 % interval of a mean, by a bootstrap that draws whole groups: cases of a group are alike."""
    names = sorted({repr(one) for one in clusters})
    parts = [np.array([v for v, c in zip(values, clusters, strict=True) if repr(c) == name]) for name in names]
    sums, counts = np.array([part.sum() for part in parts]), np.array([len(part) for part in parts])
    drawn_parts = np.random.default_rng(1).integers(len(parts), size=(DRAWS, len(parts)))
    means = sums[drawn_parts].sum(axis=1) / counts[drawn_parts].sum(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def _mean(values: Sequence[float], clusters: Sequence[object], digits: int = 2) -> str:
    if not values:
        return ""
    low, high = interval(values, clusters)
    return f"{np.mean(values):.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def printed(some: Sequence[Scored]) -> str:
    """Return the table by kind, and the totals."""
    every = situations.every()
    rows = []
    for name in dict.fromkeys(one.kind for one in some):
        own, kind = [one for one in some if one.kind == name], every[name]
        verdicts = [one.verdict for one in own]
        rows.append((
            f"`{name}`", kind.source, str(len(own)),
            "/".join(str(verdicts.count(each)) for each in ("right", "wrong", "none")) if any(verdicts) else "",
            f"{np.mean([one.pairs.f1 for one in own]):.2f}" if kind.labels else "",
            f"{sum(one.pairs.right for one in own)}/{sum(one.pairs.expected for one in own)}" if kind.labels else "",
            str(sum(one.elsewhere for one in own)) if kind.labels else "",
            f"{np.mean([len(one.accused) for one in own]):.2f}" if kind.healthy else "",
            f"{sum(bool(one.ruled) for one in own)}/{len(own)}" if kind.rule else "",
        ))  # fmt: skip
    head = (
        "kind", "source", "cases", "verdict right/wrong/none", "F1", "named first", "named later", "accusations",
        "rule names it",
    )  # fmt: skip
    faults = [one for one in some if one.expected]
    healthy = [one for one in some if every[one.kind].healthy]
    kinds, parts = [one.kind for one in faults], [(one.kind, one.group) for one in healthy]
    totals = [
        ("something not good, faults", str(len(faults)), _mean([one.detected for one in faults], kinds)),
        ("every place not good, faults", str(len(faults)), _mean([one.verdict == "right" for one in faults], kinds)),
        ("verdict good, healthy", str(len(healthy)), _mean([one.verdict == "right" for one in healthy], parts)),
        ("accusations of a healthy case", str(len(healthy)), _mean([len(one.accused) for one in healthy], parts)),
        (
            "detection, all",
            str(len(faults) + len(healthy)),
            _mean([one.detected for one in [*faults, *healthy]], [*kinds, *parts]),
        ),
    ]
    shown = table(("in total", "cases", "mean and 95 % interval"), [one for one in totals if one[2]])
    return f"{table(head, rows)}\n{_sets(faults, kinds)}{shown}"


def _sets(faults: Sequence[Scored], kinds: Sequence[str]) -> str:
    """Return precision, recall and F1 of causes at their places, and of either alone, as NIKA reports them."""
    if not faults:
        return ""
    groups: dict[str, Callable[[Scored], Counts]] = {
        "cause at its place": lambda one: one.pairs,
        "place alone": lambda one: one.places,
        "cause alone": lambda one: one.causes,
    }
    rows = [
        (name, str(len(faults)), *(_mean([getattr(counts(one), each) for one in faults], kinds) for each in _MEASURES))
        for name, counts in groups.items()
    ]
    head = ("faults, mean and 95 % interval", "cases", "precision", "recall", "F1")
    return f"{table(head, rows)}\n"


def details(some: Iterable[Scored]) -> Iterator[str]:
    """Yield what was expected and said of each case that is not entirely right."""
    for one in some:
        if one.verdict in ("wrong", "none") or (one.expected and one.pairs.f1 < 1) or one.ruled is False:
            expected = ", ".join(f"{place}: {'|'.join(codes)}" for place, codes in one.expected) or one.kind
            said = ", ".join(f"{place}: {code}" for place, code in sorted(one.said)) or "nothing"
            yield f"{one.kind}-{one.number}: verdict {one.verdict or '-'}; expected {expected}; said {said}"


def score(folder: Path, halves: Sequence[str], budget: float, *, every: bool = False, only: Sequence[str] = ()) -> None:
    """Judge the stored cases; print the table, and keep it unless only some kinds are judged."""
    cases = [one for one in stored(folder, halves) if not only or one[1]["kind"] in only]
    if not cases:
        print(f"no cases of the half {' or '.join(halves)} in {folder}; make them: python bench/diagnosis.py inject")
        return
    kinds, began = situations.every(), time.monotonic()
    answers = ((case, asked(place, kinds[case["kind"]])) for place, case in cases)
    some = [scored(case, kinds[case["kind"]], said, said.accusing) for case, said in answers]
    took = time.monotonic() - began
    shown = f"{len(some)} cases, half {' and '.join(halves)}, labkit {__version__}, judged in {took:.0f} s\n\n{printed(some)}"
    if not only:
        _last(folder).write_text(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC: {shown}")
    print(shown)
    if every:
        print("\n" + "\n".join(details(some)))
    rejected = json.loads(_rejected(folder).read_text()) if _rejected(folder).exists() else {}
    for name, reason in rejected.items():
        print(f"rejected: {name}: {reason}")
    if budget:
        lasting = [
            (place, case)
            for place, case in cases
            if kinds[case["kind"]].decidable and deciding.here(Campaign.existing(place))
        ]
        names = {(case["kind"], case["number"]) for _, case in lasting}
        print(f"\n{len(lasting)} of these cases can be decided here: before, then after measuring {budget:g} s each\n")
        print(printed([one for one in some if (one.kind, one.number) in names]))
        after = [
            scored(case, kinds[case["kind"]], *decided(place, kinds[case["kind"]], budget)) for place, case in lasting
        ]
        print(printed(after))


def _seconds(text: str) -> float:
    """Return the seconds of an argument."""
    try:
        return parse_duration(text, word="")
    except SpecError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def main() -> None:
    """Make cases, or score those that exist."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = folders.cache() / "diagnosis"
    parser.add_argument("--folder", type=Path, default=default, help="of the cases (default: %(default)s)")
    verbs = parser.add_subparsers(dest="verb")
    making = verbs.add_parser("inject", help="make the cases that are missing")
    making.add_argument("--kind", nargs="+", choices=sorted(situations.every()), help="only these kinds")
    making.add_argument("--source", choices=("measured", "recorded", "made"), help="only kinds of this source")
    making.add_argument(
        "--budget", type=_seconds, default="1h", metavar="TIME", help="begin no case later (default: 1h)"
    )
    making.add_argument(
        "--examples", type=Path, default=_recorded.own, metavar="FOLDER",
        help="of campaigns of this machine, which replace the recorded examples of the same names: --decide needs cases "
        "of the machine that it measures on",
    )  # fmt: skip
    judging = verbs.add_parser("score", help="judge the cases that exist")
    judging.add_argument("--half", choices=(*HALVES, "all"), default="development", help="(default: %(default)s)")
    judging.add_argument("--kind", nargs="+", choices=sorted(situations.every()), default=(), help="only these kinds")
    judging.add_argument("--details", action="store_true", help="print each case that is not entirely right")
    judging.add_argument(
        "--decide", type=_seconds, default=0.0, metavar="TIME", help="also after measuring so long, where possible"
    )
    verbs.add_parser("split", help="draw the halves of new kinds")
    options = parser.parse_args()
    if options.verb == "split":
        draw()
    elif options.verb == "inject":
        if not options.examples.is_dir():
            parser.error(f"--examples {options.examples} is not a folder. Name the one that has your campaigns.")
        _recorded.own = options.examples
        kinds = [one for one in situations.every().values() if not options.kind or one.name in options.kind]
        kinds = [one for one in kinds if options.source in (None, one.source)]
        inject(options.folder, kinds, options.budget)
    elif options.verb == "score":
        halves = HALVES if options.half == "all" else (options.half,)
        score(options.folder, halves, options.decide, every=options.details, only=options.kind)
    elif _last(options.folder).exists():
        print(f"the last scores; for new ones: python bench/diagnosis.py score\n\n{_last(options.folder).read_text()}")
    else:
        score(options.folder, HALVES[:1], 0.0)


if __name__ == "__main__":
    main()
