"""No sentence of any study claims what a degenerate campaign does not show."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from labkit import studies
from labkit.io import project
from labkit.judge import rules

from . import degenerate

NUMBER = r"[-−]?\d[\d,]*(?:\.\d+)?"
CLAIM = re.compile(
    rf"{NUMBER}(?: \([^)]*\))? times\b|\b(?:adds?|takes off|saves?) {NUMBER}"
    rf"|{NUMBER} (?:µs|ms|s|ns|MB/s) (?:more|less)\b|\bat {NUMBER} % of the rate"
    r"|\bis (?:the )?(?:fastest|slowest)|\bthe (?:cheapest|most expensive)|\bThe cheapest|\blongest\b|by a factor of"
    r"|\b(?:take|takes|first take) longer\b|\bcosts? \S+ most\b|\brises from\b|\bmust enter\b|\bneed not\b"
    r"|\bcomes nearest\b|\bstops growing\b|\bstill grows\b|\bcertainly slower\b"
)
NOTHING = re.compile(
    r"(?<![\d.,])[01] times\b|\b(?:adds?|takes off|saves?) 0\b|(?<![\d.,])0 (?:µs|ms|s|ns) (?:more|less)\b"
)
SHARE = re.compile(rf"({NUMBER})(?: to ({NUMBER}))? %")
MISSING = re.compile(r"\b(?:nan|NaN|inf)\b|∞")
OPEN = re.compile(
    r"[Nn]o (?:difference|claim)\b|do not decide|decides nothing|measured at different times|not known|not shown|do(?:es)? not show|not certain|not differ certainly|[Nn]o \S+.* is certain"
)
SIMULATED = ("scale_out",)  # a simulation is neither disturbed nor scattered: it has one launch
RATES = (
    "completion",
    "incast",
    "registration_and_buffers",
)  # their tools report rates over a whole run, which no step of a clock limits
SILENT = {  # studies whose text does not follow from values of points
    "history": "it compares campaigns",
    "imported": "it lists logs",
    "measured": "it lists points",
    "needs": "it is not a study",
    "tune": "it reads a tuning",
}
STUDIES = [name for name in studies.names() if name not in SILENT]
QUICK = ("no points", "one launch of a busy machine")
FINE = "below the clock"
LONG = (  # a fifth of a second or more each
    *(
        "all_pairs",
        "bandwidth",
        "breakdown",
        "collectives",
        "congestion_impact",
        "halo_and_fft",
        "interference_and_qos",
    ),
    *("iozone", "is_this_good", "loggp", "openshmem", "rpc", "scale_out", "waterfall"),
)


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, without tables."""
    lines = [line for line in text.splitlines() if not line.startswith("|")]
    return [one for line in lines for one in re.split(r"(?<=[.;]) +(?=[A-Z`])", line.removeprefix("- ").strip()) if one]


@cache
def fixed(name: str) -> frozenset[str]:
    """Return the sentences that a study has without any point, such as those on published numbers."""
    own = degenerate.study(name, degenerate.Kind(lambda *_: 0.0, kept=0))
    return frozenset(one for text in degenerate.texts(own).values() for one in sentences(text))


def unfounded(sentence: str, *, claims: bool) -> list[str]:
    """Return what a sentence claims that no campaign shows, or that this one does not."""
    shares = [float(n.replace(",", "").replace("−", "-")) for pair in SHARE.findall(sentence) for n in pair if n]
    found = [f"{share} %" for share in shares if not 0 <= share <= 100]
    patterns = [MISSING]
    if not OPEN.search(sentence):
        patterns += [NOTHING] if claims else [NOTHING, CLAIM]
    found += [match[0] for pattern in patterns if (match := pattern.search(sentence))]
    return found


def wrong(name: str, kind: str, *, judged: bool = False) -> list[tuple[list[str], str]]:
    """Return the sentences of a study that a degenerate campaign does not show, each with what is wrong.

    Parameters
    ----------
    judged : whether those on guidelines count, and no others.
    """
    how = degenerate.KINDS[kind]
    texts = degenerate.texts(degenerate.study(name, how))
    said = [
        one for method, text in texts.items() if (method == "guidelines") == judged for one in sentences(_unruled(text))
    ]
    claims = how.claims or name in SIMULATED or (kind == FINE and name in RATES)
    found = [(unfounded(one, claims=claims), one) for one in said]
    return [(why, one) for why, one in found if why and one not in fixed(name)]


def _unruled(text: str) -> str:
    """Return a text without what rules demand: that claims nothing about the numbers."""
    for rule in rules.every().values():
        text = text.replace(rule.must, "…")
    return text


def cases() -> Iterator[Any]:
    """Every study with every kind of degenerate campaign."""
    for name in STUDIES:
        for kind in degenerate.KINDS:
            if (name, kind) == ("waterfall", FINE):
                continue  # times of a breakdown know no clock
            marks = [] if kind in QUICK and name not in LONG else [pytest.mark.slow]
            yield pytest.param(name, kind, marks=marks, id=f"{name}, {kind}")


@pytest.mark.parametrize(("name", "kind"), [*cases()])
def test_no_sentence_claims_what_its_campaign_does_not_show(name: str, kind: str) -> None:
    assert not wrong(name, kind)


@pytest.mark.parametrize("name", ["one_sided", "latency"])
def test_campaigns_that_support_claims_get_some(name: str) -> None:
    """Otherwise the kinds with claims would try no sentence of those that need a difference."""
    said = degenerate.texts(degenerate.study(name, degenerate.KINDS["reversed order"]))
    assert any(CLAIM.search(one) and not OPEN.search(one) for text in said.values() for one in sentences(text))


def test_lists_and_tables_of_studies_mark_values_below_the_clock() -> None:
    """Lists that name their unit once have no statement with a mark; nothing is the fastest of bounds."""
    how = degenerate.KINDS[FINE]
    codes = degenerate.study("erasure_coding", how)
    listed = [one for one in str(codes.findings()).splitlines() if "MB/s: " in one]
    assert len(listed) == 2
    assert all(each.split(" ")[1] == "≥" for one in listed for each in one.partition("MB/s: ")[2].split(", "))
    hpl = degenerate.study("hpl", how)
    table = hpl.table()
    assert len(table)
    assert table["time (s)"].str.startswith("≤ ").all()
    assert table["speedup"].isna().all()


def test_no_guideline_is_violated_by_one_launch_of_a_busy_machine() -> None:
    assert not wrong("collectives", "one launch of a busy machine", judged=True)


@pytest.mark.parametrize(
    ("sentence", "claims"),
    [
        ("I/O takes 328,805 % of the run.", True),
        ("TCP saves −117,928 % of the whole.", True),
        ("The mean is nan µs.", True),
        ("pickle adds 0 µs.", True),
        ("A put takes 1 times as long as a get.", True),
        ("mpi4py, buffers is the fastest.", False),
        ("pickle adds 41,988 µs.", False),
        ("It takes 3.2 times as long.", False),
        ("bcast on 2 ranks: linear comes nearest.", False),
        ("The rate stops growing from 1 messages in flight.", False),
    ],
)
def test_an_unfounded_sentence_is_found(sentence: str, *, claims: bool) -> None:
    assert unfounded(sentence, claims=claims)
    assert not unfounded("I/O takes 34 % of the run. Both: no difference is claimed.", claims=claims)


def test_only_the_listed_studies_ask_for_no_points() -> None:
    """A study without points would pass the tests above with no sentence."""
    without = {name for name in studies.names() if name != "needs" and not degenerate.specs_of(name)}
    assert {*without, "needs"} == set(SILENT)


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_each_study_has_sentences_on_its_points(name: str) -> None:
    texts = degenerate.texts(degenerate.study(name, degenerate.KINDS["reversed order"]))
    assert {one for text in texts.values() for one in sentences(text)} - fixed(name)


# file → how many counts with a plural of their own it has, and why they are never 1
OWN_PLURAL = {
    "judge/contract.py": (1, "two or more in this branch"),
    "benchmarks/storage/bt_io.py": (1, "points of a grid"),
    "figures/cells.py": (2, "two or more in this branch"),
    "figures/lines.py": (1, "at least 100"),
    "figures/rank_map.py": (1, "two or more in this branch"),
    "run/importing/folders.py": (1, "a constant above 1"),
    "run/importing/messages.py": (1, "three or more in this branch"),
    "read/records/aggregate.py": (2, "some of several"),
    "read/records/value.py": (1, "some of several"),
    "report/abstract.py": (2, "a constant above 1"),
    "report/check.py": (1, "a verb"),
    "report/methods.py": (1, "two or more in this branch"),
    "report/blocks/description.py": (1, "a constant above 1"),
    "report/blocks/discussion.py": (1, "a constant above 1"),
    "report/blocks/threats.py": (1, "a constant above 1"),
    "report/styles.py": (1, "a style that needs one campaign gets it"),
    "apps/show/results.py": (1, "two or more in this branch"),
    "apps/show/tuned.py": (1, "a constant above 1"),
    "run/staging/node.py": (1, "a node has no labkit to import"),
    "stats/__init__.py": (3, "two or more in this branch, or a set of samples"),
    "studies/imported.py": (1, "a constant above 1"),
    "studies/overlap.py": (1, "percentage points, no count"),
    "studies/sockets.py": (1, "two or more in this branch"),
    "studies/tune.py": (1, "two or more in this branch"),
    "suites/definition.py": (1, "above a limit"),
}
COUNTED = re.compile(r" (?:points|launches|files|records|notebooks|campaigns|benchmarks|samples|clauses|comparisons)\b")


def own_plurals(path: Path) -> int:
    """How many formatted values of a module stand before a noun in the plural, without `labkit.point.units.plural`."""
    pairs = (
        pair
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.JoinedStr)
        for pair in itertools.pairwise(node.values)
    )
    return sum(
        isinstance(value, ast.FormattedValue) and isinstance(text, ast.Constant) and bool(COUNTED.match(text.value))
        for value, text in pairs
    )


def test_counts_have_the_singular_for_1() -> None:
    """`plural` makes "1 point" and "2 points"; a noun of its own in a message is right for one of them only."""
    package = project.SHIPPED / "labkit"
    counts = {str(path.relative_to(package)): own_plurals(path) for path in sorted(package.rglob("*.py"))}
    assert {name: count for name, count in counts.items() if count} == {
        name: count for name, (count, _) in OWN_PLURAL.items()
    }
