"""Lab 2: where the microseconds of a small message go, from shared memory to MPI over TCP."""

from __future__ import annotations

from typing import Any

import pandas as pd

from labkit.apps.teaching import slips
from labkit.apps.teaching.definition import Lab
from labkit.apps.teaching.expected import Expected
from labkit.apps.teaching.questions import Question
from labkit.apps.teaching.results import Results
from labkit.point.spec import Effort, Spec, sweep

Point = tuple[str, str, dict[str, Any]]
SIZE = "64"
UNIX: Point = ("sockets.unix_rr", "round_trip_us", {})
UDP: Point = ("sockets.udp_rr", "round_trip_us", {})
TCP: Point = ("sockets.tcp_rr", "round_trip_us", {})
SHM: Point = ("mpi.latency", "latency_us", {"transport": "shm"})
MPI: Point = ("mpi.latency", "latency_us", {"transport": "tcp"})
OTHERS = {"UDP": UDP, "a Unix socket": UNIX}
KERNEL, STACK, LIBRARY = "entering the kernel and waking the peer", "the TCP/IP stack", "the MPI library"


def _specs() -> list[Spec]:
    specs = sweep("sockets.unix_rr", sizes=SIZE) + sweep("sockets.udp_rr", sizes=SIZE, tool="sockperf")
    specs += sweep("sockets.tcp_rr", sizes=SIZE, tool="sockperf")
    return specs + sweep("mpi.latency", sizes=SIZE, transport=["shm", "tcp"])


def _one_way(results: Results) -> Expected:
    return results.combined(lambda trip: trip / 2, TCP).without(
        {f"half a round trip of {words}": results.median(*point[:2], **point[2]) / 2 for words, point in OTHERS.items()}
    )


def _stack(results: Results) -> Expected:
    udp, unix = (results.median(*point[:2], **point[2]) for point in (UDP, UNIX))
    return results.combined(lambda tcp, unix: (tcp - unix) / 2, TCP, UNIX).without(
        {"one way over TCP, nothing taken away": float(_one_way(results).centre), "the stack of UDP": (udp - unix) / 2}
    )


def _kernel(results: Results) -> Expected:
    unix, shm = (results.median(*point[:2], **point[2]) for point in (UNIX, SHM))
    return results.combined(lambda unix, shm: unix / 2 - shm, UNIX, SHM).without(
        {"the round trip less one way: halve the round trip first": unix - shm}
    )


def _most(results: Results) -> Expected:
    unix, tcp, shm = (results.median(*point[:2], **point[2]) for point in (UNIX, TCP, SHM))
    parts = {KERNEL: unix / 2 - shm, STACK: (tcp - unix) / 2, LIBRARY: shm}
    return Expected(max(parts, key=lambda part: parts[part]))


def _table(results: Results) -> pd.DataFrame:
    rows = []
    for path, (benchmark, metric, where), what in (
        ("MPI, shared memory", SHM, "one way"),
        ("Unix socket", UNIX, "round trip"),
        ("UDP", UDP, "round trip"),
        ("TCP", TCP, "round trip"),
        ("MPI over TCP", MPI, "one way"),
    ):
        time = results.value(benchmark, metric, **where)
        rows.append(
            {
                "path": path,
                "reported": what,
                "time in µs": float(time.centre),
                "from": time.low,
                "to": time.high,
            }
        )
    return pd.DataFrame(rows)


LAB = Lab(
    title="Where the microsecond goes",
    specs=_specs,
    recorded=("two-cores-labs",),
    effort=Effort(launches=6, time_cap=0.5),
    predictions=(
        Question(
            name="unix",
            unit="µs",
            text="One way of a Unix socket inside one machine, 64 B: how long?",
            of=lambda r: r.combined(lambda trip: trip / 2, UNIX),
        ),
        Question(
            name="largest", text="What costs a message over TCP most?", choices=(KERNEL, STACK, LIBRARY), of=_most
        ),
    ),
    questions=(
        Question(
            name="one_way",
            unit="µs",
            text="What is half of a round trip over TCP?",
            of=_one_way,
            slips=slips.ROUND_TRIP | slips.HALVED,
            why="A tool that plays ping-pong reports the time until the answer is back. Both directions take the same path, so half of it is one way.",
            hints=("The tools of sockets report round trips.", "Divide the time of TCP in the table by two."),
        ),
        Question(
            name="kernel",
            unit="µs",
            text="What do entering the kernel, copying through it and waking the peer add to one way? Compare a Unix socket with shared memory.",
            of=_kernel,
            slips=slips.HALVED,
            why="A system call enters the kernel, the kernel copies the bytes in and out, and the scheduler must start a sleeping peer again. Shared memory does none of it, so the difference is what these cost.",
            hints=(
                "Through shared memory nobody calls the kernel, and the peer looks by itself.",
                "Half the round trip of the Unix socket, less the latency of shared memory.",
            ),
        ),
        Question(
            name="stack",
            unit="µs",
            text="What does the TCP/IP stack add to that? Compare TCP with a Unix socket.",
            of=_stack,
            slips=slips.ROUND_TRIP,
            why="Both paths enter the kernel and wake the peer. TCP adds headers, checksums, sequence numbers, acknowledgements and the loopback device. Each is code that runs for every message.",
            hints=(
                "Both enter the kernel as often and wake the peer as often.",
                "Half the difference of the round trips.",
            ),
        ),
        Question(
            name="most",
            text="Which of the three parts is the largest?",
            choices=(KERNEL, STACK, LIBRARY),
            of=_most,
            why="Waking a sleeping process goes through the scheduler, which often costs more than protocol code and much more than a copy between caches. A peer that polls changes the order.",
            hints=("Put the answers before this one beside the latency through shared memory.",),
        ),
    ),
    shows={"table": _table},
    means="Inside one machine, entering the kernel and waking a sleeping process cost a small message more than most protocols do. A program that waits for short answers gains by polling, by shared memory, or by an adapter that it reaches without the kernel; each of these keeps a core busy or needs registered memory.",
    reading=(
        "Lab 10, *Breaking down a message and what-if*: what a cheaper part would bring.",
        "Lab 6, *RDMA verbs by hand*: a path without the kernel.",
        "`notebooks/82-breakdown.ipynb`: the same breakdown with its intervals.",
        "R. Zambre et al., *Breaking Band*, ICPP 2019.",
    ),
)
