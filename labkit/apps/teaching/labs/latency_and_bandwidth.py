"""Lab 1: one message from one rank to another, as a line of two numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from labkit import figures
from labkit.apps.teaching import slips
from labkit.apps.teaching.definition import Lab
from labkit.apps.teaching.expected import Expected, aggregate
from labkit.apps.teaching.fits import alpha_beta, off_the_line
from labkit.apps.teaching.questions import Question
from labkit.apps.teaching.results import Results
from labkit.point.spec import Spec, sweep
from labkit.studies import Study

LATENCY = ("mpi.latency", "latency_us")
GOOD, BAD = "within 20 % at every size", "off by more than 20 % at some size"


def _specs() -> list[Spec]:
    return sweep(LATENCY[0], sizes="0,8,256,8Ki,64Ki,1Mi", transport=["shm", "tcp"])


def _fitted(results: Results, which: str) -> Expected:
    """Fit α and β over TCP, launch by launch; return one of α, bandwidth and half size."""
    every = [*results.curves(*LATENCY, transport="tcp"), results.curve(*LATENCY, transport="tcp")]
    lines = [alpha_beta(*curve) for curve in every]
    # 1/β is in B/µs, which are MB/s
    values = [{"alpha": alpha, "bandwidth": 1 / beta, "half": alpha / beta}[which] for alpha, beta in lines]
    sizes, times = results.curve(*LATENCY, transport="tcp")
    beta, alpha = np.polyfit(sizes, times, 1)
    plain = {"alpha": alpha, "bandwidth": 1 / beta, "half": alpha / beta}[which]
    largest = {"bandwidth": {"the bandwidth at 1 MiB, not that of the fit": sizes[-1] / times[-1]}}.get(which, {})
    return aggregate(values[:-1], values[-1:]).without({"a fit without w=1/t": plain, **largest})


def _ratio(results: Results) -> Expected:
    return results.combined(
        lambda tcp, shm: tcp / shm,
        (*LATENCY, {"transport": "tcp", "size": 8}),
        (*LATENCY, {"transport": "shm", "size": 8}),
    )


def _model(results: Results) -> Expected:
    sizes, times = results.curve(*LATENCY, transport="tcp")
    return Expected(GOOD if off_the_line(sizes, times, *alpha_beta(sizes, times)) <= 0.2 else BAD)


def _table(results: Results) -> pd.DataFrame:
    return results.rows(LATENCY[0])[Study.columns(LATENCY[1])].sort_values(["transport", "message_size_B"])


LAB = Lab(
    title="Latency and bandwidth",
    specs=_specs,
    recorded=("two-cores-quiet",),
    predictions=(
        Question(
            name="tcp_8",
            unit="µs",
            text="How long does a message of 8 B take one way between two processes of one machine over TCP?",
            of=lambda r: r.value(*LATENCY, transport="tcp", size=8),
        ),
        Question(name="times", text="By what factor is shared memory faster?", of=_ratio),
    ),
    questions=(
        Question(
            name="ratio",
            text="At 8 B, by what factor is TCP slower than shared memory?",
            of=_ratio,
            slips=slips.INVERSE | slips.GROWTH,
            why="Through shared memory the receiver copies the bytes out of a page that both processes see, without a call of the kernel. Over TCP both sides call the kernel, which runs the protocol and hands the bytes over. At 8 B nothing but these fixed costs counts.",
            hints=("The table has the median of both paths at 8 B.", "Divide the larger by the smaller."),
        ),
        Question(
            name="alpha",
            unit="µs",
            text="Fit t = α + β·m to the TCP curve. What is α?",
            of=lambda r: _fitted(r, "alpha"),
            slips=slips.ROUND_TRIP,
            why="α is the time of the calls, of the protocol and of handing over. None of it depends on the size, so α is near the latency of the smallest messages.",
            hints=(
                "α is what a message costs before its first byte counts: look at the flat part of the curve.",
                "numpy.polyfit(m, t, 1, w=1/t) minimises relative residuals; it returns β first.",
                "Without w the fit sees the largest message only, and α may even come out negative.",
            ),
        ),
        Question(
            name="bandwidth",
            unit="MB/s",
            text="Which bandwidth does the fit give for very long messages?",
            of=lambda r: _fitted(r, "bandwidth"),
            slips=slips.INVERSE | slips.BITS,
            why="In a long message each further byte costs the copies on its path: out of the sender's buffer into the kernel, and out of the kernel again. 1/β is the rate of these copies.",
            hints=("For long messages α no longer counts: t ≈ β·m.", "1/β is in B/µs, and 1 B/µs is 1 MB/s."),
        ),
        Question(
            name="half_size",
            unit="B",
            text="At which message size is half of that bandwidth reached?",
            of=lambda r: _fitted(r, "half"),
            slips=slips.INVERSE | {"the size in KiB": slips.times(1 / 1024)},
            why="At n½ the fixed cost equals the time of the bytes: α = β·n½. Half of the time goes into bytes, so half of the bandwidth is reached. A larger α needs larger messages.",
            hints=("Bandwidth at size m is m / (α + β·m).", "Set it to half of 1/β and solve for m.", "n½ = α/β."),
        ),
        Question(
            name="model",
            text="How well does one line describe TCP?",
            choices=(GOOD, BAD),
            of=_model,
            why="A line fits as long as every message is handled in the same way. Kernel and library change packets, buffers and protocols with the size, and each change bends the curve.",
            hints=("Compute |α + β·m − t| / t at every size.", "Look at the largest of these, not at the mean."),
        ),
    ),
    shows={
        "curve": lambda r: figures.versus_size(r.rows(LATENCY[0]), LATENCY[1], series=["transport"], tail=None),
        "table": _table,
    },
    means="A message costs α before its first byte. A program that sends many small messages gains by sending fewer and larger ones, up to some multiples of n½; a program that sends few large ones gains only by a faster path. Two numbers describe a path only as well as the line fits it: where the library changes its protocol, keep the table.",
    reading=(
        "Lab 3, *Eager and rendezvous*: where a library changes its protocol.",
        "`notebooks/81-loggp.ipynb`: a line for each range of sizes.",
        "R. W. Hockney, *The communication challenge for MPP*, Parallel Computing 20 (1994).",
    ),
)
