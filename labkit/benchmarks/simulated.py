"""A benchmark as a simulation needs it (`Simulation`): what each rank does, as actions of a trace of SimGrid.

A line of a trace is ``rank action arguments``. Sizes are counts of datatype 6, MPI_CHAR. Sends of benchmarks that call
MPI_Send are non-blocking and waited for at once, because SimGrid adds the time of the processor to those alone. A
collective of all ranks is one action, and SimGrid's algorithm sends its messages. Those of other communicators are
written out, because a replay knows the communicator of all ranks only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from labkit.options import frozen
from labkit.point.spec import Spec

if TYPE_CHECKING:
    import typing_extensions

    Options = typing_extensions.TypeVar("Options", contravariant=True, default=Any)
else:
    Options = TypeVar("Options", contravariant=True)

BYTE = 6  # SimGrid's number of MPI_CHAR
# options that make no difference to a simulation
SAME = ("hugepages", "binding", "timing", "datatype", "operation", "in_place", "cadence", "forked", "buffers")
_ACK = 4  # B of the answer to a window, as in osu_bw


@dataclass
class Rank:
    """Actions of one rank.

    Parameters
    ----------
    number : number of the rank in its job.
    first : number of the job's first rank among all ranks that are simulated.
    actions : without the rank's number.
    marks : for each timed iteration, the number of actions before it and up to its end.
    delivered : whether a send ends when its message is there, however short it is.
    late : sends that are waited for after the iteration: it does not wait for short messages to be there.
    eager : B from which a sender waits for its receiver.
    """

    number: int
    first: int = 0
    actions: list[str] = field(default_factory=list)
    marks: list[tuple[int, int]] = field(default_factory=list)
    delivered: bool = False
    late: int = 0
    eager: int = 0

    def send(self, peer: int, size: int, tag: int = 0) -> None:
        """Start to send."""
        self.actions.append(f"isend {self.first + peer} {tag} {size} {BYTE}")

    def receive(self, peer: int, size: int, tag: int = 0) -> None:
        """Start to receive."""
        self.actions.append(f"irecv {self.first + peer} {tag} {size} {BYTE}")

    def wait(self, count: int) -> None:
        """Wait for this many requests."""
        self.actions.append(f"waitall {count}")

    def wait_for(self, source: int, target: int, tag: int) -> None:
        """Wait for one request of this rank."""
        self.actions.append(f"wait {self.first + source} {self.first + target} {tag}")


Iteration = Callable[[int], None]


@frozen
class Simulation(Generic[Options]):
    """How a benchmark is simulated.

    Parameters
    ----------
    iteration : from spec, rank and algorithm to what iteration k of the rank does; None for two jobs, which are
        simulated as their victim and aggressor are.
    messages : about how many messages an iteration sends, of all ranks; not asked of a collective.
    follows : options that the simulation follows, beside `SAME`.
    algorithms : names that the user may choose in addition to ``auto``; empty for collectives.
    collective : SimGrid's name of the collective that is the iteration; empty for its own messages.
    ranks : number of ranks.
    places : for each rank, the place of its host among those of `labkit.testbeds.simulation.Network.hosts_of`;
        empty for one rank after the other.
    sent : B that each rank but the last sends to the last one; then rates are kept instead of times.
    delivered : whether sends may end when their message is there if there is a single iteration.
    extra_ns : per iteration, time that a further column of the samples is shorter than the iteration: column → ns.
    """

    iteration: Callable[[Spec[Options], Rank, str], Iteration] | None = None
    messages: Callable[[Spec[Options]], int] = lambda spec: 0
    follows: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()
    collective: str = ""
    ranks: Callable[[Spec[Options]], int] = lambda spec: spec.ranks
    places: Callable[[Spec[Options]], tuple[int, ...]] = lambda spec: ()
    sent: Callable[[Spec[Options]], int] | None = None
    delivered: bool = False
    extra_ns: Callable[[Spec[Options]], Mapping[str, int]] = lambda spec: {}


def collective(name: str, arguments: Callable[[Spec, int], str]) -> Simulation[Any]:
    """Make the simulation of a collective without a root: one action; SimGrid sends its messages.

    Parameters
    ----------
    name : name of the collective in SimGrid.
    arguments : arguments of the action, from the spec and the root of this iteration.
    """

    def of_rank(spec: Spec, rank: Rank, algorithm: str) -> Iteration:
        return lambda k: rank.actions.append(f"{name} {arguments(spec, 0)}".rstrip())

    return Simulation(iteration=of_rank, collective=name)


class WithRoot(Protocol):
    """Options of a collective with a root."""

    @property
    def root(self) -> int:
        """Rank that is the root."""

    @property
    def rotate(self) -> bool:
        """Whether the next rank is the root in every iteration."""


class WithWindow(Protocol):
    """Options of messages in windows."""

    @property
    def window(self) -> int:
        """Messages in flight."""


def rooted(name: str, arguments: Callable[[Spec, int], str]) -> Simulation[WithRoot]:
    """Make the simulation of a collective with a root; parameters as of `collective`."""

    def of_rank(spec: Spec[WithRoot], rank: Rank, algorithm: str) -> Iteration:
        def iteration(k: int) -> None:
            root = (spec.options.root + (k if spec.options.rotate else 0)) % spec.ranks
            rank.actions.append(f"{name} {arguments(spec, root)}".rstrip())

        return iteration

    return Simulation(iteration=of_rank, follows=("root", "rotate"), collective=name)


def windows(*, both: bool) -> Simulation[WithWindow]:
    """Make the simulation of a window of messages between two ranks and its answer.

    Parameters
    ----------
    both : whether both ranks send.
    """

    def of_rank(spec: Spec[WithWindow], rank: Rank, algorithm: str) -> Iteration:
        peer, window = 1 - rank.number, spec.options.window

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

    return Simulation(
        iteration=of_rank,
        messages=lambda spec: (2 if both else 1) * spec.options.window + 1,
        follows=("window",),
    )
