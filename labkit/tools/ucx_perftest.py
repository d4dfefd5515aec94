"""ucx_perftest: latency and bandwidth of UCX, the layer between MPI and the network, over any path it knows."""

from __future__ import annotations

from pathlib import Path

from labkit.errors import SpecError
from labkit.formats import ucx_perftest as layout
from labkit.options.verbs import Ucx
from labkit.point.notes import badge
from labkit.point.spec import Effort, Spec
from labkit.point.units import MiB
from labkit.tools import Invocation, Parsed, Tool

TOOL = Tool(
    name="ucx_perftest",
    commands=("ucx_info",),
    version="-v",  # its own program does not print it
    package="ucx-utils",
    conda="ucx",
    programs=("ucx_perftest",),
    format=layout,
    purpose="verbs.ucx_latency and verbs.ucx_bandwidth",
    needs="rdma",
)
LATENCY = {"tag": "tag_lat", "put": "ucp_put_lat", "get": "ucp_get", "am": "ucp_am_lat"}
BANDWIDTH = {"tag": "tag_bw", "put": "ucp_put_bw", "get": "ucp_get", "am": "ucp_am_bw"}
# path → UCX_TLS; over auto UCX chooses from the devices there are
PATHS = {"auto": "", "tcp": "tcp", "shm": "sm,self", "rc": "rc", "ud": "ud"}
_RDMA = ("rc", "ud")
_IN_FLIGHT = 32  # ucp_get has one unless told; the other bandwidth tests have 32
_COUNT = 1000
_AT_MOST_B = 64 * MiB  # moved when no count is asked for
_AT_LEAST = 20
_WARM_UP = 20
_START_S = 2.0


def latency(spec: Spec[Ucx], effort: Effort) -> Invocation:
    """One operation at a time: ping-pong of ``tag``, ``put`` and ``am``; ``get`` brings its own answer."""
    test = _test(spec, LATENCY)
    what = "the whole of a get" if test == "ucp_get" else "half the round trip"
    definition = f"ucx_perftest {test}: latency is {what}; the mean of all iterations, the median of the newest."
    return _invocation(spec, effort, ["-t", test], definition, timed=True)


def bandwidth(spec: Spec[Ucx], effort: Effort) -> Invocation:
    """Operations in one direction as fast as they go, 32 under way."""
    test = _test(spec, BANDWIDTH)
    deep = ["-O", str(_IN_FLIGHT)] if test == "ucp_get" else []
    definition = f"ucx_perftest {test}: bytes over the time of all operations, {_IN_FLIGHT} under way."
    return _invocation(spec, effort, ["-t", test, *deep], definition, timed=False)


def _test(spec: Spec[Ucx], tests: dict[str, str]) -> str:
    """ucx_perftest's name of the operation."""
    operation = spec.options.operation
    if operation not in tests:
        raise SpecError(f"operation={operation!r}, but it must be one of {', '.join(tests)}. Set operation=tag.")
    return tests[operation]


def _invocation(spec: Spec[Ucx], effort: Effort, test: list[str], definition: str, *, timed: bool) -> Invocation:
    """A run of one test.

    Raises
    ------
    SpecError
        For a path that UCX does not have, or hosts that a path does not reach.
    """
    size = spec.size
    if size < 1:
        raise SpecError("size=0, but ucx_perftest moves at least 1 B. Set size=8.")
    count = effort.iterations or max(_AT_LEAST, min(_COUNT, _AT_MOST_B // size))
    warm = min(_WARM_UP, count) if effort.warmup is None else effort.warmup
    ends = [*_environment(spec), "ucx_perftest", "-p", "{port}"]

    def parsed(text: str, folder: Path) -> Parsed:
        return Parsed(reported=tuple(layout.parse(text, latency=timed)))

    return Invocation(
        tool=TOOL.name,
        package=TOOL.package,
        programs=TOOL.programs,
        server=tuple(ends),
        client=(*ends, "{address}", *test, "-s", str(size), "-n", str(count), "-w", str(warm)),
        parse=parsed,
        address="127.0.0.1",
        definition=definition,
        duration=_START_S + effort.time_cap,
        time_limit=_START_S + effort.time_limit,
        badges=(badge("shared memory"),) if spec.transport == "shm" else (),
        facts={"iterations": count, "warmup": warm},
    )


def _environment(spec: Spec[Ucx]) -> list[str]:
    """Return the words before a command that set its path, here and on another host."""
    if spec.transport not in PATHS:
        raise SpecError(
            f"transport={spec.transport}, but ucx_perftest supports {', '.join(PATHS)}. Set transport=auto."
        )
    variables: dict[str, str] = {}
    if spec.transport != "auto":
        variables["UCX_TLS"] = PATHS[spec.transport]
    if spec.transport in _RDMA or (spec.transport == "auto" and spec.device):
        gid = spec.options.gid
        variables |= {"UCX_NET_DEVICES": "{device}:1", "UCX_IB_GID_INDEX": "{gid}" if gid < 0 else str(gid)}
    elif spec.transport == "tcp":
        if set(spec.hosts) - {"localhost", "127.0.0.1"}:
            raise SpecError(
                f"hosts={','.join(spec.hosts)}, but over tcp {spec.benchmark} measures this machine's loopback. "
                "Leave hosts out, or set transport=auto."
            )
        variables["UCX_NET_DEVICES"] = spec.device or "lo"
    return ["env", *(f"{name}={value}" for name, value in variables.items())] if variables else []
