"""labkit's microservices (``kernels/programs/microservices.c``): services that ask one another, and their client."""

from __future__ import annotations

import json
import math
import shutil
import sys
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from labkit import __version__, host
from labkit.errors import DataError, LaunchError
from labkit.formats import microservices as layout
from labkit.formats import otlp
from labkit.kernels import programs
from labkit.options.services import Hdsearch, Leaves, Load, Recommend, Router, SetAlgebra, SocialNetwork
from labkit.point.notes import Note, note
from labkit.point.spec import Effort, Reported, Spec
from labkit.point.units import plural
from labkit.tools import _call_graph, _load, _microservices, memcached, this_machine, trimmed
from labkit.tools._invocation import Facts, Invocation, Parsed
from labkit.tools._tool import Tool, version

ABSENT = programs.how("microservices", "a C compiler")
MOST = 20_000  # requests of a run
SERVICES = _call_graph.LEAST, _call_graph.MOST  # of a random graph
TRACES = 10  # requests with kept spans: the slowest, and as many at even distances
_SAMPLES, _PLAN, _GRAPH = "samples", "services.json", "graph"
_BUSY = 0.7  # of a core: more, and the client itself may be what is slow
_START_S = 5.0  # until all services have their data
_WARMUP = 0.1  # of the requests of a time


@dataclass(frozen=True, kw_only=True)
class Service:
    """One process of the plan.

    Parameters
    ----------
    group : its name in the division of the time.
    arguments : arguments of its command.
    asks : numbers of the services that it asks; they come later in the plan.
    command : command of memcached, which keeps no spans, instead of labkit's program.
    """

    group: str
    arguments: tuple[str, ...] = ()
    asks: tuple[int, ...] = ()
    command: tuple[str, ...] = ()


def program() -> str:
    """Path of the program, or what is missing if it was not built."""
    path = programs.path("microservices")
    return str(path) if path.exists() else ABSENT


def _version() -> str:
    return "unknown" if program() == ABSENT else __version__


TOOL = Tool(
    name="microservices",
    read_version=_version,
    package="gcc",
    conda="compilers",
    target="setup",
    built="microservices",
    purpose="services.*, a program of labkit's own",
)


def hdsearch(spec: Spec[Hdsearch], effort: Effort) -> Invocation:
    """Search for the nearest vectors."""
    data = _of_leaves(spec, effort, "hdsearch", records=spec.options.records, search=spec.options.search)
    return _invocation(spec, effort, data, _two_tiers(spec, data), ["search"])


def router(spec: Spec[Router], effort: Effort) -> Invocation:
    """Read and write through a router.

    Raises
    ------
    LaunchError
        If the leaves are memcached, and that is not installed.
    """
    options = spec.options
    data = _of_leaves(spec, effort, "router", records=options.records, replicas=options.replicas, reads=options.reads)
    plan = _two_tiers(spec, data)
    if spec.options.leaf == "memcached":
        if shutil.which("memcached") is None:
            raise LaunchError(
                f"leaf=memcached, but memcached is not installed. Install with {host.ways([memcached.TOOL])}, or set "
                "leaf=table."
            )
        command = tuple(memcached.command([], 1, spec.options.records, spec.size))
        plan[1:] = [Service(group="leaf", command=command) for _ in plan[1:]]
    return _invocation(spec, effort, data, plan, ["get", "set"])


def set_algebra(spec: Spec[SetAlgebra], effort: Effort) -> Invocation:
    """Intersect posting lists."""
    data = _of_leaves(spec, effort, "set_algebra", records=spec.options.records, words=spec.options.words)
    return _invocation(spec, effort, data, _two_tiers(spec, data), ["intersect"])


def recommend(spec: Spec[Recommend], effort: Effort) -> Invocation:
    """Predict a rating."""
    data = _of_leaves(spec, effort, "recommend", records=spec.options.users)
    return _invocation(spec, effort, data, _two_tiers(spec, data), ["predict"])


def social_network(spec: Spec[SocialNetwork], effort: Effort) -> Invocation:
    """Ask the first of a graph of services."""
    if spec.options.topology == "random":
        graph = _call_graph.generated(spec.options.services, spec.size, effort.seed)
    else:
        graph = _call_graph.published(spec.options.topology, spec.size)
    data = _data(spec, effort, "call_graph", graph=_GRAPH)
    plan = [
        Service(group=name, arguments=(*data, "role=front"), asks=graph.asks(k)) for k, name in enumerate(graph.names)
    ]
    return _invocation(spec, effort, data, plan, list(graph.operations), {_GRAPH: graph.text()})


def _data(spec: Spec, effort: Effort, service: str, **further: Any) -> tuple[str, ...]:
    """Arguments from which every service, and the client, make the same data."""
    values = {"service": service, "size": spec.size or 8, "seed": effort.seed, **further}
    return tuple(f"{name}={value}" for name, value in values.items())


def _of_leaves(spec: Spec[Leaves], effort: Effort, service: str, **further: Any) -> tuple[str, ...]:
    """The same where leaves share the data."""
    return _data(spec, effort, service, **further, leaves=spec.options.leaves)


def _two_tiers(spec: Spec[Leaves], data: Sequence[str]) -> list[Service]:
    """A mid-tier and its leaves."""
    leaves = range(spec.options.leaves)
    front = Service(group="mid-tier", arguments=(*data, "role=front"), asks=tuple(leaf + 1 for leaf in leaves))
    return [front, *(Service(group="leaf", arguments=(*data, "role=leaf", f"leaf={leaf}")) for leaf in leaves)]


def _invocation(
    spec: Spec[Load],
    effort: Effort,
    data: Sequence[str],
    plan: Sequence[Service],
    operations: Sequence[str],
    files: Mapping[str, str] = MappingProxyType({}),
) -> Invocation:
    """A run of the client against services.

    Parameters
    ----------
    data : arguments of all.
    plan : every service; the client asks the first.
    operations : their names.
    files : name → text of what the services read.
    """
    unix, client = spec.transport == "unix", program()
    rate, wanted = float(spec.options.load), effort.iterations
    count = None if wanted is None else wanted + (effort.warmup or 0)
    seconds = effort.time_cap if count is None else 2 * count / rate + 1
    limit = MOST if count is None else count
    lifetime = math.ceil(3 * seconds + effort.time_limit + 60)
    words = [sys.executable, "-I", "-S", _microservices.__file__, client, _PLAN, "unix" if unix else "tcp"]
    given = {
        "rate": repr(rate),
        "clients": spec.options.clients,
        "arrivals": spec.options.arrivals,
        "arrival_seed": effort.seed,
        "seconds": repr(seconds),
        "limit": min(limit, MOST),
        "lifetime": lifetime,
        "out": _SAMPLES,
    }
    plan = [replace(one, arguments=(*one.arguments, f"lifetime={lifetime}")) for one in plan]
    foreign = frozenset(number for number, one in enumerate(plan) if one.command)

    def prepare(folder: Path) -> Facts:
        told = [
            {"group": one.group, "arguments": one.arguments, "asks": one.asks}
            | ({"command": one.command} if one.command else {})
            for one in plan
        ]
        for name, text in {_PLAN: json.dumps(told), **files}.items():
            (folder / name).write_text(text)
        return {}

    return Invocation(
        tool=TOOL,
        needs=(client,),
        server=(*words, "{address}", "{port}", "{socket}", "{hosts}"),
        client=(
            client,
            "load",
            "address=unix:{socket}" if unix else "address=tcp:{address}:{port}",
            *data,
            *(f"{name}={value}" for name, value in given.items()),
        ),
        listens="unix" if unix else "tcp",
        each=({"hosts": "[]"},),
        parse=lambda text, folder: _parsed(text, folder, effort, [one.group for one in plan], operations, foreign),
        prepare=prepare,
        libraries=(f"memcached {version('memcached')}",) if foreign else (),
        address="" if unix else this_machine(spec),
        definition="labkit microservices: time of a request from the moment when it was due to the end of its answer, "
        "every answer compared.",
        duration=seconds + _START_S,
        time_limit=3 * seconds + _START_S + effort.time_limit,
    )


def _parsed(
    text: str,
    folder: Path,
    effort: Effort,
    groups: Sequence[str],
    operations: Sequence[str],
    foreign: Collection[int] = (),
) -> Parsed:
    """Samples of a run, sorted by the due time of the requests.

    Parameters
    ----------
    groups : name of each service, by its number.
    operations : their names.
    foreign : numbers of the services that keep no spans.

    Raises
    ------
    DataError
        If the output is not a result, or no request came after the warm-up.
    """
    file = folder / _SAMPLES
    found = layout.parse(text, file.read_bytes() if file.exists() else b"")
    extras = {"start_ns": found.start, "operation": found.operation, "service_ns": found.end - found.start}
    spans, output = list[layout.Spans](), ""
    if not found.unfinished:
        spans = [
            layout.NO_SPANS if number in foreign else layout.parse_spans((folder / f"spans.{number}").read_bytes())
            for number in range(len(groups))
        ]
        paths = layout.critical_paths(found, spans, groups, foreign)
        extras |= {f"path_{name.replace('-', '_')}_ns": values for name, values in paths.items()}
        output = f"{text.strip()}\n{_traces(found, spans, groups, operations)}\n"
    extras["end_ns"] = found.end
    warmup = effort.warmup if effort.warmup is not None else int(_WARMUP * len(found.end)) * (effort.iterations is None)
    result = trimmed(Parsed(time_ns=found.end - found.due, extras=extras), replace(effort, warmup=warmup))
    if not len(result.time_ns):
        raise DataError(f"microservices: {len(found.end)} requests, wanted more than the warm-up of {warmup}.")
    kept = dict(result.extras)
    ends = kept.pop("end_ns")
    span = float(ends.max() - (ends - result.time_ns).min()) * 1e-9
    reported = [Reported("transaction_rate_per_s", "1/s", "mean", len(ends) / span)]
    own = [(one, group) for one, group in zip(spans, groups, strict=False) if one is not layout.NO_SPANS]
    busy = {layout.CLIENT: found.cpu_ns, **_by_group(own)}
    reported += [
        Reported("busy_percent", "%", "max", 100 * value / found.elapsed_ns, labels={"service": name})
        for name, value in busy.items()
    ]
    if found.candidates < 1:
        reported.append(Reported("recall_percent", "%", "mean", 100 * found.recall))
        reported.append(Reported("candidates_percent", "%", "mean", 100 * found.candidates))
    return replace(
        result,
        extras=kept,
        reported=tuple(reported),
        warnings=(*result.warnings, *_doubts(found, busy, processes=len(groups) + 1)),
        facts={"verified": True, "payload_B": found.payload_B},
        output=output,
    )


def _traces(
    found: layout.Result, spans: Sequence[layout.Spans], groups: Sequence[str], operations: Sequence[str]
) -> str:
    """Spans of the slowest requests and of some between them, as OTLP JSON."""
    slow = np.argsort(found.end - found.due, kind="stable")[-TRACES:]
    even = np.linspace(0, len(found.end) - 1, TRACES).astype(int)
    rows = sorted({*slow.tolist(), *even.tolist()})
    names = [f"{name}-{number}" if groups.count(name) > 1 else name for number, name in enumerate(groups)]
    offset = time.time_ns() - time.monotonic_ns()
    return otlp.dumps(layout.traces(found, spans, names, operations, rows, offset), scope="labkit.microservices")


def _by_group(spans: Iterable[tuple[layout.Spans, str]]) -> dict[str, int]:
    """Processor time of the busiest service of each name, ns."""
    times: dict[str, int] = {}
    for one, group in spans:
        times[group] = max(times.get(group, 0), one.cpu_ns)
    return times


def _doubts(found: layout.Result, busy: Mapping[str, int], processes: int) -> list[Note]:
    """Warnings of what waited, of a busy client, and of too few cores."""
    doubts = _load.overload(found.due, found.end, found.unfinished, paced=True, what="requests")
    share = busy[layout.CLIENT] / found.elapsed_ns
    if share > _BUSY:
        text = f"client near saturation: it used {share:.0%} of a core, so what waits may wait for it."
        doubts.append(note("client-near-saturation", text, share=share))
    cores = int(host.describe()["cpus_usable"])
    if processes > cores:
        text = (
            f"oversubscribed: {plural(processes, 'service')} and clients share {plural(cores, 'core')}, so the tail "
            f"has waits for a core."
        )
        doubts.append(note("oversubscribed", text, processes=processes, cores=cores))
    return doubts
