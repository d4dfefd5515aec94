"""Lab 6: a message over RDMA verbs, object by object, and what the objects cost to make."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from labkit.apps.teaching import slips
from labkit.apps.teaching.definition import Lab
from labkit.apps.teaching.expected import Expected
from labkit.apps.teaching.questions import Question
from labkit.apps.teaching.results import Results
from labkit.point.spec import Effort, Spec, sweep

NAME = "verbs.setup"
STEPS = {
    "open_device_us": "open the device",
    "protection_domain_us": "protection domain",
    "memory_us": "register memory",
    "completion_channel_us": "completion channel",
    "completion_queue_us": "completion queue",
    "queue_pair_us": "make the queue pair, to INIT",
    "to_rtr_us": "INIT to RTR",
    "to_rts_us": "RTR to RTS",
    "address_handle_us": "address handle",
}
FIRST = "RESET, INIT, post the receive, RTR, RTS, post the send"
LATE = "RESET, INIT, RTR, RTS, post the send, post the receive"
WRONG = "RESET, RTS, RTR, post the receive, post the send"
BUFFER, KEY, NOTHING = (
    "its memory's address and key",
    "its queue pair's number, first packet number and address",
    "nothing: the adapter finds it",
)


def _specs() -> list[Spec]:
    return sweep(NAME, sizes=0, testbed="soft-roce")


def _share(results: Results) -> Expected:
    """Part of the sum of the steps' medians that the changes of state to RTR and RTS take, %."""
    points: list[tuple[str, str, dict[str, Any]]] = [(NAME, metric, {}) for metric in STEPS]
    names = list(STEPS)
    initial, ready, sending = (names.index(name) for name in ("queue_pair_us", "to_rtr_us", "to_rts_us"))
    times = [results.median(NAME, metric) for metric in STEPS]
    both, total = times[ready] + times[sending], sum(times)
    by_launch = results.combined(lambda *each: 100 * (each[ready] + each[sending]) / sum(each), *points)
    return replace(by_launch, centre=100 * both / total, also=()).without(
        {
            "the median of the shares of the launches: take the medians of the steps first": float(by_launch.centre),
            "their time divided by that of the other steps": 100 * both / (total - both),
            "the change to RTR alone": 100 * times[ready] / total,
            "the change to RTS alone": 100 * times[sending] / total,
            "with the change to INIT": 100 * (both + times[initial]) / total,
        }
    )


def _longest(results: Results) -> Expected:
    return Expected(
        max(STEPS.values(), key=lambda words: results.median(NAME, {w: m for m, w in STEPS.items()}[words]))
    )


def _steps(results: Results) -> pd.DataFrame:
    rows = []
    for metric, words in STEPS.items():
        time = results.value(NAME, metric)
        rows.append({"step": words, "median in µs": float(time.centre), "from": time.low, "to": time.high})
    return pd.DataFrame(rows)


LAB = Lab(
    title="RDMA verbs by hand",
    specs=_specs,
    recorded=("two-cores-labs",),
    effort=Effort(launches=3, time_cap=0.5),
    predictions=(
        Question(
            name="guess",
            text="Which step of setting a connection up takes longest?",
            choices=tuple(STEPS.values()),
            of=_longest,
        ),
    ),
    questions=(
        Question(
            name="order",
            text="In which order does one side of a connection get ready, so that no message can arrive before there is room for it?",
            choices=(FIRST, LATE, WRONG),
            of=lambda r: Expected(FIRST),
            why="From RTR on the queue pair takes messages, and each message needs a posted receive. A receive that is posted in INIT is there in time.",
            hints=(
                "A queue pair in INIT takes receives already, but no message arrives yet.",
                "From RTR on the peer's messages are taken: what must lie there by then?",
            ),
        ),
        Question(
            name="peer",
            text="What must a side know of its peer before it can go to RTR?",
            choices=(BUFFER, KEY, NOTHING),
            of=lambda r: Expected(KEY),
            why="A queue pair talks to exactly one other queue pair. It needs the number and the place of that one, and the packet number with which it begins. Keys of memory matter only to RDMA read and write.",
            hints=(
                "ready_to_receive takes pair.address; look at what it holds.",
                "Address and key of memory are needed later, for RDMA write and read alone.",
            ),
        ),
        Question(
            name="completions",
            text="The program hello.py sends one message to itself. How many completions does its queue receive?",
            of=lambda r: Expected(2.0, 2.0, 2.0),
            slips={"those of one of the two queues": slips.times(0.5)},
            why="A send and a receive are two pieces of work in two queues. Each ends with its own completion, and here both go into the same completion queue.",
            hints=("Sending and receiving are two pieces of work.", "The program waits for each of them."),
        ),
        Question(
            name="longest",
            text="Which step took longest?",
            choices=tuple(STEPS.values()),
            of=_longest,
            why="Some steps only fill a structure. Others go through the kernel to the driver, which opens the device, sets up pages or creates hardware objects. The longest step does most of that.",
            hints=("The largest median in the table.",),
        ),
        Question(
            name="share",
            unit="%",
            text="The table has a median for each step. Which part of the sum of these medians goes into the changes of state to RTR and RTS?",
            of=_share,
            slips=slips.PART | slips.REST,
            why="Each change of state is a call of the kernel with some attributes. It copies no data and registers no memory, so it is only a part of the set-up.",
            hints=("Add all medians of the table.", "100 · (INIT to RTR + RTR to RTS) / sum."),
        ),
    ),
    shows={"steps": _steps},
    means="What a connection costs is paid once, what a message costs is paid each time. Register memory and make connections before the part of a program that is in a hurry, and use them again. A library for thousands of ranks connects at the first message, not at the start.",
    reading=(
        "`docs/verbs.md`: all objects, and programs to start from.",
        "`notebooks/51-completion.ipynb` and `notebooks/52-registration-and-buffers.ipynb`: what polling and registration cost.",
        "ibv_create_qp(3), ibv_modify_qp(3), ibv_post_recv(3).",
    ),
)
