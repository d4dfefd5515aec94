"""Lab 3: the message size from which a library asks before it sends."""

from __future__ import annotations

import plotly.graph_objects as go

from labkit import figures
from labkit.apps.teaching import slips
from labkit.apps.teaching.definition import Lab
from labkit.apps.teaching.expected import Expected
from labkit.apps.teaching.questions import Question
from labkit.apps.teaching.results import Results
from labkit.figures.marks import mark_breaks
from labkit.judge import protocol
from labkit.point.spec import Effort, Spec, sweep

POINT = ("mpi.latency", "latency_us")
LIMIT = "env_OMPI_MCA_btl_vader_eager_limit"
RAISED = {"OMPI_MCA_btl_vader_eager_limit": "16384"}
BETWEEN = ("between 512 B and 1 KiB", "between 1 and 2 KiB", "between 4000 and 5000 B", "between 8 and 12 KiB")
ENDS = (512, 1024), (1024, 2048), (4000, 5000), (8192, 12288)
MOVES = ("between 4000 and 5000 B", "between 8 and 12 KiB", "between 16000 and 18000 B")
MOVED_ENDS = (4000, 5000), (8192, 12288), (16000, 18000)
MOVED, STAYED = "the step goes away at these sizes", "the step stays where it is"


def _specs() -> list[Spec]:
    usual = sweep(
        "mpi.latency",
        sizes="512,1Ki,2Ki,3Ki,4000,5000,6Ki,8Ki,12Ki,16000,18000,24Ki",
        transport="shm",
        launcher="openmpi",
    )
    raised = sweep(
        "mpi.latency", sizes="3Ki,4000,5000,6Ki,8Ki,12Ki,16000,18000,24Ki", transport="shm", launcher="openmpi"
    )
    return usual + [spec.replace(environment=RAISED) for spec in raised]


def _jump(results: Results, size: int, limit: str | None = None) -> float:
    """Return the time at a size over the time at the size before it, with a limit."""
    sizes, times = results.curve(*POINT, env_OMPI_MCA_btl_vader_eager_limit=limit)
    at = int((sizes == size).argmax())
    return float(times[at] / times[at - 1])


def _where(results: Results) -> Expected:
    jumps = [_jump(results, after) for _, after in ENDS]
    return Expected(BETWEEN[jumps.index(max(jumps))])


def _new_place(results: Results) -> Expected:
    jumps = [_jump(results, after, "16384") for _, after in MOVED_ENDS]
    return Expected(MOVES[jumps.index(max(jumps))])


def _step(results: Results) -> Expected:
    raised = {"env_OMPI_MCA_btl_vader_eager_limit": "16384"}
    above, below = (results.median(*POINT, size=size, **raised) for size in (5000, 4000))
    found = results.combined(
        lambda after, before: after - before,
        (*POINT, {"size": 5000, LIMIT: None}),
        (*POINT, {"size": 4000, LIMIT: None}),
    )
    return found.without(
        {
            "the time of 5000 B": results.median(*POINT, size=5000, env_OMPI_MCA_btl_vader_eager_limit=None),
            "the factor between them": _jump(results, 5000),
            "the difference with the raised limit": above - below,
        }
    )


def _gain(results: Results) -> Expected:
    found = results.combined(
        lambda usual, raised: usual / raised,
        (*POINT, {"size": 5000, LIMIT: None}),
        (*POINT, {"size": 5000, LIMIT: "16384"}),
    )
    return found.without({"the factor from 4000 to 5000 B": _jump(results, 5000)})


def _cause(results: Results) -> Expected:
    return Expected(MOVED if float(_gain(results).centre) > 1.5 else STAYED)


def _figure(results: Results) -> go.Figure:
    """Draw the curve with the usual limit, the breaks in it, and the limit."""
    rows = results.rows(POINT[0], env_OMPI_MCA_btl_vader_eager_limit=None)
    drawn = figures.versus_size(rows, POINT[1], series=["transport"], tail=None)
    return mark_breaks(drawn, protocol.protocol_of(rows).breaks, {"btl_vader_eager_limit": 4096})


def _both(results: Results) -> go.Figure:
    """Draw the curves with the usual and the raised limit."""
    rows = results.rows(POINT[0])
    words = rows[LIMIT].map(lambda value: "limit 16 KiB" if value == "16384" else "usual limit")
    return figures.versus_size(rows.assign(limit=words), POINT[1], series=["limit"], tail=None)


LAB = Lab(
    title="Eager and rendezvous",
    specs=_specs,
    recorded=("two-cores-protocols",),
    effort=Effort(launches=6, time_cap=0.1),
    predictions=(
        Question(
            name="step",
            unit="µs",
            text="A message of 5000 B through shared memory: how much longer does it take than one of 4000 B?",
            of=_step,
        ),
        Question(
            name="raise_it",
            text="The library's eager limit is raised to 16 KiB. What happens to a step between 4000 and 5000 B?",
            choices=(MOVED, STAYED),
            of=_cause,
        ),
    ),
    questions=(
        Question(
            name="where",
            text="Between which two sizes does the time grow by the largest factor?",
            choices=BETWEEN,
            of=_where,
            why="Just above the eager limit a message needs an exchange before its first byte. The limit of 4096 B includes the header, so a message of 4000 B still goes eagerly and one of 5000 B does not.",
            hints=("Divide each time by that of the size before.", "A line that bends has no such factor; a step has."),
        ),
        Question(
            name="height",
            unit="µs",
            text="By how much longer does 5000 B take than 4000 B?",
            of=_step,
            slips=slips.ROUND_TRIP,
            why="The step is the price of the rendezvous: a request, an answer and the wait for both. That is about a round trip of a small message. The further thousand bytes cost little of it.",
            hints=(
                "The difference of two medians.",
                "The thousand bytes themselves explain a small part of it: compare 3 KiB with 4000 B.",
            ),
        ),
        Question(
            name="gain",
            text="By what factor are 5000 B slower with the usual limit than with 16 KiB?",
            of=_gain,
            slips=slips.INVERSE | slips.GROWTH,
            why="With a limit of 16 KiB the message goes eagerly. It pays one more copy and saves the exchange, and a copy of 5000 B is far cheaper than an exchange.",
            hints=(
                'The points with the raised limit are those with env_OMPI_MCA_btl_vader_eager_limit="16384".',
                "Divide the usual median by the other.",
            ),
        ),
        Question(
            name="moved",
            text="With the limit of 16 KiB: between which two sizes does the time grow by the largest factor?",
            choices=MOVES,
            of=_new_place,
            why="The raised limit moves the exchange to sizes just above 16 KiB. A larger factor at another size has another cause, such as a buffer that no longer fits the nearest cache.",
            hints=("Divide each time with the raised limit by that of the size before.", "16 KiB are 16384 B."),
        ),
        Question(
            name="cause",
            text="So what does the limit do to the step?",
            choices=(MOVED, STAYED),
            of=_cause,
            why="Only the limit differs between the two curves. The limit causes a step that moves with it. A step that stays has another cause.",
            hints=("An experiment that changes one thing tells cause from coincidence.",),
        ),
    ),
    shows={
        "curve": _figure,
        "both": _both,
    },
    means="A message just above the eager limit pays for an exchange before its first byte. A program whose messages lie there gains by smaller messages, or by a higher limit; the limit costs memory for each peer, and a copy for each message. A limit that helps two ranks may not help a thousand.",
    reading=(
        "Lab 1, *Latency and bandwidth*: why one line does not fit.",
        "`notebooks/12-host-overhead-and-buffers.ipynb`: what a copy costs.",
        "`docs/tuning.md`: find a better limit by measuring.",
        "J. Liu et al., SC03, for protocols and buffers.",
    ),
)
