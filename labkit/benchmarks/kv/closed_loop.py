"""Operations of a YCSB workload on redis or memcached, each client's one after the other (closed loop).

A sample is the time of one operation from its first request to the end of its last answer, as YCSB counts it: a
read-modify-write is both of its requests, a scan all that it reads. The size refers to a record, in ten fields. While
one answer is late, its client sends nothing, so the tail looks better than it is (coordinated omission): `kv.open_loop`
shows waiting times. The rate of all clients follows from the mean time of an operation (Little's law); the rate counted
over the whole run is also reported.

Generators, proportions, keys and commands follow YCSB (Cooper et al., SoCC 2010; core and its bindings of redis
and memcached). An update of memcached writes all fields (writeallfields=true).
"""

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.kv import _options
from labkit.options.kv import Loop
from labkit.tools import memcached, redis

BENCHMARK = ToolBenchmark(
    title="key-value store, closed loop",
    options=Loop,
    sizes="1000",
    max_size=500_000,
    check=_options.check,
    metrics={"round_trip_us": lambda spec: 1, "transaction_rate_per_s": lambda spec: spec.options.clients},
    tools=(redis.closed_loop, memcached.closed_loop),
    cadence="streaming",
    ends=_options.ENDS,
    size_label="record size (B)",
)
