"""Cost of registering memory with the adapter, and of deregistering it, against its size.

Registration pins the pages and gives their addresses to the adapter; the pages exist before the clock starts. A sample
is one registration; the deregistration that follows is a separate column. Liu et al. (2003), section 4.5, on the cost
of changing buffers in MPI libraries.
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
