"""Tables of perftest from logs that do not name the operation: a benchmark for latency and one for bandwidth."""

from labkit.benchmarks import LogBenchmark

_METRICS = {"Latency": ("latency_us",), "BW": ("bandwidth_MBps", "message_rate_per_s")}
_MEANING = {
    "Latency": "half the round trip of send and write, the whole of read and atomic",
    "BW": "bytes of all messages over the time from the first post to the last completion",
}

FORMS = {
    f"perftest_{name}": LogBenchmark(
        title=f"RDMA {name} of an operation that the log does not name",
        metrics=dict.fromkeys(_METRICS[kind], lambda spec: 1),
        logs={f"perftest unnamed {kind}": {}},
        cadence="streaming",
        doc=f"""The {name} of an operation (write, read, send or atomic) that the log of perftest does not name.

It is {_MEANING[kind]}. If a line above the table names the command, such as `ib_write_bw`, labkit imports the table as
the benchmark of that operation.
""",
    )
    for name, kind in (("latency", "Latency"), ("bandwidth", "BW"))
}
