"""Operations on redis per second, and their latencies at the client: YCSB itself, in Java; from logs, go-ycsb too.

`round_trip_us` is from the call of an operation to its return. `response_us` counts from the moment when it was due
(``measurement.interval=both``, with a target). A run has the latencies of `operation` as its own, those of the others
with the label ``operation``. In logs every kind of operation is a point; that of `operation=OVERALL` has the rate over
the run time. `kv.closed_loop` and `kv.open_loop` run the same workloads with labkit's own client, and keep every time.

YCSB has no warm-up, so the first operations run while Java still compiles: take the median, and runs of 10 s and more.
What a log does not say is ``workload=unknown``, and 0 records and threads.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.kv import _options
from labkit.point.spec import Scalar, Spec
from labkit.tools import ycsb


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of kv.ycsb.

    Parameters
    ----------
    workload : YCSB's core workload, A to F, as in kv.closed_loop.
    distribution : of the keys; ``auto`` is the workload's own.
    records : loaded before (``recordcount``).
    threads : of the client, each with a connection (``-threads``).
    target : operations per second of all threads (``-target``); 0 for a closed loop.
    operation : whose latencies are the point's: READ, UPDATE, INSERT, SCAN or READ-MODIFY-WRITE; of a log also OVERALL.
    interval : of a log, what its latencies are: ``operation``, or ``intended`` from the moment when it was due.
    ip : version of the internet protocol.
    """

    workload: Literal["A", "B", "C", "D", "E", "F", "unknown"] = "A"
    distribution: Literal["auto", "zipfian", "uniform", "latest", "hotspot"] = "auto"
    records: int = 1000
    threads: int = 1
    target: int = 0
    operation: Literal["READ", "UPDATE", "INSERT", "SCAN", "READ-MODIFY-WRITE", "OVERALL"] = "READ"
    interval: Literal["operation", "intended"] = "operation"
    ip: Literal["ipv4", "ipv6"] = "ipv4"


def _check(spec: Spec[Options]) -> str:
    options, values = spec.options, spec.values
    if spec.size < _options.FIELDS or spec.size % _options.FIELDS:
        return f"size={spec.size} B, but a record has {_options.FIELDS} fields of equal length. Set size=1000."
    if options.workload == "unknown" or options.operation == "OVERALL" or options.interval == "intended":
        return (
            "workload=unknown, operation=OVERALL and interval=intended are for imported logs. Set workload=A, "
            "operation=READ and interval=operation."
        )
    for name, least, most in (("records", 2, 10_000_000), ("threads", 1, 1000), ("target", 0, 1_000_000)):
        if not least <= values[name] <= most:
            return f"{name}={values[name]}, but it must be {least} to {most}. Set {name}={least}."
    if spec.transport not in ("auto", "tcp"):
        return f"transport={spec.transport}, but YCSB's client of redis knows tcp only. Set transport=tcp."
    return ""


_UNKNOWN: Mapping[str, Scalar] = {"workload": "unknown", "records": 0, "threads": 0}
BENCHMARK = ToolBenchmark(
    title="key-value store (YCSB)",
    options=Options,
    sizes="1000",
    max_size=500_000,
    check=_check,
    metrics={
        "transaction_rate_per_s": lambda spec: 1,
        "round_trip_us": lambda spec: 1,
        "response_us": lambda spec: 1,
    },
    tools=(ycsb.workload,),
    logs={"YCSB": _UNKNOWN, "go-ycsb": _UNKNOWN},
    cadence="streaming",
    ends=_options.ENDS,
    size_label="record size (B)",
)
