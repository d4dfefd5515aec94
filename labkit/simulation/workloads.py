"""What each rank of a benchmark does, as a time-independent trace of SimGrid 3.32, and where its iterations lie in it.

A line of a trace is ``rank action arguments``. Sizes are counts of datatype 6, MPI_CHAR. Sends of benchmarks that call
MPI_Send are non-blocking and waited for at once, because SimGrid adds the time of the processor to those alone. A
collective of all ranks is one action, and SimGrid's algorithm sends its messages. Those of other communicators are
written out, because a replay knows the communicator of all ranks only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from labkit import benchmarks
from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.apps import _grid, fft_subcom3d, halo3d26
from labkit.errors import SpecError
from labkit.simulation import collectives
from labkit.spec import Spec
from labkit.tools.smpirun import EAGER

MOST = 4_000_000  # messages of a simulation; a million take about 40 s
BARRIER = "smpi/barrier:ompi_bruck"
_ACK = 4  # B of the answer to a window, as in osu_bw
HALO, INCAST, INTERFERENCE = "apps.halo3d26", "congestion.incast", "congestion.interference"
CALLS = 64  # messages of each stream of an incast
# a send ends when its message is there, however short it is
_DELIVERED = ("smpi/send-is-detached-thresh:0", "smpi/async-small-thresh:0")
_BYTE = 6  # SimGrid's number of MPI_CHAR


@dataclass
class Rank:
    """Actions of one rank.

    Parameters
    ----------
    number : of the rank in its job.
    first : number of the job's first rank among all ranks that are simulated.
    actions : without the rank's number.
    marks : of each timed iteration the number of actions before it and up to its end.
    delivered : whether a send ends when its message is there, however short it is (`_DELIVERED`).
    late : sends that are waited for after the iteration: it does not wait for short messages to be there.
    """

    number: int
    first: int = 0
    actions: list[str] = field(default_factory=list)
    marks: list[tuple[int, int]] = field(default_factory=list)
    delivered: bool = False
    late: int = 0

    def send(self, peer: int, size: int, tag: int = 0) -> None:
        """Start to send."""
        self.actions.append(f"isend {self.first + peer} {tag} {size} {_BYTE}")

    def receive(self, peer: int, size: int, tag: int = 0) -> None:
        """Start to receive."""
        self.actions.append(f"irecv {self.first + peer} {tag} {size} {_BYTE}")

    def wait(self, count: int) -> None:
        """Wait for so many requests."""
        self.actions.append(f"waitall {count}")

    def wait_for(self, source: int, target: int, tag: int) -> None:
        """Wait for one request of this rank."""
        self.actions.append(f"wait {self.first + source} {self.first + target} {tag}")


@dataclass(frozen=True)
class Program:
    """What all ranks do.

    Parameters
    ----------
    ranks : in order.
    settings : of SimGrid, beside those of the network.
    algorithm : of the collective; empty for none.
    places : of each rank the place of its host among those of `labkit.simulation.Network.hosts_of`; empty for one rank
        after the other.
    flows : rank → B that it sends to the one receiver; then its one mark is all of its sending, and rates are kept.
    extra_ns : per iteration, time that a further column of the samples is shorter than the iteration: column → ns.
    """

    ranks: Sequence[Rank]
    settings: tuple[str, ...] = (BARRIER,)
    algorithm: str = ""
    places: tuple[int, ...] = ()
    flows: Mapping[int, int] = field(default_factory=dict)
    extra_ns: Mapping[str, int] = field(default_factory=dict)

    @property
    def trace(self) -> str:
        """All actions, rank after rank, as one file."""
        return "".join(
            f"{number} init\n" + "".join(f"{number} {action}\n" for action in rank.actions) + f"{number} finalize\n"
            for number, rank in enumerate(self.ranks)
        )


def supported() -> list[str]:
    """Return the names of the benchmarks that can be simulated."""
    return sorted(_WORK)


def program(spec: Spec, iterations: int, warmup: int, algorithm: str = "auto") -> Program:
    """Return what the ranks of a spec do.

    Parameters
    ----------
    spec : resolved.
    iterations, warmup : timed, and before them untimed.
    algorithm : of the collective, or of the transposes of an FFT.

    Raises
    ------
    SpecError
        If the benchmark, an option or so many messages cannot be simulated.
    """
    check(spec, algorithm)
    if spec.benchmark == INCAST:
        return _incast(spec)
    count = messages(spec, algorithm) * (iterations + warmup)
    if count > MOST:
        raise SpecError(
            f"{benchmarks.label(spec)} sends about {count:,} messages, but a simulation has at most {MOST:,}. "
            "Set fewer ranks, fewer iterations, or another algorithm."
        )
    once = spec.benchmark == HALO and iterations + warmup == 1
    ranks = written(spec, iterations, warmup, algorithm, delivered=once)
    name, settings = "", [BARRIER, *(_DELIVERED if once else ())]
    if spec.family == "mpi" and spec.benchmark.partition(".")[2] in collectives.ALGORITHMS:
        name = collectives.algorithm(spec, algorithm)
        settings = [*([] if spec.benchmark == "mpi.barrier" else settings), collectives.setting(spec, name)]
    elif spec.benchmark == "apps.fft_subcom3d":
        name = "linear" if algorithm == "linear" else "pairwise"
    sleep = {"exchange_ns": _sleep_ns(spec)} if spec.benchmark == HALO else {}
    return Program(ranks, tuple(settings), name, extra_ns=sleep)


def written(
    spec: Spec,
    iterations: int,
    warmup: int,
    algorithm: str = "auto",
    *,
    first: int = 0,
    alone: bool = True,
    delivered: bool = False,
) -> list[Rank]:
    """Return what each rank of a job does.

    Parameters
    ----------
    first : number of its first rank among all that are simulated.
    alone : whether these are all ranks: only then can they meet at a barrier between isolated iterations. All start at
        the same moment.
    delivered : of a single halo exchange: SimGrid searches all short messages that are under way at the end of each,
        unless their sends end when they are there. Where all ranks start to receive before any sends, that changes
        nothing but the moment when a send ends, and the iteration does not wait for those of short messages.
    """
    _, write = _WORK[spec.benchmark]
    if not alone and write is _collective:
        write = _written_out
    count = _flows(spec) + 1 if spec.benchmark == INCAST else spec.ranks
    ranks = [Rank(number, first, delivered=delivered) for number in range(count)]
    isolated = alone and _cadence(spec) == "isolated"
    for rank in ranks:
        iteration = write(spec, rank, algorithm)
        for k in range(warmup + iterations):
            before = len(rank.actions)
            iteration(k)
            if k >= warmup:
                rank.marks.append((before, len(rank.actions)))
            if rank.late:
                rank.wait(rank.late)
                rank.late = 0
            if isolated:
                rank.actions.append("barrier")
    return ranks


def check(spec: Spec, algorithm: str = "auto") -> None:
    """Refuse what cannot be simulated.

    Raises
    ------
    SpecError
        For another benchmark, or an option without a meaning in a simulation.
    """
    if spec.benchmark not in _WORK:
        raise SpecError(f"{spec.benchmark} cannot be simulated. These can: {', '.join(supported())}.")
    benchmark = benchmarks.get(spec.benchmark)
    followed, _ = _WORK[spec.benchmark]
    usual = benchmark.options()
    for name, value in spec.options:
        if name not in followed and value != getattr(usual, name):
            raise SpecError(
                f"{name}={value}, but the simulation of {spec.benchmark} has {name}={getattr(usual, name)} only. "
                "Leave it out."
            )
    if _cadence(spec) == "synchronised":
        raise SpecError("cadence=synchronised has no meaning in a simulation, whose clocks agree. Set isolated.")
    choices = ("pairwise", "linear") if spec.benchmark == "apps.fft_subcom3d" else ()
    if spec.benchmark.partition(".")[2] in collectives.ALGORITHMS:
        collectives.algorithm(spec, algorithm)
    elif algorithm not in ("auto", *choices):
        which = f"has {' and '.join(choices)}" if choices else "has no choice of algorithm"
        raise SpecError(f"algorithm={algorithm!r}, but the simulated {spec.benchmark} {which}. Set algorithm=auto.")


def messages(spec: Spec, algorithm: str = "auto") -> int:
    """Return about how many messages an iteration sends."""
    n, name = spec.ranks, spec.benchmark.partition(".")[2]
    rounds = max(n - 1, 1).bit_length()
    if spec.benchmark == HALO:
        return sum(len(halo3d26.messages(spec, rank)) for rank in range(n))
    if spec.benchmark == "apps.fft_subcom3d":
        return n * sum(side - 1 for side in _grid.shape(spec))
    if spec.benchmark == INCAST:
        return CALLS * _flows(spec)
    if name not in collectives.ALGORITHMS:
        return 2 if name == "latency" else (2 if name == "bibandwidth" else 1) * int(spec.option("window")) + 1
    chosen = collectives.algorithm(spec, algorithm)
    of_one = {"ring": 2 * (n - 1), "pairwise": n - 1, "linear": n - 1 if name == "alltoall" else 1}
    if name == "allgather" and chosen == "ring":
        return n * (n - 1)
    if chosen == "scatter-allgather":
        return n * n
    return n * of_one.get(chosen, 1 if chosen in ("binomial", "tree", "reduce-bcast") else rounds)


def _cadence(spec: Spec) -> str:
    return str(spec.values.get("cadence", benchmarks.get(spec.benchmark).cadence))


def active(spec: Spec) -> list[int]:
    """Return the ranks whose times are kept."""
    benchmark = benchmarks.get(spec.benchmark)
    assert isinstance(benchmark, KernelBenchmark)
    return [rank for rank in range(spec.ranks) if benchmark.active(spec, rank)]


def times(marks: Sequence[tuple[int, int]], ends: Sequence[float]) -> list[int]:
    """Return the time of each timed iteration of a rank, ns.

    Parameters
    ----------
    marks : of each iteration the number of actions before it and up to its end.
    ends : when each action ended, s.
    """
    moments = [0.0, *ends]
    return [round((moments[last] - moments[first]) * 1e9) for first, last in marks]


# ---- one function for each pattern: from spec, rank and algorithm to what iteration k does ---------------------------

Iteration = Callable[[int], None]


def _latency(spec: Spec, rank: Rank, algorithm: str) -> Iteration:
    """Ping-pong."""
    peer = 1 - rank.number

    def send() -> None:
        rank.send(peer, spec.size)
        rank.wait(1)

    def receive() -> None:
        rank.receive(peer, spec.size)
        rank.wait(1)

    def iteration(k: int) -> None:
        for step in (send, receive) if rank.number == 0 else (receive, send):
            step()

    return iteration


def _bandwidth(spec: Spec, rank: Rank, algorithm: str) -> Iteration:
    """A window of messages and an answer; both ways with `mpi.bibandwidth`."""
    peer, window, both = 1 - rank.number, int(spec.option("window")), spec.benchmark == "mpi.bibandwidth"

    def iteration(k: int) -> None:
        if both or rank.number:
            for _ in range(window):
                rank.receive(peer, spec.size)
        if both or not rank.number:
            for _ in range(window):
                rank.send(peer, spec.size)
        rank.wait(window * (2 if both else 1))
        if rank.number:
            rank.send(peer, _ACK, tag=1)
        else:
            rank.receive(peer, _ACK, tag=1)
        rank.wait(1)

    return iteration


def _collective(spec: Spec, rank: Rank, algorithm: str) -> Iteration:
    """One action, whose messages SimGrid sends."""
    name, size = spec.benchmark.partition(".")[2], spec.size

    def iteration(k: int) -> None:
        root = (int(spec.values.get("root", 0)) + (k if spec.values.get("rotate") else 0)) % spec.ranks
        rank.actions.append(
            {
                "barrier": "barrier",
                "bcast": f"bcast {size} {root} {_BYTE}",
                "reduce": f"reduce {size} 0 {root} {_BYTE}",
                "allreduce": f"allreduce {size} 0 {_BYTE}",
                "allgather": f"allgather {size} {size} {_BYTE} {_BYTE}",
                "alltoall": f"alltoall {size} {size} {_BYTE} {_BYTE}",
                "gather": f"gather {size} {size} {root} {_BYTE} {_BYTE}",
                "scatter": f"scatter {size} {size} {root} {_BYTE} {_BYTE}",
            }[name]
        )

    return iteration


def _sleep_ns(spec: Spec) -> int:
    return round(1000 * float(halo3d26.chosen(spec)["sleep_us"]))


def _halo(spec: Spec, rank: Rank, algorithm: str) -> Iteration:
    """A sleep, all messages to and from the neighbours at once, one wait."""
    neighbours, sleep_ns = halo3d26.messages(spec, rank.number), _sleep_ns(spec)

    def iteration(k: int) -> None:
        if sleep_ns:
            rank.actions.append(f"sleep {sleep_ns * 1e-9:.9f}")
        for peer, size, _, way in neighbours:  # a neighbour sends in the opposite direction, from a layer as large
            rank.receive(peer, size, tag=way ^ 1)
        for peer, size, _, way in neighbours:
            rank.send(peer, size, tag=way)
        if not rank.delivered:
            rank.wait(2 * len(neighbours))
            return
        for peer, size, _, way in neighbours:
            rank.wait_for(peer, rank.number, way ^ 1)
            if size >= EAGER:
                rank.wait_for(rank.number, peer, way)
            else:
                rank.late += 1

    return iteration


def _fft(spec: Spec, rank: Rank, algorithm: str) -> Iteration:
    """All to all in the line of the rank along each side, one side after the other."""
    lines = [fft_subcom3d.line(spec, rank.number, side) for side in range(3)]

    def iteration(k: int) -> None:
        for side, (line, size) in enumerate(zip(lines, fft_subcom3d.sizes(spec), strict=True)):
            at, n = line.index(rank.number), len(line)
            if not size or n < 2:
                continue
            for step in range(1, n):
                rank.receive(line[(at - step) % n], size, tag=side)
                rank.send(line[(at + step) % n], size, tag=side)
                if algorithm != "linear":
                    rank.wait(2)
            if algorithm == "linear":
                rank.wait(2 * (n - 1))

    return iteration


def _written_out(spec: Spec, rank: Rank, algorithm: str) -> Iteration:
    """Messages of an allreduce on a part of all ranks; of all, SimGrid sends them itself."""
    steps = list(collectives.steps(spec, rank.number, algorithm))

    def iteration(k: int) -> None:
        for target, sent, source, received in steps:
            if source is not None:
                rank.receive(source, received)
            if target is not None:
                rank.send(target, sent)
            rank.wait((source is not None) + (target is not None))

    return iteration


def _flows(spec: Spec) -> int:
    """Return how many streams an incast has."""
    return int(spec.option("senders")) * int(spec.option("streams"))


def _pour(spec: Spec, rank: Rank, algorithm: str) -> Iteration:
    """`CALLS` messages of each stream at once to the last rank."""
    last = _flows(spec)

    def iteration(k: int) -> None:
        if rank.number < last:
            for _ in range(CALLS):
                rank.send(last, spec.size)
            rank.wait(CALLS)
            return
        for source in range(last):
            for _ in range(CALLS):
                rank.receive(source, spec.size)
        rank.wait(CALLS * last)

    return iteration


def _incast(spec: Spec) -> Program:
    """Streams of all senders into the last host, which begin at a barrier."""
    ranks = written(spec, 1, 0, alone=False)
    for rank in ranks:
        rank.actions.insert(0, "barrier")
        rank.marks = [(first + 1, last + 1) for first, last in rank.marks]
    sent = dict.fromkeys(range(_flows(spec)), CALLS * spec.size)
    return Program(ranks, (BARRIER, *_DELIVERED), "", places(spec), sent)


def places(spec: Spec) -> tuple[int, ...]:
    """Return of each rank of an incast the place of its host: those of the senders, then that of the receiver."""
    streams = int(spec.option("streams"))
    return (*(number // streams for number in range(_flows(spec))), int(spec.option("senders")))


def _nothing(spec: Spec, rank: Rank, algorithm: str) -> Iteration:
    """A program that is written as a whole."""
    raise SpecError(f"{spec.benchmark} has no iterations.")


Writer = Callable[[Spec, Rank, str], Iteration]
_NO_MATTER = ("hugepages", "binding", "timing", "datatype", "operation", "in_place", "cadence", "forked", "buffers")
_GRID = ("px", "py", "pz", "preset")
# benchmark → options that a simulation follows, or that make no difference to it; and the writer of its iterations
_WORK: Mapping[str, tuple[tuple[str, ...], Writer]] = {
    "mpi.latency": (_NO_MATTER, _latency),
    "mpi.bandwidth": ((*_NO_MATTER, "window"), _bandwidth),
    "mpi.bibandwidth": ((*_NO_MATTER, "window"), _bandwidth),
    HALO: (
        (*_NO_MATTER, *_GRID, "neighbours", "periodic", "nx", "ny", "nz", "vars", "sleep_us"),
        _halo,
    ),
    "apps.fft_subcom3d": ((*_NO_MATTER, *_GRID, "size_y", "size_z"), _fft),
    INCAST: (("senders", "streams", "duration"), _pour),
    INTERFERENCE: (("victim", "aggressor", "lead", "aggressor_size", "aggressor_ranks", "cells", "streams"), _nothing),
    **{f"mpi.{name}": ((*_NO_MATTER, "root", "rotate"), _collective) for name in collectives.ALGORITHMS},
}
