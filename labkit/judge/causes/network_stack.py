"""Messages of one path pass the kernel's network stack, those of the other do not."""

from __future__ import annotations

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.finding import TIMES, Evidence, Finding, Value, Values
from labkit.point.units import format_share
from labkit.store.samples.facts import INTERFACE_B

_QUIET = 0.1  # of the payload: what interfaces carry of other traffic meanwhile
_SEEN = 0.001  # of the payload, from which it is told


def test(case: Case) -> Finding | None:
    """Network interfaces received the payload of the slower path, and next to nothing of the faster one."""
    good, bad, size = (case.about.values.get(name) for name in ("good", "bad", "size"))
    if case.about.values.get("factor") != "transport" or case.about.form.startswith("links"):
        return None
    assert isinstance(good, Value)
    assert isinstance(bad, Value)
    assert isinstance(size, Value)
    quiet, busy = _received(case, good), _received(case, bad)
    if quiet is None or busy is None or not size.value or not bad.n:
        return None
    timed, others = (_payload(case, one, size) for one in (bad, good))
    if busy < timed or quiet > _QUIET * others:
        return None
    counts: Values = {
        "busy": Value(value=busy / timed, unit=TIMES),
        "quiet": f"{format_share(quiet / others)} of them" if quiet >= _SEEN * others else "almost none",
    }
    return CAUSE.found(case, [Evidence(code="counted", values=counts)])


def _payload(case: Case, value: Value, size: Value) -> float:
    """Return the payload of the timed messages of a point, B: one message per iteration if nothing is known."""
    spec = case.view.spec(value.fingerprint)
    return sum(benchmarks.moved(spec, value.n).values() if spec else ()) or value.n * size.value


def _received(case: Case, value: Value) -> int | None:
    """Return what network interfaces received during the launches of a point, B.

    None if a launch has no counters, or if launches of the same point came from another campaign.
    """
    assert case.view.launches is not None
    launches = case.view.launches.samples(case.view.rows_of(value.fingerprint).tolist()).values()
    counts = [INTERFACE_B.of(one.meta) for one in launches]
    return sum(sum(each.values()) for each in counts) if len(counts) == value.launches and all(counts) else None


CAUSE = Cause(
    code="network-stack",
    name="each message passes the network stack of the kernel",
    seen="network interfaces received at least the payload on the slower path, and almost nothing on the other",
    excluded="the interfaces received the payload of neither path, or of both",
    decides="counters of the interfaces during both points",
    clues={
        "counted": "the network interfaces, loopback included, counted {busy:2} the bytes of the timed messages, "
        "because headers and untimed messages count too; on the other path {quiet}",
    },
    remedy="",
    test=test,
    explains=("setting-matters",),
)
