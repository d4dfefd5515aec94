"""Lab 10: the parts of a message, measured and published, and what a cheaper part would save."""

from __future__ import annotations

from typing import Any

import pandas as pd

from labkit import figures
from labkit.apps.teaching import slips
from labkit.apps.teaching.definition import Lab
from labkit.apps.teaching.expected import Expected
from labkit.apps.teaching.questions import Question
from labkit.apps.teaching.results import Results
from labkit.apps.teaching.what_if import WhatIf, Whole
from labkit.errors import DataError
from labkit.judge import layers
from labkit.models import what_if
from labkit.models.breakdown import Breakdown, of_paper
from labkit.point.spec import Effort, Spec, sweep
from labkit.read import reference

Point = tuple[str, str, dict[str, Any]]
UNIX: Point = ("sockets.unix_rr", "round_trip_us", {})
UDP: Point = ("sockets.udp_rr", "round_trip_us", {})
TCP: Point = ("sockets.tcp_rr", "round_trip_us", {})
SHM: Point = ("mpi.latency", "latency_us", {"transport": "shm", "size": 64})
LATENCY, RATE, OVERHEAD = (
    ("mpi.latency", "latency_us"),
    ("mpi.bandwidth", "message_rate_per_s"),
    ("mpi.host_overhead", "overhead_us"),
)

PAPER = "breaking-band-2019"
SOURCE = "Zambre et al., ICPP 2019"
BY = "the published numbers"
KERNEL = layers.KERNEL
WIRE, SWITCH, PCIE, IO, PIO = "the wire", "the switch", "PCIe", "I/O: PCIe and memory", "the copy to the adapter (PIO)"
HLP, LLP, SOFTWARE = "MPI and UCP", "UCT", "all software"
COMPONENTS = {
    WIRE: ["wire"],
    SWITCH: ["switch"],
    PCIE: ["pcie"],
    IO: ["pcie", "rc_to_mem"],
    PIO: ["pio_copy"],
    HLP: ["hlp_post", "post_prog", "hlp_rx_prog"],
    LLP: ["llp_post", "llp_prog"],
    SOFTWARE: ["hlp_post", "post_prog", "hlp_rx_prog", "llp_post", "llp_prog", "busy_posts"],
}
NOTHING = "nothing: differences between neighbours always sum to the longest path"
RIGHT = "that every part was measured rightly"
APART = "that the parts do not overlap"
MORE = "more than the round trip: at times both sides work at once"
LESS = "less than the round trip: they may take turns"


def _specs() -> list[Spec]:
    specs = sweep(UNIX[0], sizes="64") + sweep(UDP[0], sizes="64", tool="sockperf")
    specs += sweep(TCP[0], sizes="64", tool="sockperf") + sweep("mpi.latency", sizes="8,64", transport=["shm", "tcp"])
    return specs + [
        spec for name in (RATE[0], OVERHEAD[0]) for spec in sweep(name, sizes="8", transport=["shm", "tcp"])
    ]


def _own(results: Results) -> Breakdown:
    """One way of 64 B over TCP as differences between neighbouring paths, µs.

    Raises
    ------
    DataError
        If a path was not measured.
    """
    own, missing = layers.nested(results.records, "64 B over TCP", layers.sockets(64))
    if own is None or missing:
        raise DataError(f"There is no {missing[0]}. Measure, or use the recorded data.")
    return own


def _measured(results: Results) -> Any:
    own = _own(results)
    half = own.whole
    parts = [figures.Part(one.text, one.time.value, one.kind, *one.time.interval) for one in own.parts]
    whole = figures.Part("half a round trip", half.value, "the whole", *half.interval)
    note = f"Each part is a difference between two paths, sockperf and mpi.latency; bars: {half.basis}."
    return figures.stacked([figures.Stack(own.title, parts, "measured", whole)], own.unit, note)


def _published(_: Results) -> Any:
    paper, stacks = reference.load(PAPER), []
    for name in ("latency", "injection"):
        parts = [figures.Part(one.text, one.value, one.kind) for one in map(paper.__getitem__, paper[name].parts)]
        seen: dict[str, int] = {}
        for n, part in enumerate(parts):  # a part that is passed twice needs a row for each
            seen[part.text] = seen.get(part.text, 0) + 1
            if seen[part.text] > 1:
                parts[n] = figures.Part(f"{part.text}, again", part.value, part.kind)
        observed = figures.Part("observed", paper[paper[name].observed].value, "the whole")
        stacks.append(figures.Stack(paper[name].text, parts, "published", observed))
    return figures.stacked(stacks, paper.unit, f"{SOURCE}, {paper['latency'].where} and Table 1. {paper.conditions}")


def _sums(_: Results) -> pd.DataFrame:
    """Compute the paper's models from their smallest parts; show them beside the printed and the observed values."""
    paper = reference.load(PAPER)
    return pd.DataFrame(
        {
            "model": one.text,
            "sum of its parts in ns": f"{paper.sum(one.name):,.2f}",
            "as printed in ns": f"{one.value:,.2f}",
            "observed in ns": f"{paper[one.observed].value:,.2f}",
            "where": one.where,
        }
        for one in paper.numbers.values()
        if one.observed
    )


def _claims(_: Results) -> pd.DataFrame:
    """Show the savings that section 7 states beside the savings computed from the parts."""
    paper = reference.load(PAPER)
    return pd.DataFrame(
        {
            "cheaper": one.text,
            "by %": one.cheaper,
            "of": paper[one.total].text,
            "published saving in %": one.number.stated.removesuffix(" %"),
            "computed in %": what_if.published(paper, one.total, one.parts, one.cheaper),
            "where": one.where,
        }
        for one in paper.claims
    )


def _table(results: Results) -> pd.DataFrame:
    """Latency, time for each of many messages, and the processor's part, of 8 B."""
    rows = []
    for words, transport in (("shared memory", "shm"), ("TCP", "tcp")):
        where: dict[str, Any] = {"transport": transport, "size": 8}
        row: dict[str, Any] = {"path": f"MPI, {words}, measured"}
        for head, value in (
            ("latency in µs", results.value(*LATENCY, **where)),
            ("injection: time for each message in µs", results.combined(lambda rate: 1e6 / rate, (*RATE, where))),
            ("overhead of a round trip in µs", results.value(*OVERHEAD, **where)),
            ("round trip around it in µs", results.combined(lambda half: 2 * half, (OVERHEAD[0], "latency_us", where))),
        ):
            row[head] = float(value.centre)
        rows.append(row)
    return pd.DataFrame(rows)


def _share(paper: reference.Paper, total: str, component: str) -> float:
    return what_if.published(paper, total, COMPONENTS[component], 100)


def _curves(_: Results) -> Any:
    paper = reference.load(PAPER)
    shown = {name: {leaf.name for leaf in paper.leaves(COMPONENTS[name])} for name in (SOFTWARE, IO, WIRE, PIO, SWITCH)}
    panels = {
        paper[total].text: what_if.curves(of_paper(paper, total), shown, (0, 50, 100))
        for total in ("injection", "latency")
    }
    return figures.saving(
        panels,
        f"Computed from published parts ({SOURCE}), as its Figure 17. A component that is not part of a whole saves nothing: its line is at 0.",
    )


def _try(results: Results) -> WhatIf:
    paper, own = reference.load(PAPER), _own(results)
    groups = {name: {leaf.name for leaf in paper.leaves(parts)} for name, parts in COMPONENTS.items()}
    wholes = [Whole(of_paper(paper, total), groups, "published parts") for total in ("injection", "latency")]
    return WhatIf([*wholes, Whole(own, {name: {name} for name in own.names}, "parts of this run")])


def _off(paper: reference.Paper, name: str) -> float:
    return 100 * (paper.sum(name) / paper[paper[name].observed].value - 1)


def _of_paper(value: float) -> Expected:
    """Make an answer that follows from published numbers alone."""
    return Expected(value, value, value, by=BY)


def _most(total: str, *choices: str) -> Expected:
    paper = reference.load(PAPER)
    return Expected(max(choices, key=lambda name: _share(paper, total, name)), by=BY)


def _waking(results: Results) -> Expected:
    unix, shm, tcp = (results.median(*point[:2], **point[2]) for point in (UNIX, SHM, TCP))
    return results.combined(lambda unix, shm, tcp: 100 * (unix / 2 - shm) / (tcp / 2), UNIX, SHM, TCP).without(
        {
            "the share of the round trip: halve that too": 100 * (unix / 2 - shm) / tcp,
            "the share with half a round trip less half of one way": 100 * (unix - shm) / 2 / tcp,
        }
    )


def _under_way(results: Results, transport: str) -> Expected:
    where = {"transport": transport, "size": 8}
    found = results.combined(lambda latency, rate: latency * rate / 1e6, (*LATENCY, where), (*RATE, where))
    other: dict[str, Any] = {"transport": "shm" if transport == "tcp" else "tcp", "size": 8}
    latency, rate = results.median(*LATENCY, **other), results.median(*RATE, **other)
    return found.without({"the number on the other path": latency * rate / 1e6})


def _both(results: Results) -> Expected:
    where = {"transport": "tcp", "size": 8}
    share = results.combined(
        lambda overhead, half: overhead / half, (*OVERHEAD, where), (OVERHEAD[0], "latency_us", where)
    )
    return Expected(MORE if float(share.centre) > 1 else LESS)


def _bound(results: Results) -> Expected:
    return results.combined(lambda unix, shm, tcp: tcp / (tcp - (unix - 2 * shm)), UNIX, SHM, TCP)


LAB = Lab(
    title="Breaking down a message and what-if",
    specs=_specs,
    recorded=("two-cores-labs", "two-cores"),
    effort=Effort(launches=6, time_cap=0.5),
    predictions=(
        Question(
            name="guess",
            unit="messages",
            text="MPI through shared memory, 8 B: how many messages can a rank send one after the other during the latency of a single one?",
            of=lambda r: _under_way(r, "shm"),
        ),
        Question(
            name="first",
            text="InfiniBand, 8 B, end to end: what would you make ten times faster to shorten the latency most?",
            choices=(WIRE, SWITCH, IO, PIO),
            of=lambda _: _most("latency", WIRE, SWITCH, IO, PIO),
        ),
    ),
    questions=(
        Question(
            name="waking",
            unit="%",
            text="Which share of the one-way time over TCP is spent in the kernel, on copying and waking the peer?",
            of=_waking,
            slips=slips.PART | slips.REST,
            why="A Unix socket differs from shared memory by system calls, two copies and a wake-up. TCP needs them too, and they cost more than its protocol.",
            hints=(
                "A Unix socket enters the kernel, copies and wakes; shared memory does none of it.",
                "100 · (half a round trip of the Unix socket − latency through shared memory) / half a round trip over TCP.",
            ),
        ),
        Question(
            name="proof",
            text="The four parts sum to the whole. What does that prove?",
            choices=(RIGHT, APART, NOTHING),
            of=lambda _: Expected(NOTHING),
            why="Each part is the difference between a path and the path before it. In the sum every path between the first and the last cancels, whatever was measured for it.",
            hints=(
                "Write the sum down with the names of the paths instead of numbers.",
                "(b − a) + (c − b) is c − a, whatever b is.",
            ),
        ),
        Question(
            name="under_way",
            unit="messages",
            text="The same over TCP: how many messages of 8 B leave during the latency of a single one?",
            of=lambda r: _under_way(r, "tcp"),
            slips=slips.INVERSE | slips.ROUND_TRIP | {"latency · rate with the latency in µs": slips.times(1e6)},
            why="A sender posts the next message while the last one is under way. Over TCP each post is a system call that takes much of the one-way time, so few messages are under way together.",
            hints=(
                "How many leave in a second, and how long is the latency?",
                "Message rate · latency; mind µs and s.",
            ),
        ),
        Question(
            name="both",
            text="Over TCP, suppose the peer's calls take as long as those timed here. Together the two overheads are …",
            choices=(MORE, LESS),
            of=_both,
            why="A sum above the round trip means that both processors worked at the same time for a part of it. A sum below it allows that they took turns.",
            hints=(
                "The table has the overhead of one rank in a round trip.",
                "Twice the overhead beside the round trip.",
            ),
        ),
        Question(
            name="off",
            unit="%",
            text="By how much is the paper's sum for the latency with MPI above the latency that it observed?",
            of=lambda _: _of_paper(_off(reference.load(PAPER), "latency")),
            slips=slips.PART
            | {
                "sum / observed in %: take 100 away": lambda value: value + 100,
                "the difference in ns": lambda value: value * 13.36,
            },
            why="Parts that were measured one by one carry the error of each, and some of them overlap in the real path. A small difference shows that nothing large was forgotten.",
            hints=("The sum has nine parts, and PCIe is passed twice.", "100 · (sum / 1336 − 1)."),
        ),
        Question(
            name="pays",
            text="To let messages leave most often: what should be ten times faster?",
            choices=(WIRE, PCIE, HLP, LLP),
            of=lambda _: _most("injection", WIRE, PCIE, HLP, LLP),
            why="Messages leave as fast as the processor posts them. Wire, switch and PCIe carry earlier messages meanwhile, so only software of the sender counts, and UCT is its largest part.",
            hints=(
                "Which of them occur between one message and the next?",
                "Try them in the field above, and look at the first row.",
            ),
        ),
        Question(
            name="wire",
            unit="%",
            text="The wire becomes ten times faster. Which part of the latency with MPI is saved?",
            of=lambda _: _of_paper(what_if.published(reference.load(PAPER), "latency", ["wire"], 90)),
            slips=slips.PART
            | slips.REST
            | {
                "the whole share of the wire: a tenth of its time is left": slips.times(10 / 9),
                "what is left of the wire": slips.times(1 / 9),
                "the saving in ns": slips.times(13.8702),
            },
            why="Ten times faster saves 90 % of a part, and the wire is a fifth of the whole. Everything else stays.",
            hints=("Ten times faster is 90 % cheaper.", "90 % of 274.81 ns, as a part of 1387.02 ns."),
        ),
        Question(
            name="without_pcie",
            unit="ns",
            text="The adapter sits on the processor's chip and PCIe costs nothing. What is left of the latency with MPI?",
            of=lambda _: _of_paper(
                what_if.after(
                    of_paper(reference.load(PAPER), "latency"),
                    what_if.Change(text=PCIE, parts=("pcie",), cheaper=100),
                ).value
            ),
            slips=slips.THOUSANDTH
            | {
                "what is left with one crossing of PCIe less": lambda value: value + 137.49,
                "the saving": lambda value: 1387.02 - value,
            },
            why="A message passes PCIe twice: from the processor to the adapter, and from the peer's adapter to its memory. Both crossings vanish and everything else stays.",
            hints=("How often does a message pass PCIe on its way?", "1387.02 less twice 137.49."),
        ),
        Question(
            name="bound",
            unit="times",
            text="The message over TCP inside one machine: how many times faster can it get at most, if only kernel, copying and waking become cheaper?",
            of=_bound,
            slips=slips.INVERSE | slips.GROWTH | {"whole / part": lambda value: value / (value - 1)},
            why="What cannot get cheaper remains: Amdahl's law. Even free system calls and wake-ups leave the time of the protocol and of the copy through memory.",
            hints=("What is left if they cost nothing?", "Whole / (whole − part): Amdahl's law."),
        ),
    ),
    shows={
        "own": _measured,
        "table": _table,
        "published": _published,
        "sums": _sums,
        "curves": _curves,
        "try": _try,
        "claims": _claims,
    },
    means="The share of a part counts, not how slow it looks: an infinitely fast wire would leave four fifths of the published latency, and would not raise the message rate. Differences between neighbouring paths always sum to the whole; a sum is a test only if its parts were measured separately. A what-if is only as good as its assumption that nothing overlaps.",
    reading=(
        "`notebooks/83-what-if.ipynb` and `notebooks/84-waterfall.ipynb`.",
        "`docs/models.md`: what each model assumes.",
        "R. Zambre et al., *Breaking Band*, ICPP 2019.",
    ),
)
