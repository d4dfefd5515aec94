"""The rating that a user would give an item: leaves predict from a factorisation of their ratings, a mid-tier averages.

The ratings are dealt out among the leaves. A leaf factorises its part when it starts (rank 5, non-negative, alternating
least squares). It predicts from the five most similar users, and spends its time on finding them. Every answer is
compared with a prediction in one process. A sample is the time from the moment when a request was due to the end of its
answer.

After Recommend of µSuite (Sriraman and Wenisch, IISWC 2018), which calls mlpack's CF with NMFALSFactorizer. The ratings
here are drawn near a product of hidden factors.
"""

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.services import _options
from labkit.options.services import Recommend
from labkit.point.spec import Spec
from labkit.tools import microservices


def _check(spec: Spec[Recommend]) -> str:
    if spec.options.users < 6:
        return f"users={spec.options.users}, but a prediction takes five others. Set users=1000."
    return _options.check(spec)


BENCHMARK = ToolBenchmark(
    title="recommendation (Recommend)",
    options=Recommend,
    sized=False,
    check=_check,
    metrics={"response_us": lambda spec: 1},
    phases={"service_ns": "round_trip_us"},
    tools=(microservices.recommend,),
    cadence="paced",
    ends=_options.ENDS,
)
