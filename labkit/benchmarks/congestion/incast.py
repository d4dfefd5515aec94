"""Incast: several hosts send to one host at the same time, each with one or more streams.

The benchmark reports the total bandwidth at the receiver and each stream's share. Over TCP every sender is an iperf3
client with `streams` connections to its own server on the receiver. Over verbs every stream is an ib_write_bw with its
own server. All start at an agreed time. All values are reported by the tools;
`labkit.judge.congestion.jain_fairness` computes the fairness of the streams.

The incast benchmark of Kenny et al., "An evaluation of Ethernet performance for scientific workloads" (2020), Fig. 4:
a driver of iperf3 and ib_write_bw that scans senders, processes and sizes from 8 B to 1 MB.
"""

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.benchmarks.simulated import Iteration, Rank, Simulation
from labkit.options.congestion import Incast
from labkit.point.spec import Spec
from labkit.point.units import parse_count
from labkit.tools import iperf3, perftest


def _check(spec: Spec[Incast]) -> str:
    values, classes = spec.values, spec.options.classes
    if not spec.size:
        return "size=0, but a call sends at least 1 B. Set size=131072."
    for name, high in (("senders", 1024), ("streams", 128), ("duration", 600)):
        if not 1 <= values[name] <= high:
            return f"{name}={values[name]}, but it must be 1 to {high}. Set {name}=1."
    if spec.transport not in ("auto", "tcp", "verbs"):
        return f"transport={spec.transport}, but incast streams use tcp or verbs. Set transport=tcp."
    if classes and spec.transport != "verbs":
        return f"classes={classes!r}, but traffic classes need verbs. Set transport=verbs, or leave classes out."
    counts = [parse_count(word) for word in classes.split(":") if word]
    wrong = [count for count in counts if count is None or count > 255]
    return f"classes={classes!r}, but they must be 0 to 255, as in 104:40." if wrong else ""


_CALLS = 64  # simulated messages of each stream


def _flows(spec: Spec[Incast]) -> int:
    """Return how many streams there are."""
    return spec.options.senders * spec.options.streams


def _places(spec: Spec[Incast]) -> tuple[int, ...]:
    """Return of each simulated rank the place of its host: those of the senders, then that of the receiver."""
    streams = spec.options.streams
    return (*(number // streams for number in range(_flows(spec))), spec.options.senders)


def _simulated(spec: Spec[Incast], rank: Rank, algorithm: str) -> Iteration:
    """`_CALLS` messages of each stream at once to the last rank."""
    last = _flows(spec)

    def iteration(k: int) -> None:
        if rank.number < last:
            for _ in range(_CALLS):
                rank.send(last, spec.size)
            rank.wait(_CALLS)
            return
        for source in range(last):
            for _ in range(_CALLS):
                rank.receive(source, spec.size)
        rank.wait(_CALLS * last)

    return iteration


BENCHMARK = ToolBenchmark(
    title="incast",
    options=Incast,
    sizes="8,1Ki,10Ki,100Ki,1Mi",
    max_size=2**20,
    check=_check,
    metrics={"bandwidth_MBps": lambda spec: spec.size},
    tools=(iperf3.incast, perftest.incast),
    cadence="streaming",
    simulation=Simulation(
        iteration=_simulated,
        messages=lambda spec: _CALLS * _flows(spec),
        follows=("senders", "streams", "duration"),
        ranks=lambda spec: _flows(spec) + 1,
        places=_places,
        sent=lambda spec: _CALLS * spec.size,
    ),
    ends=Ends(where="apart", transports=True, several=True),
    directions=1,
)
