"""Lab 11: how close a number is to the limit of its path, and what a verdict means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from labkit import figures
from labkit.apps.teaching import slips
from labkit.apps.teaching.definition import Lab
from labkit.apps.teaching.expected import Expected
from labkit.apps.teaching.questions import Question
from labkit.apps.teaching.results import Results
from labkit.judge import answer, rules
from labkit.judge.finding import Finding, Value
from labkit.models.bounds import Stated
from labkit.point.spec import Effort, Spec, sweep
from labkit.point.units import format_range
from labkit.read.columnar import of_samples
from labkit.store.samples.facts import FINGERPRINT

LINK = "virtual-cluster:2,rate=50mbit"
RATE, DATA, PACKET = 50 / 8, 1448, 1514  # MB/s; B of a packet
LARGE = 64 * 1024  # B
Point = tuple[str, str, dict[str, Any]]
STREAM = ("mpi.bandwidth", "bandwidth_MBps")
OVER_LINK: Point = (*STREAM, {"testbed": LINK, "size": LARGE})
THROUGH_MEMORY: Point = (*STREAM, {"testbed": "local", "size": LARGE})
CROSSING = "micro.core_to_core_copy"
COPY: Point = ("micro.memory_copy", "bandwidth_MBps", {"size": LARGE})
GOOD, DOUBTFUL, BAD, ABOVE, UNKNOWN = "good", "doubtful", "bad", "above its bound", "unknown"
DEFECT = "the data sheet or the measurement is wrong"
PRAISE = "the library is better than the link"
NOISE = "nothing: noise explains more than a bound"


def _specs() -> list[Spec]:
    specs = sweep(STREAM[0], sizes="1Ki,64Ki", launcher="openmpi", transport="tcp", testbed=LINK)
    specs += sweep(STREAM[0], sizes="4Ki,64Ki", launcher="openmpi", transport="shm")
    return specs + sweep(COPY[0], sizes="4Ki,64Ki", ranks=1) + sweep(CROSSING, sizes="4Ki,64Ki", ranks=1)


def _judged(results: Results, link: str = "") -> tuple[Finding, ...]:
    return answer.of_paths(of_samples(results.samples), results.summary, Stated(link=link))


def _verdict(results: Results, testbed: str, link: str = "") -> Expected:
    """Verdict on the best size of the stream over a testbed, with another rate of the link if one is stated."""
    streams = (one for one in _judged(results, link) if one.subject.benchmark == STREAM[0])
    points = {FINGERPRINT.of(each.meta) for each in results.samples if each.spec.testbed == testbed}
    values = [(value.value, one) for one in streams if isinstance(value := one.values["measured"], Value)]
    _, best = max(((value, one) for value, one in values if points & {*one.subject.points}), key=lambda each: each[0])
    return Expected(ABOVE if best.form == "defect" else best.level)


def _limit(results: Results) -> Expected:
    value = RATE * DATA / PACKET
    return Expected(value, value, value, by="the sizes of a packet")


def _share(results: Results) -> Expected:
    most = float(_limit(results).centre)
    return results.combined(lambda rate: 100 * rate / most, OVER_LINK)


def _copied(results: Results) -> Expected:
    return results.combined(lambda rate, copy: 100 * rate / copy, THROUGH_MEMORY, COPY)


def _measured(results: Results) -> pd.DataFrame:
    rows = []
    for words, point in (
        ("a stream over the link of 50 Mbit/s, 64 KiB", OVER_LINK),
        ("a stream through shared memory, 64 KiB", THROUGH_MEMORY),
        ("copies by one core, 64 KiB", COPY),
    ):
        value = results.value(*point[:2], **point[2])
        rows.append({"what": words, "median in MB/s": float(value.centre), "from": value.low, "to": value.high})
    return pd.DataFrame(rows)


LAB = Lab(
    title="Is this number good?",
    specs=_specs,
    recorded=("two-cores-limits",),
    effort=Effort(launches=6, time_cap=0.3),
    predictions=(
        Question(
            name="rate",
            unit="MB/s",
            text="A link carries 50 Mbit/s. How many MB of messages does a program move over it in a second?",
            of=lambda r: r.value(*OVER_LINK[:2], **OVER_LINK[2]),
        ),
        Question(
            name="memory",
            unit="%",
            text="Two processes exchange messages of 64 KiB through shared memory. Which share of the rate at which one core copies memory do they reach?",
            of=_copied,
        ),
    ),
    questions=(
        Question(
            name="limit",
            unit="MB/s",
            text="A packet takes 1514 B of the link and carries 1448 B of data. How many MB of data can the link of 50 Mbit/s carry in a second?",
            of=_limit,
            slips=slips.BITS
            | slips.MEBI
            | {
                "the rate of the link with its headers": lambda _: RATE,
                "the rate · 1514 / 1448": lambda _: RATE * PACKET / DATA,
            },
            why="A packet carries headers of Ethernet, IP and TCP besides its data. The link carries all bytes, the program counts only its data: 1448 of 1514.",
            hints=("50 Mbit/s are 6.25 MB/s of packets.", "6.25 · 1448 / 1514."),
        ),
        Question(
            name="share",
            unit="%",
            text="Which share of that bound did the stream reach?",
            of=_share,
            slips=slips.PART | slips.REST,
            why="A stream keeps the link busy, because the next messages are posted before the last one has arrived. So little more than the headers is lost.",
            hints=("The table has its median.", "100 · measured / bound."),
        ),
        Question(
            name="verdict",
            text="What does the rule say of the stream over the link?",
            choices=(GOOD, DOUBTFUL, BAD, ABOVE, UNKNOWN),
            of=lambda r: _verdict(r, LINK),
            why="The bound is what the slowest link of the path can carry. Near the bound nothing is left to gain on this path.",
            hints=(
                "Compare the ends of the interval with 90 % and 70 % of the bound. If 90 % lies inside the interval, the verdict is unknown.",
            ),
        ),
        Question(
            name="stated",
            text="A data sheet says that the same link carries 100 Mbit/s. What does the rule say then?",
            choices=(GOOD, DOUBTFUL, BAD, ABOVE, UNKNOWN),
            of=lambda r: _verdict(r, LINK, "100mbit"),
            why="The measurement is the same, but the stated bound is twice as high, so the share is half. A verdict is only as good as the rate that somebody states.",
            hints=("The bound is twice as high, the measurement is the same.",),
        ),
        Question(
            name="defect",
            text="Another data sheet says 40 Mbit/s, and the measured value lies well above that. What follows?",
            choices=(PRAISE, DEFECT, NOISE),
            of=lambda r: Expected(DEFECT),
            why="No data cross a link faster than its rate. A number above its bound shows that one of the two is wrong.",
            hints=("A bound cannot be passed. What must be wrong if a number passes it?",),
        ),
        Question(
            name="copied",
            unit="%",
            text="Through shared memory, 64 KiB: which share of the copy rate of one core did the stream reach?",
            of=_copied,
            slips=slips.PART | slips.REST | {"copies / stream: divide the other way round": lambda value: 1e4 / value},
            why="A library that passes a shared page copies each byte twice, and the second copy fetches what another core wrote. A single copy by one core needs neither.",
            hints=("Both are in the table.", "100 · stream / copies."),
        ),
        Question(
            name="memory_verdict",
            text="What does the rule say of the stream through shared memory?",
            choices=(GOOD, DOUBTFUL, BAD, ABOVE, UNKNOWN),
            of=lambda r: _verdict(r, "local"),
            why="The rule compares the stream with two copies, of which the second one fetches from another core, and allows the library 0.25 µs for each message. Only beside that bound do you see what the library itself loses.",
            hints=(
                "Its best size counts; the table has 64 KiB, and lab.results.rows has both.",
                "Shared memory is judged by two copies, one after the other, and 0.25 µs for the library; the second one copies what another core wrote. From 40 % of their rate it is good, below 20 % it is bad.",
            ),
        ),
    ),
    shows={
        "measured": _measured,
        "rule": lambda r: f"The rule: {rules.every()['bandwidth-of-path'].must}.",
        "verdicts": lambda r: _verdicts(_judged(r)),
        "streams": lambda r: figures.versus_size(r.rows(STREAM[0]), STREAM[1], series=["transport"], tail=None),
    },
    means="A number alone is neither good nor bad. Beside the bound of its path it says how much a better library, setting or placement could still bring: near the bound nothing does, and only another path helps. A number above its bound is a reason to look for the error, not to celebrate.",
    reading=(
        "`notebooks/80-is-this-good.ipynb`: verdicts on this machine, and `labkit explain CAMPAIGN` on any campaign.",
        "`docs/guide.md`, *Is this number good?*: what each number is compared with.",
        "Lab 9, *Lies, statistics and benchmarks*: rule 11 asks for the bound.",
    ),
)


def _verdicts(judged: Sequence[Finding]) -> pd.DataFrame:
    """A row for each setting that was judged, as text."""
    head = [
        "benchmark",
        "setting",
        "quantity",
        "measured",
        "interval",
        "limit",
        "of the limit",
        "limited by",
        "verdict",
    ]
    return pd.DataFrame([_row(one) for one in judged], columns=head)


def _row(one: Finding) -> tuple[str, ...]:
    measured, limit = one.values["measured"], one.values.get("limit")
    part = next((each for each in (one.values.get("share"), one.values.get("times")) if each), None)
    assert isinstance(measured, Value)
    return (
        one.subject.benchmark,
        one.subject.setting,
        measured.of,
        f"{measured:alone}",
        format_range(measured.low, measured.high, none="-"),
        f"{limit}" if isinstance(limit, Value) else "-",
        f"{part:3}" if isinstance(part, Value) else "-",
        limit.of if isinstance(limit, Value) else "-",
        one.level if one.form != "defect" else "defect",
    )
