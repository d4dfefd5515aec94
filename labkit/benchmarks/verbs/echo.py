"""An echo server: every request comes back; time of a request and requests per second.

Requests and answers travel by SEND over RC, UC or UD, or by WRITE over RC or UC into slots that the other end watches.
`clients` requests are in flight. After RDMA-bench (Kalia et al., USENIX ATC 2016), as a program over pyverbs:
it shows how transports differ, not how fast an adapter is.
"""

from labkit.benchmarks.verbs import program
from labkit.options.verbs import Echo
from labkit.tools import pyverbs

BENCHMARK = program("echo server", pyverbs.echo, Echo)
