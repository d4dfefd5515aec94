"""IO500: phases of IOR, mdtest and find over a whole file system, and the scores over them.

A phase has one result: bytes, or operations on files, over its time. The easy phases let the site choose the layout,
the hard ones prescribe it. The scores are geometric means over phases, as those of `storage.io500_like`; they belong to
the phase `score`.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="file system as a whole (IO500)",
    sized=False,
    metrics={
        "bandwidth_MBps": lambda spec: 1,
        "operation_rate_per_s": lambda spec: 1,
        "run_time_s": lambda spec: 1,
        "bandwidth_score_GiBps": lambda spec: 1,
        "metadata_score_kIOPS": lambda spec: 1,
        "io500_score": lambda spec: 1,
    },
    quantities=("phase",),
    logs={"IO500": {}},
    cadence="isolated",
)
