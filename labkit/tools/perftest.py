"""perftest: the reference of RDMA verbs, latency and bandwidth of send, write, read and atomic operations.

Server and client exchange their addresses over TCP, or with ``rdma_cm`` over the link itself. The programs differ in
the verb and in their options, so a table of verbs and one function describe them all. A test is repeated when it could
not calibrate its clock, which happens on a busy or emulated machine.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from labkit.errors import SpecError
from labkit.formats import perftest as layout
from labkit.options.congestion import Incast
from labkit.options.verbs import LOOPS_ALONE
from labkit.point.spec import Effort, Spec
from labkit.point.units import MiB
from labkit.tools import GROUP, Invocation, Parsed, Tool, _incast, trimmed

TOOL = Tool(
    name="perftest",
    commands=("ib_write_lat", "ib_send_lat"),
    package="perftest",
    format=layout,
    programs=tuple(f"ib_{verb}_{kind}" for verb in ("send", "write", "read", "atomic") for kind in ("lat", "bw")),
    purpose="verbs",
    instead="the loops over pyverbs, or qperf",
    needs="rdma",
)
LOWEST = 5  # iterations that perftest demands
_COUNT = 1000
_MGID = ":".join(["0"] * 10 + ["255", "255", *GROUP.split(".")])  # as perftest reads it
# Joins the group by IP on the adapter's interface, which switches and soft-RoCE demand, then becomes the receiver.
_JOINED = (
    "import os, socket, sys; group = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
    "ends = socket.inet_aton(sys.argv[1]) + socket.inet_aton(sys.argv[2]); "
    "group.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, ends); group.set_inheritable(True); "
    "os.execvp(sys.argv[3], sys.argv[3:])"
)
_AT_MOST_B = 64 * MiB  # moved when no count is asked for
_MOST_RECEIVES = 15000  # that perftest posts; without one, a datagram is lost, and the receiver waits for it
_AT_LEAST = 20
_WARM_UP = 10  # iterations of latency tests that are left out: perftest has no warm-up of its own
_LARGEST_MTU = 4096  # of InfiniBand and RoCE
_START_S = 3.0  # it calibrates its clock, twice

Kind = Literal["lat", "bw"]


@dataclass(frozen=True)
class _Verb:
    """The options that the programs of one verb have.

    Parameters
    ----------
    connections : transport services; ``UC`` and ``UD`` have no answers that bring data.
    takes : of completion events and inline data, those it has.
    latency : what its latency is.
    """

    connections: tuple[str, ...]
    takes: tuple[str, ...]
    latency: str


_HALF, _WHOLE = "half the round trip", "the time until the answer is there"
_VERBS = {
    "send": _Verb(("RC", "UC", "UD", "XRC", "DC", "SRD"), ("event", "inline"), _HALF),
    "write": _Verb(("RC", "UC", "XRC", "DC", "SRD"), ("inline",), _HALF),
    "read": _Verb(("RC", "XRC", "DC", "SRD"), ("event",), _WHOLE),
    "atomic": _Verb(("RC", "XRC", "DC"), ("event",), _WHOLE),
}
_ATOMICS = {"fetch_and_add": "FETCH_AND_ADD", "compare_and_swap": "CMP_AND_SWAP"}
ATOMIC_B = 8
# option → flag and the value that leaves it out
_FLAGS: dict[str, tuple[str, Any]] = {"inline": ("-I", -1), "mtu": ("-m", 0), "timeout": ("-u", None)}
_BW_FLAGS: dict[str, tuple[str, Any]] = {
    "tx_depth": ("-t", 0),
    "qps": ("-q", 1),
    "cq_moderation": ("-Q", 0),
    "post_list": ("-l", 1),
}

_LOST = (
    "Its receiver waits for every datagram, and was probably still waiting for one of the multicast group that was "
    "lost. Request fewer messages (-i 500), or let the switches pass the group."
)
_ONE_SENDER = {"qps": 1, "bidirectional": False, "srq": False, "rdma_cm": False}  # with multicast


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What a benchmark asks of perftest, by the names of its options; the defaults ask for nothing."""

    connection: str = "RC"
    completion: str = "poll"
    operation: str = "fetch_and_add"
    inline: int = -1
    mtu: int = 0
    timeout: int = 18
    tclass: int = -1
    gid: int = -1
    rdma_cm: bool = False
    srq: bool = False
    tx_depth: int = 0
    qps: int = 1
    cq_moderation: int = 0
    post_list: int = 1
    bidirectional: bool = False
    multicast: bool = False
    duration: int = 0

    @classmethod
    def by(cls, spec: Spec) -> _Asked:
        """What a spec asks for."""
        return cls(**{one.name: spec.values[one.name] for one in fields(cls) if one.name in spec.values})


def send_latency(spec: Spec, effort: Effort) -> Invocation:
    """Ping-pong of messages that the other end has posted a receive for."""
    return _invocation(spec, effort, "send", "lat")


def write_latency(spec: Spec, effort: Effort) -> Invocation:
    """Ping-pong of writes into the other end's memory, each seen by polling the last byte."""
    return _invocation(spec, effort, "write", "lat")


def read_latency(spec: Spec, effort: Effort) -> Invocation:
    """Reads of the other end's memory, one at a time."""
    return _invocation(spec, effort, "read", "lat")


def atomic_latency(spec: Spec, effort: Effort) -> Invocation:
    """Atomic operations on 8 B of the other end's memory, one at a time."""
    return _invocation(spec, effort, "atomic", "lat")


def send_bandwidth(spec: Spec, effort: Effort) -> Invocation:
    """Messages as fast as receives for them are there."""
    return _invocation(spec, effort, "send", "bw")


def write_bandwidth(spec: Spec, effort: Effort) -> Invocation:
    """Writes into the other end's memory, as fast as possible."""
    return _invocation(spec, effort, "write", "bw")


def read_bandwidth(spec: Spec, effort: Effort) -> Invocation:
    """Reads of the other end's memory, as fast as possible."""
    return _invocation(spec, effort, "read", "bw")


def atomic_bandwidth(spec: Spec, effort: Effort) -> Invocation:
    """Atomic operations on 8 B of the other end's memory, as fast as possible."""
    return _invocation(spec, effort, "atomic", "bw")


def incast(spec: Spec[Incast], effort: Effort) -> Invocation:
    """Writers at once, every stream a process with its own server at the other end."""
    _incast.check(spec, effort, "verbs", "ib_write_bw needs RDMA")
    options, one_flow = spec.options, _invocation(spec, effort, "write", "bw")
    classes = options.classes.split(":") if options.classes else []
    streams = options.senders * options.streams
    mark = ("--tclass={tclass}",) if classes else ()

    def parsed(text: str, folder: Path) -> Parsed:
        flow = one_flow.parse(text, folder)
        mean = next(v.value for v in flow.reported if v.name == "bandwidth_MBps" and v.statistic == "mean")
        return replace(flow, facts={"payload_B": round(mean * 1e6 * options.duration / 2)})

    return replace(
        one_flow,
        server=(*one_flow.server, *mark),
        client=(*one_flow.client[:-1], *mark, one_flow.client[-1]),
        each=tuple({"tclass": classes[k % len(classes)]} if classes else {} for k in range(streams)),
        parse=parsed,
        combine=_incast.combine,
        retries=5,  # they take the processors from one another while they calibrate
        definition="perftest ib_write_bw: sum over all streams, each measured in the middle of its time (-D).",
    )


def _invocation(spec: Spec, effort: Effort, verb: str, kind: Kind) -> Invocation:
    """A run of one program.

    Raises
    ------
    SpecError
        For what the program cannot do; says what it can.
    """
    asked, program = _Asked.by(spec), f"ib_{verb}_{kind}"
    _check(spec, asked, verb)
    connected, seconds = asked.rdma_cm, asked.duration if kind == "bw" else 0
    if seconds and effort.iterations is not None:
        raise SpecError(f"iterations={effort.iterations}, but duration={seconds} s runs by time. Set duration=0.")
    with_samples = kind == "lat"
    warm = replace(effort, warmup=_WARM_UP if effort.warmup is None else effort.warmup) if with_samples else effort
    count = _count(spec, warm, asked, with_samples)
    length = ["-D", str(seconds)] if seconds else ["-n", str(count)]
    both = [
        program,
        "-F",
        "-d",
        "{device}",
        "-x",
        _gid(asked),
        "-p",
        "{port}",
        "-c",
        asked.connection,
        *(["-A", _ATOMICS[asked.operation]] if verb == "atomic" else ["-s", str(spec.size)]),
        *length,
        *_flags(asked, kind),
        *(["-R"] if connected else []),
        *(["--use-srq"] if asked.srq else []),
        *(["-g", "-M", _MGID, "--reversed", "-r", str(min(count, _MOST_RECEIVES))] if asked.multicast else []),
        *(["-U"] if with_samples else []),
    ]
    joining = ("python3", "-c", _JOINED, GROUP, "{own_address}") if asked.multicast else ()
    size = ATOMIC_B if verb == "atomic" else spec.size

    def parsed(text: str, folder: Path) -> Parsed:
        reported = tuple(layout.parse(text, size))
        if not with_samples:
            return Parsed(reported=reported)
        return trimmed(Parsed(reported=reported, time_ns=layout.samples(text)), warm)

    return Invocation(
        tool=TOOL,
        needs=(program,),
        server=tuple(both),
        client=(*joining, *both, "{rdma_address}" if connected else "{address}"),
        listens="rdma_cm" if connected else "tcp",
        parse=parsed,
        address="127.0.0.1",
        definition=_definition(program, _VERBS[verb], kind, asked),
        duration=_START_S + (seconds or effort.time_cap),
        time_limit=_START_S + seconds + effort.time_limit,
        hangs=_LOST if asked.multicast else "",
        retries=2,
    )


def _definition(program: str, verb: _Verb, kind: Kind, asked: _Asked) -> str:
    """Return a sentence that defines the numbers."""
    if kind == "lat":
        return (
            f"perftest {program}: latency is {verb.latency}, from one post to the next; its own table leaves out the "
            "two longest iterations."
        )
    if asked.multicast:
        return (
            f"perftest {program} -g --reversed: bytes that arrived through the multicast group over the time of the "
            "receiver."
        )
    ways = "both directions together" if asked.bidirectional else "one direction"
    return f"perftest {program}: bytes of {ways} from the first post to the last completion; peak over any part of it."


def _gid(asked: _Asked) -> str:
    """Return the index in the table of GIDs: the requested one, or else the index of the host."""
    requested = asked.gid
    return "{gid}" if requested < 0 else str(requested)


def _flags(asked: _Asked, kind: Kind) -> list[str]:
    """Return the command-line options that differ from perftest's defaults."""
    words = ["-e"] if asked.completion == "event" else []
    for name, (flag, default) in (_FLAGS | (_BW_FLAGS if kind == "bw" else {})).items():
        if (value := getattr(asked, name)) != default:
            words += [flag, str(value)]
    if asked.tclass >= 0:
        words.append(f"--tclass={asked.tclass}")
    return [*words, "-b"] if kind == "bw" and asked.bidirectional else words


def _count(spec: Spec, effort: Effort, asked: _Asked, with_samples: bool) -> int:
    """Return the iterations to run: those wanted and the warm-up, in whole lists of posts.

    Raises
    ------
    SpecError
        If the exact count is too small, or no whole number of lists.
    """
    post_list = max(1, asked.post_list)
    wanted = effort.iterations
    if wanted is None:
        wanted = max(_AT_LEAST, min(_COUNT, _AT_MOST_B // max(1, spec.size)))
        wanted = -(-wanted // post_list) * post_list
    # -U lists the times between posts, one fewer
    total = wanted + (effort.warmup or 0) + 1 if with_samples else wanted
    if total < LOWEST:
        raise SpecError(f"iterations={wanted}, but perftest needs at least {LOWEST}. Set iterations={LOWEST}.")
    if total % post_list:
        raise SpecError(
            f"iterations={wanted} is not a multiple of post_list={post_list}, which perftest needs. "
            f"Set iterations={-(-wanted // post_list) * post_list}."
        )
    return total


def _check(spec: Spec, asked: _Asked, verb: str) -> None:
    """Refuse what perftest would refuse after its start, or would do differently than requested."""
    limits, connection = _VERBS[verb], asked.connection
    for name, default in LOOPS_ALONE.items():
        if (wanted := spec.values.get(name, default)) != default:
            raise SpecError(f"{name}={wanted}, but only the pyverbs loops support it. Set tool=pyverbs.")
    if connection not in limits.connections:
        raise SpecError(
            f"connection={connection}, but {verb} works over {', '.join(limits.connections)}. Set connection=RC."
        )
    if connection == "UC" and asked.rdma_cm:
        raise SpecError("connection=UC, but rdma_cm supports RC and UD only. Set rdma_cm=false, or connection=RC.")
    if asked.completion == "event" and "event" not in limits.takes:
        raise SpecError(f"completion=event, but the target sees a {verb} by polling memory. Set completion=poll.")
    if asked.inline >= 0 and "inline" not in limits.takes:
        raise SpecError(f"inline={asked.inline}, but a {verb} sends no data with its request. Set inline=-1.")
    mtu = asked.mtu or _LARGEST_MTU
    if verb == "atomic" and spec.size not in (0, ATOMIC_B):
        raise SpecError(f"size={spec.size} B, but an atomic operation has {ATOMIC_B} B. Set size={ATOMIC_B}.")
    if verb != "atomic" and spec.size < 1:
        raise SpecError("size=0, but perftest moves at least 1 B. Set size=2.")
    if connection == "UD" and spec.size > mtu:
        raise SpecError(
            f"size={spec.size} B, but a UD message has at most one MTU, {mtu} B. Set size={mtu}, or use RC."
        )
    if asked.multicast and connection != "UD":
        raise SpecError(f"multicast=True, but connection={connection}. Only datagrams have groups: set connection=UD.")
    for name, default in _ONE_SENDER.items() if asked.multicast else ():
        if (value := getattr(asked, name)) != default:
            raise SpecError(f"multicast=True, but {name}={value}. A group has one sender here: set {name}={default}.")
    post_list, moderation = asked.post_list, asked.cq_moderation
    if post_list > 1 and moderation and post_list % moderation:
        raise SpecError(
            f"post_list={post_list} is not a multiple of cq_moderation={moderation}, which perftest needs. "
            f"Set cq_moderation={post_list}."
        )
