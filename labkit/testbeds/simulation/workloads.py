"""What each rank of a benchmark does, as a time-independent trace of SimGrid 3.32, and where its iterations lie in it.

A benchmark's file says how it is simulated (`labkit.benchmarks.Simulation`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from labkit import benchmarks
from labkit.benchmarks import KernelBenchmark, Simulation
from labkit.benchmarks.simulated import SAME, Iteration
from labkit.benchmarks.simulated import Rank as Rank
from labkit.errors import SpecError
from labkit.point.spec import Spec
from labkit.testbeds.simulation import collectives
from labkit.tools.smpirun import EAGER

MOST = 4_000_000  # messages of a simulation; a million take about 40 s
BARRIER = "smpi/barrier:ompi_bruck"
# a send ends when its message is there, however short it is
_DELIVERED = ("smpi/send-is-detached-thresh:0", "smpi/async-small-thresh:0")


@dataclass(frozen=True)
class Program:
    """What all ranks do.

    Parameters
    ----------
    ranks : in order.
    settings : settings of SimGrid, beside those of the network.
    algorithm : algorithm of the collective; empty for none.
    places : for each rank, the place of its host among those of `labkit.testbeds.simulation.Network.hosts_of`;
        empty for one rank after the other.
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
    return [name for name, one in benchmarks.find().items() if one.simulation]


def simulation_of(spec: Spec) -> Simulation:
    """Return how the benchmark of a spec is simulated.

    Raises
    ------
    SpecError
        If it cannot be.
    """
    simulation = benchmarks.get(spec.benchmark).simulation
    if simulation is None:
        raise SpecError(f"{spec.benchmark} cannot be simulated. These can: {', '.join(supported())}.")
    return simulation


def program(spec: Spec, iterations: int, warmup: int, algorithm: str = "auto") -> Program:
    """Return what the ranks of a spec do.

    Parameters
    ----------
    spec : resolved.
    iterations, warmup : timed, and before them untimed.
    algorithm : algorithm of the collective, or of the transposes of an FFT.

    Raises
    ------
    SpecError
        If the benchmark, an option or so many messages cannot be simulated.
    """
    check(spec, algorithm)
    simulation = simulation_of(spec)
    if simulation.sent is not None:
        return _poured(spec, simulation, simulation.sent(spec))
    count = messages(spec, algorithm) * (iterations + warmup)
    if count > MOST:
        raise SpecError(
            f"{benchmarks.label(spec)} sends about {count:,} messages, but a simulation has at most {MOST:,}. "
            "Set fewer ranks, fewer iterations, or another algorithm."
        )
    once = simulation.delivered and iterations + warmup == 1
    ranks = written(spec, iterations, warmup, algorithm, delivered=once)
    name, settings = "", [BARRIER, *(_DELIVERED if once else ())]
    if simulation.collective:
        name = collectives.algorithm(spec, algorithm)
        settings = [*([] if simulation.collective == "barrier" else settings), collectives.setting(spec, name)]
    elif simulation.algorithms:
        name = simulation.algorithms[0] if algorithm == "auto" else algorithm
    return Program(ranks, tuple(settings), name, extra_ns=simulation.extra_ns(spec))


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
    delivered : of a single iteration: SimGrid searches all short messages that are under way at the end of each,
        unless their sends end when they are there. Where all ranks start to receive before any sends, that changes
        nothing but the moment when a send ends, and the iteration does not wait for those of short messages.
    """
    simulation = simulation_of(spec)
    ranks = [Rank(number, first, delivered=delivered, eager=EAGER) for number in range(simulation.ranks(spec))]
    isolated = alone and benchmarks.cadence(spec) == "isolated"
    for rank in ranks:
        iteration = _iteration(spec, simulation, rank, algorithm, alone)
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


def _iteration(spec: Spec, simulation: Simulation, rank: Rank, algorithm: str, alone: bool) -> Iteration:
    """Return what iteration k of a rank does."""
    if simulation.collective and not alone:
        return _written_out(spec, rank, algorithm)
    if simulation.iteration is None:
        raise SpecError(f"{spec.benchmark} has no iterations.")
    return simulation.iteration(spec, rank, algorithm)


def check(spec: Spec, algorithm: str = "auto") -> None:
    """Refuse what cannot be simulated.

    Raises
    ------
    SpecError
        If the benchmark cannot be simulated, or one of its options has no meaning in a simulation.
    """
    simulation = simulation_of(spec)
    usual = benchmarks.get(spec.benchmark).options()
    for name, value in spec.values.items():
        if name not in (*SAME, *simulation.follows) and value != getattr(usual, name):
            raise SpecError(
                f"{name}={value}, but the simulation of {spec.benchmark} has {name}={getattr(usual, name)} only. "
                "Leave it out."
            )
    if benchmarks.cadence(spec) == "synchronised":
        raise SpecError("cadence=synchronised has no meaning in a simulation, whose clocks agree. Set isolated.")
    choices = simulation.algorithms
    if simulation.collective:
        collectives.algorithm(spec, algorithm)
    elif algorithm not in ("auto", *choices):
        which = f"has {' and '.join(choices)}" if choices else "has no choice of algorithm"
        raise SpecError(f"algorithm={algorithm!r}, but the simulated {spec.benchmark} {which}. Set algorithm=auto.")


def messages(spec: Spec, algorithm: str = "auto") -> int:
    """Return about how many messages an iteration sends."""
    simulation = simulation_of(spec)
    if not simulation.collective:
        return simulation.messages(spec)
    n, name, chosen = spec.ranks, simulation.collective, collectives.algorithm(spec, algorithm)
    of_one = {"ring": 2 * (n - 1), "pairwise": n - 1, "linear": n - 1 if name == "alltoall" else 1}
    if name == "allgather" and chosen == "ring":
        return n * (n - 1)
    if chosen == "scatter-allgather":
        return n * n
    rounds = max(n - 1, 1).bit_length()
    return n * of_one.get(chosen, 1 if chosen in ("binomial", "tree", "reduce-bcast") else rounds)


def active(spec: Spec) -> list[int]:
    """Return the ranks whose times are kept."""
    benchmark = benchmarks.get(spec.benchmark)
    assert isinstance(benchmark, KernelBenchmark)
    return [rank for rank in range(spec.ranks) if benchmark.active(spec, rank)]


def times(marks: Sequence[tuple[int, int]], ends: Sequence[float]) -> list[int]:
    """Return the time of each timed iteration of a rank, ns.

    Parameters
    ----------
    marks : for each iteration, the number of actions before it and up to its end.
    ends : when each action ended, s.
    """
    moments = [0.0, *ends]
    return [round((moments[last] - moments[first]) * 1e9) for first, last in marks]


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


def _poured(spec: Spec, simulation: Simulation, sent: int) -> Program:
    """Return what ranks do that send to the last one, from a barrier on."""
    ranks = written(spec, 1, 0, alone=False)
    for rank in ranks:
        rank.actions.insert(0, "barrier")
        rank.marks = [(first + 1, last + 1) for first, last in rank.marks]
    flows = dict.fromkeys(range(len(ranks) - 1), sent)
    return Program(ranks, (BARRIER, *_DELIVERED), "", simulation.places(spec), flows)
