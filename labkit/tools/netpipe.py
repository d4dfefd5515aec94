"""NetPIPE over TCP: ping-pong of one size in place of netperf's request/response, or of a whole ladder of sizes.

It decides itself how often it sends a size, tries several times and keeps the best, so its numbers do not show
occasional disturbances. Its receiver listens on all addresses of the machine, and no option changes that.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from labkit.errors import SpecError
from labkit.formats import netpipe as layout
from labkit.options.sockets import Netpipe, TcpRr
from labkit.point.notes import note
from labkit.point.spec import Effort, Reported, Spec
from labkit.tools import Invocation, Parsed, Tool, only, this_machine

TOOL = Tool(
    name="netpipe",
    commands=("NPtcp",),
    version="-V",
    pattern="NETPIPE USAGE",
    package="netpipe-tcp",
    programs=("NPtcp",),
    format=layout,
    purpose="sockets.netpipe",
    instead="netperf",
)
_OUT = "np.out"
_SIZE_S = 0.7  # a size takes that, whatever the effort
_TRIAL_S = 0.25  # of each trial of a size; NetPIPE keeps the best
_OPEN = "NPtcp listens on all addresses of the machine while it runs."


def tcp_rr(spec: Spec[TcpRr], effort: Effort) -> Invocation:
    """Messages of the spec's size there and back, one at a time over one connection.

    Raises
    ------
    SpecError
        For IPv6, an exact count beyond its own, another congestion control, or without TCP_NODELAY, which it sets.
    """
    only(spec, TOOL.name, "netperf", ip="ipv4", nodelay=True, congestion="")
    both = ["-l", str(spec.size), "-u", str(spec.size), "-p", "0"]
    return _invocation(
        spec,
        effort,
        both,
        layout.round_trip,
        1,
        stands_in_for="netperf",
        definition=(
            "NetPIPE: mean over the messages of the best of its trials; "
            "its time one way doubled to a round trip, as in netperf TCP_RR."
        ),
    )


def ladder(spec: Spec[Netpipe], effort: Effort) -> Invocation:
    """Ping-pong or a stream over all sizes between two."""
    options = spec.options
    sizes = _rungs(int(options.min_size), int(options.max_size))
    both = [
        "-l",
        str(options.min_size),
        "-u",
        str(options.max_size),
        "-p",
        str(options.perturbation),
        *{"ping-pong": [], "stream": ["-s"], "both": ["-2"]}[options.direction],
    ]

    def parse(text: str) -> list[Reported]:
        return layout.ladder(text, options.direction)

    return _invocation(
        spec,
        effort,
        both,
        parse,
        sizes * (3 if options.perturbation else 1),
        definition=(
            "NetPIPE: mean over the messages of the best of its trials of each size; latency is half the round trip; "
            "both ways are summed."
        ),
        repeats=options.repeats,
    )


def _rungs(low: int, high: int) -> int:
    """Estimate the number of sizes: two for each power of two."""
    if not 0 < low <= high:
        raise SpecError(f"min_size={low} B, max_size={high} B, but it must be 0 < min_size <= max_size.")
    return 2 * ((high // low).bit_length())


def _invocation(
    spec: Spec[TcpRr | Netpipe],
    effort: Effort,
    both: list[str],
    parse: Callable[[str], list[Reported]],
    sizes: int,
    *,
    definition: str,
    repeats: int = 0,
    stands_in_for: str = "",
) -> Invocation:
    """A run over some sizes; the same options for both ends, but for the name of the file."""
    address, buffer = this_machine(spec), spec.options.socket_buffer
    repeats = effort.iterations or repeats
    both = [
        "-P",
        "{port}",
        *both,
        *(["-b", str(buffer)] if buffer else []),
        *(["-n", str(repeats)] if repeats else []),
    ]

    def parsed(text: str, folder: Path) -> Parsed:
        return Parsed(reported=tuple(parse((folder / _OUT).read_text())))

    return Invocation(
        tool=TOOL,
        server=("NPtcp", *both, "-o", "server.out"),
        client=("NPtcp", "-h", "{address}", *both, "-o", _OUT),
        parse=parsed,
        address=address,
        stands_in_for=stands_in_for,
        definition=definition,
        duration=sizes * _SIZE_S,
        time_limit=sizes * _SIZE_S + effort.time_limit,
        trial=0.0 if effort.iterations else _TRIAL_S,
        warnings=(note("listens-everywhere", _OPEN), layout.BEST),
    )
