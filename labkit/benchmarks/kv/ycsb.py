"""Operations on redis per second, and their latencies at the client: YCSB itself, in Java; from logs, go-ycsb too.

`round_trip_us` is from the call of an operation to its return. `response_us` counts from the moment when it was due
(``measurement.interval=both``, with a target). The latencies of `operation` are those of the point; other operations
have the label ``operation``. In logs every kind of operation is a point; `operation=OVERALL` has the rate over the run
time. `kv.closed_loop` and `kv.open_loop` run the same workloads with labkit's own client, and keep every time.

YCSB has no warm-up, so the first operations run while Java still compiles: take the median, and runs of 10 s and more.
A log without these values has ``workload=unknown``, and 0 records and threads.
"""

from collections.abc import Mapping

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.kv import _options
from labkit.options.kv import Ycsb
from labkit.point.spec import Scalar, Spec
from labkit.tools import ycsb


def _check(spec: Spec[Ycsb]) -> str:
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
    options=Ycsb,
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
