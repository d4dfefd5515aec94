"""Latency of a message between two ranks: ping-pong, one-way time.

Rank 0 sends and waits for an answer of the same size; latency is half the round trip. The definition of osu_latency
(OMB 7.4, mpi/pt2pt/osu_latency.c) and IMB-MPI1 PingPong; `source=any` is PingPongAnySource. Size 0 is a message without
data. `binding` selects the C kernel, mpi4py with buffers, or mpi4py with pickled objects.
"""

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.mpi import Binding, FromAny, TwoRanks, allowed, first_half, from_peer
from labkit.benchmarks.simulated import Iteration, Rank, Simulation
from labkit.options import frozen
from labkit.options.ranks import Forked
from labkit.point.spec import Spec


@frozen
class Options(Forked, Binding, FromAny):
    """Options of mpi.latency."""


def _check(spec: Spec[Options]) -> str:
    forked = spec.options.forked
    return allowed(spec) if 0 <= forked <= 64 else f"forked={forked}, but it must be 0 to 64. Set forked=0."


def _simulated(spec: Spec, rank: Rank, algorithm: str) -> Iteration:
    """A message and its answer."""
    peer = 1 - rank.number

    def iteration(k: int) -> None:
        for sends in (not rank.number, bool(rank.number)):
            (rank.send if sends else rank.receive)(peer, spec.size)
            rank.wait(1)

    return iteration


BENCHMARK = KernelBenchmark(
    title="latency",
    kernel="latency",
    options=Options,
    check=_check,
    ranks=(2, 2),
    metrics={"latency_us": lambda spec: 2},
    active=first_half,
    expected=from_peer,
    cadence="streaming",
    simulation=Simulation(iteration=_simulated, messages=lambda spec: 2),
    crossings=1,
    equivalents={
        "osu_latency": {},
        "osu_latency_mt": {"threads": 2},
        "osu_latency_mp": {"forked": 2},
        "IMB-MPI1 PingPong": {"timing": "total"},
        "IMB-MPI1 PingPongSpecificSource": {"timing": "total"},
        "IMB-MPI1 PingPongAnySource": {"source": "any", "timing": "total"},
        "IMB-P2P PingPong": {"timing": "total"},
        "IMB-MT PingPongMT": {"threads": 2, "timing": "total"},
    },
    unlike={
        "osu_latency_mt": "OSU has one sending and two receiving threads on one communicator, labkit gives each thread "
        "its own partner and communicator",
    },
)
FORMS = {
    "latency_persistent": KernelBenchmark(
        title="latency, persistent requests",
        kernel="latency_persistent",
        options=TwoRanks,
        check=allowed,
        ranks=(2, 2),
        requests=lambda spec: 2,
        metrics={"latency_us": lambda spec: 2},
        active=first_half,
        expected=from_peer,
        cadence="streaming",
        crossings=1,
        equivalents={"osu_latency_persistent": {}},
        doc="""Latency with persistent requests: ping-pong, one-way time.

Send and receive are set up once, untimed; an iteration starts them and waits. The definition of
osu_latency_persistent (OMB 7.4, mpi/pt2pt/persistent).
""",
    )
}
