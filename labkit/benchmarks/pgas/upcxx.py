"""UPC++ as OSU's programs measure it: a benchmark for each, by importing what they print.

OSU's programs use the interface of UPC++ 0.1 (`async_copy`, `upcxx_reduce`).
"""

from labkit.benchmarks import LogBenchmark

_COPIES = {"put": "own memory into that of another rank", "get": "the memory of another rank into the own"}
_COLLECTIVES = {
    "allgather": "a message from each rank to all",
    "alltoall": "a message from each rank to each",
    "bcast": "one message from rank 0 to all",
    "gather": "a message from each rank to rank 0",
    "reduce": "a reduction of the chars of each rank's message at rank 0",
    "scatter": "a separate message from rank 0 to each",
}
_LATENCY = {"latency_us": lambda spec: 1}

FORMS = {
    **{
        f"upcxx_copy_{way}": LogBenchmark(
            title=f"asynchronous copy ({way}) in UPC++",
            ranks=(2, None),
            metrics=_LATENCY,
            logs={f"osu_upcxx_async_copy_{way}": {}},
            cadence="streaming",
            doc=f"""Time of an async_copy from {text}, one after the other.

As osu_upcxx_async_copy_{way} (OMB 7.4, upcxx/osu_upcxx_async_copy_{way}.cpp) prints it: the time of the loop of rank 0,
of one async_wait after it and of a barrier, over its iterations. The copies overlap, so it is less than the latency of
one copy. All pairs are at work at once: rank r of the first half and rank r + ranks/2.
""",
        )
        for way, text in _COPIES.items()
    },
    **{
        f"upcxx_{name}": LogBenchmark(
            title=f"{name} in UPC++",
            ranks=(2, None),
            metrics=_LATENCY,
            logs={f"osu_upcxx_{name}": {}},
            doc=f"""Latency of upcxx_{name}: {text}.

As osu_upcxx_{name} (OMB 7.4, upcxx/osu_upcxx_{name}.cpp) prints it: the mean over ranks of each rank's mean time. A
barrier follows each call outside the timed part.
""",
        )
        for name, text in _COLLECTIVES.items()
    },
}
