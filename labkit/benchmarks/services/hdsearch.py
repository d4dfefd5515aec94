"""Search for the ten vectors nearest to a query: a mid-tier with an index, leaves that compute distances.

The mid-tier finds candidates by locality-sensitive hashing (8 tables, random hyperplanes, keys that differ in one bit
probed too), sends each leaf the query and its candidates, and merges what the leaves find. With `search=exact` the
leaves look at all their vectors. The size refers to a vector (float32). A sample is the time from the moment when a
request was due to the end of its answer, so waiting time counts (open loop, as wrk2); `round_trip_us` counts from
when it was sent. Every answer is compared with a search in one process.

After HDSearch of µSuite (Sriraman and Wenisch, IISWC 2018), which uses FLANN's index and gRPC. Here
the vectors are drawn around 64 centres, a service is one thread, and frames are labkit's own.
"""

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.services import _options
from labkit.options.services import Hdsearch
from labkit.point.spec import Spec
from labkit.tools import microservices


def _check(spec: Spec[Hdsearch]) -> str:
    if spec.size < 32 or spec.size % 32:
        return f"size={spec.size} B, but a vector has a multiple of 8 numbers of 4 B. Set size=512."
    if spec.size * spec.options.records > 2**30:
        return f"records={spec.options.records} of {spec.size} B are more than 1 GiB. Set records=10000."
    return _options.check(spec)


BENCHMARK = ToolBenchmark(
    title="similarity search (HDSearch)",
    options=Hdsearch,
    sizes="512",
    max_size=65536,
    check=_check,
    metrics={"response_us": lambda spec: 1},
    phases={"service_ns": "round_trip_us"},
    tools=(microservices.hdsearch,),
    cadence="paced",
    ends=_options.ENDS,
)
