"""What counts as good and as bad: a row for each kind of number that a campaign has, from the limits of the judge."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from labkit import benchmarks
from labkit.benchmarks import OneSidedBenchmark
from labkit.judge import all_pairs, pair_causes
from labkit.judge.rules.collective_of_messages import OF_LINKS
from labkit.models import schedules
from labkit.models.bounds import directions_of
from labkit.models.inside import INSIDE, LINK, MACHINE, OWN_WORK, OWN_WORK_OF, PIPE, THERE_AND_BACK, THREAD, TWICE
from labkit.point.notes import NO_SPEED, listed
from labkit.point.units import format_number, format_share

_INCAST = "congestion.incast"
COLUMNS = ("kind of number", "good", "bad", "compared with")
_WHERE = {
    "": "over a link",
    "shared-memory": "in shared memory",
    "loopback": "over loopback",
    "unix-socket": "over a Unix socket",
}
_RATES = {
    "": "the rate of the slowest link, less its headers",
    "shared-memory": TWICE,
    "loopback": THREAD,
}
_TIMES = {
    "": "hosts: a message of a thread to itself at each end, or the adapters; path: its delays and the time of the "
    "bytes",
    "shared-memory": f"a cache line between cores, two copies, and {OWN_WORK_OF}",
    "loopback": THREAD,
    "unix-socket": PIPE,
}


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each kind of number that the rules on verdicts judge, columns `COLUMNS`.

    Parameters
    ----------
    records : records of a campaign, with the columns ``benchmark`` and ``badges``; simulated points are not judged.
    """
    some = records[records["origin"] != "simulated"]
    codes = ((str(row.benchmark), [one.code for one in row.badges]) for row in some.itertuples())
    places = {
        (name, next((one for one in known if one in INSIDE), ""))
        for name, known in codes
        if not {*NO_SPEED, "path-unknown"} & {*known}  # these are not judged
    }
    rows = [[cell.replace(" %", "\u00a0%") for cell in row] for row in dict.fromkeys(_rows(places))]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _rows(places: set[tuple[str, str]]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of benchmarks at places: codes of `INSIDE`, or empty for a link."""
    names = {name for name, _ in places}
    by_message = {name for name in names if (known := benchmarks.look_up(name)) and known.crossings}
    aside = any(isinstance(one, OneSidedBenchmark) and one.completes for one in map(benchmarks.look_up, names))
    for where, words in _WHERE.items():
        if any(name in by_message and place == where for name, place in places):
            yield f"latency {words}", *_times(link=not where), _TIMES[where]
        if where in _RATES and any(directions_of(n) and at == where for n, at in places if n != _INCAST):
            yield f"bandwidth {words}", *_shares(MACHINE if where else LINK), _RATES[where]
    if _INCAST in names:
        yield "incast, all senders together", *_shares(LINK), "the rate of the receiver's link, less its headers"
    if aside:
        bad = f"{_beyond(MACHINE[1])}; never over a link"
        yield "put or get that waits for its bytes", _most(MACHINE[0]), bad, THERE_AND_BACK
    if any(schedules.bounded(name) for name in names):
        yield (
            "collective",
            _most(MACHINE[0]),
            _beyond(MACHINE[1]),
            f"⌈log₂ ranks⌉ latencies or the bytes of one rank, which every algorithm needs, and {OWN_WORK}",
        )
    if any(name in schedules.STRAIGHT and not place for name, place in places):
        kind = f"{listed(sorted(name.partition('.')[2] for name in schedules.STRAIGHT))} over links, if bytes dominate"
        yield kind, _most(OF_LINKS[0]), _beyond(OF_LINKS[1]), "the bytes of one rank, at the rate of one message"
    if all_pairs.BENCHMARK in names:
        single, part = (format_share(one) for one in (all_pairs.LEAST, pair_causes.LEAST))
        yield (
            "all pairs of hosts",
            "no pair, host or switch slow in both of two measurements",
            f"in both, a pair {single} slower, or a host or switch {part}, and by more than pairs scatter",
            "the median pair",
        )
    if names & {"storage.read", "storage.write"}:
        yield "file in memory", *_shares(MACHINE), "a copy with a system call"
        yield "file on a device", *_shares(LINK), "the best rate of the device in the campaign"


def _times(*, link: bool) -> tuple[str, str]:
    """Return the multiples of the necessary time up to which a latency is good, and beyond which it is bad."""
    if not link:
        return _most(MACHINE[0]), _beyond(MACHINE[1])
    good, bad = (
        f"{_number(host)} times the hosts and {_number(path)} times the path"
        for host, path in zip(MACHINE, LINK, strict=True)
    )
    return f"at most {good}", f"beyond {bad}"


def _shares(limits: tuple[float, float]) -> tuple[str, str]:
    """Return the share of the possible rate from which on a rate is good, and the share below which it is bad."""
    good, bad = (format_share(1 / one) for one in limits)
    return f"{good} or more", f"below {bad}"


def _most(times: float) -> str:
    return f"at most {_number(times)} times"


def _beyond(times: float) -> str:
    return f"beyond {_number(times)} times"


def _number(times: float) -> str:
    return format_number(times, digits=3)
