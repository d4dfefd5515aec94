"""Tables of the OSU micro-benchmarks from texts that do not name the program: one for latency, one for bandwidth."""

from labkit.benchmarks import LogBenchmark

_METRICS = {"latency": "latency_us", "bandwidth": "bandwidth_MBps"}

FORMS = {
    f"omb_{name}": LogBenchmark(
        title=f"{name} by an OSU program that the text does not name",
        metrics={metric: lambda spec: 1},
        ranks=(2, None),
        logs={f"OMB unnamed {name}": {}},
        cadence="streaming",
        doc=f"""The {name} in a table of the OSU micro-benchmarks without its title.

The program may be of two ranks or a collective. If a line above the table names it, such as `osu_latency`, labkit
imports the table as the benchmark of that program.
""",
    )
    for name, metric in _METRICS.items()
}
