"""ucx_perftest: latency and bandwidth of UCX, the layer between MPI and the network, over any path it knows.

UCX has two layers, and ucx_perftest has tests of each. UCP is the protocol layer, which MPI calls; it chooses among
transports. UCT is the transport layer below it; its tests use the transport and the device of the command line.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from labkit.errors import LaunchError, SpecError
from labkit.formats import ucx_info
from labkit.formats import ucx_perftest as layout
from labkit.options.verbs import Addressed, Uct, Ucx
from labkit.point.notes import badge
from labkit.point.spec import Effort, Spec
from labkit.point.units import MiB
from labkit.tools import Facts, Invocation, Parsed, Tool

TOOL = Tool(
    name="ucx_perftest",
    commands=("ucx_info",),
    version="-v",  # its own program does not print it
    package="ucx-utils",
    conda="ucx",
    programs=("ucx_perftest",),
    format=layout,
    purpose="verbs.ucx_latency, verbs.uct_latency and their bandwidths",
    needs="rdma",
)
LATENCY = {"tag": "tag_lat", "put": "ucp_put_lat", "get": "ucp_get", "am": "ucp_am_lat"}
BANDWIDTH = {"tag": "tag_bw", "put": "ucp_put_bw", "get": "ucp_get", "am": "ucp_am_bw"}
UCT_LATENCY = {"am": "am_lat", "put": "put_lat", "get": "get"}
UCT_BANDWIDTH = {"am": "am_bw", "put": "put_bw", "get": "get"}
# path → transport of UCT; {} is the driver of the adapter
TRANSPORTS = {"tcp": "tcp", "shm": "posix", "posix": "posix", "sysv": "sysv", "rc": "rc_{}", "ud": "ud_{}"}
_DRIVERS = ("verbs", "mlx5")
MEMORY = ("shm", "posix", "sysv")  # paths through shared memory
# path → UCX_TLS; over auto UCX chooses from the devices there are
PATHS = {"auto": "", "tcp": "tcp", "shm": "sm,self", "rc": "rc", "ud": "ud"}
_RDMA = ("rc", "ud")
_IN_FLIGHT = 32  # ucp_get and tests of UCT have one unless told; the other bandwidth tests have 32
_COUNT = 1000
_AT_MOST_B = 64 * MiB  # moved when no count is asked for
_AT_LEAST = 20
_WARM_UP = 20
_START_S = 2.0
_LISTED_S = 30.0  # until ucx_info must have ended


def latency(spec: Spec[Ucx], effort: Effort) -> Invocation:
    """One operation of UCP at a time: ping-pong of ``tag``, ``put`` and ``am``; ``get`` brings its own answer."""
    test = _test(spec, LATENCY, "tag")
    what = "the whole of a get" if test == "ucp_get" else "half the round trip"
    definition = f"ucx_perftest {test}: latency is {what}; the mean of all iterations, the median of the newest."
    return _invocation(spec, effort, _environment(spec), ["-t", test], definition, timed=True)


def bandwidth(spec: Spec[Ucx], effort: Effort) -> Invocation:
    """Operations of UCP in one direction, as fast as possible, 32 in flight."""
    test = _test(spec, BANDWIDTH, "tag")
    deep = ["-O", str(_IN_FLIGHT)] if test == "ucp_get" else []
    definition = f"ucx_perftest {test}: bytes over the time of all operations, {_IN_FLIGHT} under way."
    return _invocation(spec, effort, _environment(spec), ["-t", test, *deep], definition, timed=False)


def uct_latency(spec: Spec[Uct], effort: Effort) -> Invocation:
    """One operation of a transport at a time: ping-pong of ``am`` and ``put``; ``get`` brings its own answer."""
    test = _test(spec, UCT_LATENCY, "am")
    what = "the whole of a get" if test == "get" else "half the round trip"
    definition = f"ucx_perftest {test}: latency is {what}; the mean of all iterations, the median of the newest."
    return _of_transport(spec, effort, ["-t", test], definition, timed=True)


def uct_bandwidth(spec: Spec[Uct], effort: Effort) -> Invocation:
    """Operations of a transport in one direction, as fast as possible."""
    test = _test(spec, UCT_BANDWIDTH, "am")
    under_way = {"am_bw": "at most 127 unanswered", "put_bw": "as many under way as the transport queues"}
    many = under_way.get(test, f"{_IN_FLIGHT} under way")
    definition = f"ucx_perftest {test}: bytes over the time of all operations, {many}."
    return _of_transport(spec, effort, ["-t", test, "-O", str(_IN_FLIGHT)], definition, timed=False)


def _test(spec: Spec[Ucx] | Spec[Uct], tests: dict[str, str], usual: str) -> str:
    """ucx_perftest's name of the operation."""
    operation = spec.options.operation
    if operation not in tests:
        raise SpecError(f"operation={operation!r}, but it must be one of {', '.join(tests)}. Set operation={usual}.")
    return tests[operation]


def _of_transport(spec: Spec[Uct], effort: Effort, test: list[str], definition: str, *, timed: bool) -> Invocation:
    """A run of one test of UCT.

    Raises
    ------
    SpecError
        For a path that no transport serves, a device of shared memory, or hosts that a path does not reach.
    """
    options = spec.options
    if spec.transport not in TRANSPORTS:
        raise SpecError(
            f"transport={spec.transport}, but a test of UCT runs over one transport: {', '.join(TRANSPORTS)}. "
            "Set transport=tcp."
        )
    if options.operation == "get" and options.layout == "short":
        raise SpecError("layout=short, but a get has no short form. Set layout=bcopy or zcopy.")
    if spec.transport in MEMORY and spec.device:
        raise SpecError(f"device={spec.device}, but {spec.transport} uses the memory of the host. Leave device out.")
    _refuse_hosts(spec)
    rdma, transport = spec.transport in _RDMA, TRANSPORTS[spec.transport].format(options.driver)
    device = "memory" if spec.transport in MEMORY else "{device}:1" if rdma else spec.device or "lo"
    words = ["env", f"UCX_IB_GID_INDEX={_gid(options)}"] if rdma else []
    path = ["-x", transport, "-d", device, "-D", options.layout]
    one = _invocation(
        spec, effort, words, [*test, *path], f"{definition} Over {transport}, {options.layout}.", timed=timed
    )

    def prepared(folder: Path) -> Facts:
        if spec.testbed == "local":
            _present(transport, device)
        return {}

    return replace(one, prepare=prepared)


def offered() -> Mapping[str, list[str]]:
    """Return the transports of UCX on this machine, each with its devices.

    Raises
    ------
    LaunchError
        If ucx_info fails.
    """
    try:
        done = subprocess.run(["ucx_info", "-d"], capture_output=True, text=True, timeout=_LISTED_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise LaunchError(f"ucx_info -d failed, which lists the transports of UCX: {error}.") from error
    return ucx_info.transports(done.stdout)


def listed(transports: Mapping[str, list[str]]) -> str:
    """Return the paths that transports of UCX serve, with their devices, in words.

    Examples
    --------
    >>> listed({"self": ["memory0"], "tcp": ["eth0", "lo"], "rc_verbs": ["mlx5_0:1"], "rc_mlx5": ["mlx5_0:1"]})
    'tcp (eth0, lo), rc (mlx5_0:1)'
    """
    paths = {name.format(driver): path for path, name in TRANSPORTS.items() for driver in _DRIVERS}
    served = {paths[name]: devices for name, devices in transports.items() if name in paths}
    return ", ".join(f"{path} ({', '.join(devices)})" for path, devices in served.items())


def _present(transport: str, device: str) -> None:
    """Refuse a transport that this machine does not have.

    Raises
    ------
    SpecError
        Names the transports and devices that there are.
    """
    there, chosen_later = offered(), "{" in device
    if transport not in there or not (chosen_later or device in there[transport]):
        what = transport if chosen_later else f"{transport} on a device {device}"
        raise SpecError(
            f"UCX has no transport {what} here. It has {listed(there)}. Set transport and device to one of these."
        )


def _invocation(
    spec: Spec[Ucx] | Spec[Uct],
    effort: Effort,
    words: list[str],
    test: list[str],
    definition: str,
    *,
    timed: bool,
) -> Invocation:
    """A run of one test.

    Parameters
    ----------
    words : before both commands.

    Raises
    ------
    SpecError
        If the size is 0.
    """
    size = spec.size
    if size < 1:
        raise SpecError("size=0, but ucx_perftest moves at least 1 B. Set size=8.")
    count = effort.iterations or max(_AT_LEAST, min(_COUNT, _AT_MOST_B // size))
    warm = min(_WARM_UP, count) if effort.warmup is None else effort.warmup
    ends = [*words, "ucx_perftest", "-p", "{port}"]

    def parsed(text: str, folder: Path) -> Parsed:
        return Parsed(reported=tuple(layout.parse(text, latency=timed)))

    return Invocation(
        tool=TOOL,
        server=tuple(ends),
        client=(*ends, "{address}", *test, "-s", str(size), "-n", str(count), "-w", str(warm)),
        parse=parsed,
        address="127.0.0.1",
        definition=definition,
        duration=_START_S + effort.time_cap,
        time_limit=_START_S + effort.time_limit,
        badges=(badge("shared memory"),) if spec.transport in MEMORY else (),
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
        variables |= {"UCX_NET_DEVICES": "{device}:1", "UCX_IB_GID_INDEX": _gid(spec.options)}
    elif spec.transport == "tcp":
        variables["UCX_NET_DEVICES"] = spec.device or "lo"
    _refuse_hosts(spec)
    return ["env", *(f"{name}={value}" for name, value in variables.items())] if variables else []


def _gid(options: Addressed) -> str:
    """Index of the address in the device's table, from the option or else from the host."""
    return "{gid}" if options.gid < 0 else str(options.gid)


def _refuse_hosts(spec: Spec) -> None:
    """Refuse other hosts over a path that stays on this machine."""
    if spec.transport in ("tcp", *MEMORY) and set(spec.hosts) - {"localhost", "127.0.0.1"}:
        raise SpecError(
            f"hosts={','.join(spec.hosts)}, but over {spec.transport} {spec.benchmark} measures inside this machine. "
            "Leave hosts out, or set transport=rc."
        )
