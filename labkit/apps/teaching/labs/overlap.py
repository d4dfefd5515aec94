"""Lab 5: whose time a message takes, the network's or the processor's."""

from __future__ import annotations

import pandas as pd

from labkit import figures
from labkit.apps.teaching import slips
from labkit.apps.teaching.definition import Lab
from labkit.apps.teaching.expected import Expected
from labkit.apps.teaching.questions import Question
from labkit.apps.teaching.results import Results
from labkit.point.spec import Spec, sweep

NAME = "mpi.iallreduce"
SIDES = ("overhead_us", "latency_us")
LARGE = 256 * 1024
PROGRESS, HARDWARE, NOBODY = "calls of MPI by the program", "the network adapter", "nothing: it cannot be hidden"


def _specs() -> list[Spec]:
    return sweep(NAME, sizes="8,4Ki,256Ki", tests=[0, 8], overlap=True) + sweep(
        "mpi.host_overhead", sizes="8,256Ki", transport=["shm", "tcp"]
    )


def _overlap(results: Results, tests: int) -> Expected:
    return results.value(NAME, "overlap_osu_percent", size=LARGE, option_tests=tests)


def _by_hand(results: Results, statistic: str) -> Expected:
    """Compute the overlap from medians of the times: 1 − (total − computation) / pure, %."""
    where = {"size": 4096, "option_tests": 8}
    return results.combined(
        lambda total, compute, pure: max(0.0, 100 * (1 - (total - compute) / pure)),
        (NAME, "latency_us", where),
        (NAME, "compute_us", where),
        (NAME, "pure_us", where),
    )


def _who(results: Results) -> Expected:
    without, with_tests = (float(_overlap(results, tests).centre) for tests in (0, 8))
    if without > 50:
        return Expected(HARDWARE)
    return Expected(PROGRESS if with_tests > without + 20 else NOBODY)


def _share(results: Results) -> Expected:
    where = {"transport": "tcp", "size": 8}
    overhead, latency = (results.median("mpi.host_overhead", name, transport="shm", size=8) for name in SIDES)
    return results.combined(
        lambda overhead, latency: 100 * overhead / (2 * latency),
        *(("mpi.host_overhead", name, where) for name in SIDES),
    ).without({"the share through shared memory": 100 * overhead / (2 * latency)})


def _table(results: Results) -> pd.DataFrame:
    names = {
        "pure_us_p50": "pure in µs",
        "compute_alone_us_p50": "computation alone in µs",
        "compute_us_p50": "computation in µs",
        "latency_us_p50": "together in µs",
    }
    rows = results.rows(NAME).sort_values(["option_tests", "message_size_B"])
    return rows[["message_size_B", "option_tests", *names]].rename(columns=names)


def _overhead(results: Results) -> pd.DataFrame:
    rows = results.rows("mpi.host_overhead").sort_values(["transport", "message_size_B"])
    names = {"overhead_us_p50": "overhead of a round trip in µs", "latency_us_p50": "latency in µs"}
    return rows[["transport", "message_size_B", *names, "launches"]].rename(columns=names)


LAB = Lab(
    title="Overlap and host overhead",
    specs=_specs,
    recorded=("two-cores", "two-cores-labs"),
    predictions=(
        Question(
            name="hidden",
            unit="%",
            text="A rank starts a non-blocking sum of 256 KiB, computes as long as the sum takes, and then waits. Which part of the sum's time is hidden?",
            of=lambda r: _overlap(r, 0),
            base=100,
        ),
        Question(
            name="hidden_tests",
            unit="%",
            text="And if it calls MPI_Test eight times while it computes?",
            of=lambda r: _overlap(r, 8),
        ),
    ),
    questions=(
        Question(
            name="without",
            unit="%",
            text="How much of the time of a sum of 256 KiB does the computation hide without MPI_Test?",
            of=lambda r: _overlap(r, 0),
            base=100,
            slips=slips.REST,
            why="A library without a progress thread works only inside its calls. A program that computes calls nothing, so the sum waits for MPI_Wait. A number well above 0 means that a thread or an adapter moved the bytes.",
            hints=(
                "100 · (1 − (total − computation) / pure), never below 0; the rows with option tests 0.",
                "If the total is the pure time plus the computation, nothing was hidden.",
            ),
        ),
        Question(
            name="by_hand",
            unit="%",
            text="Compute it by hand for 4 KiB with eight calls of MPI_Test, from the medians in the table.",
            of=lambda r: _by_hand(r, "p50"),
            slips=slips.PART | slips.REST,
            why="Eight calls of MPI_Test give the library eight chances to go on. The formula counts the time in these calls as computation, so the overlap can be high although the program gets no faster.",
            hints=(
                "What is left of the total once the computation is taken away?",
                "100 · (1 − (total − computation) / pure).",
            ),
        ),
        Question(
            name="who",
            text="What made the sum progress during the computation?",
            choices=(PROGRESS, HARDWARE, NOBODY),
            of=_who,
            why="Somebody must run the code that moves and adds the bytes. The rows differ only in the calls of MPI_Test, so what changes between them happened inside these calls.",
            hints=("Compare the rows with and without MPI_Test.", "An adapter that does the work needs no MPI calls."),
        ),
        Question(
            name="share",
            unit="%",
            text="Of a round trip of 8 B over TCP, which share does a rank's processor spend inside MPI calls that do something?",
            of=_share,
            slips=slips.PART | slips.REST | {"the share of the latency: a round trip is twice that": slips.times(2)},
            why="Inside one machine there is no wire. A round trip is mostly code of MPI and of the kernel, and it runs on the cores of the ranks. Over a network, wire and adapters take their part and the share falls.",
            hints=(
                "The table of overheads has the processor's time of a round trip, and half of the round trip.",
                "A round trip is twice the latency.",
            ),
        ),
    ),
    shows={
        "times": lambda r: figures.several_metrics(
            r.rows(NAME, option_tests=0),
            {"pure_us": "pure", "compute_us": "computation inside", "latency_us": "both together"},
            label="time",
        ),
        "tests": lambda r: figures.versus_size(r.rows(NAME), "overlap_osu_percent", series=["option_tests"], tail=None),
        "table": _table,
        "overhead": _overhead,
    },
    means="A non-blocking call does not mean that anything happens while the program computes. Measure it. Where nobody else moves the bytes, call MPI_Test now and then and check that the whole gets shorter, or give a core to a thread that makes progress; where an adapter moves them, neither is needed.",
    reading=(
        "`notebooks/31-overlap.ipynb`: overlap of all non-blocking collectives.",
        "`notebooks/12-host-overhead-and-buffers.ipynb`: what the processor pays for each message.",
        "D. Culler et al., *LogP*, PPoPP 1993.",
    ),
)
