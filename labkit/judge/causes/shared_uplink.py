"""Messages of many ranks share the link between two switches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import CLUES, others
from labkit.judge.finding import SHARE, SIZE, Evidence, Finding, Value
from labkit.models import links
from labkit.point.adapters import Links, links_of
from labkit.store.samples.facts import RANK_HOSTS, TESTBED

_CROSSING = {  # collective → bytes that must leave a leaf switch, from its ranks, all ranks and the size
    "mpi.alltoall": lambda inside, ranks, size: inside * (ranks - inside) * size,
    "mpi.allgather": lambda inside, ranks, size: inside * size,
}
_NEAR = 4.0  # times what the uplink needs, up to which it is the cause: flows that meet lose packets, and wait


def test(case: Case) -> Finding | None:
    """Uplinks, as stated, need much of the time for the messages of several ranks; faster ones would be better."""
    known, spec = links_of(TESTBED.of(case.samples.meta)), case.samples.spec
    crossing, limit = _CROSSING.get(spec.benchmark), case.about.values.get("limit")
    hosts, uplink = RANK_HOSTS.of(case.samples.meta), known.uplink
    first = {*[*dict.fromkeys(hosts)][: known.per_leaf]}
    inside = sum(host in first for host in hosts)
    if crossing is None or not uplink or not 0 < inside < len(hosts) or not isinstance(limit, Value):
        return None
    size = crossing(inside, len(hosts), spec.size)
    seconds = size * 8 / uplink / links.ethernet(1500, "tcp", frame=links.SHAPED_FRAME).share
    predicted = Value(value=seconds * 1e6, unit="µs", origin="computed")
    if predicted.value <= limit.value:
        return None
    rate = Value(value=uplink / 1e6, unit="Mbit/s", origin="stated")
    part = Value(value=predicted.value / case.measured.value, unit=SHARE)
    values = {"size": Value(value=size, unit=SIZE), "rate": rate, "predicted": predicted, "part": part}
    if case.measured.value > _NEAR * predicted.value:
        return CAUSE.found(case, against=[Evidence(code="missed", values=values)], predicted=predicted)
    other = others(case, "testbed".__eq__, lambda row: _faster(_links(case, str(row["fingerprint"])), known))
    clues = [Evidence(code="shared", values=values), *_named(case, other.evidence)]
    return CAUSE.found(case, clues, _named(case, other.against), predicted=predicted, without=other.without)


def _links(case: Case, fingerprint: str) -> Links:
    """Return what the metadata of a point state of its links."""
    samples = case.view.first_launches([fingerprint]).get(fingerprint)
    return links_of(TESTBED.of(samples.meta) if samples is not None else {})


def _faster(one: Links, own: Links) -> bool:
    """Return whether links differ from those of the point in faster uplinks alone."""
    return one.uplink > own.uplink and replace(one, uplink=own.uplink) == own


def _named(case: Case, clues: tuple[Evidence, ...]) -> Iterator[Evidence]:
    """Yield clues from other testbeds with the rate of the uplinks as their setting."""
    for clue in clues:
        value = clue.values["value"]
        assert isinstance(value, Value)
        rate = Value(value=_links(case, value.fingerprint).uplink / 1e6, unit="Mbit/s")
        yield replace(clue, values={**clue.values, "setting": f"an uplink of {rate}"})


CAUSE = Cause(
    code="shared-uplink",
    name="a shared uplink",
    seen="at the uplink's stated rate, the bytes that must pass it take longer than the messages of a rank",
    excluded="these bytes take only a small part of the time, or faster uplinks explain the smaller part of it",
    decides="the same point with an uplink that is as fast as all hosts below it",
    clues={
        "shared": "{size} must pass each uplink of {rate}, which takes {predicted} at least, {part} of the time",
        "missed": "{size} pass each uplink of {rate} in {predicted} at least",
        **CLUES,
    },
    remedy="Give the switches faster uplinks, or place more of the ranks below one switch.",
    test=test,
)
