"""A sequencer: a counter in the server's memory that clients raise by fetch-and-add; its processor does nothing.

`clients` requests are in flight. All numbers given out must differ, and the counter must end at their count.
After RDMA-bench (Kalia et al., USENIX ATC 2016), as a program over pyverbs.
"""

from labkit.benchmarks.verbs import program
from labkit.options.verbs import Served
from labkit.tools import pyverbs

BENCHMARK = program("sequencer", pyverbs.sequencer, Served, sizes="8", max_size=8)
