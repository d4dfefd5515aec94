"""Collectives between GPUs, as nccl-tests and rccl-tests print them: a benchmark for each."""

from labkit.benchmarks import LogBenchmark

_COLLECTIVES = (
    *("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "all_to_allv", "broadcast", "reduce", "gather"),
    *("scatter", "sendrecv", "hypercube", "unnamed"),
)

_NAMES = {"unnamed": "a collective that the log does not name"}
_LESS = {"hypercube": ", without the rank's own part"}

FORMS = {
    f"nccl_{name}": LogBenchmark(
        title=f"{_NAMES.get(name, name).replace('_', ' ')} of NCCL or RCCL",
        metrics={"busbw_GBps": lambda spec: 1, "algbw_GBps": lambda spec: 1, "latency_us": lambda spec: 1},
        logs={f"nccl-tests {name}": {}},
        cadence="streaming",
        doc=f"""{_NAMES.get(name, f"The collective {name}").capitalize()} between GPUs, as nccl-tests prints it.

The time is that of a loop of calls over their number, by default the mean over ranks. `algbw_GBps` is the size over
that time{_LESS.get(name, "")}. `busbw_GBps` is the same times the collective's factor, which makes it comparable with
the speed of the links.
""",
    )
    for name in _COLLECTIVES
}
