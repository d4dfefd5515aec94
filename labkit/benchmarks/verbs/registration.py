"""Cost of registering memory with the adapter, and of deregistering it, against its size.

Registration pins the pages and tells the adapter where they are; the pages are there already when the clock starts. A
sample is one registration; the deregistration that follows is a separate column. Liu et al. (2003), section 4.5, for
what MPI libraries pay when buffers change.
"""

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.verbs import VERBS
from labkit.options.verbs import Addressed
from labkit.tools import pyverbs

BENCHMARK = ToolBenchmark(
    title="memory registration",
    options=Addressed,
    sizes="4Ki:16Mi:*4",
    check=lambda spec: "" if spec.size else "size=0, but a region has at least 1 B. Set size=4096.",
    metrics={"latency_us": lambda spec: 1},
    phases={"deregistration_ns": "deregistration_us"},
    tools=(pyverbs.registration,),
    ends=VERBS,
)
