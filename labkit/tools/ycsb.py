"""YCSB itself (site.ycsb:core, in Java) against a private redis: it loads the records, then runs its workload.

Maven Central has YCSB's core but none of its bindings, so ``labkit/kernels/programs/YcsbRedis.java`` is one. ``make
ycsb`` brings the jars and compiles it. Each start is a new Java virtual machine, and its compiler makes the first
operations slow. YCSB has no warm-up, so short runs and their tails include this. YCSB reports statistics and keeps no
times.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping
from pathlib import Path

from labkit import host
from labkit.errors import LaunchError, SpecError
from labkit.formats import ycsb as layout
from labkit.io import project
from labkit.kernels import programs
from labkit.options.kv import Ycsb
from labkit.point.notes import Note, note
from labkit.point.spec import Effort, Reported, Spec
from labkit.tools import Invocation, Parsed, Tool, _kv, redis, this_machine, version

FOLDER = programs.path("ycsb")  # jars and classes
_INSTALL = project.make("ycsb") or "clone labkit's repository, and build YCSB in it"
_BRINGS = project.make("ycsb") or "a checkout of labkit"
ABSENT = f"YCSB's jars ({_BRINGS} brings them from Maven Central, with maven and default-jdk-headless)"
_SHARES = {
    "reads": "readproportion",
    "updates": "updateproportion",
    "inserts": "insertproportion",
    "scans": "scanproportion",
    "read_modify_writes": "readmodifywriteproportion",
}
_START_S = 3.0  # of two Java machines
_LOADED_PER_S = 500  # records at least
_MOST = 10_000_000  # operations of a run that ends by time
# $0 classes, $1 target, $2 s, then what loading and running share
_BOTH = (
    "target=$1; seconds=$2; shift 2; "
    'java -cp "$0" site.ycsb.Client -load "$@" >load.txt || { cat load.txt >&2; exit 1; }; '
    'exec java -cp "$0" site.ycsb.Client -t -target "$target" -p maxexecutiontime="$seconds" "$@"'
)


def _version() -> str:
    jar = next(FOLDER.glob("core-*.jar"), None)
    return jar.stem.partition("-")[2] if jar else "unknown"


TOOL = Tool(
    name="ycsb",
    read_version=_version,
    install=_INSTALL,
    format=layout,
    purpose="kv.ycsb, beside labkit's own client",
    instead="kv.closed_loop and kv.open_loop",
)


def program() -> str:
    """The program that runs YCSB, or what is missing: it, or the compiled binding."""
    built = (FOLDER / "YcsbRedis.class").exists() and shutil.which("java")
    return "java" if built else ABSENT


def workload(spec: Spec[Ycsb], effort: Effort) -> Invocation:
    """One of YCSB's core workloads.

    Raises
    ------
    SpecError
        If warm-up is requested, which YCSB has not.
    LaunchError
        If redis is not installed.
    """
    if shutil.which("redis-server") is None:
        raise LaunchError(f"kv.ycsb needs redis-server. Install with {host.ways([redis.TOOL])}.")
    if effort.warmup:
        raise SpecError(f"warmup={effort.warmup}, but YCSB has none. Leave it out, or use kv.closed_loop.")
    target, records = spec.options.target, spec.options.records
    seconds = max(1, math.ceil(effort.time_cap))
    if effort.iterations:
        seconds = max(seconds, math.ceil(effort.iterations / target + 1) if target else math.ceil(effort.time_limit))
    properties = {**_properties(spec), "operationcount": effort.iterations or _MOST}
    words = [word for name, value in properties.items() for word in ("-p", f"{name}={value}")]
    load = records / _LOADED_PER_S + _START_S

    def parsed(text: str, folder: Path) -> Parsed:
        return _parsed(text, spec.options.operation)

    return Invocation(
        tool=TOOL,
        needs=(program(),),
        server=tuple(word.replace("@port@", "{port}") for word in redis.server(spec)),
        client=(
            *("sh", "-c", _BOTH, f"{FOLDER}:{FOLDER}/*", str(target), str(seconds)),
            *("-db", "YcsbRedis", "-threads", str(spec.options.threads)),
            *words,
        ),
        parse=parsed,
        address=this_machine(spec),
        definition=f"YCSB, workload {spec.options.workload}: time of an operation at the client, from its own "
        "histogram in whole µs with three digits; the start of the Java machine is part of the run time.",
        duration=seconds + load,
        time_limit=3 * seconds + load + effort.time_limit,
        libraries=(f"redis {version('redis')}",),
    )


def _properties(spec: Spec[Ycsb]) -> Mapping[str, object]:
    """Properties of the core workload, as YCSB's files workloads/workloada to workloadf have them."""
    shares, distribution = layout.WORKLOADS[spec.options.workload]
    if spec.options.distribution != "auto":
        distribution = spec.options.distribution
    return {
        "workload": "site.ycsb.workloads.CoreWorkload",
        "recordcount": spec.options.records,
        "fieldcount": _kv.FIELDS,
        "fieldlength": spec.size // _kv.FIELDS,
        **{property_: shares.get(name, 0.0) for name, property_ in _SHARES.items()},
        "requestdistribution": distribution,
        "maxscanlength": 100,
        "measurement.interval": "both" if spec.options.target else "op",
        "hdrhistogram.percentiles": "50,95,99,99.9",
        "redis.host": "{address}",
        "redis.port": "{port}",
    }


def _parsed(text: str, chosen: str) -> Parsed:
    """What YCSB reported; latencies of all operations but the chosen one have a label."""
    reported, doubts = list[Reported](), list[Note]()
    for run in layout.runs(text, "YCSB's output"):
        operation = str(run.options["operation"])
        labels = {} if operation in ("OVERALL", chosen) else {"operation": operation}
        reported += [Reported(v.name, v.unit, v.statistic, v.value, labels=labels) for v in run.values]
        doubts += run.doubts
    if not any(one.name == "round_trip_us" and not one.labels for one in reported):
        text = f"no operation of the kind {chosen} was done: its latencies are missing."
        doubts.append(note("operation-missing", text, operation=chosen))
    return Parsed(reported=tuple(reported), warnings=tuple(dict.fromkeys(doubts)))
