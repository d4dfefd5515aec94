"""Reads and writes through a router to key-value leaves: the hash of a key chooses the leaf, writes go to all replicas.

A read goes to one replica of its key, a write to all; the router answers when all have. The size refers to a value.
Keys are drawn by YCSB's scrambled Zipfian. A value contains its key and its version, and all its bytes follow from
both, so every answer is checked. A sample is the time from the moment when a request was due to the end of its answer.

After Router of µSuite (Sriraman and Wenisch, IISWC 2018), which uses memcached as leaves, and gRPC.
With leaf=memcached each leaf is a memcached process with one thread, which the router asks in its text protocol. With
leaf=table a leaf is labkit's own hash table in one thread. memcached records no spans, so the critical path counts the
transit of its messages as the leaf's time.
"""

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.services import _options
from labkit.options.services import Router
from labkit.point.spec import Spec
from labkit.tools import microservices


def _check(spec: Spec[Router]) -> str:
    if spec.size < 16 or spec.size % 8:
        return f"size={spec.size} B, but a value has a multiple of 8 B, 16 or more. Set size=1000."
    if spec.options.replicas > spec.options.leaves:
        return f"replicas={spec.options.replicas}, but there are {spec.options.leaves} leaves. Set replicas=1."
    if not 0 <= spec.options.reads <= 1:
        return f"reads={spec.options.reads:g}, but it is a share, 0 to 1. Set reads=0.9."
    return _options.check(spec)


BENCHMARK = ToolBenchmark(
    title="routing to key-value leaves (Router)",
    options=Router,
    sizes="1000",
    max_size=65536,
    check=_check,
    metrics={"response_us": lambda spec: 1},
    phases={"service_ns": "round_trip_us"},
    tools=(microservices.router,),
    cadence="paced",
    ends=_options.ENDS,
)
