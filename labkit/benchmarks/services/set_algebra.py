"""Documents that hold all words of a query: leaves intersect posting lists, the mid-tier puts their documents together.

Every leaf has the lists of its documents, and intersects them from the shortest on by galloping search. A query has two
to four words, frequent ones more often, without the two most frequent (stop words). Every answer is compared with a
search of each document. A sample is the time from the moment when a request was due to the end of its answer.

After Set Algebra of µSuite (Sriraman and Wenisch, IISWC 2018), which has the documents of Wikipedia. The frequency of a
word follows from its rank.
"""

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.services import _options
from labkit.options.services import SetAlgebra
from labkit.point.spec import Spec
from labkit.tools import microservices


def _check(spec: Spec[SetAlgebra]) -> str:
    if not 8 <= spec.options.words <= 10_000:
        return f"words={spec.options.words}, but it must be 8 to 10000. Set words=500."
    if spec.options.words * spec.options.records > 10**9:
        return f"words={spec.options.words} in {spec.options.records} documents take too long. Set words=500."
    return _options.check(spec)


BENCHMARK = ToolBenchmark(
    title="intersection of posting lists (Set Algebra)",
    options=SetAlgebra,
    sized=False,
    check=_check,
    metrics={"response_us": lambda spec: 1},
    phases={"service_ns": "round_trip_us"},
    tools=(microservices.set_algebra,),
    cadence="paced",
    ends=_options.ENDS,
)
