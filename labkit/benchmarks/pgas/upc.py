"""UPC (Unified Parallel C) as OSU's programs measure it: a benchmark for each, by importing what they print."""

from labkit.benchmarks import LogBenchmark

_PAIRS = {
    "memput": "upc_memput and upc_fence, which completes it: a message written into the memory of another thread",
    "memget": "upc_memget: a message read from the memory of another thread",
}
_COLLECTIVES = {
    "broadcast": ("upc_all_broadcast", "one message from a thread to all"),
    "exchange": ("upc_all_exchange", "a message from each thread to each"),
    "gather": ("upc_all_gather", "a message from each thread to one"),
    "gather_all": ("upc_all_gather_all", "a message from each thread to all"),
    "reduce": ("upc_all_reduceC", "the greatest char of each thread's message; a barrier precedes each call"),
    "scatter": ("upc_all_scatter", "a separate message from one thread to each"),
}
_LATENCY = {"latency_us": lambda spec: 1}

FORMS = {
    **{
        f"upc_{call}": LogBenchmark(
            title=f"latency of {call} in UPC",
            ranks=(2, None),
            metrics=_LATENCY,
            logs={f"osu_upc_{call}": {}},
            cadence="streaming",
            doc=f"""Latency of {text}.

As osu_upc_{call} (OMB 7.4, upc/osu_upc_{call}.c) prints it: the time of the whole loop of thread 0 and of the barrier
after it, over its iterations. All pairs are at work at once: thread t of the first half and thread t + threads/2.
""",
        )
        for call, text in _PAIRS.items()
    },
    **{
        f"upc_{name}": LogBenchmark(
            title=f"{name.replace('_', ' ')} in UPC",
            ranks=(2, None),
            metrics=_LATENCY,
            logs={f"osu_upc_all_{name}": {}},
            doc=f"""Latency of {call}: {text}. Every thread waits for all at its begin and its end.

As osu_upc_all_{name} (OMB 7.4, upc/osu_upc_all_{name}.c) prints it: the mean over threads of each thread's mean time. A
barrier follows each call outside the timed part.
""",
        )
        for name, (call, text) in _COLLECTIVES.items()
    },
    "upc_barrier": LogBenchmark(
        title="barrier in UPC",
        ranks=(2, None),
        sized=False,
        metrics=_LATENCY,
        logs={"osu_upc_all_barrier": {}},
        cadence="streaming",
        doc="""Latency of upc_barrier over all threads.

As osu_upc_all_barrier (OMB 7.4, upc/osu_upc_all_barrier.c) prints it: the mean over threads of each thread's mean time.
""",
    ),
}
