"""The path that the messages of a point took: bytes on the interfaces compared with bytes that the benchmark moved."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from labkit import benchmarks, testbeds, tools
from labkit.kernels import cuda
from labkit.point.notes import FUNCTIONAL, Note, badge, note
from labkit.point.spec import Effort, Spec
from labkit.point.units import KiB, plural
from labkit.run import launch
from labkit.store.samples.facts import (
    COMMUNICATION,
    GPU_DRIVER,
    GPU_PATH,
    HOST_B,
    INTERFACE_B,
    ITERATIONS,
    MESSAGES,
    PAYLOAD_B,
    RANK_HOSTS,
    RECEIVED_B,
    SOCKET_B,
    STOPPED_BY,
    WRITTEN_B,
)

NOISE = 32 * KiB  # B that the start of ranks and other programs may have added to an interface
OWN_NOISE = 4 * KiB  # B that the start of ranks may have added to their own sockets
HEADERS = 40  # B of IP and TCP, which at least one segment of each iteration has
ENVELOPE = 16  # B of an MPI library, which at least one message of each iteration has
PLAIN = 8 * KiB  # B of a message, from which headers do not matter
PROBES = 2  # iterations before the chunks, to find out how long one takes
# variables and flags by which users choose the path of messages
_CHOOSES = re.compile(
    r"^(OMPI_MCA_)?(pml|mtl|btl|osc|spml)(_|$)|^UCX_TLS$|^MPIR_CVAR_(NO_?LOCAL|ODD_EVEN|CH4_NETMOD|CH4_SHM|NEMESIS_NETMOD)|"
    r"^FI_PROVIDER$|^I_MPI_(FABRICS|DEVICE|SHM|OFI_PROVIDER)|^PSM[23]_DEVICES$"
)


def badges(
    spec: Spec,
    facts: Mapping[str, Any],
    iterations: int,
    placement: launch.Placement | None,
    *,
    adapters: bool = False,
    variables: Iterable[str] = (),
) -> list[Note]:
    """Badges of a point: conditions that could mislead a reader.

    Parameters
    ----------
    facts : as the worker sent them: rank_hosts, interface_B, host_B, stopped_by.
    iterations : all that ran, with warm-up; the path must have carried their bytes.
    adapters : whether the host has RDMA adapters, whose bytes its interfaces do not count.
    variables : names in the environment of the ranks, beside those of the spec.
    """
    notes: list[Note] = []
    hosts = set(RANK_HOSTS.of(facts))
    if len(hosts) == 1 and spec.ranks > 1:
        flags = placement.flags if placement else ()
        chosen = any(map(_CHOOSES.search, (*variables, *dict(spec.environment), *flags)))
        notes += _inside(spec, facts, iterations, adapters=adapters, chosen=chosen)
    over_links = spec.transport == "tcp" or (placement is not None and placement.remote_shell)
    if len(hosts) > 1 and over_links and _mismatch(spec, facts, iterations):
        notes.append(badge("path mismatch"))
    if placement is not None and placement.oversubscribed:
        notes.append(badge("oversubscription"))
    if STOPPED_BY.of(facts) == "cap":
        notes.append(badge("time cap"))
    return [*notes, *_of_gpu(facts)]


def _of_gpu(facts: Mapping[str, Any]) -> list[Note]:
    """Badges of a point with device memory."""
    notes: list[Note] = []
    if GPU_DRIVER.of(facts) == cuda.STAND_IN:
        notes.append(badge(f"stand-in for a GPU: {FUNCTIONAL}"))
    if GPU_PATH.of(facts).startswith("staged"):
        notes.append(badge("staged through the host"))
    return notes


def doubts(spec: Spec, facts: Mapping[str, Any]) -> list[Note]:
    """Warn if ranks share a host although the spec names several: then nothing crosses a network."""
    hosts = set(RANK_HOSTS.of(facts))
    if len(spec.hosts) < 2 or len(hosts) != 1 or spec.ranks < 2:
        return []
    text = (
        f"all ranks are on {min(hosts)} of {plural(len(spec.hosts), 'host')}, so no message crossed the network; set "
        f"--ppn 1"
    )
    return [note("one-host", text, host=min(hosts), hosts=len(spec.hosts))]


def _inside(spec: Spec, facts: Mapping[str, Any], iterations: int, *, adapters: bool, chosen: bool) -> list[Note]:
    """Badges of ranks on one host.

    Parameters
    ----------
    adapters : as in `badges`.
    chosen : whether users chose a path by themselves, which may not be that of the spec.
    """
    counted, payload = INTERFACE_B.of(facts), sent(spec, facts, iterations)
    wanted = {"tcp": True, "shm": False}.get(spec.transport)
    crossed = None
    if payload is not None and counted:
        crossed = crossed_interface(max(counted.values()), payload + HEADERS * iterations)
    if payload is not None and SOCKET_B.given(facts) and spec.transport not in launch.RDMA:
        by_sockets = crossed_interface(SOCKET_B.of(facts), payload + ENVELOPE * iterations, noise=OWN_NOISE)
        contradicted = crossed and by_sockets is False  # by other programs, or by sockets that are not TCP's
        crossed = None if contradicted and (wanted or chosen) else by_sockets
    if spec.transport in launch.RDMA:
        return _over_rdma(spec, bool(crossed), payload or 0)
    if wanted and not crossed and (payload or 0) <= benchmarks.ENOUGH_PAYLOAD:
        crossed = None
    mismatch = wanted is not None and crossed is (not wanted)
    if crossed or (crossed is False and not adapters):
        path = "loopback" if crossed else "shared memory"
    elif wanted is None or chosen or mismatch:
        path = "path unknown"
    else:
        path = "loopback" if wanted else "shared memory"
    return [badge(path), *([badge("path mismatch")] if mismatch else [])]


def sent(spec: Spec, facts: Mapping[str, Any], iterations: int) -> int | None:
    """Least number of bytes that a rank sent in messages; None if unknown.

    A program counts its messages. Bytes of files, and those of a program's start, are not messages.

    Parameters
    ----------
    facts : as the worker sent them.
    iterations : all that ran.
    """
    benchmark = benchmarks.get(spec.benchmark)
    if benchmark.counts_messages:
        pairs = COMMUNICATION.of(facts).get("pairs") or []
        return sum(int(row[3]) for row in pairs) * iterations or None
    each = _sent(spec)
    return None if each is None else each * iterations


@lru_cache(256)  # points of many sizes ask for many ranks
def _sent(spec: Spec) -> int | None:
    """Return the bytes that a rank sends in an iteration; None if unknown."""
    return benchmarks.get(spec.benchmark).sent(spec)


def crossed_interface(carried: int, least: int, *, noise: int = NOISE) -> bool | None:
    """Return whether messages crossed an interface, or sockets; None if too few bytes passed to tell.

    Parameters
    ----------
    carried : B that the interface carried during that time, including other programs and the start.
    least : B that it must have carried if all messages crossed it.
    noise : B that others may have added.

    Examples
    --------
    >>> crossed_interface(200_000, 1_000_000), crossed_interface(1_200_000, 1_000_000)
    (False, True)
    >>> crossed_interface(9_000, 12_000), crossed_interface(90_000, 12_000), crossed_interface(2_000, 12_000)
    (None, True, False)
    """
    if carried < least / 2:
        return False
    return True if least / 2 > noise or carried >= least / 2 + noise else None


def _over_rdma(spec: Spec, carried: bool, payload: int) -> list[Note]:
    """Badges of ranks on one host over RDMA: one adapter hands messages over, the two of soft-RoCE have a cable."""
    if not testbeds.outline(spec.testbed).rdma:
        return [badge("loopback")]
    # of fewer bytes the counters do not show whether the cable carried them
    return [badge("path mismatch")] if payload > benchmarks.ENOUGH_PAYLOAD and not carried else []


def _mismatch(spec: Spec, facts: Mapping[str, Any], iterations: int) -> bool:
    """Whether the links of two hosts carried clearly less, or more, than the pair of ranks moved."""
    devices_of_host = HOST_B.of(facts)
    for sender, payload in benchmarks.moved(spec, iterations + PROBES).items():
        devices = devices_of_host.get(RANK_HOSTS.of(facts)[sender], {})
        sent = sum(sent for name, (_, sent) in devices.items() if name != "lo")
        low, high = (bound * payload for bound in benchmarks.CROSSED_ONCE)
        if payload > benchmarks.ENOUGH_PAYLOAD and (sent < low or (sent > high and spec.size >= PLAIN)):
            return True
    return False


def of_tool(
    spec: Spec, effort: Effort, outcome: tools.Outcome, crossed: Mapping[str, int], elapsed: float
) -> list[Note]:
    """Badge of a tool's numbers if the links of the testbed carried too few or too many of its bytes.

    Parameters
    ----------
    crossed : what the links carried, by names such as ``vc0.eth0.tx_bytes``; empty if nothing can be seen.
    elapsed : s from the start of the tool to its end.
    """
    if PAYLOAD_B.given(outcome.meta):  # of many senders, which meet on the link of the receiver
        carried = [value for name, value in crossed.items() if name.endswith("_bytes")]
        payload = float(PAYLOAD_B.of(outcome.meta))
        missing = (
            bool(carried)
            and payload > benchmarks.ENOUGH_PAYLOAD
            and max(carried) < benchmarks.CROSSED_ONCE[0] * payload
        )
        return [badge("path mismatch")] if missing else []
    sent = [value for name, value in crossed.items() if name.endswith(".tx_bytes")]
    least, most = tool_moved(spec, effort, outcome, elapsed)
    if not sent or least <= benchmarks.ENOUGH_PAYLOAD / 2:
        return []
    too_few = max(sent) < benchmarks.CROSSED_ONCE[0] * least
    too_many = spec.size >= PLAIN and max(sent) > benchmarks.CROSSED_ONCE[1] * most
    return [badge("path mismatch")] if too_few or too_many else []


def tool_moved(spec: Spec, effort: Effort, outcome: tools.Outcome, elapsed: float) -> tuple[float, float]:
    """Bytes sent by the busier endpoint of a tool, as a lower and an upper bound; 0 if the tool does not report them.

    The bounds are equal if the tool counts messages. A reported rate covers the requested run time of the tool. What it
    sent may arrive later, but before the tool ends.

    Parameters
    ----------
    spec : resolved.
    elapsed : s from the start of the tool to its end.
    """
    reported = {value.name: value.value for value in reversed(outcome.reported) if value.statistic in ("mean", "total")}
    benchmark = benchmarks.get(spec.benchmark)
    work = benchmark.metrics.get("bandwidth_MBps")
    sampled_bytes = outcome.time_ns.size * (work(spec) if work else spec.size)
    if not benchmark.ends.sockets or outcome.trial == 0:
        return sampled_bytes, math.inf
    if RECEIVED_B.given(outcome.meta):
        return float(RECEIVED_B.of(outcome.meta)), float(WRITTEN_B.of(outcome.meta))
    count = MESSAGES.of(outcome.meta) or ITERATIONS.of(outcome.meta) or effort.iterations
    if count and not sampled_bytes:
        return float(count) * spec.size, float(count) * spec.size
    if sampled_bytes:
        return sampled_bytes, max(sampled_bytes, float(count or math.inf) * spec.size)
    ways = max(1, benchmark.directions)
    rate = reported.get("bandwidth_MBps", 0.0) * 1e6 / ways or reported.get("transaction_rate_per_s", 0.0) * spec.size
    asked = reported.get("ELAPSED_TIME", max(1, math.ceil(effort.time_cap)))
    seconds = asked if outcome.trial is None else outcome.trial
    fastest = max(rate, reported.get("sent_MBps", 0.0) * 1e6)
    return rate * seconds, ways * fastest * max(elapsed, seconds)
