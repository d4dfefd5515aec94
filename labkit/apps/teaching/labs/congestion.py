"""Lab 7: flows that share a link, in an incast, on a tapered tree, and with classes of traffic."""

from __future__ import annotations

import pandas as pd

from labkit import testbeds
from labkit.apps.teaching import slips
from labkit.apps.teaching.definition import Lab
from labkit.apps.teaching.expected import Expected, aggregate
from labkit.apps.teaching.questions import Question
from labkit.apps.teaching.results import Results
from labkit.judge.congestion import jain_fairness
from labkit.point.spec import Effort, Spec, sweep
from labkit.studies import number

TREE = "virtual-cluster:8,per_leaf=4,rate=50mbit,uplink=67mbit"
RATE, UPLINK = 50e6 / 8e6, 67e6 / 8e6  # MB/s
SENDER, RECEIVER, SPINE = "the senders' links", "the receiver's link", "the link from leaf to spine"
WHERE = {"testbed": TREE, "transport": "tcp"}
PAIR = "virtual-cluster:4,per_leaf=2,uplink=200mbit"
QOS = {"off": "one queue for both", "shares": "a share of the link each", "priority": "the victim first"}
QUEUE, TURN = "all bytes of the bulk that wait already", "at most a few frames of the bulk"


def _specs() -> list[Spec]:
    specs = [
        s for ranks in (2, 3, 5, 8) for s in sweep("mpi.hotspot_receive", sizes="64Ki", ranks=ranks, window=4, **WHERE)
    ]
    specs += sweep("mpi.bandwidth", sizes="64Ki", ranks=2, hosts=("vc0", "vc4"), **WHERE)
    specs += sweep("mpi.multi_bandwidth", sizes="64Ki", ranks=4, hosts=("vc0", "vc1", "vc2", "vc3"), window=8, **WHERE)
    specs += sweep("mpi.multi_bandwidth", sizes="64Ki", ranks=8, window=8, **WHERE)
    specs += sweep("congestion.incast", sizes="128Ki", senders=7, duration=3, testbed=TREE)
    victim = {"victim": "latency", "aggressor": "incast", "lead": 1.0}
    return specs + sweep("congestion.interference", sizes="1Ki", testbed=[_place(mode) for mode in QOS], **victim)


def _place(qos: str) -> str:
    """Return the testbed of the two jobs; the second host of each leaf sends the bulk traffic."""
    classes = {} if qos == "off" else {"qos": qos, "bulk": "vc1+vc3"}
    name, argument, options = testbeds.parse(PAIR)
    return testbeds.text_of(name, argument, options | classes)


def _incast(results: Results, ranks: int) -> Expected:
    """Bandwidth of each sender, MB/s."""
    return results.combined(
        lambda all_: all_ / (ranks - 1), ("mpi.hotspot_receive", "bandwidth_MBps", {"ranks": ranks})
    )


def _limit(results: Results) -> Expected:
    """Say which link limits an incast; if it is the receiver's, the total stays at one link however many hosts send."""
    one, seven = (results.median("mpi.hotspot_receive", "bandwidth_MBps", ranks=ranks) for ranks in (2, 8))
    return Expected(RECEIVER if seven < 1.5 * one else SENDER)


def _across(results: Results) -> Expected:
    return results.value("mpi.multi_bandwidth", "bandwidth_MBps", ranks=8)


def _share(results: Results) -> Expected:
    return results.combined(
        lambda four, one: 100 * four / (4 * one),
        ("mpi.multi_bandwidth", "bandwidth_MBps", {"ranks": 8}),
        ("mpi.bandwidth", "bandwidth_MBps", {}),
    )


def _tree(results: Results) -> Expected:
    within = results.median("mpi.multi_bandwidth", "bandwidth_MBps", ranks=4) / 2
    across = results.median("mpi.multi_bandwidth", "bandwidth_MBps", ranks=8) / 4
    return Expected(SPINE if across < 0.75 * within else SENDER)


def _fairness(results: Results) -> Expected:
    """Jain's index of the bandwidths of seven senders, launch by launch."""
    rows = results.reported
    rows = rows[(rows["benchmark"] == "congestion.incast") & (rows["name"] == "bandwidth_MBps") & rows["rank"].notna()]
    return aggregate([jain_fairness(one["value"]) for _, one in rows.groupby("launch")])


def _impact(results: Results, qos: str) -> Expected:
    """Time of the victim beside the aggressor over its time alone."""
    where = {"testbed": _place(qos)}
    return results.combined(
        lambda beside, alone: beside / alone,
        ("congestion.interference", "latency_us", where),
        ("congestion.interference", "alone_us", where),
    )


def _waits(results: Results) -> Expected:
    """Say what the victim waited for: if its own share makes it faster, for the bulk queued before it."""
    off, shares = (float(_impact(results, qos).centre) for qos in ("off", "shares"))
    return Expected(QUEUE if off > 3 * shares else TURN)


def _classes(results: Results) -> pd.DataFrame:
    rows = []
    for qos, words in QOS.items():
        where = {"testbed": _place(qos)}
        times = [results.median("congestion.interference", name, **where) for name in ("alone_us", "latency_us")]
        rows.append(
            {
                "links": words,
                "qos": qos,
                "alone in µs": times[0],
                "beside in µs": times[1],
            }
        )
    return pd.DataFrame(rows)


def _flows(results: Results) -> pd.DataFrame:
    """List the flows with their bandwidths; the questions ask for the sum."""
    rows = [
        ("1 flow across the spine", 1, "mpi.bandwidth", 2),
        ("2 flows inside a leaf", 2, "mpi.multi_bandwidth", 4),
        ("4 flows across the spine", 4, "mpi.multi_bandwidth", 8),
    ]
    rows += [(f"incast of {ranks - 1}", ranks - 1, "mpi.hotspot_receive", ranks) for ranks in (2, 3, 5, 8)]
    table = []
    for what, flows, benchmark, ranks in rows:
        total = results.value(benchmark, "bandwidth_MBps", ranks=ranks)
        table.append(
            {
                "what": what,
                "flows": flows,
                "each in MB/s": float(total.centre) / flows,
                "from": total.low / flows,
                "to": total.high / flows,
            }
        )
    return pd.DataFrame(table)


LAB = Lab(
    title="Congestion",
    specs=_specs,
    recorded=("two-cores-labs",),
    effort=Effort(launches=6, time_cap=0.6),
    predictions=(
        Question(
            name="seven",
            unit="MB/s",
            text="Seven hosts send to one at the same time. What does each sender get?",
            of=lambda r: _incast(r, 8),
        ),
        Question(
            name="four",
            unit="MB/s",
            text="Four hosts of one leaf send, each to its own partner on the other leaf. What do they get together?",
            of=_across,
        ),
        Question(
            name="beside",
            text="A ping-pong of 1 KiB crosses the spine beside eight connections of another job that never pause. By what factor do they slow it down?",
            of=lambda r: _impact(r, "off"),
        ),
    ),
    questions=(
        Question(
            name="incast",
            unit="MB/s",
            text="In the incast of seven, what did the receiver get from all senders together?",
            of=lambda r: r.value("mpi.hotspot_receive", "bandwidth_MBps", ranks=8),
            slips=slips.BITS
            | slips.MEBI
            | {"what each sender got": slips.times(1 / 7), "the rate of the link with its headers": lambda _: RATE},
            why="All bytes pass one link of 6.25 MB/s, and headers take 4.4 % of it. However many hosts send, together they get the rest and no more.",
            hints=("The table has the mean of a flow.", "Multiply it by the number of senders."),
        ),
        Question(
            name="limit",
            text="Where do the bytes of the incast wait?",
            choices=(SENDER, RECEIVER),
            of=_limit,
            why="One sender alone already fills the receiver's link. Seven senders offer seven times its rate, so the bytes wait in the queue before that link, while the senders' links are nearly idle.",
            hints=("Compare the total of one sender with that of seven.", "Which link carries all of these bytes?"),
        ),
        Question(
            name="together",
            unit="MB/s",
            text="Four flows across the spine: what do they get together?",
            of=_across,
            slips=slips.BITS | {"what each flow got": slips.times(1 / 4)},
            why="All four flows cross one uplink of 67 Mbit/s, which is 8.4 MB/s. Headers take 4.4 % of it. A burst that the queues absorb can add a little.",
            hints=(
                "The table has the mean of a flow.",
                f"The uplink carries {number(UPLINK)} MB/s, and TCP's headers take 4 % of that.",
            ),
        ),
        Question(
            name="part",
            unit="%",
            text="Which part of what four flows would get without the taper is that? Take four times the single flow.",
            of=_share,
            slips=slips.PART | slips.REST | {"all four flows over a single one": slips.times(4)},
            why="Four hosts could send 4 · 50 Mbit/s into an uplink of 67 Mbit/s, and 67/200 is a third. The single flow is limited by the link of its host instead.",
            hints=("The single flow across the spine has its host's link to itself.", "100 · together / (4 · single)."),
        ),
        Question(
            name="where",
            text="Which link holds the four flows back?",
            choices=(SENDER, SPINE),
            of=_tree,
            why="Inside a leaf each flow has its own links and gets their full rate. Across the spine four flows share one link, and each gets a quarter of it.",
            hints=("Compare each of two flows inside a leaf with each of four across the spine.",),
        ),
        Question(
            name="fairness",
            text="Seven connections of iperf3 into one host: what is Jain's index of what they get? (Median over launches.)",
            of=_fairness,
            slips=slips.INVERSE | {"(Σx)² / Σx²: divide by the number of senders too": slips.times(7)},
            why="Each connection sends faster until it loses a packet. Chance decides which one loses, and the loser slows down, so the shares differ. The index is 1 for equal shares.",
            hints=(
                "(Σx)² / (n Σx²) of the seven rates of a launch.",
                "labkit.judge.congestion.jain_fairness works it out; 1 is the same for all, 1/7 all for one.",
            ),
        ),
        Question(
            name="impact",
            text="With one queue for both jobs: by what factor does the other job slow down the ping-pong?",
            of=lambda r: _impact(r, "off"),
            slips=slips.INVERSE | slips.GROWTH,
            why="The bulk traffic keeps the common queue full. Each message of the ping-pong waits until all bytes before it have left the link: the length of the queue over the rate.",
            hints=(
                "The first row of the table of the classes has both times.",
                "Divide the time beside the job by the time alone.",
            ),
        ),
        Question(
            name="cure",
            text="By what factor does it slow down the ping-pong where each job has a share of the link?",
            of=lambda r: _impact(r, "shares"),
            slips=slips.GROWTH | {"the time that it adds over the time alone": lambda value: value - 1},
            why="With a queue for each job the ping-pong waits for some frames of the other job, not for its whole queue.",
            hints=("The same with the second row.",),
        ),
        Question(
            name="waits",
            text="So what did the ping-pong wait for in the one queue?",
            choices=(QUEUE, TURN),
            of=_waits,
            why="Queueing delay is the number of bytes in front over the rate of the link. A separate queue removes the delay, so the delay was the other job's queue.",
            hints=(
                "With shares, a frame waits for at most some frames of the other class.",
                "How many bytes leave a link of 25 MB/s during a round trip beside the other job? That many bytes were in the queue.",
            ),
        ),
    ),
    shows={"flows": _flows, "classes": _classes},
    means="Where many send to one, the receiver's link decides, and no faster network helps: send less, or at different times. Where a taper decides, placement helps: put ranks that talk to each other below the same leaf. A short message behind another job's queue waits for all of it, unless it has a separate class.",
    reading=(
        "`notebooks/61-incast.ipynb`, `notebooks/62-congestion-impact.ipynb` and `notebooks/64-interference-and-qos.ipynb`.",
        "`docs/congestion.md`: what to measure on a cluster.",
        "S. Chunduri et al., *GPCNeT*, SC19.",
    ),
)
