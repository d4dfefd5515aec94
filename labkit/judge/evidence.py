"""Evidence from the counters of links and adapters: bytes that crossed during a point, and retransmissions.

A testbed reads its counters before and after every point; `labkit.store.samples.facts.EVIDENCE` holds the differences.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from labkit import benchmarks
from labkit.benchmarks.verbs import service
from labkit.point.notes import Note
from labkit.point.units import KB, format_number, plural
from labkit.store.samples import Samples
from labkit.store.samples.facts import (
    COMMANDS,
    COUNTERS,
    EVIDENCE,
    FINGERPRINT,
    IDLEST_SHARE,
    PYVERBS_EMPTY_POLL_NS,
    PYVERBS_REFUSED_POST_NS,
)

# counters of an adapter that grow when packets are lost, and what each counts
AGAIN = {
    "completer_retry_err": "retransmissions after a timeout",
    "out_of_seq_request": "requests that arrived out of sequence",
    "duplicate_request": "duplicate requests",
    "rcvd_seq_err": "requests of the peer to retransmit",
}
CALLS = {PYVERBS_EMPTY_POLL_NS: "empty poll (µs)", PYVERBS_REFUSED_POST_NS: "refused post (µs)"}


POLLS = 0.7  # part of the time for which a rank that polls has a processor at least


def idlest(launches: Iterable[Samples]) -> float:
    """Return the median share of time in which the idlest rank had a processor; NaN if unknown.

    Ranks that share memory poll while they wait, so only the system takes their processors away.
    """
    shares = [IDLEST_SHARE.of(one.meta) for one in launches if IDLEST_SHARE.given(one.meta)]
    return float(np.median(shares)) if shares else math.nan


def total(samples: Samples, counter: str) -> int | None:
    """Sum of a counter over all devices; None if the testbed has no such counter."""
    return sum_of(EVIDENCE.of(samples.meta), counter)


def sum_of(counters: Mapping[str, int], counter: str) -> int | None:
    """Return the sum of a counter over the devices on which it grew; None without any."""
    values = [value for name, value in counters.items() if name.rpartition(".")[2] == counter]
    return sum(values) if values else None


def beside_protocols(samples: Samples) -> dict[str, int]:
    """Return the increases of counters of adapters and switches, and of marked packets; no other TCP or IP counters."""
    grown = COUNTERS.of(samples.meta).items()
    return {name: by for name, by in grown if name.endswith(_MARKED) or not _OF_PROTOCOL.search(name)}


_MARKED = "IpExt.InCEPkts"
_OF_PROTOCOL = re.compile(r":(Tcp|TcpExt|Ip|IpExt|Icmp|Udp|UdpLite|MPTcpExt)\.")


def messages(samples: Samples) -> int:
    """Least number of messages of a point in one direction: timed messages, or those requested from the tool."""
    if samples.n:
        spec = benchmarks.typed(samples.spec)
        of_one = benchmarks.get(spec.benchmark).metrics.get("message_rate_per_s")  # of a stream
        return samples.n * (int(of_one(spec)) if of_one else 1)
    words = [word for command in COMMANDS.of(samples.meta)[-1:] for word in command]
    return int(words[words.index("-n") + 1]) if "-n" in words else 0


def _rows(samples: Iterable[Samples], columns: dict[str, Any]) -> pd.DataFrame:
    """A row per point and launch that has counters: which point it is, and a column from each function."""
    counted = [one for one in samples if EVIDENCE.of(one.meta)]
    rows = [
        {
            "fingerprint": FINGERPRINT.of(one.meta),
            "benchmark": one.spec.benchmark,
            "connection": service(one.spec),
            "message_size_B": one.spec.size,
            "testbed": one.spec.testbed,
            "launch": one.launch,
            **{name: value(one) for name, value in columns.items()},
        }
        for one in counted
    ]
    names = ["fingerprint", "benchmark", "connection", "message_size_B", "testbed", "launch"]
    return pd.DataFrame(rows, columns=[*names, *columns])


def crossed(samples: Iterable[Samples]) -> pd.DataFrame:
    """Traffic on the link and payload of each point; a row per point and launch with counters.

    Returns
    -------
    ``payload (kB)``, at least the data in one direction; ``on the link (kB)``, sent by the busier end of the link;
    ``packets``, sent by both adapters; and ``times the payload``.
    """

    def sent(samples: Samples) -> float:
        ends = [v for name, v in EVIDENCE.of(samples.meta).items() if name.endswith(".tx_bytes")]
        return max(ends, default=0) / KB

    rows = _rows(
        samples,
        {
            "payload (kB)": lambda one: messages(one) * one.spec.size / KB,
            "on the link (kB)": sent,
            "packets": lambda one: total(one, "sent_pkts") or 0,
        },
    )
    return _ratio(rows)


def _ratio(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with a column: how many times the payload crossed the link."""
    payload = rows["payload (kB)"].astype(float)
    return rows.assign(**{"times the payload": rows["on the link (kB)"] / payload.where(payload > 0)})


def crossed_in_all(rows: pd.DataFrame) -> pd.DataFrame:
    """`crossed`, summed over the points of each benchmark and service; for a table that fits a page."""
    groups = rows.assign(points=1).groupby(["benchmark", "connection"], as_index=False, sort=False)
    return _ratio(groups[["points", "payload (kB)", "on the link (kB)", "packets"]].sum())


def crossed_sentence(rows: pd.DataFrame) -> str:
    """The result of `crossed` in a sentence."""
    known = rows.dropna(subset=["times the payload"])
    if known.empty:
        return "The testbed has no link counters. Only the tools say that bytes crossed the link."
    less = int((known["times the payload"] < 1).sum())
    if less:
        return (
            f"In {less} of {plural(len(known), 'point')} the link carried fewer bytes than the payload: the data took "
            "another "
            "way, or the counters were read too early. Do not trust these points."
        )
    ends = known["times the payload"].min(), known["times the payload"].max()
    return (
        f"The link counters prove that the bytes crossed the link: in each of {plural(len(known), 'point')} it "
        "carried at least "
        f"the payload, from {format_number(ends[0], digits=3)} to {format_number(ends[1], digits=3)} times "
        "as much. The rest are headers, warm-up and acknowledgements."
    )


def again(samples: Iterable[Samples]) -> pd.DataFrame:
    """Retransmissions during each point, from the adapters' counters, summed over both ends.

    Returns
    -------
    ``packets`` sent, and a column for each counter of `AGAIN`; a row per point and launch with counters.
    """
    counters = {name: lambda one, name=name: total(one, name) or 0 for name in AGAIN}
    return _rows(samples, {"packets": lambda one: total(one, "sent_pkts") or 0, **counters})


def python_share(samples: Iterable[Samples]) -> pd.DataFrame:
    """Cost of an empty pyverbs call, in µs; a row per point and launch that pyverbs measured."""
    rows = [
        {"benchmark": one.spec.benchmark, "message_size_B": one.spec.size, "launch": one.launch}
        | {column: fact.of(one.meta) / 1000 for fact, column in CALLS.items() if fact.given(one.meta)}
        for one in samples
        if any(fact.given(one.meta) for fact in CALLS)
    ]
    return pd.DataFrame(rows, columns=["benchmark", "message_size_B", "launch", *CALLS.values()])


def python_sentence(rows: pd.DataFrame) -> str:
    """The result of `python_share` in a sentence; empty if no point used pyverbs."""
    if rows.empty:
        return ""
    poll, post = (rows[column].median() for column in CALLS.values())
    cost = partial(format_number, unit="µs", digits=3)
    refused = "" if math.isnan(post) else f", and a refused post, which makes an exception as well, {cost(post)}"
    return (
        f"Through pyverbs an empty poll takes {cost(poll)}{refused} (medians of {plural(len(rows), 'point')}): that "
        "much of its "
        "times is Python's. perftest measures the adapter's speed."
    )


def functional(badges: Sequence[Iterable[Note]]) -> str:
    """A warning if records carry a badge that says functional, not performance; else empty."""
    matches = [one for notes in badges for one in notes if one.code == "functional"]
    if not matches:
        return ""
    text = matches[0].text
    return (
        f"**These numbers show that everything works, not how fast it is:** {len(matches)} of "
        f"{plural(len(badges), 'record')} "
        f"carry the badge “{text}”. Compare shapes and counters, not the values with those of a real adapter."
    )
