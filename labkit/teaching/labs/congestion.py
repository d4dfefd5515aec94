"""Lab 7: what flows get that meet on a link, in an incast and on a tapered tree."""

from __future__ import annotations

import pandas as pd

from labkit.spec import Effort, Spec, sweep
from labkit.studies import number
from labkit.teaching.definition import Lab
from labkit.teaching.questions import Expected, Question
from labkit.teaching.results import Results

TREE = "virtual-cluster:8,per_leaf=4,rate=50mbit,uplink=67mbit"
RATE, UPLINK = 50e6 / 8e6, 67e6 / 8e6  # MB/s
SENDER, RECEIVER, SPINE = "the senders' links", "the receiver's link", "the link from leaf to spine"
WHERE = {"testbed": TREE, "transport": "tcp"}


def _specs() -> list[Spec]:
    found = [
        s for ranks in (2, 3, 5, 8) for s in sweep("mpi.hotspot_receive", sizes="64Ki", ranks=ranks, window=4, **WHERE)
    ]
    found += sweep("mpi.bandwidth", sizes="64Ki", ranks=2, hosts=("vc0", "vc4"), **WHERE)
    found += sweep("mpi.multi_bandwidth", sizes="64Ki", ranks=4, hosts=("vc0", "vc1", "vc2", "vc3"), window=8, **WHERE)
    return found + sweep("mpi.multi_bandwidth", sizes="64Ki", ranks=8, window=8, **WHERE)


def _incast(results: Results, ranks: int) -> Expected:
    """What each sender gets, MB/s."""
    return results.combined(
        lambda all_: all_ / (ranks - 1), ("mpi.hotspot_receive", "bandwidth_MBps", {"ranks": ranks})
    )


def _limit(results: Results) -> Expected:
    """Where the bytes of an incast wait: the total stays at one link however many send."""
    one, seven = (results.median("mpi.hotspot_receive", "bandwidth_MBps", ranks=ranks) for ranks in (2, 8))
    return Expected(RECEIVER if seven < 1.5 * one else SENDER)


def _across(results: Results) -> Expected:
    return results.value("mpi.multi_bandwidth", "bandwidth_MBps", ranks=8)


def _share(results: Results) -> Expected:
    return results.combined(
        lambda four, one: 100 * four / (4 * one),
        ("mpi.multi_bandwidth", "bandwidth_MBps", {"ranks": 8}), ("mpi.bandwidth", "bandwidth_MBps", {}),
    )  # fmt: skip


def _tree(results: Results) -> Expected:
    within = results.median("mpi.multi_bandwidth", "bandwidth_MBps", ranks=4) / 2
    across = results.median("mpi.multi_bandwidth", "bandwidth_MBps", ranks=8) / 4
    return Expected(SPINE if across < 0.75 * within else SENDER)


def _flows(results: Results) -> pd.DataFrame:
    """Who sends to whom, and what all and each of them get."""
    rows = [("1 flow across the spine", 1, "mpi.bandwidth", 2), ("2 flows inside a leaf", 2, "mpi.multi_bandwidth", 4),
            ("4 flows across the spine", 4, "mpi.multi_bandwidth", 8)]  # fmt: skip
    rows += [(f"incast of {ranks - 1}", ranks - 1, "mpi.hotspot_receive", ranks) for ranks in (2, 3, 5, 8)]
    table = []
    for what, flows, benchmark, ranks in rows:
        found = results.value(benchmark, "bandwidth_MBps", ranks=ranks)
        table.append({"what": what, "all together in MB/s": float(found.centre), "from": found.low, "to": found.high,
                      "each in MB/s": float(found.centre) / flows})  # fmt: skip
    return pd.DataFrame(table)


LAB = Lab(
    title="Congestion",
    specs=_specs,
    recorded=("two-cores-labs",),
    effort=Effort(launches=6, time_cap=0.6),
    predictions=(
        Question(name="seven", unit="MB/s", text="Seven hosts send to one at the same time. What does each sender get?", of=lambda r: _incast(r, 8)),
        Question(name="four", unit="MB/s", text="Four hosts of one leaf send, each to its own partner on the other leaf. What do they get together?", of=_across),
    ),
    questions=(
        Question(
            name="each", unit="MB/s", text="In the incast of seven, what did each sender get?", of=lambda r: _incast(r, 8),
            hints=("The benchmark counts what the receiver gets from all.", "Divide by the number of senders."),
        ),
        Question(
            name="limit", text="Where do the bytes of the incast wait?", choices=(SENDER, RECEIVER), of=_limit,
            hints=("Compare the total of one sender with that of seven.", "Which link carries all of these bytes?"),
        ),
        Question(
            name="together", unit="MB/s", text="Four flows across the spine: what do they get together?", of=_across,
            hints=("It is in the table.", f"The uplink carries {number(UPLINK)} MB/s, and TCP's headers take 4 % of that."),
        ),
        Question(
            name="part", unit="%", text="Which part of what four flows would get without the taper is that? Take four times the single flow.", of=_share,
            hints=("The single flow across the spine has its host's link to itself.", "100 · together / (4 · single)."),
        ),
        Question(
            name="where", text="Which link holds the four flows back?", choices=(SENDER, SPINE), of=_tree,
            hints=("Compare each of two flows inside a leaf with each of four across the spine.",),
        ),
    ),
    shows={"flows": _flows},
)  # fmt: skip
